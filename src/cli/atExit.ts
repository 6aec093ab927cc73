/**
 * What has to happen also when the program leaves without waiting for anything.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Calls `f`, which must be synchronous, if the program leaves while the scope is open. */
export const atExit = (f: () => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      process.on("exit", f)
    }),
    () => Effect.sync(() => process.off("exit", f))
  )
