import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { VirtualClock } from "../../../src/internal/testing/virtualClock.js"
import { VirtualTime } from "../../../src/internal/testing/virtualTime.js"

const dueOf = (time: VirtualTime) => time.due.map(({ at, key }) => `${key} at ${at}`)

/** Forks sleeps under names, each up to where it waits. */
const asleep = (
  clock: VirtualClock,
  name: { now: string },
  sleeps: { readonly [name: string]: Duration.DurationInput }
) =>
  Effect.forEach(Object.entries(sleeps), ([key, duration]) =>
    Effect.gen(function* () {
      name.now = key
      const fiber = yield* Effect.fork(clock.sleep(Duration.decode(duration)))
      yield* Effect.yieldNow()
      return fiber
    })
  )

describe("VirtualClock", () => {
  it.effect("offers the timers that are due first, and only those", () =>
    Effect.gen(function* () {
      const name = { now: "" }
      const time = new VirtualTime(() => name.now)
      const clock = new VirtualClock(time)
      yield* asleep(clock, name, { a: "3 seconds", b: "1 second", c: "1 second", d: "2 seconds" })
      assert.deepStrictEqual(dueOf(time), ["t:b at 1000", "t:c at 1000"])
      for (const timer of time.due) time.fire(timer)
      assert.strictEqual(clock.unsafeCurrentTimeMillis(), 1000)
      assert.deepStrictEqual(dueOf(time), ["t:d at 2000"])
    })
  )

  it.effect("stands still until a timer fires, and never goes back", () =>
    Effect.gen(function* () {
      const time = new VirtualTime(() => "a")
      const clock = new VirtualClock(time)
      const [fiber] = yield* asleep(clock, { now: "a" }, { a: "2 days" })
      assert.strictEqual(yield* clock.currentTimeMillis, 0)
      for (const timer of time.due) time.fire(timer)
      if (fiber !== undefined) yield* Fiber.join(fiber)
      assert.strictEqual(yield* clock.currentTimeMillis, 172_800_000)
      assert.strictEqual(yield* clock.currentTimeNanos, 172_800_000_000_000n)
      time.fire({ key: "t:late", at: 5, fire: () => {} })
      assert.strictEqual(yield* clock.currentTimeMillis, 172_800_000)
    })
  )

  it.effect("forgets a sleep that is interrupted", () =>
    Effect.gen(function* () {
      const time = new VirtualTime(() => "a")
      const clock = new VirtualClock(time)
      const [fiber] = yield* asleep(clock, { now: "a" }, { a: "1 second" })
      assert.isTrue(time.isAsleep("a"))
      if (fiber !== undefined) yield* Fiber.interrupt(fiber)
      assert.isFalse(time.isAsleep("a"))
      assert.deepStrictEqual(dueOf(time), [])
    })
  )

  it.effect("has no timer for a sleep that never ends", () =>
    Effect.gen(function* () {
      const time = new VirtualTime(() => "a")
      const clock = new VirtualClock(time)
      const [fiber] = yield* asleep(clock, { now: "a" }, { a: Duration.infinity })
      assert.deepStrictEqual(dueOf(time), [])
      if (fiber !== undefined) yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("runs one sleep as often as it is asked to", () =>
    Effect.gen(function* () {
      const time = new VirtualTime(() => "a")
      const clock = new VirtualClock(time)
      const sleep = clock.sleep(Duration.seconds(1))
      for (const expected of [1000, 2000]) {
        const fiber = yield* Effect.fork(sleep)
        yield* Effect.yieldNow()
        assert.isNull(fiber.unsafePoll())
        for (const timer of time.due) time.fire(timer)
        yield* Fiber.join(fiber)
        assert.strictEqual(clock.unsafeCurrentTimeMillis(), expected)
      }
    })
  )
})
