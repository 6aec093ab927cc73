/**
 * What a running body knows of its call, and what it may tell the agent beside its result.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Content from "./Content.js"

/**
 * What the runtime provides to a body.
 *
 * It belongs to one attempt. What a failed attempt deferred or concluded does not leak into the next one, and using it
 * after the attempt has settled is a defect (W8).
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /** The id of the call. */
  readonly callId: string
  /** The id of the outermost call that this one is a part of: its own, for a call of the model. */
  readonly rootId: string
  /** The name of the tool. */
  readonly tool: string
  /** Which attempt this is: 1, and more when a wrapper runs the body again. */
  readonly attempt: number
  /** Has the model told something before its next step, whatever becomes of this call, unless a policy blocks it. */
  readonly deferContext: (content: Content.Content) => Effect.Effect<void>
  /** Asks that the turn end with this step. Counts only if the call succeeds. */
  readonly concludeTurn: Effect.Effect<void>
  /** Shows people how far the body is: the last text is in `ToolRuntime.inFlight`. */
  readonly progress: (text: string) => Effect.Effect<void>
}

/**
 * Service that a body reaches its call with.
 *
 * @since 0.1.0
 * @category services
 */
export class ToolContext extends Context.Tag("quiesce/ToolContext")<ToolContext, Service>() {}

/**
 * Has the model told something before its next step. See `Service.deferContext`.
 *
 * @since 0.1.0
 * @category running
 */
export const deferContext = (content: Content.Content): Effect.Effect<void, never, ToolContext> =>
  Effect.flatMap(ToolContext, (context) => context.deferContext(content))

/**
 * Asks that the turn end with this step. See `Service.concludeTurn`.
 *
 * @since 0.1.0
 * @category running
 */
export const concludeTurn: Effect.Effect<void, never, ToolContext> = Effect.flatMap(
  ToolContext,
  (context) => context.concludeTurn
)

/**
 * Shows people how far the body is. See `Service.progress`.
 *
 * @since 0.1.0
 * @category running
 */
export const progress = (text: string): Effect.Effect<void, never, ToolContext> =>
  Effect.flatMap(ToolContext, (context) => context.progress(text))
