/**
 * The owner of an operation's cancellation.
 *
 * In promise code the usual defect is a signal that is not passed on; in Effect it is work that runs outside any owner.
 * Here every call and every capability operation has `Cancellation` in its requirements: the owned lifetime of this
 * operation, and nothing else. One becomes an owner only through the constructors below, and an owner ends only when
 * nothing that runs under it is left (L3, L14).
 *
 * Cancelling an owner is a request with a cause. Interrupting a fiber is what it leads to.
 *
 * Long because every export carries its contract and an example that is run; the mechanisms are in
 * `internal/cancellation/`.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as FiberStatus from "effect/FiberStatus"
import { dual } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { isString } from "effect/Predicate"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type * as Scope from "effect/Scope"
import * as CancelCause from "./CancelCause.js"
import { type Member, Owner, ScopedOwner, ShieldedOwner } from "./internal/cancellation/owner.js"
import { runOwned } from "./internal/cancellation/runOwned.js"
import { misuse } from "./internal/invariant.js"
import { report } from "./internal/report.js"
import { Settlement } from "./internal/settlement.js"
import { originOf } from "./internal/startFiber.js"
import { maxTimerMillis, nowOf, startTimer } from "./internal/timer.js"

declare const opaque: unique symbol

/**
 * The owned lifetime of an operation. Opaque: only this module makes one, so nobody can forge an owner (L14).
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  readonly [opaque]: never
  /** Aborts when the owner is cancelled, with the owner's reason. Made when it is first read. */
  readonly signal: AbortSignal
  /** Why the owner was cancelled, once it was. */
  readonly cause: CancelCause.CancelCause | undefined
}

/**
 * Service that owns the cancellation of what runs under it.
 *
 * Capabilities require it from each caller on purpose: who calls decides who may stop the call.
 *
 * @effect-leakable-service
 * @since 0.1.0
 * @category services
 */
export class Cancellation extends Context.Tag("quiesce/Cancellation")<Cancellation, Service>() {}

/** @internal */
export const toService = (owner: Owner): Service => owner as unknown as Service

/**
 * The owner in a context. Dies on a value that somebody cast into an owner.
 *
 * @internal
 */
export const ownerIn = (context: Context.Context<never>): Owner => {
  const owner: unknown = context.unsafeMap.get(Cancellation.key)
  if (owner instanceof Owner) return owner
  return misuse(
    owner === undefined
      ? "There is no owner in context: run this under Cancellation.own, Cancellation.ownSignal or Cancellation.layer"
      : "The owner in context was not made by quiesce: use Cancellation.own, Cancellation.ownSignal or Cancellation.layer"
  )
}

/**
 * The owner in a context, if there is one.
 *
 * @internal
 */
export const parentIn = (context: Context.Context<never>): Owner | undefined =>
  context.unsafeMap.has(Cancellation.key) ? ownerIn(context) : undefined

/**
 * The message with which an operation dies that is started under an owner that has ended (L14).
 *
 * @internal
 */
export const endedMessage = (what: string): string =>
  `${what} was started under an owner that has ended: a captured runtime or closure was used after its call, or a daemon fiber outlived it. Start it before the call ends, or give it an owner of its own`

/**
 * The signal of the owner in context.
 *
 * It aborts when the owner is cancelled, never because the work has ended. Its reason is an `Error`, or the host's own
 * object where a signal of the host was the cause (L6). It is made when this effect first runs.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 *
 * const signal = await Effect.runPromise(Cancellation.own(Cancellation.signal))
 * assert.strictEqual(signal.aborted, false)
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const signal: Effect.Effect<AbortSignal, never, Cancellation> = Effect.map(Cancellation, (owner) => owner.signal)

/**
 * Why the owner in context was cancelled, if it was.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Option } from "effect"
 * import { Cancellation } from "quiesce"
 *
 * assert.deepStrictEqual(await Effect.runPromise(Cancellation.own(Cancellation.cause)), Option.none())
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const cause: Effect.Effect<Option.Option<CancelCause.CancelCause>, never, Cancellation> = Effect.map(
  Cancellation,
  (owner) => Option.fromNullable(owner.cause)
)

/**
 * How long until the nearest deadline of the owner in context or of one it derives from, if there is one.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Duration, Effect, Option } from "effect"
 * import { Cancellation } from "quiesce"
 *
 * const remaining = await Effect.runPromise(
 *   Cancellation.withDeadline(Cancellation.remaining, { duration: "1 minute" })
 * )
 * assert.ok(Duration.lessThanOrEqualTo(Option.getOrThrow(remaining), "1 minute"))
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const remaining: Effect.Effect<Option.Option<Duration.Duration>, never, Cancellation> = Effect.flatMap(
  Cancellation,
  () =>
    Effect.withFiberRuntime((fiber, status) => {
      const { deadlineAt } = ownerIn(fiber.currentContext)
      if (deadlineAt === undefined) return Effect.succeedNone
      return Effect.succeedSome(Duration.millis(Math.max(0, deadlineAt - nowOf(originOf(fiber, status)))))
    })
)

type Owned<R> = Exclude<R, Cancellation>

interface Timing {
  readonly millis: number
  readonly cause: CancelCause.CancelCause
}

/**
 * Whether something runs in a protected region of an owner that is being stopped: clean-up, which must be able to work.
 *
 * @internal
 */
export const isCleaningUp = (owner: Owner, status: FiberStatus.Running): boolean =>
  (owner.cause !== undefined || owner.isEnding) && !RuntimeFlags.interruptible(status.runtimeFlags)

// One way to become an owner; the public ones differ in what else may cancel it.
const ownWith = <A, E, R, B = never, E2 = never, R2 = never>(
  self: Effect.Effect<A, E, R>,
  options: {
    readonly signal?: AbortSignal
    readonly timing?: Timing
    readonly onExpire?: (() => Effect.Effect<B, E2, R2>) | undefined
  }
): Effect.Effect<A | B, E | E2, Owned<R> | R2> =>
  Effect.withFiberRuntime((fiber, status) =>
    Effect.uninterruptibleMask((restore) => {
      const parent = parentIn(fiber.currentContext)
      if (parent?.hasEnded === true) return Effect.dieMessage(endedMessage("An owner")) // L14
      if (parent !== undefined && isCleaningUp(parent, status)) {
        return shield(ownWith(self, options)) as Effect.Effect<A | B, E | E2, Owned<R> | R2>
      }
      const origin = originOf(fiber, status)
      const owner = new Owner(parent)
      if (options.signal !== undefined) owner.follow(options.signal)
      if (owner.cause !== undefined) {
        owner.end()
        noteStop(parent, owner)
        return Effect.interruptWith(FiberId.none) // L10: a cancelled owner starts nothing
      }
      const { timing } = options
      let disarm: (() => void) | undefined
      if (timing !== undefined) {
        const expiresAt = nowOf(origin) + timing.millis
        owner.deadlineAt = Math.min(owner.deadlineAt ?? Number.POSITIVE_INFINITY, expiresAt)
        disarm = startTimer(origin, timing.millis, () => owner.cancel(timing.cause))
      }
      const context = Context.add(fiber.currentContext as Context.Context<Owned<R>>, Cancellation, toService(owner))
      const run = runOwned(self, owner, context as Context.Context<R>, fiber.currentContext, origin, restore)
      return Effect.flatMap(run, (exit): Effect.Effect<A | B, E | E2, R2> => {
        disarm?.()
        const expired = owner.cause !== undefined && owner.cause === timing?.cause // L7: the first cause was its own
        const stopped = Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
        if (stopped) noteStop(parent, owner)
        if (expired && stopped && options.onExpire !== undefined) return restore(options.onExpire())
        if (parent !== undefined || owner.lateFailures.length === 0) return exit
        const seen: ReadonlyArray<unknown> = Exit.isFailure(exit) ? [...Cause.failures(exit.cause)] : []
        return Effect.zipRight(logLateFailures(owner.lateFailures.filter((error) => !seen.includes(error))), exit)
      })
    })
  )

/** An interruption has no reason: whoever meets it above learns from its own owner why one below was stopped. */
const noteStop = (parent: Owner | undefined, owner: Owner): void => {
  if (parent !== undefined) parent.stoppedBelow = owner.cause ?? owner.stoppedBelow
}

/**
 * Logs failures that nobody will see otherwise (L5).
 *
 * @internal
 */
export const logLateFailures = (failures: ReadonlyArray<unknown>): Effect.Effect<void> =>
  Effect.withFiberRuntime((fiber, status) => {
    const origin = originOf(fiber, status)
    for (const error of failures) report("An operation failed while it was being cancelled", Cause.fail(error), origin)
    return Effect.void
  })

/**
 * Runs `self` as an owner: derived from the owner in context where there is one, else outermost.
 *
 * Completes when `self` has ended and every operation that was started under it, by whatever fiber, has too. An
 * interruption cancels the owner with `Interrupted`, interrupts `self` and waits for the same. When the owner is
 * cancelled (a derived one with its parent), calls in flight end first, each with its result; then `self` is interrupted
 * where it next waits. If the owner in context is cancelled already, `self` is not started and this is interrupted; in a
 * protected region, where clean-up must be able to work, it runs shielded instead.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 *
 * const answer = Cancellation.operation(Effect.succeed(42), "read the answer")
 * assert.strictEqual(await Effect.runPromise(Cancellation.own(answer)), 42)
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const own = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Cancellation>> =>
  ownWith(self, {})

/**
 * Runs `self` as an owner that a signal of the host cancels.
 *
 * As `own`, and: the signal's `reason` is the owner's cause, the same object everywhere (L6). If the signal has already
 * aborted, `self` is not started. No listener is left when this completes, and all waits on one signal share one (L10).
 * A call under it is answered, not interrupted: `ownSignal(runtime.execute(call), signal)` succeeds with an `ABORTED`
 * result when the signal aborts.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Exit } from "effect"
 * import { Cancellation } from "quiesce"
 *
 * const controller = new AbortController()
 * const pending = Effect.runPromiseExit(Cancellation.ownSignal(Effect.never, controller.signal))
 * controller.abort()
 * assert.ok(Exit.isInterrupted(await pending))
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const ownSignal: {
  (signal: AbortSignal): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Cancellation>>
  <A, E, R>(self: Effect.Effect<A, E, R>, signal: AbortSignal): Effect.Effect<A, E, Exclude<R, Cancellation>>
} = dual(
  2,
  <A, E, R>(self: Effect.Effect<A, E, R>, signal: AbortSignal): Effect.Effect<A, E, Exclude<R, Cancellation>> =>
    ownWith(self, { signal })
)

/**
 * What `withDeadline` needs to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadlineOptions<A, E, R> {
  /** How long: more than nothing, at most 2^31 - 1 milliseconds. */
  readonly duration: Duration.DurationInput
  /** Tells this deadline from others (`CancelCause.isDeadline`). Default: `DEADLINE`. */
  readonly code?: string | undefined
  /** What to go on with when this deadline, and nothing else, stopped the effect. */
  readonly onExpire?: (() => Effect.Effect<A, E, R>) | undefined
}

/**
 * Milliseconds of a duration that a timer can wait for.
 *
 * @internal
 */
export const timerMillis = (duration: Duration.DurationInput, what: string): number => {
  const millis = typeof duration === "number" ? duration : Duration.toMillis(duration)
  return Number.isFinite(millis) && millis > 0 && millis <= maxTimerMillis
    ? millis
    : misuse(`${what} must be a positive finite number no greater than ${maxTimerMillis} milliseconds, not ${millis}`)
}

/**
 * Runs `self` as a derived owner that is cancelled when `duration` is over.
 *
 * The time is measured on the fiber's `Clock` from the start of this effect. A deadline stops `self` and waits for it
 * (L4): a body that ignores the stop holds this effect as long as it runs. The first cause stays (L6): when the parent
 * was cancelled first, `onExpire` is not called, and a deadline further out is not this one. Without `onExpire` an
 * expired effect ends as interrupted. The timer is gone when this completes.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 *
 * const slow = Cancellation.withDeadline(Effect.never, {
 *   duration: "10 millis",
 *   onExpire: () => Effect.succeed("too slow")
 * })
 * assert.strictEqual(await Effect.runPromise(slow), "too slow")
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const withDeadline: {
  <B = never, E2 = never, R2 = never>(
    options: DeadlineOptions<B, E2, R2>
  ): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A | B, E | E2, Exclude<R, Cancellation> | R2>
  <A, E, R, B = never, E2 = never, R2 = never>(
    self: Effect.Effect<A, E, R>,
    options: DeadlineOptions<B, E2, R2>
  ): Effect.Effect<A | B, E | E2, Exclude<R, Cancellation> | R2>
} = dual(
  2,
  <A, E, R, B, E2, R2>(
    self: Effect.Effect<A, E, R>,
    options: DeadlineOptions<B, E2, R2>
  ): Effect.Effect<A | B, E | E2, Exclude<R, Cancellation> | R2> => {
    const millis = timerMillis(options.duration, "The duration of a deadline")
    return Effect.suspend(() =>
      ownWith(self, {
        // A cause of its own for each run: it is told from others by identity.
        timing: { millis, cause: CancelCause.deadline(options.code ?? "DEADLINE", millis) },
        onExpire: options.onExpire
      })
    )
  }
)

/**
 * Runs `self` under an owner that the cancellation of the owner in context does not touch, for clean-up that must use
 * capabilities after a cancel.
 *
 * The owner in context waits for it all the same: it is no way to outlive a caller. It holds off the owner's cancellation,
 * not an interruption of the fiber; clean-up runs in a protected region anyway, and there capabilities, promises and derived
 * owners are shielded without it.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Option } from "effect"
 * import { Cancellation } from "quiesce"
 *
 * const cause = Cancellation.own(Cancellation.shield(Cancellation.cause))
 * assert.deepStrictEqual(await Effect.runPromise(cause), Option.none())
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const shield = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Cancellation> =>
  Effect.withFiberRuntime((fiber) =>
    Effect.uninterruptibleMask((restore) => {
      const parent = ownerIn(fiber.currentContext)
      if (parent.hasEnded) return Effect.dieMessage(endedMessage("Shielded work"))
      const owner = new ShieldedOwner(parent)
      const quiet = new Settlement<void>()
      return Effect.flatMap(
        Effect.exit(restore(Effect.provideService(self, Cancellation, toService(owner)))),
        (exit) => {
          if (Exit.isFailure(exit)) noteStop(parent, owner)
          owner.conclude(() => quiet.settle())
          return Effect.zipRight(quiet.wait(), exit)
        }
      )
    })
  )

/**
 * An owner that lives as long as the surrounding scope: for pools, watchers, connections and sessions.
 *
 * It derives from the owner in context, where there is one, and ends with that at the latest. Closing the scope cancels it
 * with `Disposed`, interrupts the operations that still run under it and waits for them.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 *
 * const program = Effect.gen(function* () {
 *   const owner = yield* Cancellation.ownScoped
 *   return yield* Effect.provide(Cancellation.signal, owner)
 * })
 * const signal = await Effect.runPromise(Effect.scoped(program))
 * assert.strictEqual(signal.aborted, true) // the scope is closed
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const ownScoped: Effect.Effect<Context.Context<Cancellation>, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.withFiberRuntime<Owner>((fiber) => {
      const parent = parentIn(fiber.currentContext)
      return parent?.hasEnded === true
        ? Effect.dieMessage(endedMessage("A scoped owner")) // L14
        : Effect.sync(() => new ScopedOwner(parent))
    }),
    (owner) => {
      const quiet = new Settlement<void>()
      owner.cancel(CancelCause.disposed())
      owner.conclude(() => quiet.settle())
      return quiet.wait()
    }
  ),
  (owner) => Context.make(Cancellation, toService(owner))
)

/**
 * Layer of an owner that lives as long as the layer.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Option } from "effect"
 * import { Cancellation } from "quiesce"
 *
 * const cause = Effect.provide(Cancellation.cause, Cancellation.layer)
 * assert.deepStrictEqual(await Effect.runPromise(cause), Option.none())
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Cancellation> = Layer.scopedContext(ownScoped)

class Operation implements Member {
  private readonly fiber: Fiber.RuntimeFiber<unknown, unknown>

  constructor(fiber: Fiber.RuntimeFiber<unknown, unknown>) {
    this.fiber = fiber
  }

  cancelled(): void {
    this.stop()
  }

  stop(): void {
    this.fiber.unsafeInterruptAsFork(FiberId.none)
  }
}

/**
 * What a failed operation leaves to its owner: Effect strips typed failures from the exits of interrupted fibers (L5).
 *
 * @internal
 */
export const recordFailures = (owner: Owner, cause: Cause.Cause<unknown>): void => {
  if (owner.cause === undefined || Cause.isInterruptedOnly(cause)) return
  const failure = Cause.failureOption(cause)
  if (Option.isSome(failure)) owner.recordFailure(failure.value)
  else owner.recordDefect(Cause.squash(cause))
}

/**
 * Registers `self` with its owner as a running operation. Every capability operation goes through here.
 *
 * It runs on the calling fiber and changes nothing else. When the owner is cancelled, or ends although this still runs
 * (a daemon fiber, a callback), the fiber that runs it is interrupted, and the owner does not end before this has (L3,
 * L14). Under a cancelled owner it is not started and ends as interrupted, except in a protected region: clean-up may
 * use capabilities. Under an ended owner it dies with a message that contains `name`. A failure that comes while the
 * owner is cancelled is kept with the owner, since Effect strips it from an interrupted fiber (L5).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 *
 * const program = Effect.succeed("row").pipe(Cancellation.operation("query the database"))
 * assert.strictEqual(await Effect.runPromise(Cancellation.own(program)), "row")
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const operation: {
  (name: string): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R | Cancellation>
  <A, E, R>(self: Effect.Effect<A, E, R>, name: string): Effect.Effect<A, E, R | Cancellation>
} = dual(
  (args) => !isString(args[0]),
  <A, E, R>(self: Effect.Effect<A, E, R>, name: string): Effect.Effect<A, E, R | Cancellation> =>
    Effect.withFiberRuntime((fiber, status) =>
      Effect.uninterruptibleMask((restore) => {
        const owner = ownerIn(fiber.currentContext)
        if (owner.hasEnded) return Effect.dieMessage(endedMessage(`"${name}"`)) // L14
        const stopped = owner.cause !== undefined || owner.isEnding
        if (stopped && RuntimeFlags.interruptible(status.runtimeFlags)) return Effect.interrupt // L10
        const running = new Operation(fiber)
        owner.join(running) // inside the mask: an interrupt between joining and the frame below would leave it for good
        return Effect.matchCauseEffect(restore(self), {
          onSuccess: (value) => {
            owner.leave(running)
            return Effect.succeed(value)
          },
          onFailure: (cause) => {
            recordFailures(owner, cause) // L5
            owner.leave(running)
            return Effect.failCause(cause)
          }
        })
      })
    )
)

/**
 * Tells the owner in context of something that could not be stopped or waited for, such as a process that left its
 * group. The result of the call names it (`ToolResult.escaped`).
 *
 * @since 0.1.0
 * @category combinators
 */
export const recordEscape = (what: string): Effect.Effect<void, never, Cancellation> =>
  Effect.map(Effect.context<Cancellation>(), (context) => ownerIn(context).recordEscape(what))
