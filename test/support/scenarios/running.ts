/** Cases D, E and I: wrappers, bodies, the tool's own time. */
import { getEventListeners } from "node:events"
import { assert } from "@effect/vitest"
import type { ToolResult } from "quiesce/promise"
import {
  aborted,
  abortOf,
  denied,
  gate,
  isPending,
  named,
  notDispatched,
  policyFailed,
  reason,
  type Scenario,
  settle,
  succeeded,
  texts,
  timedOut,
  toolFailed
} from "./driver.js"

const ran = ["before", "guard", "around", "body", "after", "observe"]
const passed = ["before", "guard", "around", "after", "observe"]

const invalidOutput = (violations: string, body: "completed" | "not-started" = "completed") =>
  named("ToolOutputError", "INVALID_TOOL_OUTPUT", `tool "echo" returned invalid output: ${violations}`, {
    dispatched: body === "completed",
    body
  })

const looked = (): never => {
  throw new Error("looked at")
}
const hostile = new Proxy({}, { get: looked, has: looked, ownKeys: looked, getPrototypeOf: looked })

export const running: ReadonlyArray<Scenario> = [
  {
    title: "41: the stages in order",
    run: async ({ setup }) => {
      const order: Array<string> = []
      const t = setup({
        around: async (_, next) => {
          order.push("outer")
          const result = await next()
          order.push("outer")
          return result
        },
        inner: {
          around: async (_, next) => {
            order.push("inner")
            const result = await next()
            order.push("inner")
            return result
          }
        }
      })
      assert.deepStrictEqual(await t.call(), succeeded())
      assert.deepStrictEqual(t.log, ran)
      assert.deepStrictEqual(order, ["outer", "inner", "inner", "outer"])
    }
  },
  {
    title: "42: a denied call enters no wrapper",
    run: async ({ setup }) => {
      const t = setup({ before: () => ({ kind: "deny", reason: "no" }) })
      assert.deepStrictEqual(await t.call(), denied("no"))
      assert.notInclude(t.log, "around")
    }
  },
  {
    title: "43: a wrapper sees a failed body as a result",
    run: async ({ coded, setup }) => {
      const seen: Array<unknown> = []
      const t = setup({
        body: () => Promise.reject(coded("kaboom", "BOOM")),
        around: async (_, next) => {
          const result = await next()
          seen.push(result)
          return result
        }
      })
      const expected = named("HarnessError", "BOOM", "kaboom", { dispatched: true, body: "failed" })
      assert.deepStrictEqual(await t.call(), expected)
      assert.deepStrictEqual(seen, [expected])
    }
  },
  {
    title: "44: a wrapper that answers by itself is rendered by the tool",
    run: async ({ setup }) => {
      const t = setup({
        render: (value) => `<${value}>`,
        around: () => ({ isError: false, value: "cached", content: texts("authored") }) as any
      })
      assert.deepStrictEqual(
        await t.call(),
        succeeded({ value: "cached", content: texts("<cached>") }, { dispatched: false, body: "not-started" })
      )
    }
  },
  {
    title: "44: of a failure that a wrapper wrote its error, content and contexts count",
    run: async ({ setup }) => {
      const t = setup({
        around: () => ({
          isError: true,
          error: { message: "no calls left", info: { name: "QuotaError", code: "QUOTA" } },
          content: texts("try tomorrow"),
          additionalContexts: texts("quota")
        })
      })
      assert.deepStrictEqual(
        await t.call(),
        named(
          "QuotaError",
          "QUOTA",
          "no calls left",
          {},
          { content: texts("try tomorrow"), additionalContexts: texts("quota") }
        )
      )
    }
  },
  {
    title: "45: aborted before a wrapper runs its next",
    run: async ({ setup }) => {
      const wait = gate()
      const t = setup({ around: (_, next) => wait.promise.then(next) })
      const call = t.call()
      await t.reached("around")
      t.controller.abort(reason)
      assert.isTrue(await isPending(call))
      wait.open()
      assert.deepStrictEqual(await call, notDispatched())
      assert.deepStrictEqual(t.log, passed)
    }
  },
  {
    title: "45: with a replaced signal as well",
    only: "facade",
    run: async ({ setup }) => {
      const wait = gate()
      const t = setup({
        around: async (call, next) => {
          await wait.promise
          call.signal = new AbortController().signal
          return next()
        }
      })
      const call = t.call()
      await t.reached("around")
      t.controller.abort(reason)
      wait.open()
      assert.deepStrictEqual(await call, notDispatched())
      assert.deepStrictEqual(t.log, passed)
    }
  },
  {
    title: "46: a wrapper that puts in a signal which has aborted already",
    only: "facade",
    run: async ({ setup }) => {
      const seen: Array<ToolResult> = []
      const t = setup({
        around: async (call, next) => {
          call.signal = AbortSignal.abort(reason)
          const result = await next()
          seen.push(result)
          return result
        }
      })
      assert.deepStrictEqual(await t.call(), notDispatched())
      assert.deepStrictEqual(t.log, passed)
      assert.deepStrictEqual(seen, [notDispatched()])
    }
  },
  {
    title: "49: a wrapper that fails after the abort",
    run: async ({ coded, setup }) => {
      const t = setup({
        around: async (call) => {
          await abortOf(call.signal)
          throw coded("wrapper failed", "WRAPPER_FAILURE")
        }
      })
      const call = t.call()
      await t.reached("around")
      t.controller.abort(reason)
      assert.deepStrictEqual(await call, named("HarnessError", "WRAPPER_FAILURE", "wrapper failed"))
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "observe"])
    }
  },
  {
    title: "50: a wrapper that fails",
    run: async ({ setup }) => {
      const broke = (): never => {
        throw new Error("wrapper broke")
      }
      for (const around of [broke, async () => broke()]) {
        assert.deepStrictEqual(await setup({ around }).call(), policyFailed("wrapper broke"))
      }
    }
  },
  {
    title: "a wrapper that answers with nothing",
    only: "facade",
    run: async ({ setup }) => {
      for (const answer of [undefined, null, 1, {}, { isError: true }, hostile]) {
        const result = await setup({ around: () => answer as any }).call()
        assert.strictEqual(result.report.code, "POLICY_FAILURE")
      }
    }
  },
  {
    title: "51, 55: a replaced signal is fused with the caller's, and gone behind its wrapper",
    only: "facade",
    run: async ({ setup }) => {
      const replacement = new AbortController().signal
      const seen: Array<AbortSignal> = []
      let view: { readonly signal: AbortSignal } | undefined
      let first: AbortSignal | undefined
      const t = setup({
        around: (call, next) => {
          view = call
          first = call.signal
          call.signal = replacement
          return next()
        },
        body: async (text, { signal }) => {
          seen.push(signal)
          await abortOf(signal)
          assert.strictEqual(signal.reason, reason)
          return text
        },
        after: (call) => {
          seen.push(call.signal)
          return { kind: "accept" }
        },
        observe: (call) => void seen.push(call.signal)
      })
      const call = t.call()
      await t.reached("body")
      t.controller.abort(reason)
      assert.deepStrictEqual(await call, aborted())
      assert.isFalse(replacement.aborted)
      assert.isFalse(seen[0] === t.controller.signal || seen[0] === replacement)
      assert.strictEqual(seen[1], t.controller.signal)
      assert.strictEqual(seen[2], t.controller.signal)
      assert.strictEqual(view?.signal, first, "restored")
      assert.strictEqual(getEventListeners(replacement, "abort").length, 0)
    }
  },
  {
    title: "a replaced signal that aborts stops the body, and not the caller",
    only: "facade",
    run: async ({ setup }) => {
      const replacement = new AbortController()
      const t = setup({
        around: (call, next) => {
          call.signal = replacement.signal
          return next()
        },
        body: async (text, { signal }) => {
          await abortOf(signal)
          assert.strictEqual(signal.reason, reason)
          return text
        }
      })
      const call = t.call()
      await t.reached("body")
      replacement.abort(reason)
      assert.deepStrictEqual(await call, aborted())
      assert.isFalse(t.controller.signal.aborted)
    }
  },
  {
    title: "a signal can be replaced, and not removed, and only as long as the wrapper runs",
    only: "facade",
    run: async ({ setup }) => {
      let view: any
      const t = setup({
        around: (call, next) => {
          view = call
          assert.throws(() => Reflect.set(call, "signal", undefined), /replaced, and not removed/)
          assert.isFalse(Reflect.deleteProperty(call, "signal"))
          assert.isFalse(Reflect.set(call, "name", "other"))
          return next()
        }
      })
      assert.deepStrictEqual(await t.call(), succeeded())
      assert.throws(() => {
        view.signal = new AbortController().signal
      }, /after the policy/)
    }
  },
  {
    title: "a replaced signal is gone although the wrapper throws, runs next twice, or does not wait for it",
    only: "facade",
    run: async ({ setup }) => {
      const replacement = new AbortController()
      const ends: ReadonlyArray<(next: () => Promise<ToolResult>) => Promise<ToolResult>> = [
        () => Promise.reject(new Error("wrapper broke")),
        async (next) => {
          await Promise.all([next(), next()])
          return next()
        },
        async (next) => {
          void next()
          return { isError: false, value: "early" } as ToolResult
        }
      ]
      for (const end of ends) {
        const seen: Array<AbortSignal> = []
        const t = setup({
          around: (call, next) => {
            call.signal = replacement.signal
            return end(next)
          },
          inner: {
            around: (call, next) => {
              seen.push(call.signal)
              return next()
            }
          },
          after: (call) => {
            seen.push(call.signal)
            return { kind: "accept" }
          }
        })
        await t.call()
        assert.strictEqual(getEventListeners(replacement.signal, "abort").length, 0)
        for (const signal of seen) assert.notStrictEqual(signal, replacement.signal)
        assert.isFalse(t.controller.signal.aborted)
      }
    }
  },
  {
    title: "each run of next has the signal that was there when it was called",
    only: "facade",
    run: async ({ setup }) => {
      const [one, two] = [new AbortController(), new AbortController()]
      const t = setup({
        around: async (call, next) => {
          call.signal = one.signal
          const first = next()
          call.signal = two.signal
          const second = next()
          one.abort(reason)
          assert.strictEqual((await first).report.code, "ABORTED")
          assert.isTrue(await isPending(second))
          two.abort(new Error("other"))
          assert.strictEqual((await second).report.code, "ABORTED")
          return first
        },
        body: async (text, { signal }) => {
          await abortOf(signal)
          return text
        }
      })
      assert.deepStrictEqual(await t.call(), aborted())
    }
  },
  {
    title: "53: the signal of the body follows the caller's, with its reason",
    run: async ({ setup }) => {
      let seen: AbortSignal | undefined
      const t = setup({
        body: async (text, { signal }) => {
          seen = signal
          await abortOf(signal)
          return text
        }
      })
      const call = t.call()
      await t.reached("body")
      t.controller.abort(reason)
      assert.deepStrictEqual(await call, aborted())
      assert.strictEqual(seen?.reason, reason)
    }
  },
  {
    title: "56: a result of another tool is checked against this one's schema",
    run: async ({ setup }) => {
      let cached: ToolResult | undefined
      const t = setup({ counts: true, around: (_, next) => cached ?? next() })
      cached = await t.call({ name: "count", arguments: {} })
      assert.deepStrictEqual(await t.call({ callId: "c2" }).then(({ report }) => report.code), "INVALID_TOOL_OUTPUT")
      assert.deepStrictEqual(await t.call(), invalidOutput("Expected string, actual 3", "not-started"))
      assert.notInclude(t.log, "body")
    }
  },
  {
    title: "57: a tool that a wrapper takes away cannot vouch for an answer",
    run: async ({ setup }) => {
      const t = setup({
        around: () => {
          t.removeTool()
          return { isError: false, value: "authored" }
        }
      })
      assert.deepStrictEqual(await t.call(), named("ToolNotFoundError", "UNKNOWN_TOOL", 'unknown tool "echo"'))
    }
  },
  {
    title: "59: no stage can change a result",
    run: async ({ setup }) => {
      const changed: Array<boolean> = []
      const change = (result: ToolResult) => {
        changed.push(Reflect.set(result, "isError", true), Reflect.set(result.content, 0, "changed"))
        changed.push(Reflect.set(result.report, "dispatched", false), Reflect.deleteProperty(result, "content"))
      }
      const t = setup({
        around: async (_, next) => {
          const result = await next()
          change(result)
          return result
        },
        after: (_, result) => {
          change(result)
          return { kind: "accept" }
        },
        observe: (_, result) => change(result)
      })
      assert.deepStrictEqual(await t.call(), succeeded())
      assert.deepStrictEqual(changed, new Array(12).fill(false))
    }
  },
  {
    title: "60: aborted between two attempts",
    run: async ({ setup }) => {
      const t = setup({
        body: () => Promise.reject(new Error("first")),
        around: async (_, next) => {
          await next()
          t.controller.abort(reason)
          return next()
        }
      })
      assert.deepStrictEqual(
        await t.call(),
        aborted({ body: "failed", bodyFailure: { code: "TOOL_FAILURE", name: "ToolFailureError", message: "first" } })
      )
    }
  },
  {
    title: "61: what a failed attempt deferred and concluded is not the next one's",
    run: async ({ setup }) => {
      const t = setup({
        body: async (text, { attempt, concludeTurn, deferContext }) => {
          if (attempt > 1) return text
          deferContext("first")
          concludeTurn()
          throw new Error("first")
        },
        around: async (_, next) => {
          await next()
          return next()
        }
      })
      assert.deepStrictEqual(await t.call(), succeeded())
    }
  },
  {
    title: "62: a wrapper that does not wait for its next: the body is stopped and awaited",
    run: async ({ setup }) => {
      const wait = gate()
      let stopped = false
      const t = setup({
        around: (_, next) => {
          void next()
          return { isError: false, value: "early" }
        },
        body: async (text, { signal }) => {
          await abortOf(signal)
          stopped = true
          await wait.promise
          return text
        }
      })
      const call = t.call()
      await t.reached("body")
      assert.isTrue(await isPending(call), "L3: its body runs")
      assert.isTrue(stopped)
      wait.open()
      const { report } = await call
      assert.isTrue(report.dispatched)
    }
  },
  {
    title: "a next that is run after its wrapper has settled rejects, and nobody need handle it",
    only: "facade",
    run: async ({ setup }) => {
      let late: (() => Promise<unknown>) | undefined
      const t = setup({
        around: (_, next) => {
          late = next
          return { isError: false, value: "early" }
        }
      })
      await t.call()
      void late?.()
      const message = await (late as () => Promise<unknown>)().catch(({ message }) => message)
      assert.match(String(message), /after its wrapper had returned/)
    }
  },
  {
    title: "65: a body that stops when it is told",
    run: async ({ setup }) => {
      const t = setup({ body: (text, { signal }) => abortOf(signal).then(() => text) })
      const call = t.call()
      await t.reached("body")
      t.controller.abort(reason)
      assert.deepStrictEqual(await call, aborted())
    }
  },
  {
    title: "66, 84: a body that ignores its signal is waited for, and what it deferred is kept",
    run: async ({ setup }) => {
      const wait = gate()
      const t = setup({
        body: async (text, { deferContext }) => {
          await wait.promise
          deferContext("child")
          return text
        },
        after: async () => ({ kind: "accept", additionalContexts: texts("post") })
      })
      const call = t.call()
      await t.reached("body")
      t.controller.abort(reason)
      assert.isTrue(await isPending(call))
      wait.open()
      assert.deepStrictEqual(await call, aborted({}, { additionalContexts: texts("child", "post") }))
    }
  },
  {
    title: "67: a body that fails by itself after the abort",
    run: async ({ coded, setup }) => {
      const t = setup({
        body: (_, { signal }) => abortOf(signal).then(() => Promise.reject(coded("tool failed", "TOOL_BROKE")))
      })
      const call = t.call()
      await t.reached("body")
      t.controller.abort(reason)
      assert.deepStrictEqual(
        await call,
        named("HarnessError", "TOOL_BROKE", "tool failed", { dispatched: true, body: "failed" })
      )
    }
  },
  ...Object.entries({
    "with throwIfAborted": (signal: AbortSignal) => signal.throwIfAborted(),
    "with the reason": (signal: AbortSignal) => Promise.reject(signal.reason),
    "with an AbortError": () => Promise.reject(new DOMException("This operation was aborted", "AbortError"))
  }).map(
    ([how, end]): Scenario => ({
      title: `69: a body that rejects ${how} was aborted`,
      run: async ({ setup }) => {
        const t = setup({
          body: async (text, { signal }) => {
            await abortOf(signal)
            await end(signal)
            return text
          }
        })
        const call = t.call()
        await t.reached("body")
        t.controller.abort(reason)
        assert.deepStrictEqual(await call, aborted())
      }
    })
  ),
  {
    title: "71, 72: a body that throws at once, and what it may throw",
    run: async ({ setup }) => {
      for (const [thrown, message] of [
        ["s", "s"],
        [{ message: "m" }, "m"],
        [{}, "[object Object]"],
        [hostile, "<unprintable thrown value>"]
      ] as ReadonlyArray<readonly [thrown: unknown, message: string]>) {
        const t = setup({
          body: (): never => {
            throw thrown
          }
        })
        assert.deepStrictEqual(await t.call(), toolFailed(message))
      }
    }
  },
  {
    title: "73: a value that does not fit the schema",
    run: async ({ setup }) => {
      const t = setup({ body: async () => 1 })
      assert.deepStrictEqual(await t.call(), invalidOutput("Expected string, actual 1"))
      assert.deepStrictEqual(t.log, ran)
    }
  },
  {
    title: "74: a tool that cannot render what it returned",
    run: async ({ setup }) => {
      const render = () => {
        throw new Error("no paper")
      }
      assert.deepStrictEqual(await setup({ render }).call(), invalidOutput("output.render failed: no paper"))
      const meta = () => (() => {}) as never
      assert.deepStrictEqual(
        await setup({ meta }).call(),
        invalidOutput("output.presentationMeta returned non-lossless JSON")
      )
      assert.deepStrictEqual(
        await setup({ meta: ({ length }) => ({ length }) }).call(),
        succeeded({ meta: { length: 2 } })
      )
    }
  },
  {
    title: "a body that aborts its own caller",
    run: async ({ setup }) => {
      const t = setup({
        body: async (text) => {
          t.controller.abort(reason)
          return text
        }
      })
      assert.deepStrictEqual(await t.call(), aborted())
    }
  },
  {
    title: "an abort listener that throws stops neither the call nor the process",
    run: async ({ setup }) => {
      const t = setup({
        body: async (text, { signal }) => {
          signal.addEventListener("abort", () => {
            throw new Error("a careless listener")
          })
          await abortOf(signal)
          return text
        }
      })
      const call = t.call()
      await t.reached("body")
      t.controller.abort(reason)
      assert.deepStrictEqual(await call, aborted())
    }
  },
  {
    title: "101: the end of a turn counts with a success only",
    run: async ({ setup }) => {
      const body = async (text: string, { concludeTurn }: { readonly concludeTurn: () => void }) => {
        concludeTurn()
        return text
      }
      assert.deepStrictEqual(await setup({ body }).call(), succeeded({ concludesTurn: true }))
      const t = setup({ body, after: () => ({ kind: "block", content: texts("no") }) })
      assert.notProperty(await t.call(), "concludesTurn")
    }
  },
  {
    title: "a call of a body is stopped with it, and has its result first",
    run: async ({ setup }) => {
      const inner: Array<ToolResult> = []
      const t = setup({
        counts: true,
        body: async (text, { call, signal }) => {
          assert.strictEqual((await call("count", {})).isError, false)
          if (text === "inner") await abortOf(signal)
          else inner.push(await call("echo", { text: "inner" }))
          return text
        }
      })
      const call = t.call({ arguments: { text: "outer" } })
      while (t.log.filter((stage) => stage === "body").length < 2) await settle()
      await settle()
      t.controller.abort(reason)
      assert.deepStrictEqual(await call, aborted())
      assert.strictEqual(inner[0]?.report.code, "ABORTED")
      assert.strictEqual(inner[0]?.report.callId, "c1:2")
      assert.deepStrictEqual(
        t.observed.map(({ report }) => report.callId),
        ["c1:1", "c1:2:1", "c1:2", "c1"]
      )
    }
  },
  {
    title: "111: a body that ends in time",
    run: async ({ setup }) => {
      assert.deepStrictEqual(await setup({ timeout: 10_000 }).call(), succeeded())
    }
  },
  {
    title: "112: the time of a tool is over",
    run: async ({ advance, setup }) => {
      const wait = gate()
      const t = setup({
        timeout: 100,
        body: async (text, { signal }) => {
          await abortOf(signal)
          await wait.promise
          return text
        }
      })
      const call = t.call()
      await t.reached("body")
      await advance(100)
      assert.isTrue(await isPending(call), "the body is awaited")
      wait.open()
      assert.deepStrictEqual(await call, timedOut(100))
    }
  },
  {
    title: "113: the body's own failure is kept beside the timeout",
    run: async ({ advance, coded, setup }) => {
      const t = setup({
        timeout: 100,
        body: (_, { signal }) => abortOf(signal).then(() => Promise.reject(coded("gone", "WEB_ABORTED")))
      })
      const call = t.call()
      await t.reached("body")
      await advance(100)
      const bodyFailure = { code: "WEB_ABORTED", name: "HarnessError", message: "gone" }
      assert.deepStrictEqual(await call, timedOut(100, { body: "failed", bodyFailure }))
    }
  },
  {
    title: "114: aborted before the time is over",
    run: async ({ advance, setup }) => {
      const t = setup({ timeout: 100, body: (text, { signal }) => abortOf(signal).then(() => text) })
      const call = t.call()
      await t.reached("body")
      await advance(50)
      t.controller.abort(reason)
      assert.deepStrictEqual(await call, aborted())
    }
  },
  {
    title: "116: a body that ignores its time",
    run: async ({ advance, setup }) => {
      const wait = gate()
      const t = setup({
        timeout: 100,
        body: async (text, { deferContext }) => {
          deferContext("kept")
          await wait.promise
          return text
        }
      })
      const call = t.call()
      await t.reached("body")
      await advance(1000)
      assert.isTrue(await isPending(call))
      t.controller.abort(reason)
      wait.open()
      assert.deepStrictEqual(await call, timedOut(100, {}, { additionalContexts: texts("kept") }), "L7: not taken back")
    }
  },
  {
    title: "117, 118: times that no timer can wait for are refused",
    run: async ({ setup }) => {
      for (const timeout of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2147483648]) {
        assert.throws(() => setup({ timeout }), /no greater than 2147483647/)
      }
    }
  }
]
