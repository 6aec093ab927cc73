/**
 * Functions of an agent that may answer with a promise, under the owner of its turn.
 */
import type * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Stream from "effect/Stream"
import * as Abort from "../../Abort.js"
import type { Cancellation } from "../../Cancellation.js"
import type * as Model from "../../capability/Model.js"
import { describeThrown } from "../thrown.js"
import { fromIterable } from "./seamStream.js"

/**
 * Calls `f` with a signal that aborts when its turn is cancelled, and waits for it whatever it does with that (L4).
 *
 * @internal
 */
export const asked = <A>(
  f: (given: { readonly signal: AbortSignal }) => A | PromiseLike<A>
): Effect.Effect<A, unknown, Cancellation> =>
  Abort.fromPromise({
    // In an executor, for what throws and for what is no promise.
    try: (given) => new Promise<A>((resolve) => resolve(f(given))),
    catch: identity
  })

/**
 * The answer of a model that is an async iterable. What that throws is the end of the answer.
 *
 * @internal
 */
export const answerOf = (
  iterable: (given: { readonly signal: AbortSignal }) => AsyncIterable<Model.Chunk>
): Stream.Stream<Model.Chunk, never, Cancellation> =>
  Stream.catchAll(
    fromIterable((signal) => iterable({ signal }), identity),
    (error): Stream.Stream<Model.Chunk> =>
      Stream.succeed({
        _tag: "Finish",
        reason: "error",
        error: { code: "PROVIDER_FAILURE", message: describeThrown(error).message, isRetryable: false }
      })
  )
