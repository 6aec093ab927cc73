/**
 * Functions that are handed to an operation: with Effect they give an effect, with promises they take a `signal` last.
 */
import type * as Effect from "effect/Effect"
import * as Abort from "../../Abort.js"
import type { Cancellation } from "../../Cancellation.js"

/** @internal */
export interface CallbackOptions {
  /** Aborts when what the function does is to stop. */
  readonly signal: AbortSignal
}

/** @internal */
export type PromiseCallback<P extends ReadonlyArray<unknown>> = (
  ...args: [...P, options: CallbackOptions]
) => PromiseLike<unknown>

/** @internal */
export type EffectCallback<P extends ReadonlyArray<unknown>> = (
  ...args: P
) => Effect.Effect<unknown, unknown, Cancellation>

const toEffect =
  <P extends ReadonlyArray<unknown>>(call: PromiseCallback<P>): EffectCallback<P> =>
  (...args) =>
    Abort.fromPromise({
      try: ({ signal }) => new Promise((resolve) => resolve(call(...args, { signal }))),
      catch: (error) => error
    })

const toPromise =
  <P extends ReadonlyArray<unknown>>(call: EffectCallback<P>): PromiseCallback<P> =>
  (...args) => {
    const { signal } = args.at(-1) as CallbackOptions
    return Abort.toPromise(call(...(args.slice(0, -1) as unknown as P)), { signal })
  }

/**
 * One function.
 *
 * @internal
 */
export const callback = <P extends ReadonlyArray<unknown>>() => ({
  toEffect: (call: PromiseCallback<P>): EffectCallback<P> => toEffect(call),
  toPromise: (call: EffectCallback<P>): PromiseCallback<P> => toPromise(call)
})

/** @internal */
export interface Named<F> {
  readonly [name: string]: F
}

const mapped = <A, B>(all: Named<A>, map: (one: A) => B): Named<B> =>
  Object.fromEntries(Object.entries(all).map(([name, one]) => [name, map(one)]))

/**
 * Functions by their names.
 *
 * @internal
 */
export const callbacks = <P extends ReadonlyArray<unknown>>() => ({
  toEffect: (all: Named<PromiseCallback<P>>): Named<EffectCallback<P>> => mapped(all, toEffect),
  toPromise: (all: Named<EffectCallback<P>>): Named<PromiseCallback<P>> => mapped(all, toPromise)
})
