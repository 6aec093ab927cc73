/**
 * One call of Node that takes a callback.
 */
import * as Effect from "effect/Effect"
import { Settlement } from "../settlement.js"

/**
 * What Node calls back with.
 *
 * @internal
 */
export type Done<A> = (error: NodeJS.ErrnoException | null, value: A) => void

type Result<A> = { readonly error: NodeJS.ErrnoException } | { readonly value: A }

/**
 * Runs one call to its end, whatever happens to the fiber: when this completes, no thread of Node works for it (L3).
 *
 * @internal
 */
export const ask = <A>(run: (done: Done<A>) => void): Effect.Effect<A, NodeJS.ErrnoException> =>
  Effect.uninterruptible(
    Effect.suspend(() => {
      const settlement = new Settlement<Result<A>>()
      try {
        run((error, value) => settlement.settle(error === null ? { value } : { error }))
      } catch (error) {
        settlement.settle({ error: error as NodeJS.ErrnoException }) // Node throws what it cannot even ask the system for
      }
      return Effect.flatMap(settlement.wait(), (result) =>
        "error" in result ? Effect.fail(result.error) : Effect.succeed(result.value)
      )
    })
  )
