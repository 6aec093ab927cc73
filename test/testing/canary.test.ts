/**
 * What the explorer relies on in effect 3.22, which is not all public: these tests fail when an upgrade moves it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, Ref } from "effect"
import { Explore, Sim } from "quiesce/testing"
import { seen, zoo } from "./zoo.js"

const outcomesOf = (report: Explore.Report): ReadonlyArray<string> => [...report.outcomes.keys()].sort()

const slow = 60_000

/** Nine steps over what programs consist of; says which of them were taken. */
const nineSteps = Effect.gen(function* () {
  const steps: Array<string> = []
  const step = (name: string) => Effect.sync(() => steps.push(name))
  const ref = yield* Ref.make(0)
  const queue = yield* Queue.unbounded<number>()
  const body = Effect.gen(function* () {
    yield* step("a")
    yield* Ref.update(ref, (n) => n + 1)
    yield* step("b")
    const deferred = yield* Deferred.make<void>()
    yield* Deferred.succeed(deferred, undefined)
    yield* Deferred.await(deferred)
    yield* step("c")
    yield* Queue.offer(queue, 1)
    yield* Queue.take(queue)
    yield* step("d")
    yield* Effect.uninterruptible(Effect.zipRight(step("1"), step("2")))
    yield* Effect.promise(() => Promise.resolve())
    yield* step("e")
    yield* Effect.yieldNow()
    yield* step("f")
  }).pipe(Effect.ensuring(step("z")))
  const fiber = yield* Sim.fork("call")(body)
  yield* Sim.interrupt(fiber)
  const exit = yield* Fiber.await(fiber)
  return `${steps.join("") || "-"} ${Exit.isSuccess(exit) ? "done" : "interrupted"}`
})

const prefixes = ["-", "z", "az", "abz", "abcz", "abcdz", "abcd12z", "abcd12ez", "abcd12efz"]

describe("canary: prefixes", () => {
  it.effect("an interrupt lands before each operation, and never splits a protected pair", () =>
    Effect.gen(function* () {
      const report = yield* Explore.check(nineSteps, { preemptions: 0 })
      assert.isTrue(report.complete)
      const expected = [...prefixes.map((prefix) => `${prefix} interrupted`), "abcd12efz done"].sort()
      assert.deepStrictEqual(outcomesOf(report), expected)
    })
  )

  it.effect("real suspensions alone reach only some of them", () =>
    Effect.gen(function* () {
      const report = yield* Explore.check(nineSteps, { preemptions: 0, granularity: "suspension" })
      assert.isTrue(report.complete)
      assert.isBelow(report.outcomes.size, prefixes.length)
      assert.includeMembers([...outcomesOf(report)], ["- interrupted", "abcd12efz done", "abcd12z interrupted"])
    })
  )
})

describe("canary: zoo", () => {
  for (const [feature, scenario] of Object.entries(zoo)) {
    it.effect(
      `${feature}: every interleaving with one preemption ends, and replays to the same steps and outcome`,
      () =>
        Effect.gen(function* () {
          const runs: Array<{ readonly schedule: string; readonly outcome: string | undefined }> = []
          const report = yield* Explore.check(scenario, {
            invariants: [
              ({ outcome, schedule }) => {
                runs.push({ schedule, outcome })
                return undefined
              }
            ]
          })
          assert.isTrue(report.complete)
          assert.deepStrictEqual(outcomesOf(report), seen[feature])
          const every = Math.max(1, Math.floor(runs.length / 40))
          for (let i = 0; i < runs.length; i += every) {
            const { outcome, schedule: replay = "" } = runs[i] ?? {}
            const first = yield* Explore.check(scenario, { replay })
            const second = yield* Explore.check(scenario, { replay })
            assert.deepStrictEqual([...first.outcomes.keys()], [outcome], replay)
            assert.deepStrictEqual(first, second, replay)
          }
        }),
      slow
    )
  }
})

/** What starts fibers in more than one operation: effect 3.22 hangs when it is interrupted in between. */
const starting: { readonly [combinator: string]: Effect.Effect<unknown, unknown, Sim.Sim> } = {
  "Effect.all": Effect.all([Effect.yieldNow(), Effect.yieldNow()], { concurrency: 2 }),
  "Effect.forEach": Effect.forEach([1, 2, 3], () => Effect.yieldNow(), { concurrency: 2, discard: true }),
  "Effect.zip": Effect.zip(Sim.external("left", { ok: Effect.void }), Effect.yieldNow(), { concurrent: true }),
  "Effect.race": Effect.race(Sim.external("left", { ok: Effect.void }), Effect.yieldNow()),
  "Effect.raceFirst": Effect.raceFirst(Sim.external("left", { ok: Effect.void }), Effect.yieldNow())
}

const interrupted = (effect: Effect.Effect<unknown, unknown, Sim.Sim>) =>
  Effect.gen(function* () {
    const fiber = yield* Sim.fork("call")(effect)
    yield* Sim.interrupt(fiber)
    return Exit.isSuccess(yield* Fiber.await(fiber)) ? "done" : "interrupted"
  })

describe("canary: starts of fibers", () => {
  for (const [combinator, effect] of Object.entries(starting)) {
    it.effect(
      `${combinator} starts in one step, and is interrupted before and after it`,
      () =>
        Effect.gen(function* () {
          const everywhere = yield* Explore.check(interrupted(effect), { preemptions: 0 })
          // With another order, too: the interrupted fiber may come before those that it started.
          const preempted = yield* Explore.check(interrupted(effect), { granularity: "suspension", preemptions: 2 })
          for (const report of [everywhere, preempted]) {
            assert.isTrue(report.complete)
            assert.deepStrictEqual(outcomesOf(report), ["done", "interrupted"])
          }
        }),
      slow
    )

    it.effect(`${combinator} hangs when it is interrupted within its start, and the report says why`, () =>
      Effect.gen(function* () {
        const options = { preemptions: 0, atomicAsync: false } as const
        const { problem } = yield* Effect.flip(Explore.check(interrupted(effect), options))
        assert.match(problem, /^deadlock: main waits for the end of call; call waits for /)
        assert.include(problem, ". Note: call was interrupted while Effect started the fibers of its concurrent")
      })
    )
  }
})

describe("canary: flaws of effect 3.22 that the explorer finds", () => {
  it.effect("a message that is offered while a taker of a Mailbox has looked and does not wait yet wakes nobody", () =>
    Effect.gen(function* () {
      const options = { preemptions: 2, granularity: "effect" } as const
      const { Mailbox: losing = Effect.void } = zoo
      const { problem } = yield* Effect.flip(Explore.check(losing, options))
      assert.strictEqual(problem, "deadlock: main waits for a semaphore, latch or callback")
    })
  )
})
