import { assert, describe } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber } from "effect"
import { Cancellation } from "quiesce"
import { Sim } from "quiesce/testing"
import { ended, executing, law, Witness, world } from "../support/laws.js"

describe("L14 owners", () => {
  law(
    "L14, L3",
    "a daemon of the body uses the owner of its call: it works while the call runs, and dies or is stopped after it",
    Effect.gen(function* () {
      const witness = new Witness()
      const daemon = yield* Deferred.make<Fiber.RuntimeFiber<void>>()
      const work = Cancellation.operation(witness.during("work", witness.note("worked")), "late work")
      const body = Effect.gen(function* () {
        yield* Deferred.succeed(
          daemon,
          yield* Effect.forkDaemon(Effect.zipRight(Sim.external("later", { comes: Effect.void }), work))
        )
        yield* Effect.yieldNow()
        return "done"
      })
      const here = yield* world(witness, [witness.tool(body)])
      const code = yield* ended(yield* executing(here, ["interrupt"]), witness)
      if (witness.handlers === 0) return code
      const workedInTime = witness.saw("worked")
      if (!(yield* Deferred.isDone(daemon))) return `${code}, no daemon`
      const exit = yield* Fiber.await(yield* Deferred.await(daemon))
      assert.strictEqual(witness.saw("worked"), workedInTime, "L14: work began after the call")
      if (Exit.isSuccess(exit)) return `${code}, the daemon worked`
      if (Exit.isInterrupted(exit)) return `${code}, the daemon was stopped`
      assert.include(Cause.pretty(exit.cause), "late work", "L14: the message does not name it")
      return `${code}, the daemon died`
    }),
    {
      expect: [
        "OK, the daemon worked",
        "OK, the daemon was stopped",
        "OK, the daemon died",
        "ABORTED, no daemon",
        "ABORTED, the daemon worked",
        "ABORTED, the daemon was stopped",
        "ABORTED, the daemon died",
        "ABORTED_BEFORE_DISPATCH",
        "not accepted"
      ]
    }
  )
})
