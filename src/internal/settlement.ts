/**
 * Waits for something that settles once.
 *
 * `Effect.async` with a canceler loses the canceler when an interrupt lands between its registration and the
 * canceler's frame (effect 3.22). Here there is no canceler to lose: interrupting the wait stops nothing, and whoever
 * waited decides what to stop and then waits again. This is the one sanctioned use of `Effect.async`.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

/**
 * A value that arrives once, and the functions that are told of it.
 *
 * @internal
 */
export class Settlement<A> {
  private value: A | undefined
  private done = false
  private waiters: Array<(value: A) => void> | undefined

  get isSettled(): boolean {
    return this.done
  }

  /** Settles, once: the first value stays, and `false` says that this one came too late. */
  settle(value: A): boolean {
    if (this.done) return false
    this.done = true
    this.value = value
    const waiters = this.waiters
    this.waiters = undefined
    if (waiters !== undefined) for (const waiter of waiters) waiter(value)
    return true
  }

  /** As `wait`, for waits that may be given up many times: an interruption forgets the waiter. Dearer than `wait`. */
  waitTidily(): Effect.Effect<A> {
    return this.done
      ? Effect.succeed(this.value as A)
      : Effect.async<A>((resume) => {
          const waiter = (value: A) => resume(Effect.succeed(value))
          this.whenSettled(waiter)
          // Should this canceler be lost, nothing is: a waiter that is told too late does nothing.
          return Effect.sync(() => {
            this.waiters = this.waiters?.filter((other) => other !== waiter)
          })
        })
  }

  /** Calls `waiter` with the value, now if it is there already. */
  whenSettled(waiter: (value: A) => void): void {
    if (this.done) waiter(this.value as A)
    else if (this.waiters === undefined) this.waiters = [waiter]
    else this.waiters.push(waiter)
  }

  /** Succeeds with the value. An interruption ends the wait and nothing else. */
  wait(): Effect.Effect<A> {
    return this.done
      ? Effect.succeed(this.value as A)
      : Effect.async<A>((resume) => {
          this.whenSettled((value) => resume(Effect.succeed(value)))
        })
  }
}

/**
 * Waits, and when the wait is interrupted calls `stop` and waits on, out of reach of further interrupts.
 *
 * Must run in a protected region; `restore` is that region's. Always completes with the value: whether it was
 * interrupted is what `stop` has seen.
 *
 * @internal
 */
export const waitOrStop = <A>(
  settlement: Settlement<A>,
  restore: <B, E, R>(effect: Effect.Effect<B, E, R>) => Effect.Effect<B, E, R>,
  stop: (interruption: Cause.Cause<never>) => void
): Effect.Effect<A> =>
  settlement.isSettled
    ? settlement.wait()
    : Effect.matchCauseEffect(restore(settlement.wait()), {
        onSuccess: Effect.succeed,
        onFailure: (interruption) => {
          stop(interruption)
          return settlement.wait()
        }
      })
