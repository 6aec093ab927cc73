import { assert, describe } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { Policy, type ToolRuntime } from "quiesce"
import { ended, executing, law, Witness, world } from "../support/laws.js"

const twoSteps = Effect.zipRight(Effect.yieldNow(), Effect.succeed("done"))
const waits = Policy.before("waits", () => Effect.as(Effect.yieldNow(), Policy.allow))

describe("L2 dispatch truth", () => {
  law(
    "L2",
    "a call whose policy waits is cancelled in every way: dispatched is whether its handler was called",
    Effect.gen(function* () {
      const witness = new Witness()
      const here = yield* world(witness, [witness.tool(twoSteps)], [waits])
      return yield* ended(yield* executing(here, ["interrupt", "signal", "cancelCall", "release"]), witness)
    }),
    { expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L2",
    "the smallest call, cut at every operation: ABORTED_BEFORE_DISPATCH if and only if no handler was called",
    Effect.gen(function* () {
      const witness = new Witness()
      const here = yield* world(witness, [witness.tool(twoSteps)])
      return yield* ended(yield* executing(here, ["interrupt", "cancelCall"]), witness)
    }),
    { cut: "op", expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L2",
    "a body that fails is run again: dispatched is never unset between its attempts",
    Effect.gen(function* () {
      const witness = new Witness()
      const samples: Array<boolean> = []
      let runtime: ToolRuntime.Service | undefined
      const sample: Effect.Effect<void> = Effect.suspend(() =>
        Effect.map(runtime?.inFlight ?? Effect.succeed([]), ([status]) => {
          samples.push(status?.dispatched === true)
        })
      )
      const body = Effect.suspend(() => {
        const first = witness.handlers === 1
        return Effect.zipRight(sample, first ? Effect.fail("once more") : Effect.succeed("done"))
      })
      const policies = [
        Policy.retry({ schedule: Schedule.recurs(1) }),
        Policy.after("samples", () =>
          Effect.as(
            Effect.when(sample, () => witness.handlers > 0),
            Policy.accept()
          )
        )
      ]
      const here = yield* world(witness, [witness.tool(body)], policies)
      runtime = here.runtime
      const code = yield* ended(yield* executing(here, ["cancelCall"]), witness)
      assert.notInclude(samples, false, "L2: dispatched was unset")
      return witness.handlers === 2 ? `${code} at the second attempt` : code
    }),
    {
      expect: [
        "OK at the second attempt",
        "ABORTED at the second attempt",
        "ABORTED",
        "ABORTED_BEFORE_DISPATCH",
        "TOOL_FAILURE"
      ]
    }
  )
})
