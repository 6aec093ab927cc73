/**
 * Calls functions that may answer with a promise.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import { isPromiseLike } from "effect/Predicate"
import * as Abort from "../../Abort.js"
import type { Cancellation } from "../../Cancellation.js"

/**
 * Fails with what was thrown, as it is. `Effect.fail` looks at it, and some of what can be thrown cannot be looked at.
 *
 * @internal
 */
export const failing = (error: unknown): Effect.Effect<never, unknown> => Effect.failCause(Cause.fail(error))

/** Calls `f` now, and waits for its promise, if it gives one: an answer that is there costs no wait. */
const answerOf = <A>(f: () => A | PromiseLike<A>): Effect.Effect<A, unknown, Cancellation> => {
  let promise: Promise<A>
  try {
    const answer = f()
    if (!isPromiseLike(answer)) return Effect.succeed(answer)
    promise = Promise.resolve(answer)
  } catch (error) {
    return failing(error)
  }
  promise.catch(() => {}) // L10: it may reject before anybody has come to wait for it
  return Abort.fromPromise({ try: () => promise, catch: identity })
}

/**
 * Calls a function of a stage that runs to its end whatever becomes of the call, and then goes on with its answer.
 *
 * @internal
 */
export const calling = <A, B>(
  f: () => A | PromiseLike<A>,
  then: (answer: A) => B
): Effect.Effect<B, unknown, Cancellation> => {
  const answer = answerOf(f)
  // What is there already stays an `Exit`, which needs no fiber.
  return Effect.isEffect(answer) && "_tag" in answer && answer._tag === "Success"
    ? attempt(() => then((answer as unknown as { readonly value: A }).value))
    : Effect.flatMap(answer, (value) => attempt(() => then(value)))
}

const attempt = <B>(f: () => B): Effect.Effect<B, unknown> => {
  try {
    return Effect.succeed(f())
  } catch (error) {
    return failing(error)
  }
}
