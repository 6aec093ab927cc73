import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Logger, Option, Runtime } from "effect"
import { Abort, type CancelCause, Cancellation } from "quiesce"

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length

class Specific extends Error {
  readonly _tag = "Specific"
}

/** A promise that a test settles. */
const controllable = <A>() => {
  let resolve: (value: A) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<A>((res, rej) => {
    resolve = res
    reject = rej
  })
  return { promise, resolve, reject }
}

/** Collects what is logged. */
const withLog = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
  const log: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => void log.push(String(message)))
  return Effect.map(
    Effect.provide(Effect.exit(effect), Logger.replace(Logger.defaultLogger, logger)),
    (exit) => [exit, log] as const
  )
}

/** Starts `body` under an owner with a signal, waits until its promise has started, and gives the fiber. */
const started = <A, E>(
  body: (given: Abort.Body) => PromiseLike<A>,
  wrap = (
    e: Effect.Effect<A, Specific, Cancellation.Cancellation>
  ): Effect.Effect<unknown, unknown, Cancellation.Cancellation> => e
) =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    const controller = new AbortController()
    const operation = Abort.fromPromise({
      try: (given) => {
        Deferred.unsafeDone(begun, Effect.void)
        return body(given)
      },
      catch: (error) => new Specific("mapped", { cause: error })
    })
    const fiber = yield* Effect.fork(Cancellation.ownSignal(wrap(operation), controller.signal))
    yield* Deferred.await(begun)
    return { controller, fiber: fiber as Fiber.RuntimeFiber<unknown, E | Specific> }
  })

describe("Abort", () => {
  describe("fromPromise", () => {
    it.effect("succeeds, and fails with what catch makes of a rejection or a throw", () =>
      Effect.gen(function* () {
        const options = (body: () => PromiseLike<number>) =>
          Cancellation.own(Abort.fromPromise({ try: body, catch: (error) => ["mapped", error] as const }))
        assert.strictEqual(yield* options(() => Promise.resolve(1)), 1)
        assert.deepStrictEqual(yield* Effect.flip(options(() => Promise.reject("no"))), ["mapped", "no"])
        const throws = options(() => {
          throw "sync"
        })
        assert.deepStrictEqual(yield* Effect.flip(throws), ["mapped", "sync"])
      })
    )

    it.effect(
      "L3: a mapping that throws is a defect, and the owner ends all the same, also when it was cancelled",
      () =>
        Effect.gen(function* () {
          const bug = new Error("bug in the mapping")
          const { promise, reject } = controllable<never>()
          const operation = Abort.fromPromise({
            try: () => promise,
            catch: (): never => {
              throw bug
            }
          })
          for (const cancel of [false, true]) {
            const controller = new AbortController()
            const fiber = yield* Effect.fork(Cancellation.ownSignal(operation, controller.signal))
            yield* Effect.yieldNow()
            if (cancel) controller.abort()
            reject(new Error("no"))
            const exit = yield* Fiber.await(fiber)
            assert.deepStrictEqual(Exit.isFailure(exit) && [...Cause.defects(exit.cause)], [bug])
          }
        })
    )

    it.effect("takes in plain values and foreign thenables", () =>
      Effect.gen(function* () {
        const plain = Abort.fromPromise(() => 5 as unknown as Promise<number>)
        assert.strictEqual(yield* Cancellation.own(plain), 5)
        // biome-ignore lint/suspicious/noThenProperty: a thenable is the case
        const thenable = { then: (resolve: (n: number) => void) => resolve(6) } as PromiseLike<number>
        assert.strictEqual(yield* Cancellation.own(Abort.fromPromise(() => thenable)), 6)
        const error = yield* Effect.flip(Cancellation.own(Abort.fromPromise(() => Promise.reject("no"))))
        assert.isTrue(Cause.isUnknownException(error))
      })
    )

    it.effect("L3: an interruption aborts the signal and leaves only when the promise has settled", () =>
      Effect.gen(function* () {
        const body = controllable<number>()
        let signal: AbortSignal | undefined
        const { fiber } = yield* started((given) => {
          signal = given.signal
          return body.promise
        })
        fiber.unsafeInterruptAsFork(fiber.id())
        yield* Effect.yieldNow()
        yield* Effect.yieldNow()
        assert.isTrue(signal?.aborted)
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        body.resolve(1)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
      })
    )

    it.effect("L6: the body's signal carries the host's reason, the same object", () =>
      Effect.gen(function* () {
        const body = controllable<number>()
        let signal: AbortSignal | undefined
        const { controller, fiber } = yield* started((given) => {
          signal = given.signal
          return body.promise
        })
        const reason = { my: "reason" }
        controller.abort(reason)
        assert.strictEqual(signal?.reason, reason) // in the very step of the abort
        body.reject(reason)
        yield* Fiber.await(fiber)
      })
    )

    it.effect("L10: the signal is never aborted by success, and not made before it is read", () =>
      Effect.gen(function* () {
        let given: Abort.Body | undefined
        yield* Cancellation.own(
          Abort.fromPromise((body) => {
            given = body
            return Promise.resolve(1)
          })
        )
        assert.isFalse(given?.signal.aborted)
      })
    )

    it.effect("L10: nothing starts under a cancelled owner", () =>
      Effect.gen(function* () {
        let ran = 0
        const controller = new AbortController()
        const op = Abort.fromPromise(() => {
          ran++
          return Promise.resolve(1)
        })
        // Interruptible, on a fiber that nobody interrupts: only the owner's cause can keep it from starting.
        const body = Effect.gen(function* () {
          const runtime = yield* Effect.runtime<Cancellation.Cancellation>()
          controller.abort()
          return yield* Fiber.await(Runtime.runFork(runtime)(Effect.interruptible(op)))
        })
        const exit = yield* Effect.uninterruptible(Cancellation.ownSignal(body, controller.signal))
        assert.isTrue(Exit.isInterrupted(exit))
        assert.strictEqual(ran, 0)
      })
    )

    it.effect("clean-up by a promise runs after a cancel, with a signal that is not aborted", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const begun = yield* Deferred.make<void>()
        const controller = new AbortController()
        const step = (name: string) =>
          Effect.orDie(
            Abort.fromPromise(({ signal }) => {
              log.push(`${name}${signal.aborted ? ", aborted" : ""}`)
              return Promise.resolve()
            })
          )
        const body = Effect.acquireUseRelease(
          step("open"),
          () => Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never),
          () => Effect.zipRight(step("close"), Cancellation.own(step("told")))
        )
        const fiber = yield* Effect.fork(Cancellation.ownSignal(body, controller.signal))
        yield* Deferred.await(begun)
        controller.abort()
        yield* Fiber.await(fiber)
        assert.deepStrictEqual(log, ["open", "close", "told"])
      })
    )

    it.effect("M2: inside a protected region the owner's signal still aborts", () =>
      Effect.gen(function* () {
        let seen: unknown
        const { controller, fiber } = yield* started(
          ({ signal }) =>
            new Promise<number>((resolve) => {
              signal.addEventListener("abort", () => {
                seen = signal.reason
                resolve(1)
              })
            }),
          Effect.uninterruptible
        )
        controller.abort("stop")
        yield* Fiber.await(fiber)
        assert.strictEqual(seen, "stop")
      })
    )

    it.effect("an abort from inside the body, before it has returned, is not lost", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        let aborted = false
        const op = Abort.fromPromise(({ signal }) => {
          controller.abort("self")
          return new Promise<number>((_, reject) => {
            aborted = signal.aborted
            if (signal.aborted) reject(signal.reason)
          })
        })
        const exit = yield* Effect.exit(Cancellation.ownSignal(op, controller.signal))
        assert.isTrue(Exit.isInterrupted(exit))
        assert.isTrue(aborted)
      })
    )

    it.effect("L14: a promise that a daemon fiber started is stopped and awaited at the owner's end", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const begun = yield* Deferred.make<void>()
        const op = Abort.fromPromise(({ signal }) => {
          Deferred.unsafeDone(begun, Effect.void)
          return new Promise<number>((_, reject) => {
            signal.addEventListener("abort", () => {
              log.push((signal.reason as CancelCause.Cancelled).cause._tag)
              queueMicrotask(() => {
                log.push("settled")
                reject(signal.reason)
              })
            })
          })
        })
        yield* Cancellation.own(Effect.zipRight(Effect.forkDaemon(op), Deferred.await(begun)))
        assert.deepStrictEqual(log, ["Parent", "settled"])
      })
    )

    it.effect("W3: a rejection that is the cancellation is an interruption, whichever form it takes", () =>
      Effect.gen(function* () {
        for (const rejection of [
          (signal: AbortSignal) => signal.reason as unknown,
          () => new DOMException("This operation was aborted", "AbortError"),
          () => Object.assign(new Error("The operation was aborted"), { name: "AbortError" })
        ]) {
          const { controller, fiber } = yield* started(
            ({ signal }) =>
              new Promise<number>((_, reject) => {
                signal.addEventListener("abort", () => reject(rejection(signal)))
              })
          )
          controller.abort(new Error("stop"))
          const exit = yield* Fiber.await(fiber)
          assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
        }
      })
    )

    it.effect("W3: in a protected region, too, the cancellation is not a failure that catchAll would see", () =>
      Effect.gen(function* () {
        let swallowed = false
        const swallows = Effect.catchAll(() =>
          Effect.sync(() => {
            swallowed = true
          })
        )
        const { controller, fiber } = yield* started(
          ({ signal }) =>
            new Promise<number>((_, reject) => {
              signal.addEventListener("abort", () => reject(signal.reason))
            }),
          (operation) => Effect.uninterruptible(swallows(operation))
        )
        controller.abort("stop")
        assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
        assert.isFalse(swallowed)
      })
    )

    it.effect("an AbortError that nobody asked for is a failure", () =>
      Effect.gen(function* () {
        const error = new DOMException("gone", "AbortError")
        const exit = yield* Effect.exit(
          Cancellation.own(Abort.fromPromise({ try: () => Promise.reject(error), catch: (e) => e }))
        )
        assert.deepStrictEqual(exit, Exit.fail(error as unknown))
      })
    )

    it.effect("L5: a late failure that is not the cancellation is added to the interruption", () =>
      Effect.gen(function* () {
        const { controller, fiber } = yield* started(
          ({ signal }) =>
            new Promise<number>((_, reject) => {
              signal.addEventListener("abort", () => reject(new Error("disk full")))
            })
        )
        controller.abort()
        const exit = yield* Fiber.await(fiber)
        assert.isTrue(Exit.isFailure(exit) && Cause.isInterrupted(exit.cause))
        const [failure] = Exit.isFailure(exit) ? [...Cause.failures(exit.cause)] : []
        assert.instanceOf(failure, Specific)
      })
    )

    it.effect("L10: a late failure under a live owner reaches the log, and no rejection is unhandled", () =>
      Effect.gen(function* () {
        const unhandled: Array<unknown> = []
        const onUnhandled = (reason: unknown) => void unhandled.push(reason)
        process.on("unhandledRejection", onUnhandled)
        const begun = yield* Deferred.make<void>()
        const late = Abort.fromPromise(({ signal }) => {
          Deferred.unsafeDone(begun, Effect.void)
          return new Promise<number>((_, reject) => {
            signal.addEventListener("abort", () => reject(new Error("late")))
          })
        })
        const [exit, log] = yield* withLog(Cancellation.own(Effect.race(late, Effect.as(Deferred.await(begun), 7))))
        process.off("unhandledRejection", onUnhandled)
        assert.deepStrictEqual(exit, Exit.succeed(7))
        assert.deepStrictEqual(log, ["An operation failed while it was being cancelled"])
        assert.deepStrictEqual(unhandled, [])
      })
    )

    it.effect("a value that arrives too late goes to release, which is awaited", () =>
      Effect.gen(function* () {
        const begun = yield* Deferred.make<void>()
        const body = controllable<string>()
        const released: Array<string> = []
        const op = Abort.fromPromise({
          try: () => {
            Deferred.unsafeDone(begun, Effect.void)
            return body.promise
          },
          catch: (error) => error,
          release: (value) =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => void released.push(value))
            )
        })
        const fiber = yield* Effect.fork(Cancellation.own(op))
        yield* Deferred.await(begun)
        fiber.unsafeInterruptAsFork(fiber.id())
        body.resolve("handle")
        yield* Fiber.await(fiber)
        assert.deepStrictEqual(released, ["handle"])
      })
    )
  })

  describe("abandon", () => {
    it.effect("leaves at once, and says so in the log", () =>
      Effect.gen(function* () {
        const begun = yield* Deferred.make<void>()
        const op = Abort.abandon({
          name: "legacy driver",
          try: () => {
            Deferred.unsafeDone(begun, Effect.void)
            return new Promise<never>(() => {})
          },
          catch: (error) => error
        })
        const stop = Effect.zipRight(Deferred.await(begun), Effect.interrupt)
        const [exit, log] = yield* withLog(
          Cancellation.own(Effect.all([op, stop], { concurrency: "unbounded", discard: true }))
        )
        assert.isTrue(Exit.isInterrupted(exit))
        assert.deepStrictEqual(log, [`"legacy driver" was asked to stop and abandoned; it may still be running`])
      })
    )
  })

  describe("abandon, later", () => {
    it.effect("L10: what abandoned work fails with later reaches the log, and is no unhandled rejection", () =>
      Effect.gen(function* () {
        const body = controllable<never>()
        const log: Array<string> = []
        const logged = yield* Deferred.make<void>()
        const logger = Logger.make<unknown, void>(({ message }) => {
          log.push(String(message))
          if (String(message).includes("failed later")) Deferred.unsafeDone(logged, Effect.void)
        })
        const begun = yield* Deferred.make<void>()
        const op = Abort.abandon({
          name: "legacy driver",
          try: () => {
            Deferred.unsafeDone(begun, Effect.void)
            return body.promise
          },
          catch: (error) => error
        })
        const program = Effect.gen(function* () {
          const fiber = yield* Effect.fork(Cancellation.own(op))
          yield* Deferred.await(begun)
          yield* Fiber.interrupt(fiber)
          body.reject(new Error("at last"))
          yield* Deferred.await(logged)
        })
        yield* Effect.provide(program, Logger.replace(Logger.defaultLogger, logger))
        assert.strictEqual(log[1], `"legacy driver" was abandoned and failed later`)
      })
    )
  })

  describe("toPromise", () => {
    const settled = (promise: Promise<unknown>): Effect.Effect<readonly ["ok" | "no", unknown]> =>
      Effect.promise(() =>
        promise.then(
          (value) => ["ok", value] as const,
          (error) => ["no", error] as const
        )
      )

    it.effect("gives the value, or rejects with the failure itself", () =>
      Effect.gen(function* () {
        const error = new Specific("no")
        assert.deepStrictEqual(yield* settled(Abort.toPromise(Effect.succeed(1))), ["ok", 1])
        assert.deepStrictEqual(yield* settled(Abort.toPromise(Effect.fail(error))), ["no", error])
        const [, defect] = yield* settled(Abort.toPromise(Effect.die(error)))
        assert.strictEqual(defect, error)
      })
    )

    it.effect("14: an aborted signal keeps a synchronous effect from running, and rejects with its reason", () =>
      Effect.gen(function* () {
        const reason = { my: "reason" }
        let ran = false
        const effect = Effect.sync(() => {
          ran = true
        })
        const [, rejected] = yield* settled(Abort.toPromise(effect, { signal: AbortSignal.abort(reason) }))
        assert.strictEqual(rejected, reason)
        assert.isFalse(ran)
      })
    )

    it.effect("an abort in the synchronous prefix counts", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const reason = new Error("stop")
        const effect = Effect.zipRight(
          Effect.sync(() => controller.abort(reason)),
          Effect.never
        )
        const [, rejected] = yield* settled(Abort.toPromise(effect, { signal: controller.signal }))
        assert.strictEqual(rejected, reason)
        assert.strictEqual(listeners(controller.signal), 0)
      })
    )

    it.effect("L3: rejects only when finalizers and daemon operations have ended, and leaves no listener", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const log: Array<string> = []
        const slow = (name: string) =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => void log.push(name))
            )
          )
        const effect = Effect.zipRight(Effect.forkDaemon(Cancellation.operation(slow("daemon"), "op")), slow("body"))
        const promise = Abort.toPromise(effect, { signal: controller.signal })
        const outcome = settled(promise.finally(() => void log.push("rejected")))
        yield* Effect.yieldNow()
        assert.strictEqual(listeners(controller.signal), 1)
        controller.abort("stop")
        assert.deepStrictEqual(yield* outcome, ["no", "stop"])
        assert.sameMembers(log.slice(0, 2), ["daemon", "body"])
        assert.strictEqual(log[2], "rejected")
        assert.strictEqual(listeners(controller.signal), 0)
      })
    )

    it.effect("L5: a failure that is not the cancellation wins over the reason", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const specific = new Specific("disk full")
        const effect = Abort.fromPromise({
          try: ({ signal }) =>
            new Promise<number>((_, reject) => {
              signal.addEventListener("abort", () => reject("raw"))
            }),
          catch: () => specific
        }).pipe(Effect.mapError((error) => error)) // strips the failure of an interrupted fiber
        const promise = Abort.toPromise(effect, { signal: controller.signal })
        controller.abort("stop")
        assert.deepStrictEqual(yield* settled(promise), ["no", specific])
      })
    )

    it.effect("a success stays a success, although the signal aborted meanwhile", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const effect = Effect.as(
          Effect.sync(() => controller.abort("stop")),
          "done"
        )
        const promise = Abort.toPromise(Effect.uninterruptible(effect), { signal: controller.signal })
        assert.deepStrictEqual(yield* settled(promise), ["ok", "done"])
      })
    )

    it.effect("toPromiseWith brings the services of a runtime", () =>
      Effect.gen(function* () {
        class Answer extends Context.Tag("quiesce/test/Abort.test/Answer")<Answer, number>() {}
        const runtime = yield* Effect.provideService(Effect.runtime<Answer>(), Answer, 42)
        const toPromise = Abort.toPromiseWith(runtime as Runtime.Runtime<Answer>)
        assert.deepStrictEqual(yield* settled(toPromise(Answer)), ["ok", 42])
        assert.deepStrictEqual(yield* settled(toPromise(Effect.zipRight(Cancellation.cause, Answer))), ["ok", 42])
      })
    )
  })
})
