import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, type Duration, Effect, Exit, Fiber, Option, Scope, TestClock } from "effect"
import { Cancellation } from "quiesce"
import type { NodeHost } from "../../../src/internal/node/nodeHost.js"
import { echoMillis, makeShutdown, type Shutdown, type SignalName } from "../../../src/internal/node/shutdown.js"

/** A process that takes signals from the test, and does not leave. */
class FakeHost implements NodeHost {
  readonly log: Array<string> = []
  private listener: ((name: SignalName) => void) | undefined
  readonly defer = queueMicrotask
  readonly complete = (exitCode: number) => void this.log.push(`complete ${exitCode}`)
  readonly exit = (exitCode: number, when: string) => void this.log.push(`exit ${exitCode} ${when}`)
  readonly listen: NodeHost["listen"] = (onSignal) => {
    this.listener = onSignal
    return () => {
      this.listener = undefined
    }
  }
  get isListening(): boolean {
    return this.listener !== undefined
  }
  signal(name: SignalName): void {
    assert(this.listener !== undefined, "nobody listens")
    this.listener(name)
  }
}

const make = (host: FakeHost, grace: Duration.DurationInput = "5 seconds") => makeShutdown(host, grace, () => {})

/** A program that holds its end until it is let, as one does whose processes need their time. */
const start = (host: FakeHost, grace: Duration.DurationInput = "5 seconds") =>
  Effect.gen(function* () {
    const isStopping = yield* Deferred.make<void>()
    const mayEnd = yield* Deferred.make<void, Error>()
    const started = yield* Deferred.make<Shutdown>()
    const work = Effect.gen(function* () {
      const held = Effect.zipRight(Deferred.succeed(isStopping, undefined), Effect.orDie(Deferred.await(mayEnd)))
      return yield* Effect.onInterrupt(Effect.never, () => held)
    })
    const fiber = yield* Effect.fork(
      Effect.scoped(
        Effect.gen(function* () {
          const { owned, shutdown } = yield* make(host, grace)
          yield* Deferred.succeed(started, shutdown)
          return yield* Effect.provide(Cancellation.own(work), owned)
        })
      )
    )
    return { isStopping, mayEnd, fiber, service: yield* Deferred.await(started) }
  })

const asksToEnd = (exit: Exit.Exit<unknown, unknown>): boolean => Exit.isInterrupted(exit)

describe("makeShutdown", () => {
  it.effect("a signal cancels what runs, waits until it is quiet, and leaves with the code of the signal", () =>
    Effect.gen(function* () {
      const host = new FakeHost()
      const { fiber, isStopping, mayEnd, service } = yield* start(host)
      host.signal("SIGTERM")
      assert.deepStrictEqual(yield* service.requested, { exitCode: 143, signal: "SIGTERM" })
      yield* Deferred.await(isStopping)
      assert.deepStrictEqual(host.log, [])
      assert.isTrue(host.isListening) // for a second one
      yield* Deferred.succeed(mayEnd, undefined)
      assert.isTrue(asksToEnd(yield* Fiber.await(fiber)))
      assert.deepStrictEqual(host.log, ["exit 143 written"])
      assert.isFalse(host.isListening)
    })
  )

  it.effect("246. what runs is told in a later step than the handler's, with the name of the signal as its cause", () =>
    Effect.gen(function* () {
      const host = new FakeHost()
      const scope = yield* Scope.make()
      const { owned, shutdown } = yield* Scope.extend(make(host), scope)
      const cause = Effect.provide(Cancellation.cause, owned)
      host.signal("SIGINT")
      assert.deepStrictEqual(yield* cause, Option.none())
      yield* shutdown.requested
      assert.deepStrictEqual(yield* cause, Option.some({ _tag: "User", note: "SIGINT" }))
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(host.log, ["exit 130 written"])
    })
  )

  it.effect("242. nothing happens at 4,999 ms, and at 5,000 it is left with the first code", () =>
    Effect.gen(function* () {
      const host = new FakeHost()
      const { fiber, isStopping, mayEnd } = yield* start(host)
      host.signal("SIGTERM")
      yield* Deferred.await(isStopping)
      yield* TestClock.adjust("4999 millis")
      assert.deepStrictEqual(host.log, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(host.log, ["exit 143 at once"])
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.await(fiber)
      assert.deepStrictEqual(host.log, ["exit 143 at once"])
    })
  )

  it.effect("243. the same signal within its echo is one; later, or another one, it leaves at once", () =>
    Effect.gen(function* () {
      const host = new FakeHost()
      const { fiber, isStopping, mayEnd } = yield* start(host, Number.POSITIVE_INFINITY)
      host.signal("SIGINT")
      yield* Deferred.await(isStopping)
      yield* TestClock.adjust(echoMillis - 1)
      host.signal("SIGINT")
      assert.deepStrictEqual(host.log, [])
      yield* TestClock.adjust(1)
      host.signal("SIGINT")
      host.signal("SIGTERM")
      assert.deepStrictEqual(host.log, ["exit 130 at once"])
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.await(fiber)

      const other = new FakeHost()
      const second = yield* start(other)
      other.signal("SIGTERM")
      other.signal("SIGINT")
      assert.deepStrictEqual(other.log, ["exit 130 at once"])
      yield* Deferred.succeed(second.mayEnd, undefined)
      yield* Fiber.await(second.fiber)
    })
  )

  it.effect("241. a shutdown by the program itself completes with its code; what fails then is left with 1", () =>
    Effect.gen(function* () {
      const host = new FakeHost()
      const { fiber, mayEnd, service } = yield* start(host)
      yield* service.shutdown(0)
      yield* service.shutdown(9)
      assert.deepStrictEqual(yield* service.requested, { exitCode: 0, signal: undefined })
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.await(fiber)
      assert.deepStrictEqual(host.log, ["complete 0"])

      const failing = new FakeHost()
      const second = yield* start(failing)
      yield* second.service.shutdown(0)
      yield* Deferred.fail(second.mayEnd, new Error("the disk is full"))
      const exit = yield* Fiber.await(second.fiber)
      assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "the disk is full")
      assert.deepStrictEqual(failing.log, ["exit 1 written"])
    })
  )

  it.effect("a program that ends by itself leaves nothing of it", () =>
    Effect.gen(function* () {
      const host = new FakeHost()
      yield* Effect.scoped(make(host))
      assert.deepStrictEqual(host.log, [])
      assert.isFalse(host.isListening)
    })
  )

  it.effect("a grace that no timer can wait for is refused, with what to do", () =>
    Effect.gen(function* () {
      for (const grace of [0, -1, 2 ** 31]) {
        const exit = yield* Effect.exit(Effect.scoped(make(new FakeHost(), grace)))
        assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "The grace of a shutdown must be")
      }
    })
  )
})
