import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, FiberId, FiberRef } from "effect"
import { type Origin, originOf, startFiber, startProtectedFiber } from "../../src/internal/startFiber.js"

const origin = Effect.withFiberRuntime<Origin>((fiber, status) => Effect.succeed(originOf(fiber, status)))
const none = Context.empty()

describe("startFiber", () => {
  it.effect("has run up to the first suspension when it returns", () =>
    Effect.gen(function* () {
      const here = yield* origin
      const done = startFiber(Effect.succeed(1), none, here)
      assert.deepStrictEqual(done.unsafePoll(), Exit.succeed(1))
      const pending = startFiber(Effect.never, none, here)
      assert.isNull(pending.unsafePoll())
      yield* Fiber.interrupt(pending)
    })
  )

  it.effect("is interruptible also when it is started in a protected region", () =>
    Effect.gen(function* () {
      const here = yield* Effect.uninterruptible(origin)
      const fiber = startFiber(Effect.never, none, here)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
    })
  )

  it.effect("does not end with the fiber that started it", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<number>()
      const starter = yield* Effect.fork(Effect.map(origin, (here) => startFiber(Deferred.await(gate), none, here)))
      const fiber = yield* Fiber.join(starter)
      yield* Deferred.succeed(gate, 5)
      assert.strictEqual(yield* Fiber.join(fiber), 5)
    })
  )

  it.effect("L3: takes the fibers that it forks with it", () =>
    Effect.gen(function* () {
      const here = yield* origin
      let ended = false
      const child = Effect.ensuring(
        Effect.never,
        Effect.sync(() => {
          ended = true
        })
      )
      const fiber = startFiber(Effect.zipRight(Effect.fork(child), Effect.yieldNow()), none, here)
      yield* Fiber.await(fiber)
      assert.isTrue(ended)
    })
  )

  it.effect("sees the fiber refs of its origin", () =>
    Effect.gen(function* () {
      const ref = FiberRef.unsafeMake("outer")
      const here = yield* Effect.locally(origin, ref, "inner")
      assert.strictEqual(yield* Fiber.join(startFiber(FiberRef.get(ref), none, here)), "inner")
    })
  )

  it.effect("a protected fiber keeps what it computed although it was interrupted", () =>
    Effect.gen(function* () {
      const here = yield* origin
      const gate = yield* Deferred.make<void>()
      const seen: Array<string> = []
      const fiber = startProtectedFiber(
        Effect.matchCause(Effect.interruptible(Deferred.await(gate)), {
          onFailure: () => seen.push("interrupted"),
          onSuccess: () => seen.push("completed")
        }),
        none,
        here
      )
      fiber.unsafeInterruptAsFork(FiberId.none)
      yield* Fiber.await(fiber)
      assert.deepStrictEqual(seen, ["interrupted"])
    })
  )
})
