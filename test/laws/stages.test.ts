import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Policy } from "quiesce"
import { Sim } from "quiesce/testing"
import { ended, executing, law, Witness, world } from "../support/laws.js"

const body = Effect.as(Effect.yieldNow(), "done")

describe("stages and cancellation", () => {
  law(
    "stages",
    "before is interrupted, and its finalizers are awaited",
    Effect.gen(function* () {
      const witness = new Witness()
      const waits = Policy.before("waits", () =>
        Effect.as(witness.during("before", Effect.zipRight(Effect.yieldNow(), witness.note("decided"))), Policy.allow)
      )
      const here = yield* world(witness, [witness.tool(body)], [waits])
      const code = yield* ended(yield* executing(here, ["interrupt", "signal"]), witness)
      return code === "ABORTED_BEFORE_DISPATCH"
        ? `${code}, ${witness.saw("decided") ? "decided" : "interrupted"}`
        : code
    }),
    {
      expect: [
        "OK",
        "ABORTED",
        "ABORTED_BEFORE_DISPATCH, decided",
        "ABORTED_BEFORE_DISPATCH, interrupted",
        "not accepted"
      ]
    }
  )

  law(
    "stages",
    "around is interrupted, and its finalizers are awaited, those behind the body too",
    Effect.gen(function* () {
      const witness = new Witness()
      const wraps = Policy.around("wraps", (_call, next) =>
        witness.during("around", Effect.zipLeft(next, Effect.yieldNow()))
      )
      const here = yield* world(witness, [witness.tool(body)], [wraps])
      return yield* ended(yield* executing(here, ["cancelCall"]), witness)
    }),
    { expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH"] }
  )

  law(
    "stages",
    "before and around that are to finish run on to their ends",
    Effect.gen(function* () {
      const witness = new Witness()
      const two = (name: string) =>
        Effect.zipRight(
          Effect.zipRight(witness.note(`${name} began`), Effect.yieldNow()),
          witness.note(`${name} ended`)
        )
      const policies = [
        Policy.before("finishes", () => Effect.as(two("before"), Policy.allow), { onCancel: "finish" }),
        Policy.around("finishes", (_call, next) => Effect.zipLeft(next, two("around")), { onCancel: "finish" })
      ]
      const here = yield* world(witness, [witness.tool(body)], policies)
      const code = yield* ended(yield* executing(here, ["interrupt"]), witness)
      for (const stage of ["before", "around"])
        assert.strictEqual(witness.saw(`${stage} ended`), witness.saw(`${stage} began`), `${stage} was cut short`)
      if (witness.handlers > 0) assert.isTrue(witness.saw("around ended"), "around did not finish")
      return code
    }),
    { expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "stages",
    "after runs to its end whatever is cancelled, and a timeout inside it works",
    Effect.gen(function* () {
      const witness = new Witness()
      const review = Policy.after("reviews", () =>
        Effect.gen(function* () {
          yield* witness.note("began")
          const verdict = yield* Effect.timeoutTo(Sim.external("judge", { answers: Effect.never }), {
            duration: 50,
            onSuccess: () => "judged",
            onTimeout: () => "too slow"
          })
          yield* witness.note(verdict)
          return Policy.accept()
        })
      )
      const here = yield* world(witness, [witness.tool(body)], [review])
      const code = yield* ended(yield* executing(here, ["signal"]), witness)
      assert.strictEqual(witness.saw("too slow"), witness.saw("began"), "the review was cut short")
      return code
    }),
    { expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )
})
