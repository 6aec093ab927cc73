import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, FiberId } from "effect"
import { Settlement, waitOrStop } from "../../src/internal/settlement.js"

describe("Settlement", () => {
  it("keeps the first value and says that a later one came too late", () => {
    const settlement = new Settlement<number>()
    const seen: Array<number> = []
    settlement.whenSettled((n) => seen.push(n))
    assert.isTrue(settlement.settle(1))
    assert.isFalse(settlement.settle(2))
    settlement.whenSettled((n) => seen.push(n))
    assert.deepStrictEqual(seen, [1, 1])
  })

  it.effect("an interrupted wait ends alone", () =>
    Effect.gen(function* () {
      const settlement = new Settlement<number>()
      const first = yield* Effect.fork(settlement.wait())
      const second = yield* Effect.fork(settlement.wait())
      yield* Effect.yieldNow()
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(first)))
      settlement.settle(7)
      assert.strictEqual(yield* Fiber.join(second), 7)
    })
  )

  it.effect("waitOrStop stops once and waits on, out of reach of further interrupts", () =>
    Effect.gen(function* () {
      const settlement = new Settlement<number>()
      let stops = 0
      let got: number | undefined
      const wait = Effect.uninterruptibleMask((restore) =>
        Effect.map(
          waitOrStop(settlement, restore, () => {
            stops++
          }),
          (value) => {
            got = value
          }
        )
      )
      const fiber = yield* Effect.fork(wait)
      yield* Effect.yieldNow()
      fiber.unsafeInterruptAsFork(FiberId.none)
      yield* Effect.yieldNow()
      fiber.unsafeInterruptAsFork(FiberId.none)
      yield* Effect.yieldNow()
      assert.strictEqual(stops, 1)
      assert.isUndefined(got)
      settlement.settle(3)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
      assert.strictEqual(got, 3)
    })
  )
})
