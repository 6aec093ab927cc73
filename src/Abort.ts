/**
 * Moves cancellation across the border between `AbortSignal` and Effect, both ways.
 *
 * A promise cannot be interrupted: it can be asked to stop, and it can be awaited. `Effect.promise` and `tryPromise` ask
 * and leave. Here whoever leaves has waited (L3), a failure that comes late is kept (L5), and the reason is the same
 * object on both sides (L6).
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import { isFunction } from "effect/Predicate"
import type * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as CancelCause from "./CancelCause.js"
import {
  Cancellation,
  endedMessage,
  isCleaningUp,
  logLateFailures,
  ownerIn,
  parentIn,
  recordFailures,
  shield,
  toService
} from "./Cancellation.js"
import { Bridge, type Settled } from "./internal/abort/bridge.js"
import { specificFailure } from "./internal/cancellation/classify.js"
import { Owner } from "./internal/cancellation/owner.js"
import { interruptionCause, runOwned } from "./internal/cancellation/runOwned.js"
import { report } from "./internal/report.js"
import { defaultOrigin, type Origin, originOf, originOfRuntime, startProtectedFiber } from "./internal/startFiber.js"

/**
 * What the body of a promise operation is given.
 *
 * `signal` aborts when the operation is to stop, with the owner's reason. It is made when it is read: a body that does
 * not use it costs none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Body {
  readonly signal: AbortSignal
}

/**
 * How to run a promise as an operation.
 *
 * @since 0.1.0
 * @category models
 */
export interface FromPromiseOptions<A, E> {
  /** Starts the promise. */
  readonly try: (body: Body) => PromiseLike<A>
  /** Turns a rejection, or what `try` threw, into a typed failure. Not called for the cancellation itself. */
  readonly catch: (error: unknown) => E
  /** Takes a value that arrives after an interruption, so that what it holds is not lost. Awaited. */
  readonly release?: ((value: A) => Effect.Effect<void>) | undefined
}

// `fromPromise` and `abandon` differ only in how they meet their interruption.
const start = <A, E>(
  options: FromPromiseOptions<A, E>,
  interrupted: (
    bridge: Bridge<A>,
    owner: Owner,
    interruption: Cause.Cause<never>,
    origin: () => Origin
  ) => Effect.Effect<A, E>
): Effect.Effect<A, E, Cancellation> =>
  Effect.withFiberRuntime((fiber, status) =>
    Effect.uninterruptibleMask((restore) => {
      const owner = ownerIn(fiber.currentContext)
      if (owner.hasEnded) return Effect.dieMessage(endedMessage("A promise operation")) // L14
      if (isCleaningUp(owner, status)) return shield(start(options, interrupted))
      if (owner.cause !== undefined || owner.isEnding) return Effect.interrupt // L10: a cancelled owner starts nothing
      const bridge = new Bridge<A>(owner, fiber)
      bridge.start(options.try)
      return Effect.matchCauseEffect(restore(bridge.settlement.wait()), {
        onSuccess: (settled) => Effect.ensuring(conclude(settled, bridge, owner, options), leaving(bridge)),
        onFailure: (interruption) => interrupted(bridge, owner, interruption, () => originOf(fiber, status))
      })
    })
  )

/** An owner is quiet only when a failure has been mapped and recorded, and a late value released (L3). */
const leaving = <A>(bridge: Bridge<A>): Effect.Effect<void> => Effect.sync(() => bridge.leave())

const conclude = <A, E>(
  settled: Settled<A>,
  bridge: Bridge<A>,
  owner: Owner,
  options: FromPromiseOptions<A, E>
): Effect.Effect<A, E> => {
  if (settled._tag === "Resolved") return Effect.succeed(settled.value)
  if (bridge.isCancellation(settled.error)) return Effect.interrupt // a cancelled capability is an interruption (W3)
  const cause = failureOf(settled.error, options)
  recordFailures(owner, cause) // L5
  return failing(cause)
}

/** A rejection as the failure that it is mapped to, or as the defect that its mapping threw. */
const failureOf = <A, E>(rejection: unknown, options: FromPromiseOptions<A, E>): Cause.Cause<E> => {
  try {
    return Cause.fail(options.catch(rejection))
  } catch (defect) {
    return Cause.die(defect)
  }
}

/** As `Effect.fail`, which notes the span in what it fails with, where that can be looked at. */
const failing = <E>(cause: Cause.Cause<E>): Effect.Effect<never, E> => {
  try {
    if (cause._tag === "Fail") return Effect.fail(cause.error)
  } catch {}
  return Effect.failCause(cause)
}

/**
 * Runs a promise as an operation of its owner, and never leaves before it has settled.
 *
 * An interruption aborts the body's signal with the owner's reason and waits for the promise; what it then rejects with,
 * if that is not the cancellation itself, is added to the interruption, kept with a cancelled owner, and logged
 * otherwise (L5). A value that comes too late goes to `release`. The promise is not started under a cancelled owner
 * (L10), except in a protected region, where clean-up must be able to work and is shielded. Nothing is left behind: no listener, no running promise, no unhandled rejection.
 *
 * Errors are mapped by `catch`, in here, and not by a `mapError` behind it: Effect strips the failures of an interrupted
 * fiber there. Without `catch` a rejection fails as `UnknownException`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Abort, Cancellation } from "quiesce"
 *
 * const bytes = Abort.fromPromise({
 *   try: ({ signal }) => (signal.aborted ? Promise.reject(signal.reason) : Promise.resolve(new Uint8Array(3))),
 *   catch: (error) => new Error("no bytes", { cause: error })
 * })
 * assert.strictEqual((await Effect.runPromise(Cancellation.own(bytes))).length, 3)
 * ```
 *
 * @see {@link toPromise} for the opposite direction
 * @since 0.1.0
 * @category converting
 */
export const fromPromise: {
  <A, E>(options: FromPromiseOptions<A, E>): Effect.Effect<A, E, Cancellation>
  <A>(evaluate: (body: Body) => PromiseLike<A>): Effect.Effect<A, Cause.UnknownException, Cancellation>
} = <A, E>(
  options: FromPromiseOptions<A, E> | ((body: Body) => PromiseLike<A>)
): Effect.Effect<A, E | Cause.UnknownException, Cancellation> =>
  isFunction(options)
    ? settleFirst({ try: options, catch: (error) => new Cause.UnknownException(error) })
    : settleFirst(options)

const settleFirst = <A, E>(options: FromPromiseOptions<A, E>): Effect.Effect<A, E, Cancellation> =>
  start(options, (bridge, owner, interruption) => {
    bridge.abort(interruptionCause(interruption))
    const after = Effect.flatMap(bridge.settlement.wait(), (settled) =>
      afterInterruption(settled, bridge, owner, options, interruption)
    )
    return Effect.ensuring(after, leaving(bridge))
  })

const afterInterruption = <A, E>(
  settled: Settled<A>,
  bridge: Bridge<A>,
  owner: Owner,
  options: FromPromiseOptions<A, E>,
  interruption: Cause.Cause<never>
): Effect.Effect<A, E> => {
  const stopped = Effect.failCause(interruption)
  if (settled._tag === "Resolved") {
    return options.release === undefined ? stopped : Effect.zipRight(options.release(settled.value), stopped)
  }
  if (bridge.isCancellation(settled.error)) return stopped
  const cause = failureOf(settled.error, options)
  const late = Effect.failCause(Cause.sequential(interruption, cause))
  if (owner.cause === undefined) return Effect.zipRight(logLateFailures([Cause.squash(cause)]), late)
  recordFailures(owner, cause) // L5: the next mapError, catchTag or concurrent `all` would strip it
  return late
}

/**
 * The one escape hatch: runs a promise that is *not* awaited once it was asked to stop.
 *
 * An interruption aborts the signal and leaves at once. The work is then named in the result of the call
 * (`ToolResult.escaped`) and a warning is logged (L4). Whatever it settles with later is dropped; a rejection is never
 * unhandled. Use it for code that is known never to come back, and for nothing else.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Abort, Cancellation } from "quiesce"
 *
 * const quick = Abort.abandon({ name: "legacy driver", try: () => Promise.resolve(1), catch: (error) => error })
 * assert.strictEqual(await Effect.runPromise(Cancellation.own(quick)), 1)
 * ```
 *
 * @since 0.1.0
 * @category converting
 */
export const abandon = <A, E>(
  options: FromPromiseOptions<A, E> & {
    /** What is still running, in words. */
    readonly name: string
  }
): Effect.Effect<A, E, Cancellation> =>
  start(options, (bridge, owner, interruption, originNow) => {
    const origin = originNow()
    bridge.abort(interruptionCause(interruption))
    bridge.leave()
    owner.recordEscape(`${options.name} (abandoned)`)
    bridge.settlement.whenSettled((settled) => {
      if (settled._tag === "Resolved" || bridge.isCancellation(settled.error)) return
      report(`"${options.name}" was abandoned and failed later`, Cause.fail(settled.error), origin) // L10
    })
    return Effect.zipRight(
      Effect.logWarning(`"${options.name}" was asked to stop and abandoned; it may still be running`),
      Effect.failCause(interruption)
    )
  })

const run = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  context: Context.Context<Exclude<R, Cancellation>>,
  origin: Origin,
  signal: AbortSignal | undefined
): Promise<A> =>
  new Promise((resolve, reject) => {
    // A runtime that was captured under an owner brings it: the work is that owner's (L14).
    const parent = parentIn(context as Context.Context<never>)
    if (parent?.hasEnded === true) return reject(new Error(endedMessage("An effect")))
    const owner = new Owner(parent)
    if (signal !== undefined) owner.follow(signal)
    if (owner.cause !== undefined) {
      owner.end()
      return reject(CancelCause.toReason(owner.cause)) // L10: not one operation runs
    }
    const owned = Context.add(context, Cancellation, toService(owner)) as Context.Context<R>
    const interruptible = {
      ...origin,
      runtimeFlags: RuntimeFlags.enable(origin.runtimeFlags, RuntimeFlags.Interruption)
    }
    const program = Effect.flatMap(runOwned(effect, owner, owned, context, interruptible, identity), (exit) => {
      const failure = Exit.isSuccess(exit) ? undefined : specificFailure(exit.cause, owner)
      if (Exit.isSuccess(exit)) resolve(exit.value)
      else if (failure !== undefined)
        reject(failure.error) // L5: specific beats generic
      else reject(CancelCause.toReason(owner.cause ?? interruptionCause(exit.cause))) // L6
      return parent === undefined
        ? logLateFailures(owner.lateFailures.filter((error) => error !== failure?.error))
        : Effect.void
    })
    startProtectedFiber(program, Context.empty(), origin)
  })

/**
 * Runs an effect for a host that has promises and signals, as an owner that the signal cancels.
 *
 * If the signal has aborted, not one operation of the effect runs. The promise settles when the effect has ended and
 * nothing that it started under its owner runs any more (L3). It rejects with the effect's failure itself, never a
 * wrapper; when the effect was stopped, with `signal.reason`, the same object, unless a failure that is not the
 * cancellation came with it (L5, L6). A success stays a success: the value of an effect that completed in spite of the
 * abort, such as the result of an aborted call, is not thrown away. The listener is removed on every path (L10).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Abort } from "quiesce"
 *
 * const reason = new Error("user pressed stop")
 * await assert.rejects(Abort.toPromise(Effect.never, { signal: AbortSignal.abort(reason) }), reason)
 * ```
 *
 * @see {@link fromPromise} for the opposite direction
 * @since 0.1.0
 * @category converting
 */
export const toPromise = <A, E>(
  effect: Effect.Effect<A, E, Cancellation>,
  options?: { readonly signal?: AbortSignal | undefined }
): Promise<A> => run(effect, Context.empty(), defaultOrigin, options?.signal)

/**
 * As `toPromise`, for an effect that needs the services of `runtime` as well.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Runtime } from "effect"
 * import { Abort } from "quiesce"
 *
 * const toPromise = Abort.toPromiseWith(Runtime.defaultRuntime)
 * assert.strictEqual(await toPromise(Effect.succeed(1)), 1)
 * ```
 *
 * @since 0.1.0
 * @category converting
 */
export const toPromiseWith =
  <R>(runtime: Runtime.Runtime<R>) =>
  <A, E>(
    effect: Effect.Effect<A, E, R | Cancellation>,
    options?: { readonly signal?: AbortSignal | undefined }
  ): Promise<A> =>
    run<A, E, R | Cancellation>(
      effect,
      runtime.context as Context.Context<Exclude<R, Cancellation>>,
      originOfRuntime(runtime as Runtime.Runtime<never>),
      options?.signal
    )
