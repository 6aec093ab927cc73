import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck } from "effect"
import { Explore, Sim } from "quiesce/testing"
import { pipeline, truths } from "./plantedBugs.js"

const departures = (schedule: string): number =>
  schedule === "x1/" ? 0 : schedule.slice("x1/".length).split(",").length

/** Adds `n` twice, on two fibers that read, then write: some interleavings lose one of the two. */
const addsTwice = (n: number) =>
  Effect.gen(function* () {
    let sum = 0
    const add = Effect.flatMap(
      Effect.sync(() => sum),
      (was) =>
        Effect.sync(() => {
          sum = was + n
        })
    )
    yield* Sim.fault("nothing", () => {})
    yield* Effect.all([add, add], { concurrency: 2 })
    return String(sum)
  })

describe("Explore, drawn at random", () => {
  for (const strategy of ["uniform", { pct: 3 }] as const) {
    const name = typeof strategy === "object" ? `pct(${strategy.pct})` : strategy
    it.effect(
      `finds a planted bug with ${name}, and shortens what it found to one departure`,
      () =>
        Effect.gen(function* () {
          const failure = yield* Effect.flip(
            Explore.check(pipeline("double publish"), {
              invariants: truths,
              sample: { runs: 2_000, seed: 1, strategy }
            })
          )
          assert.match(failure.problem, /^"publish" must happen at most once/)
          assert.strictEqual(departures(failure.schedule), 1, failure.schedule)
          assert.match(failure.message, /found at schedule \d+ \(2000 schedules drawn at random/)
          assert.include(failure.message, `${name}, seed 1`)
        }),
      60_000
    )
  }

  it.effect("is never complete, and draws the same schedules for one seed", () =>
    Effect.gen(function* () {
      const draw = (seed: number) =>
        Explore.check(pipeline(), { invariants: truths, sample: { runs: 50, seed, strategy: { pct: 2 } } })
      const [first, again, other] = [yield* draw(1), yield* draw(1), yield* draw(1_000)]
      assert.isFalse(first.complete)
      assert.strictEqual(first.schedules, 50)
      assert.deepStrictEqual(first, again)
      assert.notDeepEqual([...first.outcomes], [...other.outcomes])
    })
  )
})

describe("Explore.schedule", () => {
  const property = FastCheck.asyncProperty(FastCheck.nat(100), Explore.schedule(), async (n, schedule) => {
    const { outcome } = await Effect.runPromise(Explore.run(addsTwice(n), schedule))
    assert.strictEqual(outcome, String(2 * n))
  })

  it.effect(
    "shrinks with the inputs: to the smallest input and one departure, which replays",
    () =>
      Effect.gen(function* () {
        for (const seed of [1, 2, 3]) {
          const details = yield* Effect.promise(() => FastCheck.check(property, { seed, numRuns: 200 }))
          assert.isTrue(details.failed, `seed ${seed}`)
          const [n = 0, schedule] = details.counterexample ?? []
          const text = schedule?.text ?? ""
          assert.strictEqual(n, 1)
          assert.strictEqual(departures(text), 1, text)
          const replayed = yield* Explore.check(addsTwice(n), { replay: text, expect: ["1"] })
          assert.strictEqual(replayed.schedules, 1)
        }
      }),
    60_000
  )

  it.effect("prints as the string that replays it", () =>
    Effect.gen(function* () {
      const [first] = FastCheck.sample(Explore.schedule(), { numRuns: 1, seed: 1 })
      if (first === undefined) return assert.fail("nothing was drawn")
      assert.match(FastCheck.stringify(first), /^a schedule drawn with seed \d+, not run yet$/)
      yield* Explore.run(addsTwice(1), first)
      assert.strictEqual(FastCheck.stringify(first), `"${first.text}"`)
      const details = yield* Effect.promise(() => FastCheck.check(property, { seed: 1, numRuns: 200 }))
      const [, schedule] = details.counterexample ?? []
      assert.include(FastCheck.stringify(details.counterexample), `"${schedule?.text}"`)
    })
  )

  it.effect("draws schedules with a fault, without one, and in other orders", () =>
    Effect.gen(function* () {
      const drawn = FastCheck.sample(Explore.schedule(), { numRuns: 40, seed: 7 })
      const texts: Array<string> = []
      for (const schedule of drawn) {
        yield* Explore.run(addsTwice(1), schedule)
        texts.push(schedule.text ?? "")
      }
      assert.isTrue(texts.some((text) => text.includes(">!nothing")))
      assert.isTrue(texts.some((text) => text !== "x1/" && !text.includes("!")))
      assert.isAbove(new Set(texts).size, 10)
    })
  )
})
