/**
 * Where the calls of one runtime of code without Effect run: each as an owner of its own, which its signal cancels.
 *
 * Invariants
 *
 * R1. A promise of a call settles when its owner has ended: nothing that it started runs, and no signal has a listener of
 *     its (L3, L10).
 * R2. Disposal is one promise, and nothing starts after it has begun (L11).
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import type * as Stream from "effect/Stream"
import * as Abort from "../../Abort.js"
import { Cancellation, toService } from "../../Cancellation.js"
import type { Owner } from "../cancellation/owner.js"
import { type Origin, originOfRuntime, startFiber, startProtectedFiber } from "../startFiber.js"
import { CallerOwner } from "./callView.js"
import { type Run, toIterable } from "./seamStream.js"

const inOwner = (owner: Owner): Context.Context<Cancellation> =>
  Context.unsafeMake(new Map([[Cancellation.key, toService(owner)]]))

/** What is asked of a host, read where what a getter throws rejects the promise. */
interface Asked<A> {
  readonly effect: Effect.Effect<A, never, Cancellation>
  readonly signal: AbortSignal
}

/** @internal */
export class Host {
  readonly origin: Origin
  private readonly toPromise: Run

  constructor(runtime: Runtime.Runtime<never> = Runtime.defaultRuntime) {
    this.origin = originOfRuntime(runtime)
    const toPromise = Abort.toPromiseWith(runtime)
    this.toPromise = (effect, signal) => toPromise(effect, { signal })
  }

  /** Runs a stream when it is read, until its end or until the signal aborts. */
  iterate<A>(stream: Stream.Stream<A>, signal: AbortSignal): AsyncIterable<A> {
    return toIterable(stream, this.toPromise, signal)
  }

  /** Runs what answers when its owner is cancelled: it is not interrupted, and its answer is waited for. */
  answer<A, B>(ask: () => Asked<A>, then: (answer: A) => B): Promise<B> {
    return new Promise((resolve, reject) => {
      const { effect, signal } = ask()
      const owner = new CallerOwner(signal)
      startProtectedFiber(effect, inOwner(owner), this.origin).addObserver((exit) =>
        // R1
        owner.conclude(() => {
          if (Exit.isSuccess(exit)) resolve(then(exit.value))
          else reject(Cause.squash(exit.cause))
        })
      )
    })
  }

  /** Runs what nobody stops. */
  finish<A, E>(effect: Effect.Effect<A, E>): Promise<A> {
    const promise = new Promise<A>((resolve, reject) => {
      startFiber(effect, Context.empty(), this.origin).addObserver((exit) => {
        if (Exit.isSuccess(exit)) resolve(exit.value)
        else reject(Cause.squash(exit.cause))
      })
    })
    promise.catch(() => {}) // L10: whoever waits is told; nobody need wait
    return promise
  }

  /** Runs what is one synchronous step. */
  now<A, E>(effect: Effect.Effect<A, E>): A {
    const exit = Effect.runSyncExit(effect)
    if (Exit.isSuccess(exit)) return exit.value
    throw Cause.squash(exit.cause)
  }
}
