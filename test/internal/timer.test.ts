import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, TestClock } from "effect"
import { type Origin, originOf } from "../../src/internal/startFiber.js"
import { clockOf, nowOf, startTimer, whenOthersWait } from "../../src/internal/timer.js"

const origin = Effect.withFiberRuntime<Origin>((fiber, status) => Effect.succeed(originOf(fiber, status)))

const timeouts = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length

describe("startTimer", () => {
  it.effect("follows the clock of the fiber", () =>
    Effect.gen(function* () {
      const here = yield* origin
      let fired = 0
      startTimer(here, 100, () => fired++)
      const cancel = startTimer(here, 100, () => assert.fail("was cancelled"))
      cancel()
      yield* TestClock.adjust("99 millis")
      assert.strictEqual(fired, 0)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(fired, 1)
      assert.strictEqual(clockOf(here).unsafeCurrentTimeMillis(), 100)
    })
  )

  it.live("L3: on the live clock a cancelled timer leaves no handle, in the same step", () =>
    Effect.gen(function* () {
      const here = yield* origin
      const before = timeouts()
      const cancel = startTimer(here, 1_000_000, () => assert.fail("was cancelled"))
      assert.strictEqual(timeouts(), before + 1)
      cancel()
      assert.strictEqual(timeouts(), before)
    })
  )

  it.live("a clock that throws still keeps the time: it is the host's then", () =>
    Effect.gen(function* () {
      const here = yield* Effect.withClock(origin, brokenClock)
      const before = Date.now()
      assert.isAtLeast(nowOf(here), before)
      yield* Effect.async<void>((resume) => {
        startTimer(here, 1, () => resume(Effect.void))
      })
      assert.isAtLeast(nowOf(here), before + 1)
    })
  )
})

/** Throws whatever it is asked. */
const brokenClock: Clock.Clock = {
  ...Clock.make(),
  unsafeCurrentTimeMillis: () => {
    throw new Error("no time")
  },
  sleep: () => {
    throw new Error("no sleep")
  }
}

describe("whenOthersWait", () => {
  for (const [name, clocked] of [
    ["a test's clock", Effect.clock],
    ["a clock that throws", Effect.succeed(brokenClock)]
  ] as const) {
    it.effect(`lets everything run that can, on ${name} too`, () =>
      Effect.gen(function* () {
        const here = yield* Effect.withClock(origin, yield* clocked)
        for (const turns of [1, 10, 1000]) {
          let told = 0
          const others = yield* Effect.fork(Effect.repeatN(Effect.yieldNow(), turns))
          const task = yield* Effect.fork(
            Effect.async<void>((resume) => {
              whenOthersWait(here, () => {
                told++
                resume(Effect.void)
              })
            })
          )
          yield* Fiber.join(others)
          assert.strictEqual(told, 0, `${turns} turns`)
          yield* Fiber.join(task)
          assert.strictEqual(told, 1)
        }
      })
    )

    it.effect(`is taken back on ${name}`, () =>
      Effect.gen(function* () {
        const here = yield* Effect.withClock(origin, yield* clocked)
        const before = timeouts()
        const cancel = whenOthersWait(here, () => assert.fail("was taken back"))
        assert.strictEqual(timeouts(), before + 1)
        cancel()
        assert.strictEqual(timeouts(), before)
      })
    )
  }
})
