/**
 * A reduction must leave out nothing but repetitions: on and off, the same is found.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Explore, type Sim } from "quiesce/testing"
import { bugs, pipeline, truths } from "./plantedBugs.js"
import { zoo } from "./zoo.js"

type Scenario = Effect.Effect<unknown, unknown, Sim.Sim>
type Options = Explore.Options<unknown, unknown>

const outcomesOf = (report: Explore.Report): ReadonlyArray<string> => [...report.outcomes.keys()].sort()

const both = (scenario: Scenario, options: Options = {}) =>
  Effect.all([Explore.check(scenario, options), Explore.check(scenario, { ...options, reduction: "happens-before" })])

const slow = 120_000

describe("Explore, reduced by happens-before", () => {
  it.effect(
    "runs fewer schedules of the correct pipeline and sees all that can come of it; says how many it gave up",
    () =>
      Effect.gen(function* () {
        const [all, reduced] = yield* both(pipeline(), { invariants: truths })
        assert.deepStrictEqual(outcomesOf(reduced), outcomesOf(all))
        assert.deepStrictEqual([all.complete, reduced.complete, all.pruned], [true, true, 0])
        assert.strictEqual(reduced.bound, `${all.bound}, reduced by happens-before`)
        assert.isAbove(reduced.pruned, 0)
        const ratio = all.schedules / reduced.schedules
        console.log(`${all.schedules} schedules, reduced ${reduced.schedules}: ${ratio.toFixed(1)} times fewer`)
        assert.isAbove(ratio, 1.5)
      }),
    slow
  )

  for (const bug of bugs) {
    it.effect(
      `finds "${bug}" with the same schedule`,
      () =>
        Effect.gen(function* () {
          const find = (options: Options) =>
            Effect.flip(Explore.check(pipeline(bug), { invariants: truths, ...options }))
          const found = yield* find({})
          const reduced = yield* find({ reduction: "happens-before" })
          assert.deepStrictEqual([reduced.problem, reduced.schedule], [found.problem, found.schedule])
        }),
      slow
    )
  }

  const small = ["Deferred", "Queue", "PubSub", "race", "timeout", "promise"]

  for (const [feature, scenario] of Object.entries(zoo)) {
    const preemptions = small.includes(feature) ? 2 : 1
    it.effect(
      `${feature}: sees the same outcomes with ${preemptions === 1 ? "a preemption" : "two preemptions"}`,
      () =>
        Effect.gen(function* () {
          const [all, reduced] = yield* both(scenario, { preemptions, granularity: "effect" })
          assert.deepStrictEqual(outcomesOf(reduced), outcomesOf(all))
          assert.deepStrictEqual([all.complete, reduced.complete], [true, true])
          assert.isAtMost(reduced.schedules, all.schedules)
        }),
      slow
    )
  }

  /** Reads a variable, then writes it. */
  type Add = (variable: { n: number }) => Effect.Effect<unknown>

  /** Two fibers that add to a variable: says whether it has both, or whether one is lost. */
  const race = (add: Add) =>
    Effect.gen(function* () {
      const variable = { n: 0 }
      const left = yield* Effect.fork(add(variable))
      yield* add(variable)
      yield* Fiber.await(left)
      return variable.n === 2 ? "both" : "lost"
    })

  /** The outcomes of two such races, one after the other: each is lost by a preemption of its own. */
  const raceTwice = (add: Add) =>
    Effect.map(
      both(
        Effect.zipWith(race(add), race(add), (first, second) => `${first} ${second}`),
        { faults: 0, preemptions: 2 }
      ),
      (reports) => reports.map(outcomesOf)
    )

  const everyOutcome = ["both both", "both lost", "lost both", "lost lost"]
  // Of a success by itself the runtime makes no operation.
  const hop = Effect.flatMap(Effect.void, () => Effect.void)

  it.effect(
    "sees a variable that is read and written within operations, or by the code of a generator",
    () =>
      Effect.gen(function* () {
        const inOperations: Add = (variable) =>
          Effect.flatMap(
            Effect.sync(() => variable.n),
            (was) =>
              Effect.sync(() => {
                variable.n = was + 1
              })
          )
        const inGenerator: Add = (variable) =>
          Effect.gen(function* () {
            yield* hop
            const was = variable.n
            yield* hop
            variable.n = was + 1
          })
        assert.deepStrictEqual(yield* raceTwice(inOperations), [everyOutcome, everyOutcome])
        assert.deepStrictEqual(yield* raceTwice(inGenerator), [everyOutcome, everyOutcome])
      }),
    slow
  )

  it.effect(
    "does not see one that is read and written where the next effect is chosen, as its option says",
    () =>
      Effect.gen(function* () {
        const inBetween: Add = (variable) =>
          Effect.flatMap(hop, () => {
            const was = variable.n
            return Effect.flatMap(hop, () => {
              variable.n = was + 1
              return Effect.void
            })
          })
        const [all, reduced] = yield* raceTwice(inBetween)
        assert.deepStrictEqual(all, everyOutcome)
        assert.deepStrictEqual(reduced, ["both both", "both lost", "lost both"])
      }),
    slow
  )

  it.effect("is refused with schedules drawn at random, which are never complete", () =>
    Effect.gen(function* () {
      const options: Options = { sample: { runs: 1 }, reduction: "happens-before" }
      const { problem } = yield* Effect.flip(Explore.check(Effect.void, options))
      assert.include(problem, "reduction")
    })
  )
})
