import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Runtime } from "effect"
import { Cancellation } from "quiesce"
import { sweepWith } from "./support/sweep.js"

interface Run {
  live: number
  started: number
}

/** Runs for a few operations, or until it is stopped, and takes its time to stop. */
const slow = (run: Run, effect: Effect.Effect<void> = Effect.yieldNow()): Effect.Effect<void> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      run.started++
      run.live++
    }),
    () => effect,
    () =>
      Effect.zipRight(
        Effect.yieldNow(),
        Effect.sync(() => void run.live--)
      )
  )

/** A body that starts operations in every way there is. */
const body = (run: Run) =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<Cancellation.Cancellation>()
    const operation = (name: string, effect?: Effect.Effect<void>) => Cancellation.operation(slow(run, effect), name)
    yield* operation("on the fiber")
    yield* Effect.forkDaemon(operation("on a daemon", Effect.never))
    yield* Effect.fork(operation("on a child", Effect.never))
    Runtime.runFork(runtime)(operation("in a callback", Effect.never))
    yield* Effect.forkDaemon(Cancellation.own(operation("of a derived owner", Effect.never)))
    yield* Effect.yieldNow()
    yield* Cancellation.shield(operation("shielded"))
    yield* Effect.yieldNow()
    return "done"
  })

describe("Cancellation (sweep)", () => {
  for (const [how, faultOf] of [
    ["an interrupt", undefined],
    ["an abort of the host", (controller: AbortController) => () => controller.abort("stop")]
  ] as const) {
    it.live(`${how} before each operation: no operation outlives its owner, however it was started`, () =>
      Effect.gen(function* () {
        const runs: Array<Run> = []
        const liveAtEnd: Array<number> = []
        const exits = yield* sweepWith(() => {
          const run: Run = { live: 0, started: 0 }
          const index = runs.push(run) - 1
          const controller = new AbortController()
          const program = Effect.onExit(Cancellation.ownSignal(body(run), controller.signal), () =>
            Effect.sync(() => {
              liveAtEnd[index] = run.live
            })
          )
          return faultOf === undefined ? { program } : { program, fault: faultOf(controller) }
        })
        exits.forEach((exit, i) => {
          if (Exit.isFailure(exit)) assert.isTrue(Cause.isInterruptedOnly(exit.cause), Cause.pretty(exit.cause))
          assert.strictEqual(runs[i]?.live, 0, `run ${i}: something is left`)
          assert.strictEqual(liveAtEnd[i] ?? 0, 0, `run ${i}: the owner ended early`)
        })
        assert.sameMembers([...new Set(exits.map((exit) => exit._tag))], ["Failure", "Success"])
        assert.strictEqual(runs.at(-1)?.started, 6)
      })
    )
  }
})
