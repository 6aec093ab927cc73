/**
 * Logs what nobody waits for: failures of listeners, of observers, of work that was given up.
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { contained } from "./contained.js"
import { defaultOrigin, type Origin, startFiber } from "./startFiber.js"

/**
 * Logs a warning from synchronous code, with the loggers and annotations of `origin`.
 *
 * @internal
 */
export const report = (message: string, cause: Cause.Cause<unknown>, origin: Origin = defaultOrigin): void => {
  // A logger looks at what it is given, and may throw: nothing is to wait for that, or to end by it.
  startFiber(Effect.logWarning(message, cause), Context.empty(), contained(origin))
}
