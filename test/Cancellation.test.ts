import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import {
  Cause,
  type Context,
  Deferred,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Option,
  Runtime,
  Schema,
  Scope,
  TestClock
} from "effect"
import { CancelCause, Cancellation, Tool, Toolkit, ToolRuntime } from "quiesce"

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length

const noted = (log: Array<string>, text: string): Effect.Effect<void> => Effect.sync(() => void log.push(text))

/** Waits for ever, and says when it was stopped and when it had finished stopping. */
const waits = (log: Array<string>, started?: Deferred.Deferred<void>): Effect.Effect<never> =>
  (started === undefined ? Effect.void : Deferred.succeed(started, undefined)).pipe(
    Effect.zipRight(Effect.never),
    Effect.onInterrupt(() =>
      noted(log, "stopping").pipe(Effect.zipRight(Effect.yieldNow()), Effect.zipRight(noted(log, "stopped")))
    )
  )

describe("Cancellation", () => {
  describe("own", () => {
    it.effect("gives an owner that nothing has cancelled", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Cancellation.own(Cancellation.cause), Option.none())
        const signal = yield* Cancellation.own(Cancellation.signal)
        assert.isFalse(signal.aborted) // L10: never aborted by success
      })
    )

    it.effect("keeps value, failure, defect and fiber refs of the effect", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* Cancellation.own(Effect.succeed(1)), 1)
        assert.strictEqual(yield* Effect.flip(Cancellation.own(Effect.fail("no"))), "no")
        const died = yield* Effect.exit(Cancellation.own(Effect.die("bug")))
        assert.isTrue(Exit.isFailure(died) && Cause.isDie(died.cause))
      })
    )

    it.effect("an interruption cancels the owner with who interrupted, and waits", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const started = yield* Deferred.make<void>()
        let signal: AbortSignal | undefined
        const program = Effect.zipRight(
          Effect.map(Cancellation.signal, (s) => {
            signal = s
          }),
          waits(log, started)
        )
        const fiber = yield* Effect.fork(Cancellation.own(program))
        yield* Deferred.await(started)
        const exit = yield* Fiber.interrupt(fiber)
        assert.isTrue(Exit.isInterrupted(exit))
        assert.deepStrictEqual(log, ["stopping", "stopped"])
        const reason = signal?.reason as CancelCause.Cancelled
        assert.strictEqual(reason.cause._tag, "Interrupted")
        assert.strictEqual(reason.name, "AbortError")
      })
    )

    it.effect("L6: a derived owner inherits the first cause, as the same object", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const reason = { my: "reason" }
        const signals: Array<AbortSignal> = []
        const started = yield* Deferred.make<void>()
        const remember = Effect.map(Cancellation.signal, (signal) => void signals.push(signal))
        const inner = Effect.zipRight(remember, waits([], started))
        const program = Effect.zipRight(remember, Cancellation.own(inner))
        const fiber = yield* Effect.fork(Cancellation.ownSignal(program, controller.signal))
        yield* Deferred.await(started)
        controller.abort(reason)
        yield* Fiber.await(fiber)
        assert.deepStrictEqual(
          signals.map((signal) => signal.reason === reason),
          [true, true]
        )
      })
    )

    it.effect("L10: nothing starts under an owner that was cancelled before", () =>
      Effect.gen(function* () {
        let ran = 0
        const count = Effect.sync(() => void ran++)
        const late = Effect.all([
          Effect.exit(Cancellation.own(count)),
          Effect.exit(Cancellation.operation(count, "op"))
        ])
        const controller = new AbortController()
        // The owner is cancelled by the first step, in the middle of its own effect.
        const program = Effect.zipRight(
          Effect.sync(() => controller.abort("stop")),
          Effect.uninterruptible(Effect.interruptible(Effect.exit(late)))
        )
        yield* Effect.exit(Cancellation.ownSignal(program, controller.signal))
        assert.strictEqual(ran, 0)
      })
    )
  })

  describe("ownSignal", () => {
    it.effect("does not start when the signal has aborted", () =>
      Effect.gen(function* () {
        let ran = false
        const program = Effect.sync(() => {
          ran = true
        })
        const exit = yield* Effect.exit(Cancellation.ownSignal(program, AbortSignal.abort("why")))
        assert.isTrue(Exit.isInterrupted(exit))
        assert.isFalse(ran)
      })
    )

    it.effect("L10: leaves no listener on success, failure, defect, interruption or abort", () =>
      Effect.gen(function* () {
        const { signal } = new AbortController()
        for (const self of [Effect.void, Effect.fail("no"), Effect.die("bug"), Effect.interrupt]) {
          yield* Effect.exit(Cancellation.ownSignal(self, signal))
          assert.strictEqual(listeners(signal), 0)
        }
        const started = yield* Deferred.make<void>()
        const fiber = yield* Effect.fork(Cancellation.ownSignal(waits([], started), signal))
        yield* Deferred.await(started)
        assert.strictEqual(listeners(signal), 1)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(listeners(signal), 0)
      })
    )

    it.effect("L10: many owners on one signal share one listener", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const started = yield* Effect.all(Array.from({ length: 50 }, () => Deferred.make<void>()))
        const fiber = yield* Effect.fork(
          Effect.forEach(started, (one) => Effect.exit(Cancellation.ownSignal(waits([], one), controller.signal)), {
            concurrency: "unbounded"
          })
        )
        yield* Effect.forEach(started, Deferred.await)
        assert.strictEqual(listeners(controller.signal), 1)
        controller.abort()
        const exits = yield* Fiber.join(fiber)
        assert.isTrue(exits.every(Exit.isInterrupted))
        assert.strictEqual(listeners(controller.signal), 0)
      })
    )

    it.effect("works in a protected region: the owner is cancelled, the effect decides", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const program = Effect.zipRight(
          Effect.sync(() => controller.abort("stop")),
          Cancellation.cause
        )
        const cause = yield* Effect.uninterruptible(Cancellation.ownSignal(program, controller.signal))
        assert.deepStrictEqual(cause, Option.some(CancelCause.hostSignal("stop")))
      })
    )
  })

  describe("withDeadline", () => {
    const options = { duration: "100 millis", code: "BASH_TIMEOUT" } as const

    it.effect("102: fires at exactly its time, with a reason that names it; not after a success", () =>
      Effect.gen(function* () {
        let signal: AbortSignal | undefined
        const body = Effect.zipRight(
          Effect.map(Cancellation.signal, (s) => {
            signal = s
          }),
          Effect.never
        )
        const fiber = yield* Effect.fork(Effect.exit(Cancellation.withDeadline(body, options)))
        yield* TestClock.adjust("99 millis")
        assert.isFalse(signal?.aborted)
        yield* TestClock.adjust("1 millis")
        assert.isTrue(Exit.isInterrupted(yield* Fiber.join(fiber)))
        const reason = signal?.reason as CancelCause.Cancelled
        assert.strictEqual(reason.message, "BASH_TIMEOUT after 100ms")
        assert.strictEqual(reason.name, "TimeoutError")
        assert.deepStrictEqual(reason.cause, CancelCause.deadline("BASH_TIMEOUT", 100))

        const quick = yield* Cancellation.withDeadline(Cancellation.signal, options)
        yield* TestClock.adjust("1 second")
        assert.isFalse(quick.aborted)
      })
    )

    it.effect("103: what came first stays: a parent before the timer, the timer before a parent", () =>
      Effect.gen(function* () {
        const causes: Array<CancelCause.CancelCause> = []
        const slowToStop = Effect.onInterrupt(Effect.never, () =>
          Effect.zipRight(
            Effect.sleep("300 millis"),
            Effect.map(Cancellation.cause, (cause) => void causes.push(Option.getOrThrow(cause)))
          )
        )
        for (const abortAt of [50, 150]) {
          const controller = new AbortController()
          const bounded = Cancellation.withDeadline(slowToStop, options)
          const fiber = yield* Effect.fork(Effect.exit(Cancellation.ownSignal(bounded, controller.signal)))
          yield* TestClock.adjust(abortAt)
          controller.abort("stop")
          yield* TestClock.adjust("1 second")
          yield* Fiber.join(fiber)
        }
        assert.deepStrictEqual(causes, [CancelCause.hostSignal("stop"), CancelCause.deadline("BASH_TIMEOUT", 100)])
      })
    )

    it.effect("104: a parent cancelled before starts nothing and is no timeout", () =>
      Effect.gen(function* () {
        let expired = false
        const bounded = Cancellation.withDeadline(Effect.never, {
          ...options,
          onExpire: () =>
            Effect.sync(() => {
              expired = true
            })
        })
        const exit = yield* Effect.exit(Cancellation.ownSignal(bounded, AbortSignal.abort("stop")))
        assert.isTrue(Exit.isInterrupted(exit))
        assert.isFalse(expired)
      })
    )

    it.effect("104: a parent that is cancelled first is no timeout, where a protected region would let it be one", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const log: Array<string> = []
        const bounded = Cancellation.withDeadline(Effect.interruptible(waits(log)), {
          ...options,
          onExpire: () => noted(log, "expired")
        })
        const exited = Effect.flatMap(Effect.exit(bounded), (exit) => noted(log, exit._tag))
        const fiber = yield* Effect.fork(Cancellation.ownSignal(Effect.uninterruptible(exited), controller.signal))
        yield* Effect.yieldNow()
        controller.abort("stop")
        yield* Fiber.await(fiber)
        assert.deepStrictEqual(log, ["stopping", "stopped", "Failure"])
      })
    )

    it.effect("105: an outer deadline is not the inner one", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const inner = Cancellation.withDeadline(Effect.never, {
          duration: "200 millis",
          code: "INNER",
          onExpire: () => Effect.as(noted(log, "inner"), "inner")
        })
        const outer = Cancellation.withDeadline(inner, {
          duration: "100 millis",
          code: "OUTER",
          onExpire: () => Effect.succeed("outer")
        })
        const fiber = yield* Effect.fork(Effect.tap(outer, (which) => noted(log, which)))
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* Fiber.join(fiber), "outer")
        assert.deepStrictEqual(log, ["outer"])
        const cause = CancelCause.deadline("OUTER", 100)
        assert.isFalse(CancelCause.isDeadline(cause, "INNER"))
        assert.isTrue(CancelCause.isDeadline(cause))
      })
    )

    it.effect("L4: waits for a body that ignores the stop", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<string>()
        const fiber = yield* Effect.fork(
          Cancellation.withDeadline(Effect.uninterruptible(Deferred.await(gate)), options)
        )
        yield* TestClock.adjust("1 second")
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        yield* Deferred.succeed(gate, "late")
        assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
      })
    )

    it.effect("in a protected region the effect runs on, and its success stays a success", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<string>()
        const bounded = Cancellation.withDeadline(Effect.zip(Deferred.await(gate), Cancellation.cause), options)
        const fiber = yield* Effect.fork(Effect.uninterruptible(bounded))
        yield* TestClock.adjust("1 second")
        yield* Deferred.succeed(gate, "late")
        const [value, cause] = yield* Fiber.join(fiber)
        assert.strictEqual(value, "late")
        assert.deepStrictEqual(cause, Option.some(CancelCause.deadline("BASH_TIMEOUT", 100)))
      })
    )

    it("107, 108: a time that no timer can wait for is refused with its bounds", () => {
      for (const duration of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2_147_483_648]) {
        assert.throws(
          () => Cancellation.withDeadline(Effect.void, { duration }),
          /^The duration of a deadline must be a positive finite number no greater than 2147483647 milliseconds, not /
        )
      }
    })

    it.effect("remaining tells the nearest deadline of all owners above", () =>
      Effect.gen(function* () {
        const outer = { duration: "10 seconds" } as const
        assert.deepStrictEqual(yield* Cancellation.own(Cancellation.remaining), Option.none())
        const remaining = Cancellation.withDeadline(
          Cancellation.withDeadline(
            Effect.zipRight(Effect.sleep("1 second"), Cancellation.own(Cancellation.remaining)),
            { duration: "1 minute" }
          ),
          outer
        )
        const fiber = yield* Effect.fork(remaining)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Fiber.join(fiber), Option.some(Duration.seconds(9)))
      })
    )
  })

  describe("operation", () => {
    it.effect("L14: started by a daemon fiber, it is stopped and awaited at the owner's end", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const started = yield* Deferred.make<void>()
        const body = Effect.zipRight(
          Effect.forkDaemon(Cancellation.operation(waits(log, started), "read")),
          Effect.zipRight(Deferred.await(started), noted(log, "body ended"))
        )
        yield* Cancellation.own(body)
        assert.deepStrictEqual(log, ["body ended", "stopping", "stopped"])
      })
    )

    it.effect("L14: started by a callback with a captured runtime, it is stopped and awaited at the owner's end", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const body = Effect.map(Effect.runtime<Cancellation.Cancellation>(), (runtime) => {
          Runtime.runFork(runtime)(Cancellation.operation(waits(log), "read"))
        })
        yield* Cancellation.own(body)
        assert.deepStrictEqual(log, ["stopping", "stopped"])
      })
    )

    it.effect("L10: under a cancelled owner it is not started and ends as interrupted, and its fiber goes on", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const controller = new AbortController()
        const cancelled = yield* Deferred.make<Context.Context<Cancellation.Cancellation>>()
        const gate = yield* Deferred.make<void>()
        const owner = Effect.zipRight(
          Effect.tap(Effect.context<Cancellation.Cancellation>(), (context) => {
            controller.abort("stop")
            return Deferred.succeed(cancelled, context)
          }),
          Deferred.await(gate)
        )
        const holds = yield* Effect.fork(Cancellation.ownSignal(Effect.uninterruptible(owner), controller.signal))
        const read = Effect.provide(
          Cancellation.operation(noted(log, "read"), "read"),
          yield* Deferred.await(cancelled)
        )
        const reader = yield* Effect.fork(Effect.flatMap(Effect.exit(read), (exit) => noted(log, exit._tag)))
        assert.isTrue(Exit.isSuccess(yield* Fiber.await(reader)))
        assert.deepStrictEqual(log, ["Failure"])
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.await(holds)
      })
    )

    it.effect("L14: under an owner that has ended it dies with a message that says what to do", () =>
      Effect.gen(function* () {
        const runtime = yield* Cancellation.own(Effect.runtime<Cancellation.Cancellation>())
        for (const late of [
          Cancellation.operation(Effect.void, "read the file"),
          Cancellation.own(Effect.void),
          Cancellation.shield(Effect.void),
          Cancellation.ownSignal(Effect.void, new AbortController().signal)
        ]) {
          const fiber = Runtime.runFork(runtime)(Effect.exit(late))
          const exit = yield* Fiber.join(fiber)
          assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
          const message = Exit.isFailure(exit) ? Cause.pretty(exit.cause) : ""
          assert.match(message, /was started under an owner that has ended/)
        }
      })
    )

    it.effect("runs in a protected region of a cancelled owner: clean-up may use capabilities", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const started = yield* Deferred.make<void>()
        const controller = new AbortController()
        const body = Effect.zipRight(Deferred.succeed(started, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Cancellation.operation(noted(log, "removed"), "remove"))
        )
        const fiber = yield* Effect.fork(Cancellation.ownSignal(body, controller.signal))
        yield* Deferred.await(started)
        controller.abort()
        yield* Fiber.await(fiber)
        assert.deepStrictEqual(log, ["removed"])
      })
    )

    it.effect("dies under something that was cast into an owner", () =>
      Effect.gen(function* () {
        const forged = Effect.provideService(
          Cancellation.operation(Effect.void, "op"),
          Cancellation.Cancellation,
          {} as Cancellation.Service
        )
        const exit = yield* Effect.exit(forged)
        assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /was not made by quiesce/)
      })
    )
  })

  describe("shield", () => {
    it.effect("is not reached by a cancel, and is waited for", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const gate = yield* Deferred.make<void>()
        const started = yield* Deferred.make<void>()
        const log: Array<string> = []
        const clean = Cancellation.shield(
          Effect.zipRight(
            Deferred.await(gate),
            Effect.flatMap(Cancellation.cause, (cause) => noted(log, cause._tag))
          )
        )
        const body = Effect.zipRight(Deferred.succeed(started, undefined), Effect.ensuring(Effect.never, clean))
        const fiber = yield* Effect.fork(Cancellation.ownSignal(body, controller.signal))
        yield* Deferred.await(started)
        controller.abort()
        yield* Effect.yieldNow()
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.await(fiber)
        assert.deepStrictEqual(log, ["None"])
      })
    )
  })

  describe("ownScoped and layer", () => {
    it.effect("closing the scope cancels with Disposed, stops what runs and waits for it", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const started = yield* Deferred.make<void>()
        const scope = yield* Scope.make()
        const owner = yield* Scope.extend(Cancellation.ownScoped, scope)
        const signal = yield* Effect.provide(Cancellation.signal, owner)
        const fiber = yield* Effect.fork(Effect.provide(Cancellation.operation(waits(log, started), "watch"), owner))
        yield* Deferred.await(started)
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(log, ["stopping", "stopped"])
        assert.deepStrictEqual((signal.reason as CancelCause.Cancelled).cause, CancelCause.disposed())
        assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
      })
    )

    it.effect("a layer is an owner as long as it is built", () =>
      Effect.gen(function* () {
        const signal = yield* Effect.provide(Cancellation.signal, Cancellation.layer)
        assert.isTrue(signal.aborted)
        const built = yield* Effect.scoped(Effect.map(Layer.build(Cancellation.layer), () => "built"))
        assert.strictEqual(built, "built")
      })
    )
  })

  describe("two roads", () => {
    const Waits = Tool.make("waits", {
      description: "Waits",
      parameters: {},
      success: Schema.Null,
      handler: () => Effect.never
    })
    const execute = ToolRuntime.execute({ id: "c1", name: "waits", parameters: {} })
    const withRuntime = Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(Waits) }))

    it.effect("a cancelled owner has its calls answered, on a test's clock too", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const fiber = yield* Effect.fork(Cancellation.ownSignal(execute, controller.signal))
        yield* Effect.repeatN(Effect.yieldNow(), 5)
        controller.abort("stop")
        const result = yield* Fiber.join(fiber)
        assert.ok(result._tag === "Failure")
        assert.strictEqual(result.code, "ABORTED")
      }).pipe(withRuntime)
    )

    it.effect("an effect that was answered is stopped where it next waits", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const seen: Array<string> = []
        const goesOn = Effect.zipRight(
          Effect.tap(execute, (result) => noted(seen, result._tag)),
          waits(seen)
        )
        const fiber = yield* Effect.fork(Cancellation.ownSignal(goesOn, controller.signal))
        yield* Effect.repeatN(Effect.yieldNow(), 5)
        controller.abort("stop")
        assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
        assert.deepStrictEqual(seen, ["Failure", "stopping", "stopped"])
      }).pipe(withRuntime)
    )

    it.effect("a deadline that expires over a call gives the call's result, not what onExpire says", () =>
      Effect.gen(function* () {
        const bounded = Cancellation.withDeadline(execute, {
          duration: "1 second",
          onExpire: () => Effect.succeed("expired" as const)
        })
        const fiber = yield* Effect.fork(Cancellation.own(bounded))
        yield* TestClock.adjust("1 second")
        const result = yield* Fiber.join(fiber)
        assert.ok(result !== "expired" && result._tag === "Failure")
        assert.strictEqual(result.code, "ABORTED")
      }).pipe(withRuntime)
    )
  })
})
