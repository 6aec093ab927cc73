/**
 * One started promise and the signal that it was given.
 *
 * Invariants
 *
 * B1. The promise is awaited whatever happens to the fiber: no caller leaves before it has settled (L3, L4).
 * B2. Its signal is made when the body reads it, aborts with the owner's reason, and is never aborted by success (L10).
 * B3. It is a member of its owner from before it starts until what it settled with is dealt with, so the owner's end stops and awaits it too
 *     when it was started from a daemon fiber or a callback (L3, L14).
 * B4. A rejection always has a handler: none reaches `unhandledRejection` (L10).
 */
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as CancelCause from "../../CancelCause.js"
import { isCancellation } from "../cancellation/classify.js"
import type { Member, Owner } from "../cancellation/owner.js"
import { Settlement } from "../settlement.js"
import { makeContainedController } from "./containedController.js"

/**
 * How a promise settled.
 *
 * @internal
 */
export type Settled<A> =
  | { readonly _tag: "Resolved"; readonly value: A }
  | { readonly _tag: "Rejected"; readonly error: unknown }

/**
 * What a promise body is given.
 *
 * @internal
 */
export interface Given {
  readonly signal: AbortSignal
}

/** @internal */
export class Bridge<A> implements Member, Given {
  readonly settlement = new Settlement<Settled<A>>()
  private readonly owner: Owner
  private readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
  private controller: AbortController | undefined
  private stopped: CancelCause.CancelCause | undefined

  constructor(owner: Owner, fiber: Fiber.RuntimeFiber<unknown, unknown>) {
    this.owner = owner
    this.fiber = fiber
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = makeContainedController() // B2
      const cause = this.stopped ?? this.owner.cause
      if (cause !== undefined) this.controller.abort(CancelCause.toReason(cause))
    }
    return this.controller.signal
  }

  start(body: (given: Given) => PromiseLike<A>): void {
    this.owner.join(this) // B3
    try {
      // `resolve` takes in plain values and foreign thenables as well; a promise may bring a `then` that throws.
      Promise.resolve(body(this)).then(
        (value) => this.settlement.settle({ _tag: "Resolved", value }),
        (error) => this.settlement.settle({ _tag: "Rejected", error }) // B4
      )
    } catch (error) {
      this.settlement.settle({ _tag: "Rejected", error })
    }
  }

  /** What it started has settled, and what came of that is in good hands. */
  leave(): void {
    this.owner.leave(this)
  }

  /** Aborts the signal. The owner's cause, when it has one, is the reason (L6). */
  abort(cause: CancelCause.CancelCause): void {
    this.stopped ??= this.owner.cause ?? cause
    this.controller?.abort(CancelCause.toReason(this.stopped))
  }

  /** The fiber that waited for it was interrupted, and still has to wait. */
  interrupted(cause: CancelCause.CancelCause): void {
    if (!this.settlement.isSettled) this.abort(cause)
  }

  cancelled(cause: CancelCause.CancelCause): void {
    this.abort(cause) // also in a protected region, where the interrupt below has to wait
    this.fiber.unsafeInterruptAsFork(FiberId.none)
  }

  stop(): void {
    this.cancelled(CancelCause.parent())
  }

  /**
   * Whether a rejection is the cancellation itself: it carries the signal's own reason, or is an `AbortError` although
   * the promise was asked to stop (L5).
   */
  isCancellation(error: unknown): boolean {
    const cause = this.stopped ?? this.owner.cause
    return cause !== undefined && isCancellation(error, cause)
  }
}
