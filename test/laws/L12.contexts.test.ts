import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Content, Policy, ToolContext } from "quiesce"
import { ended, executing, law, Witness, world } from "../support/laws.js"

const textsOf = (contexts: ReadonlyArray<Content.Content>) => contexts.map((context) => Content.toText([context]))

describe("L12 contexts", () => {
  law(
    "L12",
    "what the body deferred survives its abort, in front of what the review adds",
    Effect.gen(function* () {
      const witness = new Witness()
      const body = Effect.gen(function* () {
        yield* Effect.zipLeft(ToolContext.deferContext(Content.text("body")), Effect.void)
        yield* witness.note("deferred")
        yield* Effect.yieldNow()
        return "done"
      })
      const adds = Policy.after("adds", () =>
        Effect.zipRight(witness.note("reviewed"), Effect.succeed(Policy.accept({ contexts: [Content.text("review")] })))
      )
      const here = yield* world(witness, [witness.tool(body)], [adds])
      const code = yield* ended(yield* executing(here, ["interrupt", "cancelCall"]), witness)
      const contexts = textsOf(witness.observed[0]?.contexts ?? [])
      if (witness.saw("deferred")) assert.strictEqual(contexts[0], "body", "L12: the body's context is lost")
      assert.strictEqual(contexts.at(-1) === "review", witness.saw("reviewed"), "L12: the review's context is lost")
      return `${code}: ${contexts.join(", ")}`
    }),
    {
      expect: [
        "OK: body, review",
        "ABORTED: body, review",
        "ABORTED: review",
        "ABORTED_BEFORE_DISPATCH: review",
        "ABORTED_BEFORE_DISPATCH: ",
        "not accepted: "
      ]
    }
  )

  law(
    "L12",
    "only a block drops them: of a blocked result there are those of the block alone",
    Effect.gen(function* () {
      const witness = new Witness()
      const body = Effect.as(ToolContext.deferContext(Content.text("body")), "done")
      const blocks = Policy.after("blocks", () =>
        Effect.as(Effect.yieldNow(), Policy.block([Content.text("withheld")], { contexts: [Content.text("block")] }))
      )
      const here = yield* world(witness, [witness.tool(body)], [blocks])
      const code = yield* ended(yield* executing(here, ["interrupt", "signal"]), witness)
      return `${code}: ${textsOf(witness.observed[0]?.contexts ?? []).join(", ")}`
    }),
    { expect: ["BLOCKED: block", "ABORTED_BEFORE_DISPATCH: ", "not accepted: "] }
  )
})
