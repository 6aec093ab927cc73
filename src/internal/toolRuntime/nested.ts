/**
 * The calls that a body makes.
 *
 * They go through the same stages as a call of the model, belong to the owner of the body, and have their results before
 * the call of the body has its own: the owner waits for them (L3, L8).
 */
import * as Effect from "effect/Effect"
import type { Cancellation } from "../../Cancellation.js"
import type * as ToolCall from "../../ToolCall.js"
import type * as ToolResult from "../../ToolResult.js"
import type { Attempt } from "./attemptState.js"
import { modeOf } from "./mode.js"
import type { NestedLane } from "./nestedLane.js"
import type { Registry } from "./registry.js"

/**
 * What nested calls need to know of the call whose body makes them.
 *
 * @internal
 */
export interface NestedHost {
  readonly id: string
  readonly runtime: {
    readonly registry: Registry
    readonly execute: (call: ToolCall.ToolCall) => Effect.Effect<ToolResult.ToolResult, never, Cancellation>
  }
  readonly lane: NestedLane
  /** The number of the next call, over all attempts. */
  readonly nextNumber: () => number
}

/**
 * Runs a call of a body when it is its turn.
 *
 * An interruption while it waits ends the wait: nothing is known of the call. What wants to be told to the model, and the
 * end of the turn, are the body's only where the call has succeeded for good.
 *
 * @internal
 */
export const callNested = (
  host: NestedHost,
  attempt: Attempt,
  name: string,
  parameters: unknown
): Effect.Effect<ToolResult.ToolResult, never, Cancellation> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      const call = { id: `${host.id}:${host.nextNumber()}`, name, parameters }
      const place = host.lane.enter(() => modeOf(host.runtime.registry, call))
      const run = Effect.suspend(() => restore(host.runtime.execute(call)))
      const inTurn = place.turn.isSettled ? run : Effect.zipRight(restore(place.turn.wait()), run)
      return Effect.onExit(inTurn, () => Effect.sync(() => host.lane.leave(place)))
    })
  ).pipe(Effect.tap((result) => Effect.sync(() => result._tag === "Success" && attempt.adopt(result))))
