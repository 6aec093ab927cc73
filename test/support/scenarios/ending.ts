/** Cases F and G: reviews, publication, observers, contexts. */
import { assert } from "@effect/vitest"
import {
  aborted,
  failed,
  gate,
  named,
  notDispatched,
  policyFailed,
  reason,
  type Scenario,
  succeeded,
  texts,
  toolFailed
} from "./driver.js"

const afterBody = { dispatched: true, body: "completed" } as const
const blocked = (message: string, report: object = afterBody) =>
  failed({ message }, "BLOCKED", report, { content: texts(message) })

export const ending: ReadonlyArray<Scenario> = [
  {
    title: "79: a review replaces the content, or the value",
    run: async ({ setup }) => {
      const content = setup({ after: async () => ({ kind: "accept", content: texts("short") }) })
      assert.deepStrictEqual(await content.call(), succeeded({ content: texts("short") }))
      const value = setup({ meta: ({ length }) => length, after: async () => ({ kind: "accept", value: "other" }) })
      assert.deepStrictEqual(await value.call(), succeeded({ value: "other", content: texts("other"), meta: 5 }))
    }
  },
  {
    title: "80: not both",
    run: async ({ setup }) => {
      const t = setup({ after: () => ({ kind: "accept", value: "other", content: texts("short") }) })
      const message = "tools/post-execute accept decision cannot replace both value and content"
      assert.deepStrictEqual(await t.call(), policyFailed(message, afterBody))
    }
  },
  {
    title: "81: not the value of a failure",
    run: async ({ setup }) => {
      const t = setup({
        body: () => Promise.reject(new Error("no")),
        after: () => ({ kind: "accept", value: "other" })
      })
      const message = "tools/post-execute cannot replace the value of a failed result"
      assert.deepStrictEqual(await t.call(), policyFailed(message, { dispatched: true, body: "failed" }))
    }
  },
  {
    title: "82, 83: a block",
    run: async ({ setup }) => {
      const t = setup({ after: async () => ({ kind: "block", content: texts("blocked by policy") }) })
      assert.deepStrictEqual(await t.call(), blocked("blocked by policy"))
      const empty = setup({ after: () => ({ kind: "block", content: [] }) })
      const message = "tool result blocked by post-execute policy"
      assert.deepStrictEqual(await empty.call(), failed({ message }, "BLOCKED", afterBody, { content: [] }))
      const content = [{ type: "reasoning", text: "hm" }] as const
      const reasoning = setup({ after: () => ({ kind: "block", content }) })
      assert.deepStrictEqual(
        await reasoning.call(),
        failed({ message: "[reasoning content]" }, "BLOCKED", afterBody, { content })
      )
    }
  },
  {
    title: "84: aborted while a review waits",
    run: async ({ setup }) => {
      const wait = gate()
      const t = setup({
        body: async (text, { deferContext }) => {
          deferContext("child")
          return text
        },
        after: async () => {
          await wait.promise
          return { kind: "accept", additionalContexts: texts("post") }
        }
      })
      const call = t.call()
      await t.reached("after")
      t.controller.abort(reason)
      wait.open()
      assert.deepStrictEqual(await call, aborted({ body: "completed" }, { additionalContexts: texts("child", "post") }))
    }
  },
  {
    title: "85: a review that fails after the abort",
    run: async ({ coded, setup }) => {
      const wait = gate<never>()
      const t = setup({ after: () => wait.promise })
      const call = t.call()
      await t.reached("after")
      t.controller.abort(reason)
      wait.fail(coded("post-policy failed", "POST_FAILURE"))
      assert.deepStrictEqual(await call, named("HarnessError", "POST_FAILURE", "post-policy failed", afterBody))
    }
  },
  {
    title: "86: a review that fails",
    run: async ({ setup }) => {
      const t = setup({ after: () => Promise.reject(new Error("post hook broke")) })
      assert.deepStrictEqual(await t.call(), policyFailed("post hook broke", afterBody))
    }
  },
  {
    title: "87: a block of a call that was aborted is a block",
    run: async ({ setup }) => {
      const t = setup({ after: () => ({ kind: "block", content: texts("withheld") }) })
      t.controller.abort(reason)
      assert.deepStrictEqual(await t.call(), notDispatched(), "not reviewed")
      const late = setup({
        body: async (text) => {
          late.controller.abort(reason)
          return text
        },
        after: () => ({ kind: "block", content: texts("withheld") })
      })
      const result = await late.call()
      assert.strictEqual(result.report.code, "BLOCKED")
    }
  },
  {
    title: "90: a tool that is taken away while its result is reviewed",
    run: async ({ setup }) => {
      const t = setup({
        after: () => {
          t.removeTool()
          return { kind: "accept", value: "other" }
        }
      })
      assert.deepStrictEqual(
        await t.call(),
        named("ToolNotFoundError", "UNKNOWN_TOOL", 'unknown tool "echo"', afterBody)
      )
    }
  },
  {
    title: "92: an observer that throws changes nothing",
    run: async ({ setup }) => {
      const broke = (): never => {
        throw new Error("observer broke")
      }
      for (const observe of [broke, async () => broke()]) {
        assert.deepStrictEqual(await setup({ observe }).call(), succeeded())
      }
    }
  },
  {
    title: "93: an observer, or the tool's last word, that aborts the caller",
    run: async ({ setup }) => {
      const observed = setup({ observe: () => observed.controller.abort(reason) })
      assert.deepStrictEqual(await observed.call(), succeeded())
      const last = setup({ finalContent: () => void last.controller.abort(reason) })
      assert.deepStrictEqual(await last.call(), succeeded())
    }
  },
  {
    title: "94: the tool's last word is asked for once, whatever the result is",
    run: async ({ setup }) => {
      for (const stages of [
        {},
        { before: () => ({ kind: "deny", reason: "no" }) as const },
        { around: () => Promise.reject(new Error("wrapper broke")) }
      ]) {
        const seen: Array<unknown> = []
        const t = setup({ ...stages, finalContent: (result) => void seen.push(result) })
        assert.deepStrictEqual(seen, [await t.call()])
      }
    }
  },
  {
    title: "95: a last word that throws",
    run: async ({ setup }) => {
      const finalContent = () => {
        throw new Error("finalizer violated its total contract")
      }
      const t = setup({ finalContent })
      assert.deepStrictEqual(await t.call(), toolFailed("finalizer violated its total contract", { body: "completed" }))
    }
  },
  {
    title: "96: a last word that throws on an aborted call leaves it what it is, with its contexts",
    run: async ({ setup }) => {
      const t = setup({
        finalContent: () => {
          throw new Error("no words")
        },
        body: async (text, { deferContext }) => {
          deferContext("kept")
          t.controller.abort(reason)
          return text
        }
      })
      const result = await t.call()
      assert.strictEqual(result.report.code, "ABORTED")
      assert.deepStrictEqual(result.additionalContexts, texts("kept"))
    }
  },
  {
    title: "98: contexts in the order body, wrapper, review",
    run: async ({ setup }) => {
      const t = setup({
        body: async (text, { deferContext }) => {
          deferContext("body 1")
          deferContext("body 2")
          return text
        },
        around: async (_, next) => {
          const result = await next()
          return { ...result, additionalContexts: [...(result.additionalContexts ?? []), ...texts("wrapper")] }
        },
        after: () => ({ kind: "accept", additionalContexts: texts("post") })
      })
      const result = await t.call()
      assert.deepStrictEqual(result.additionalContexts, texts("body 1", "body 2", "wrapper", "post"))
    }
  },
  {
    title: "99: contexts survive a failure; of a block only its own",
    run: async ({ setup }) => {
      const body = async (_: string, { deferContext }: { readonly deferContext: (text: string) => void }) => {
        deferContext("body")
        throw new Error("no")
      }
      assert.deepStrictEqual(await setup({ body }).call(), toolFailed("no", {}, { additionalContexts: texts("body") }))
      const after = () => ({ kind: "block", content: texts("no"), additionalContexts: texts("block") }) as const
      assert.deepStrictEqual((await setup({ body, after }).call()).additionalContexts, texts("block"))
    }
  }
]
