import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Cancellation, type ToolRuntime } from "quiesce"
import { Sim } from "quiesce/testing"
import { ended, executing, law, Witness, world } from "../support/laws.js"

describe("L4 nothing abandoned", () => {
  law(
    "L4",
    "a body that ignores its cancel is awaited, and inFlight shows since when it was to stop",
    Effect.gen(function* () {
      const witness = new Witness()
      let here: { readonly runtime: ToolRuntime.Service } | undefined
      let seen: ReadonlyArray<ToolRuntime.CallStatus> = []
      const look: Effect.Effect<void> = Effect.suspend(() =>
        Effect.map(here?.runtime.inFlight ?? Effect.succeed([]), (calls) => {
          seen = calls
        })
      )
      const slow = witness.during("body", Effect.zipRight(Sim.external("slow", { ends: Effect.void }), look))
      const body = witness
        .note("began")
        .pipe(Effect.zipRight(slow), Effect.zipRight(witness.note("ended")), Effect.as("done"), Effect.uninterruptible)
      const made = yield* world(witness, [witness.tool(body)])
      here = made
      const running = yield* executing(made, ["interrupt", "signal"])
      const code = yield* ended(running, witness)
      // A handler can be called whose effect is stopped before its first operation.
      if (!witness.saw("began")) return code
      assert.isTrue(witness.saw("ended"), "L4: the body was abandoned")
      assert.strictEqual(seen[0]?.phase, "dispatching")
      const stopping = seen[0]?.cancelledAt !== undefined
      if (stopping) assert.strictEqual(code, "ABORTED")
      return stopping ? `${code}, seen while it ignored its cancel` : code
    }),
    {
      expect: ["OK", "ABORTED", "ABORTED, seen while it ignored its cancel", "ABORTED_BEFORE_DISPATCH", "not accepted"]
    }
  )

  law(
    "L4",
    "own does not complete before a daemon's operation has, whatever stopped it",
    Effect.gen(function* () {
      const witness = new Witness()
      const sim = yield* Sim.Sim
      const owner = yield* Sim.fork("owner")(
        Cancellation.own(
          Effect.zipRight(
            Effect.forkDaemon(Cancellation.operation(witness.during("operation", Effect.never), "work")),
            Effect.yieldNow()
          )
        )
      )
      owner.addObserver(sim.addFault("interrupt", () => owner.unsafeInterruptAsFork(owner.id())))
      const exit = yield* Effect.exit(owner)
      assert.deepStrictEqual([...witness.alive], [], "L4: the operation still runs")
      return exit._tag
    }),
    { cut: "op", expect: ["Success", "Failure"] }
  )
})
