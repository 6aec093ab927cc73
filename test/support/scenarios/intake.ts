/** Cases A to C: intake, policies before a call, approval. */
import { assert } from "@effect/vitest"
import {
  aborted,
  abortOf,
  denied,
  failed,
  gate,
  type Input,
  isPending,
  named,
  notDispatched,
  policyFailed,
  reason,
  type Scenario,
  type Stages,
  succeeded
} from "./driver.js"

const notJson = "tool execution arguments must be losslessly JSON-serializable"
const untouched = ["observe"]
const refused = ["before", "guard", "after", "observe"]

class Instance {
  readonly x = 1
}

const cyclic: { self?: unknown } = {}
cyclic.self = cyclic

const noJson: Record<string, unknown> = {
  "a function": { invalid: () => undefined },
  "a symbol": { s: Symbol("s") },
  "a bigint": { n: 1n },
  "-0": { n: -0 },
  NaN: { n: Number.NaN },
  // biome-ignore lint/suspicious/noSparseArray: it is what is tested
  "a sparse array": { a: [1, , 2] },
  "a cycle": cyclic,
  "an instance of a class": new Instance()
}

export const intake: ReadonlyArray<Scenario> = [
  {
    title: "1: a call whose signal has aborted reads its arguments once, runs nothing, and is observed",
    run: async ({ setup }) => {
      const t = setup()
      let reads = 0
      t.controller.abort(reason)
      const input: Input = {
        callId: "c1",
        name: "echo",
        signal: t.controller.signal,
        get arguments() {
          reads++
          return { text: "hi" }
        }
      }
      assert.deepStrictEqual(await t.call(input), notDispatched())
      assert.strictEqual(reads, 1)
      assert.deepStrictEqual(t.log, untouched)
    }
  },
  {
    title: "2: observers see a frozen copy of the arguments",
    run: async ({ setup }) => {
      const given = { text: "hi" }
      let seen: unknown
      const t = setup({
        observe: (call) => {
          seen = call.arguments
        }
      })
      assert.deepStrictEqual(await t.call({ arguments: given }), succeeded())
      assert.deepStrictEqual(seen, given)
      assert.notStrictEqual(seen, given)
      assert.isTrue(Object.isFrozen(seen))
    }
  },
  {
    title: "2: every stage sees a frozen view of its own; observers see the signal of the caller",
    only: "facade",
    run: async ({ setup }) => {
      const views: Array<any> = []
      const keep = (call: object) => void views.push(call)
      const t = setup({
        before: (call) => {
          keep(call)
          return { kind: "allow" }
        },
        guard: (call) => void keep(call),
        after: (call) => {
          keep(call)
          return { kind: "accept" }
        },
        observe: keep
      })
      await t.call()
      assert.strictEqual(new Set(views).size, 4)
      for (const view of views) {
        assert.isTrue(Object.isFrozen(view))
        assert.isFalse(Reflect.set(view, "signal", new AbortController().signal))
        assert.isFalse(Reflect.deleteProperty(view, "signal"))
        assert.strictEqual(typeof view.token, "symbol")
        assert.strictEqual(view.token, views[0].token)
      }
      assert.strictEqual(views[2].signal, t.controller.signal)
      assert.strictEqual(views[3].signal, t.controller.signal)
    }
  },
  {
    title: "3: arguments that are not JSON come before an abort and an unknown tool",
    run: async ({ setup }) => {
      const t = setup()
      t.controller.abort(reason)
      const result = await t.call({ name: "nope", arguments: { invalid: () => undefined } })
      assert.deepStrictEqual(result, failed({ message: notJson }, "NOT_JSON", { tool: "nope" }))
      assert.deepStrictEqual(t.log, untouched)
    }
  },
  {
    title: "4: whatever is not JSON is refused before anybody is asked",
    run: async ({ setup }) => {
      for (const [what, given] of Object.entries(noJson)) {
        const t = setup()
        assert.deepStrictEqual(await t.call({ arguments: given }), failed({ message: notJson }, "NOT_JSON"), what)
        assert.deepStrictEqual(t.log, untouched)
      }
    }
  },
  {
    title: "5: a getter of the arguments that throws is the result, and observers see no arguments",
    run: async ({ setup }) => {
      let seen: unknown = "nothing yet"
      const t = setup({
        observe: (call) => {
          seen = call.arguments
        }
      })
      const input = {
        callId: "c1",
        name: "echo",
        signal: t.controller.signal,
        get arguments(): unknown {
          throw new Error("g")
        }
      }
      assert.deepStrictEqual(await t.call(input), failed({ message: "g" }, "NOT_JSON"))
      assert.deepStrictEqual(t.log, untouched)
      assert.strictEqual(seen, undefined)
    }
  },
  {
    title: "7: an abort comes before an unknown tool",
    run: async ({ setup }) => {
      const t = setup()
      t.controller.abort(reason)
      assert.deepStrictEqual(await t.call({ name: "nope" }), notDispatched({ tool: "nope" }))
    }
  },
  {
    title: "8: an unknown tool",
    run: async ({ setup }) => {
      const t = setup()
      const expected = named("ToolNotFoundError", "UNKNOWN_TOOL", 'unknown tool "nope"', { tool: "nope" })
      assert.deepStrictEqual(await t.call({ name: "nope" }), expected)
      assert.deepStrictEqual(t.log, ["after", "observe"])
    }
  },
  {
    title: "9: what the caller does to its arguments later changes nothing",
    run: async ({ setup }) => {
      const given = { text: "hi" }
      const wait = gate()
      const t = setup({ before: () => wait.promise.then(() => ({ kind: "allow" })) })
      const call = t.call({ arguments: given })
      given.text = "changed"
      wait.open()
      assert.deepStrictEqual(await call, succeeded())
    }
  },
  {
    title: "a getter of the arguments that aborts the call",
    run: async ({ setup }) => {
      const t = setup()
      const input = {
        callId: "c1",
        name: "echo",
        signal: t.controller.signal,
        get arguments() {
          t.controller.abort(reason)
          return { text: "hi" }
        }
      }
      assert.deepStrictEqual(await t.call(input), notDispatched())
      assert.deepStrictEqual(t.log, untouched)
    }
  },
  {
    title: "12: the last word on the content is the tool's, also of a call that was aborted before it began",
    run: async ({ setup }) => {
      let asked = 0
      const t = setup({
        finalContent: () => {
          asked++
          return [{ type: "text", text: "not run" }]
        }
      })
      t.controller.abort(reason)
      assert.deepStrictEqual(await t.call(), notDispatched({}, { content: [{ type: "text", text: "not run" }] }))
      assert.strictEqual(asked, 1)
    }
  },
  {
    title: "15: a denial",
    run: async ({ setup }) => {
      let isFrozen = false
      const t = setup({
        before: async () => ({ kind: "deny", reason: "denied by policy" }),
        after: (_, result) => {
          isFrozen = Object.isFrozen(result)
          return { kind: "accept" }
        }
      })
      assert.deepStrictEqual(await t.call(), denied("denied by policy"))
      assert.deepStrictEqual(t.log, ["before", "after", "observe"])
      assert.isTrue(isFrozen)
    }
  },
  {
    title: "16: aborted while a policy decides, which then allows",
    run: async ({ setup }) => {
      const wait = gate()
      const t = setup({ before: () => wait.promise.then(() => ({ kind: "allow" })) })
      const call = t.call()
      await t.reached("before")
      t.controller.abort(reason)
      assert.isTrue(await isPending(call), "a policy is awaited")
      wait.open()
      assert.deepStrictEqual(await call, notDispatched())
      assert.deepStrictEqual(t.log, refused)
    }
  },
  {
    title: "17: aborted while a policy decides, which then denies",
    run: async ({ setup }) => {
      const t = setup({
        before: async (call) => {
          await abortOf(call.signal)
          return { kind: "deny", reason: "policy denied the call" }
        }
      })
      const call = t.call()
      await t.reached("before")
      t.controller.abort(reason)
      assert.deepStrictEqual(await call, denied("policy denied the call"))
    }
  },
  {
    title: "18: aborted while a policy decides, which then throws",
    run: async ({ setup }) => {
      const wait = gate<never>()
      const t = setup({ before: () => wait.promise })
      const call = t.call()
      await t.reached("before")
      t.controller.abort(reason)
      wait.fail(new Error("gate interrupted"))
      assert.deepStrictEqual(await call, policyFailed("gate interrupted"))
      assert.deepStrictEqual(t.log, ["before", "observe"])
    }
  },
  {
    title: "19: a policy that throws is the result, at once or later",
    run: async ({ setup }) => {
      const broke = (): never => {
        throw new Error("permission hook broke")
      }
      for (const before of [broke, async () => broke()]) {
        const t = setup({ before })
        assert.deepStrictEqual(await t.call(), policyFailed("permission hook broke"))
        assert.deepStrictEqual(t.log, ["before", "observe"])
      }
    }
  },
  {
    title: "20: a policy that throws a failure with a code",
    run: async ({ coded, setup }) => {
      const t = setup({ before: () => Promise.reject(coded("denied", "DENIED")) })
      assert.deepStrictEqual(await t.call(), named("HarnessError", "DENIED", "denied"))
    }
  },
  {
    title: "21: policies are asked in order, and a denial ends the asking",
    run: async ({ setup }) => {
      const asked: Array<string> = []
      const t = setup({
        before: async () => {
          asked.push("outer")
          return { kind: "deny", reason: "no" }
        },
        inner: {
          before: async () => {
            asked.push("inner")
            return { kind: "allow" }
          }
        }
      })
      assert.deepStrictEqual(await t.call(), denied("no"))
      assert.deepStrictEqual(asked, ["outer"])
    }
  },
  {
    title: "22: a guard vetoes what is allowed, and is not asked about what is denied",
    run: async ({ setup }) => {
      const t = setup({ guard: () => "no" })
      assert.deepStrictEqual(await t.call(), denied("no"))
      assert.deepStrictEqual(t.log, refused)
      const other = setup({ before: () => ({ kind: "deny", reason: "never" }), guard: () => "no" })
      assert.deepStrictEqual(await other.call(), denied("never"))
      assert.notInclude(other.log, "guard")
    }
  },
  {
    title: "23: of two guards the first reason counts",
    run: async ({ setup }) => {
      const t = setup({ guard: () => "first", inner: { guard: () => "second" } })
      assert.deepStrictEqual(await t.call(), denied("first"))
    }
  },
  {
    title: "24: a guard that throws is the result",
    run: async ({ setup }) => {
      const t = setup({
        guard: () => {
          throw new Error("guard broke")
        }
      })
      assert.deepStrictEqual(await t.call(), policyFailed("guard broke"))
      assert.deepStrictEqual(t.log, ["before", "guard", "observe"])
    }
  },
  {
    title: "26: a policy that fails because it was aborted is no failure",
    run: async ({ setup }) => {
      const t = setup({
        before: async (call) => {
          await abortOf(call.signal)
          call.signal.throwIfAborted()
          return { kind: "allow" }
        }
      })
      const call = t.call()
      await t.reached("before")
      t.controller.abort(reason)
      assert.deepStrictEqual(await call, notDispatched())
    }
  },
  {
    title: "29: somebody is asked, and allows",
    run: async ({ setup }) => {
      const asked: Array<unknown> = []
      const t = setup({
        before: () => ({ kind: "ask", reason: "writes" }),
        approve: async ({ agent, callId, reason, signal, tool }) => {
          asked.push({ agent, callId, reason, tool, aborted: signal.aborted })
          return "allowed-once"
        }
      })
      assert.deepStrictEqual(await t.call({ agent: "clerk" }), succeeded())
      assert.deepStrictEqual(asked, [{ agent: "clerk", callId: "c1", reason: "writes", tool: "echo", aborted: false }])
    }
  },
  ...Object.entries({
    "30: rejected": ["rejected", 'the user rejected tool "echo"'],
    "31: withdrawn by the other side": ["cancelled", 'approval for tool "echo" was cancelled'],
    "34: nobody is there": ["unavailable", 'tool "echo" requires approval, but no approval channel is available']
  }).map(
    ([title, [answer, message]]): Scenario => ({
      title,
      run: async ({ setup }) => {
        const t = setup({ before: () => ({ kind: "ask" }), approve: async () => answer })
        assert.deepStrictEqual(await t.call(), denied(message as string))
      }
    })
  ),
  ...Object.entries<NonNullable<Stages["approve"]>>({
    throws: () => {
      throw new Error("no window")
    },
    rejects: () => Promise.reject(new Error("no window")),
    "answers something else": async () => "yes"
  }).map(
    ([how, approve]): Scenario => ({
      title: `34: an approver that ${how} is nobody`,
      only: "facade",
      run: async ({ setup }) => {
        const t = setup({ before: () => ({ kind: "ask" }), approve })
        assert.deepStrictEqual(
          await t.call(),
          denied('tool "echo" requires approval, but no approval channel is available')
        )
      }
    })
  ),
  {
    title: "32: aborted while somebody is asked, who is awaited and allows too late",
    run: async ({ setup }) => {
      const wait = gate()
      let asked: AbortSignal | undefined
      const t = setup({
        before: () => ({ kind: "ask" }),
        approve: async ({ signal }) => {
          asked = signal
          await wait.promise
          return "allowed-once"
        }
      })
      const call = t.call()
      await isPending(call)
      t.controller.abort(reason)
      assert.isTrue(await isPending(call), "40: the approver is awaited")
      assert.strictEqual(asked?.reason, reason)
      wait.open()
      assert.deepStrictEqual(await call, notDispatched())
      assert.deepStrictEqual(t.log, ["before", "after", "observe"])
    }
  },
  {
    title: "35: nobody can be asked at all",
    run: async ({ setup }) => {
      const given = setup({ before: () => ({ kind: "ask", reason: "needs approval" }) })
      assert.deepStrictEqual(await given.call(), denied("needs approval"))
      const none = setup({ before: () => ({ kind: "ask" }) })
      assert.deepStrictEqual(await none.call(), denied('tool "echo" requires approval (not yet supported)'))
    }
  },
  {
    title: "78: arguments that the schema refuses",
    run: async ({ setup }) => {
      const t = setup()
      const result = await t.call({ arguments: { text: 1 } })
      const expected = named("ToolArgsError", "INVALID_ARGS", "invalid arguments: text: Expected string, actual 1")
      assert.deepStrictEqual(result, expected)
      assert.deepStrictEqual(t.log, ["after", "observe"])
      t.controller.abort(reason)
      assert.deepStrictEqual(await t.call({ callId: "c2", arguments: { text: 1 } }), notDispatched({ callId: "c2" }))
    }
  },
  {
    title: "cancelled by its id, with the reason that its body then sees",
    run: async ({ setup }) => {
      let seen: unknown
      const t = setup({
        body: async (text, { signal }) => {
          await abortOf(signal)
          seen = signal.reason
          return text
        }
      })
      const call = t.call()
      await t.reached("body")
      assert.isTrue(t.cancelCall("c1", reason))
      assert.isFalse(t.cancelCall("c1", new Error("again")))
      assert.deepStrictEqual(await call, aborted())
      assert.strictEqual(seen, reason)
    }
  },
  {
    title: "disposal stops what runs, waits for it, and lets nothing start",
    run: async ({ setup }) => {
      const wait = gate()
      const t = setup({
        body: async (text, { signal }) => {
          await abortOf(signal)
          await wait.promise
          return text
        }
      })
      const call = t.call()
      await t.reached("body")
      const disposed = t.dispose()
      assert.isTrue(await isPending(disposed))
      assert.isTrue(await isPending(call))
      wait.open()
      await disposed
      const cause = { _tag: "Disposed" } as const
      assert.deepStrictEqual(await call, aborted({ cause }))
      assert.deepStrictEqual(await t.call({ callId: "c2" }), notDispatched({ callId: "c2", cause }))
      assert.strictEqual(t.log.filter((stage) => stage === "body").length, 1)
    }
  }
]
