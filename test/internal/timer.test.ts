import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { type Origin, originOf } from "../../src/internal/startFiber.js"
import { clockOf, startTimer } from "../../src/internal/timer.js"

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
})
