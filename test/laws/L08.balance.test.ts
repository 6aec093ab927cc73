import { describe } from "@effect/vitest"
import { Effect, FiberRef, HashSet, Logger } from "effect"
import { Policy } from "quiesce"
import { ended, executing, law, Witness, world } from "../support/laws.js"

const breaks = Effect.zipRight(Effect.yieldNow(), Effect.die(new Error("broken")))

/** A log that fails on each line. */
const brokenLog = HashSet.make(
  Logger.make<unknown, void>(() => {
    throw new Error("the log is broken")
  })
)

describe("L8 balance", () => {
  law(
    "L8",
    "an observer crashes and the log of that crash fails: the call has its one result all the same",
    Effect.gen(function* () {
      const witness = new Witness()
      const crashes = Policy.observe("crashes", () => breaks)
      const here = yield* world(witness, [witness.tool(Effect.succeed("done"))], [crashes])
      return yield* ended(yield* executing(here, ["interrupt", "cancelCall"]), witness)
    }).pipe(Effect.locally(FiberRef.currentLoggers, brokenLog)),
    { expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L8, L5",
    "a policy crashes before the call: it has its one result, and no handler is called",
    Effect.gen(function* () {
      const witness = new Witness()
      const here = yield* world(
        witness,
        [witness.tool(Effect.succeed("done"))],
        [Policy.before("crashes", () => breaks)]
      )
      return yield* ended(yield* executing(here, ["interrupt", "signal", "release"]), witness)
    }),
    { expect: ["POLICY_FAILURE", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L8, L5",
    "a review crashes behind the body: it has its one result",
    Effect.gen(function* () {
      const witness = new Witness()
      const here = yield* world(
        witness,
        [witness.tool(Effect.as(Effect.yieldNow(), "done"))],
        [Policy.after("crashes", () => breaks)]
      )
      return yield* ended(yield* executing(here, ["interrupt", "cancelCall"]), witness)
    }),
    { expect: ["POLICY_FAILURE", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )
})
