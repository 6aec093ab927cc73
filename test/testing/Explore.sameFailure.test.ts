import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Explore, Invariant, Sim } from "quiesce/testing"

/**
 * Fails in two ways: an interrupt in a gap of two operations leaves it open, and one during its wait leaves it without an
 * answer. The second is reached wherever it waits, the first only between two operations.
 */
const twoFaults = Effect.gen(function* () {
  const ask = Sim.event("asked").pipe(
    Effect.zipRight(Sim.external("answer", { yes: Effect.void })),
    Effect.zipRight(Sim.event("answered"))
  )
  const worker = yield* Sim.fork("worker")(
    Sim.event("open").pipe(
      Effect.zipRight(Effect.sync(() => {})),
      Effect.zipRight(Effect.ensuring(ask, Sim.event("close")))
    )
  )
  yield* Sim.interrupt(worker)
  yield* Fiber.await(worker)
})

const leftOpen = Invariant.balanced("open", "close")
const unanswered = Invariant.balanced("asked", "answered")

/** Two that read, then write: loses an update with one switch, and is told to stop, which it takes for a failure. */
const lostOrStopped = Effect.gen(function* () {
  let [n, stopped] = [0, false]
  const increment = Effect.flatMap(
    Effect.sync(() => n),
    (was) =>
      Effect.sync(() => {
        n = was + 1
      })
  )
  yield* Sim.fault("stop", () => {
    stopped = true
  })
  yield* Effect.all([increment, increment], { concurrency: 2 })
  if (n !== 2) return yield* Effect.fail("lost an update")
  if (stopped) return yield* Effect.fail("stopped")
})

describe("Explore, the same failure", () => {
  it.effect("does not take another failure for the one it found when it cuts more coarsely", () =>
    Effect.gen(function* () {
      const both = yield* Effect.flip(Explore.check(twoFaults, { invariants: [leftOpen, unanswered] }))
      assert.strictEqual(both.problem, `1 times "open", but 0 times "close"`)
      assert.match(both.message, /needs a switch or a fault between two (effects|single operations)/)
      const other = yield* Effect.flip(Explore.check(twoFaults, { invariants: [unanswered] }))
      assert.include(other.message, "an ordinary race")
    })
  )

  it.effect("knows that a failure is one of the granularity at which it was found", () =>
    Effect.gen(function* () {
      const options = { invariants: [leftOpen], granularity: "effect" } as const
      const { message } = yield* Effect.flip(Explore.check(twoFaults, options))
      assert.match(message, /needs a switch or a fault between two effects that do not wait$/m)
      const { message: coarse } = yield* Effect.flip(
        Explore.check(twoFaults, { invariants: [unanswered], granularity: "suspension", maxSchedules: 100 })
      )
      assert.include(coarse, "an ordinary race")
    })
  )

  it.effect("takes what one invariant says of two schedules for one failure, whatever numbers it names", () =>
    Effect.gen(function* () {
      let asked = 0
      const says: Invariant.Invariant = (run) => {
        const problem = leftOpen(run)
        return problem === undefined ? undefined : `${problem} (looked at ${++asked} times)`
      }
      const { message } = yield* Effect.flip(Explore.check(twoFaults, { invariants: [says] }))
      const [, from = 0, to = 0] = /anywhere before its steps (\d+)\.\.(\d+) fails too/.exec(message) ?? []
      assert.isBelow(Number(from), Number(to))
    })
  )

  it.effect("shortens a schedule that was drawn to one that fails in the same way", () =>
    Effect.gen(function* () {
      const problems = new Set<string>()
      for (let seed = 0; seed < 20; seed++) {
        const sample = { runs: 50, seed, strategy: "uniform" } as const
        const failure = yield* Effect.flip(Explore.check(lostOrStopped, { sample }))
        problems.add(failure.problem.split("\n", 1)[0] ?? "")
        const again = yield* Effect.flip(Explore.check(lostOrStopped, { replay: failure.schedule }))
        assert.strictEqual(again.problem, failure.problem)
      }
      assert.sameMembers(
        [...problems],
        ["the scenario failed: Error: lost an update", "the scenario failed: Error: stopped"]
      )
    })
  )
})
