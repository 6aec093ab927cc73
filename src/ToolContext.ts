/**
 * What a running body knows of its call, and what it may tell the agent beside its result.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Cancellation } from "./Cancellation.js"
import type * as Content from "./Content.js"
import type * as ToolResult from "./ToolResult.js"

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
  /**
   * Runs another call, as one of the model is run: through all policies, with a result of its own. Its id is this call's and
   * a number, and the runtime shows it as a part of this call.
   *
   * The calls of a body take turns as those of one message do: at most ten run at once, an exclusive one alone, first
   * come, first served. An interruption while it waits for its turn ends the wait, and nothing of the call is known;
   * later it cancels the call and waits for its result. When this call is cancelled, so are those of its body, and its own
   * result comes last (L3). What a call defers, and the end of the turn, are this call's only where it succeeds.
   */
  readonly call: (name: string, parameters: unknown) => Effect.Effect<ToolResult.ToolResult, never, Cancellation>
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

/**
 * Runs another call from inside a body. See `Service.call`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Schema } from "effect"
 * import { Cancellation, Tool, ToolContext, Toolkit, ToolRuntime } from "quiesce"
 *
 * const Double = Tool.make("double", {
 *   description: "Doubles a number",
 *   parameters: { n: Schema.Number },
 *   success: Schema.Number,
 *   handler: ({ n }) => Effect.succeed(n * 2)
 * })
 * const Quadruple = Tool.make("quadruple", {
 *   description: "Doubles a number twice",
 *   parameters: { n: Schema.Number },
 *   success: Schema.Unknown,
 *   handler: ({ n }) =>
 *     Effect.gen(function* () {
 *       const once = yield* ToolContext.call("double", { n })
 *       if (once._tag === "Failure") return once.message
 *       const twice = yield* ToolContext.call("double", { n: once.value })
 *       return twice._tag === "Success" ? twice.value : twice.message
 *     })
 * })
 * const result = await ToolRuntime.execute({ id: "call_1", name: "quadruple", parameters: { n: 3 } }).pipe(
 *   Cancellation.own,
 *   Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(Double, Quadruple) })),
 *   Effect.runPromise
 * )
 * assert.ok(result._tag === "Success")
 * assert.strictEqual(result.value, 12)
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const call = (
  name: string,
  parameters: unknown
): Effect.Effect<ToolResult.ToolResult, never, ToolContext | Cancellation> =>
  Effect.flatMap(ToolContext, (context) => context.call(name, parameters))
