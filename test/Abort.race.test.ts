import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { Abort, Cancellation } from "quiesce"
import { sweepWith } from "./support/sweep.js"

interface Run {
  started: number
  live: number
  liveAtExit: number | undefined
}

const newRun = (): Run => ({ started: 0, live: 0, liveAtExit: undefined })

/** A promise that takes a few ticks, and then settles as `settle` says of its signal. */
const operation = <A, E>(run: Run, settle: (signal: AbortSignal) => Promise<A>, onError: (error: unknown) => E) =>
  Effect.onExit(
    Effect.zipLeft(
      Abort.fromPromise({
        try: async ({ signal }) => {
          run.started++
          run.live++
          for (let i = 0; i < 3; i++) await undefined
          run.live--
          return settle(signal)
        },
        catch: onError
      }),
      Effect.yieldNow()
    ),
    () =>
      Effect.sync(() => {
        run.liveAtExit = run.live
      })
  )

const cooperative = (signal: AbortSignal) => (signal.aborted ? Promise.reject(signal.reason) : Promise.resolve("value"))

const failing = (signal: AbortSignal) =>
  signal.aborted ? Promise.reject(new Error("disk full")) : Promise.resolve("value")

describe("Abort (sweep)", () => {
  it.live("fromPromise: an interrupt before each operation never leaves a running promise", () =>
    Effect.gen(function* () {
      const runs: Array<Run> = []
      const exits = yield* sweepWith(() => {
        const run = newRun()
        runs.push(run)
        return { program: Cancellation.own(operation(run, cooperative, (error) => error)) }
      })
      const outcomes = exits.map((exit, i) => {
        const run = runs[i] as Run
        assert.isAtMost(run.started, 1)
        if (run.started === 1) assert.strictEqual(run.liveAtExit, 0, "L3")
        if (Exit.isFailure(exit)) assert.isTrue(Cause.isInterruptedOnly(exit.cause))
        return `${run.started} ${exit._tag}`
      })
      assert.sameMembers([...new Set(outcomes)], ["0 Failure", "1 Failure", "1 Success"])
    })
  )

  it.live(
    "L5: fromPromise: a failure that is not the cancellation is in the cause, whenever the promise was stopped",
    () =>
      Effect.gen(function* () {
        const runs: Array<Run> = []
        const exits = yield* sweepWith(() => {
          const run = newRun()
          runs.push(run)
          return { program: Cancellation.own(operation(run, failing, () => "disk full")) }
        })
        const outcomes = exits.map((exit, i) => {
          const run = runs[i] as Run
          const failures = Exit.isFailure(exit) ? [...Cause.failures(exit.cause)] : []
          return `${run.started} ${exit._tag} ${failures.join()}`
        })
        assert.sameMembers(
          [...new Set(outcomes)],
          ["0 Failure ", "1 Failure disk full", "1 Failure ", "1 Success "]
          // "1 Failure ": the promise had already settled, and the interrupt came behind it
        )
      })
  )

  it.live("toPromise: an abort before each operation rejects with the reason itself, or comes too late", () =>
    Effect.gen(function* () {
      const reason = { my: "reason" }
      const runs: Array<Run> = []
      const settled = yield* sweepWith(() => {
        const run = newRun()
        runs.push(run)
        const controller = new AbortController()
        const program = Effect.promise(() =>
          Abort.toPromise(
            operation(run, cooperative, (error) => error),
            { signal: controller.signal }
          ).then(
            (value) => ["resolved", value, getEventListeners(controller.signal, "abort").length] as const,
            (error) => ["rejected", error, getEventListeners(controller.signal, "abort").length] as const
          )
        )
        return { program, fault: () => controller.abort(reason) }
      })
      const outcomes = settled.map((exit, i) => {
        assert.isTrue(Exit.isSuccess(exit))
        if (!Exit.isSuccess(exit)) return "unsettled"
        const [tag, value, listeners] = exit.value
        assert.strictEqual(listeners, 0, "L10")
        if (tag === "rejected") assert.strictEqual(value, reason, "L6")
        if (runs[i]?.started === 1) assert.strictEqual(runs[i]?.live, 0, "L3")
        return `${runs[i]?.started} ${tag}`
      })
      assert.includeMembers([...new Set(outcomes)], ["0 rejected", "1 resolved"])
    })
  )
})
