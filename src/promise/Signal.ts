/**
 * What code with an `AbortSignal` misses: signals that follow others without leaking, and waits that do not leave early.
 *
 * Each stands for itself and needs no runtime. `AbortSignal.any` and `AbortSignal.timeout` cannot be taken back: what
 * they register stays on a signal that lives as long as a session. What is made here is disposed of instead, at the end
 * of a `using`, or by `dispose`. However many follow one signal, it carries one listener; the reason of an abort is the
 * same object on both ends; and an abort listener that throws is logged, and does not end the process.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import { isFunction } from "effect/Predicate"
import * as CancelCause from "../CancelCause.js"
import { timerMillis } from "../Cancellation.js"
import { SignalChild } from "../internal/promise/signalChild.js"
import { runWork, type Work } from "../internal/promise/signalWork.js"
import { defaultOrigin } from "../internal/startFiber.js"
import { startTimer } from "../internal/timer.js"

/**
 * A signal that follows others, until it is disposed of.
 *
 * @since 0.1.0
 * @category models
 */
export interface Child extends Disposable {
  /** Made when it is first read. */
  readonly signal: AbortSignal
  /**
   * Aborts the child, and not what it follows. Says whether this was the first abort: a later reason never replaces an
   * earlier one, and one that comes after the disposal does nothing. Default: the platform's own `AbortError`.
   */
  readonly abort: (reason?: unknown) => boolean
  /**
   * Ends it: it follows nothing any more, and nothing of it is left on any signal. A child that has not aborted by then
   * never will: the end of work is no abort. Again and again it is the same as once.
   */
  readonly dispose: () => void
}

/**
 * A child that aborts by itself when its time is over.
 *
 * @since 0.1.0
 * @category models
 */
export interface Deadline extends Child {
  /** Whether its own time, and nothing else, was what aborted it. */
  readonly isExpired: boolean
}

const toChild = (child: SignalChild): Child => ({
  get signal() {
    return child.signal
  },
  abort: (reason) => child.abort(reason),
  dispose: () => child.dispose(),
  [Symbol.dispose]: () => child.dispose()
})

/**
 * Makes a signal that aborts when `parent` does, with the same reason, and that can be aborted alone.
 *
 * Where `parent` has aborted already, so has the child. Without a parent it follows nothing. It holds on to its parent,
 * and the parent to it, until it has aborted or is disposed of: dispose of it when the work is done.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Signal } from "quiesce/promise"
 *
 * const session = new AbortController()
 * {
 *   using call = Signal.child(session.signal)
 *   call.abort(new Error("this call alone"))
 *   assert.strictEqual(call.signal.aborted, true)
 * }
 * assert.strictEqual(session.signal.aborted, false)
 * ```
 *
 * @see {@link fuse} for a signal that follows several
 * @since 0.1.0
 * @category constructors
 */
export const child = (parent: AbortSignal | undefined): Child => toChild(new SignalChild([parent]))

/**
 * Makes a signal that aborts with the first of `parents` that does, and with its reason, the same object.
 *
 * From then on, and from its disposal on, nothing of it is left on any of them. Of several that have aborted already the
 * first in order counts. What is `undefined` is left out, so that a signal that a caller may not have given can be passed on.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Signal } from "quiesce/promise"
 *
 * const [user, shutdown] = [new AbortController(), new AbortController()]
 * using either = Signal.fuse(user.signal, shutdown.signal)
 * const reason = new Error("the server goes down")
 * shutdown.abort(reason)
 * user.abort(new Error("too late to matter"))
 * assert.strictEqual(either.signal.reason, reason)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const fuse = (...parents: ReadonlyArray<AbortSignal | undefined>): Child => toChild(new SignalChild(parents))

/**
 * How long work may take.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadlineOptions {
  /** More than nothing, at most 2^31 - 1 milliseconds. A number counts milliseconds. */
  readonly duration: Duration.DurationInput
  /** Tells this deadline from others (see `isDeadline`). Default: `DEADLINE`. */
  readonly code?: string | undefined
}

/**
 * Makes a signal that aborts when `parent` does, or when its time is over.
 *
 * Its reason is then a `TimeoutError` with its `code`, which `isDeadline` knows. The first of the two counts. The timer
 * runs from now on, and is gone when the child has aborted or is disposed of. A deadline asks work to stop; wait for it
 * with `settled`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Signal } from "quiesce/promise"
 *
 * const { signal } = new AbortController()
 * using limit = Signal.deadline(signal, { duration: "10 millis", code: "LOOKUP_TIMEOUT" })
 * const never = Signal.settled(
 *   limit.signal,
 *   (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }))
 * )
 * await assert.rejects(never, (error) => Signal.isDeadline(error, "LOOKUP_TIMEOUT"))
 * assert.strictEqual(limit.isExpired, true)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const deadline = (parent: AbortSignal | undefined, options: DeadlineOptions): Deadline => {
  const { code = "DEADLINE", duration } = options
  const millis = timerMillis(duration, "The duration of a deadline")
  const following = new SignalChild([parent])
  let isExpired = false
  if (!following.isAborted) {
    const expire = () => {
      isExpired = !following.isAborted // before the listeners are told
      following.abort(CancelCause.toReason(CancelCause.deadline(code, millis)))
    }
    following.onRelease(startTimer(defaultOrigin, millis, expire))
  }
  return Object.defineProperty(toChild(following) as Deadline, "isExpired", { get: () => isExpired, enumerable: true })
}

/**
 * Whether `reason` is that of a deadline: of this one, if `code` is given.
 *
 * Also of those that a tool, a call or an Effect sets (`Cancellation.withDeadline`).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Signal } from "quiesce/promise"
 *
 * assert.strictEqual(Signal.isDeadline(AbortSignal.abort().reason), false)
 * ```
 *
 * @since 0.1.0
 * @category guards
 */
export const isDeadline = (reason: unknown, code?: string): reason is CancelCause.Cancelled =>
  reason instanceof CancelCause.Cancelled && CancelCause.isDeadline(reason.cause, code)

/**
 * What several pieces of work give, in their order.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Settled<W extends ReadonlyArray<(signal: AbortSignal) => unknown>> = {
  -readonly [K in keyof W]: Awaited<ReturnType<W[K]>>
}

/**
 * Starts work under a signal, and waits until it is quiet, not just until there is an answer.
 *
 * `Promise.race` with an abort answers at once and leaves the work running; `Promise.all` answers with the first failure
 * and leaves the siblings running. This settles when everything that it started has settled.
 *
 * Each piece of work is given a signal that follows `signal` and aborts, too, when another piece fails, with that failure
 * as its reason. It resolves when all have. It rejects with the first failure that is not the cancellation, itself, and
 * else, where a piece was stopped, with the reason of the abort, the same object. Work that completes in spite of an abort
 * has completed. Where `signal` has aborted already nothing is started. No listener is left when it settles, what further
 * pieces fail with is logged, and none of their promises becomes an unhandled rejection. Work that ignores its signal
 * holds this as long as it runs.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { setTimeout as sleep } from "node:timers/promises"
 * import { Signal } from "quiesce/promise"
 *
 * const { signal } = new AbortController()
 * let isClean = false
 * const work = [
 *   () => Promise.reject(new Error("disk full")),
 *   (signal: AbortSignal) =>
 *     sleep(60_000, undefined, { signal }).finally(async () => {
 *       await sleep(5)
 *       isClean = true
 *     })
 * ]
 * await assert.rejects(Signal.settled(signal, work), /disk full/)
 * assert.strictEqual(isClean, true)
 * assert.deepStrictEqual(await Signal.settled(signal, [() => 1, async () => "two"]), [1, "two"])
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const settled: {
  <A>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => A | PromiseLike<A>): Promise<A>
  <const W extends ReadonlyArray<(signal: AbortSignal) => unknown>>(
    signal: AbortSignal | undefined,
    work: W
  ): Promise<Settled<W>>
} = (signal: AbortSignal | undefined, work: Work | ReadonlyArray<Work>): Promise<any> =>
  isFunction(work) ? runWork(signal, [work as Work]).then(([value]) => value) : runWork(signal, [...work])
