/**
 * A stream that is one operation for its whole life.
 *
 * A stream runs on whatever fiber pulls it, and between two pulls on none, so there is nothing of it that an owner could
 * stop and wait for. Here a fiber of its own does the work under the owner and hands over each element, at most one
 * ahead of its consumer. When the consumer stops early the work is told so and awaited; when the owner stops or ends the
 * work ends first, and the consumer finds the stream interrupted (L3, L14).
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { Passage } from "./passage.js"

/**
 * Streams what `work` hands over, until it ends. `work` ends soon after it has heard that no more is wanted.
 *
 * @internal
 */
export const ownedStream = <A, E, R>(
  work: (handOver: (element: A) => Effect.Effect<boolean>) => Effect.Effect<void, E, R>
): Stream.Stream<A, E, R> =>
  Stream.unwrapScoped(
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const passage = new Passage<A, E>()
        const scope = yield* Effect.scope
        // Not a child of this fiber: another one may pull what comes next, when this has ended.
        const fiber = yield* restore(work((element) => passage.offer(element))).pipe(
          Effect.onExit((exit) => Effect.sync(() => passage.finish(exit))),
          Effect.forkIn(scope)
        )
        // By word and not by interrupt, which clean-up in a protected region would never notice.
        yield* Effect.addFinalizer(() =>
          Effect.suspend(() => {
            passage.close()
            return Fiber.await(fiber)
          })
        )
        return Stream.repeatEffectOption(passage.take)
      })
    )
  )
