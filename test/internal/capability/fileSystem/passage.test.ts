import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option } from "effect"
import { Explore, Sim } from "quiesce/testing"
import { Passage } from "../../../../src/internal/capability/fileSystem/passage.js"

const drain = <E>(passage: Passage<number, E>, into: Array<number>): Effect.Effect<Option.Option<E>> =>
  Effect.flip(Effect.forever(Effect.map(passage.take, (element) => void into.push(element))))

describe("Passage", () => {
  it.live("hands over every element once, in order, however the two fibers meet", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const passage = new Passage<number, string>()
        const taken: Array<number> = []
        const taker = yield* Sim.fork("taker")(drain(passage, taken))
        for (const element of [1, 2, 3]) assert.isTrue(yield* passage.offer(element))
        passage.finish(Exit.void)
        assert.deepStrictEqual(yield* Fiber.join(taker), Option.none())
        assert.deepStrictEqual(taken, [1, 2, 3])
        return "done"
      })
      const report = yield* Explore.check(scenario, { faults: 0, preemptions: 2 })
      assert.isTrue(report.complete)
    })
  )

  it.effect("a failure comes behind what was held, and an offer that nobody wants any more says so", () =>
    Effect.gen(function* () {
      const passage = new Passage<number, string>()
      yield* passage.offer(1)
      passage.finish(Exit.fail("broken"))
      const taken: Array<number> = []
      assert.deepStrictEqual(yield* drain(passage, taken), Option.some("broken"))
      assert.deepStrictEqual(taken, [1])
      const other = new Passage<number, string>()
      yield* other.offer(1)
      const waiting = yield* Effect.fork(other.offer(2))
      yield* Effect.yieldNow()
      other.close()
      assert.isFalse(yield* Fiber.join(waiting))
      assert.isFalse(yield* other.offer(3))
    })
  )
})
