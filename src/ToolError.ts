/**
 * What can go wrong with a call, as codes and as errors.
 *
 * A call never fails in Effect's sense: whatever happens to it becomes its `ToolResult`, which carries one of the codes
 * below or the tool's own. Interruption is not an error and has no class here.
 *
 * @since 0.1.0
 */
import { hasProperty } from "effect/Predicate"
import * as Schema from "effect/Schema"

const TypeId = "~quiesce/ToolError"

/**
 * The codes that this library gives to failures. A tool's own failures bring their own codes.
 *
 * - `ABORTED_BEFORE_DISPATCH`: cancelled, and no handler was called. It can be run again safely.
 * - `ABORTED`: cancelled after a handler was called. It may have had effects.
 * - `TOOL_TIMEOUT`: the tool's own time was over before its body had settled.
 * - `DENIED`: a policy or a person said no.
 * - `TOOL_FAILURE`: the handler failed, with something that names no code of its own.
 * - `POLICY_FAILURE`: a policy failed, with something that names no code of its own.
 * - `BLOCKED`: a policy withheld the result.
 * - `INTERRUPTED`: the body interrupted itself, and nobody had cancelled it.
 * - `UNKNOWN_TOOL`, `INVALID_ARGS`, `INVALID_TOOL_OUTPUT`, `NOT_JSON`: the call or the tool's answer does not fit.
 * - `OUTCOME_UNKNOWN`: it may have run; nothing better is known.
 * - `TOOL_NOT_STARTED`: a batch or a session ended before the call's turn came.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Code = Schema.Literal(
  "ABORTED",
  "ABORTED_BEFORE_DISPATCH",
  "TOOL_TIMEOUT",
  "DENIED",
  "TOOL_FAILURE",
  "POLICY_FAILURE",
  "BLOCKED",
  "INTERRUPTED",
  "UNKNOWN_TOOL",
  "INVALID_ARGS",
  "INVALID_TOOL_OUTPUT",
  "NOT_JSON",
  "OUTCOME_UNKNOWN",
  "TOOL_NOT_STARTED"
)

/**
 * A code that this library gives to failures.
 *
 * @since 0.1.0
 * @category models
 */
export type Code = typeof Code.Type

/**
 * The name that a failure with one of our codes has.
 *
 * @since 0.1.0
 * @category models
 */
export const names: { readonly [C in Code]: string } = {
  ABORTED: "AbortError",
  ABORTED_BEFORE_DISPATCH: "AbortError",
  TOOL_TIMEOUT: "ToolTimeoutError",
  DENIED: "ToolDeniedError",
  TOOL_FAILURE: "ToolFailureError",
  POLICY_FAILURE: "PolicyFailureError",
  BLOCKED: "ToolBlockedError",
  INTERRUPTED: "ToolInterruptedError",
  UNKNOWN_TOOL: "ToolNotFoundError",
  INVALID_ARGS: "ToolArgsError",
  INVALID_TOOL_OUTPUT: "ToolOutputError",
  NOT_JSON: "NotJsonError",
  OUTCOME_UNKNOWN: "OutcomeUnknownError",
  TOOL_NOT_STARTED: "ToolNotStartedError"
}

/**
 * A failure for handlers that need no class of their own: its code and message reach the model as they are.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { ToolError } from "quiesce"
 *
 * const error = new ToolError.ToolFailure({ code: "NO_SUCH_CITY", message: `There is no city "Rmoe"` })
 * assert.strictEqual(ToolError.isToolError(error), true)
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolFailure extends Schema.TaggedError<ToolFailure>("quiesce/ToolError/ToolFailure")("ToolFailure", {
  code: Schema.optionalWith(Schema.String, { default: () => "TOOL_FAILURE" }),
  message: Schema.String
}) {
  /** @internal */
  readonly [TypeId] = TypeId
}

/**
 * A tool was registered under a name that another tool has.
 *
 * @since 0.1.0
 * @category errors
 */
export class DuplicateTool extends Schema.TaggedError<DuplicateTool>("quiesce/ToolError/DuplicateTool")(
  "DuplicateTool",
  { tool: Schema.String }
) {
  /** @internal */
  readonly [TypeId] = TypeId

  override get message(): string {
    return `A tool named "${this.tool}" is registered already: give one of the two another name, or close the scope that the first was registered in`
  }
}

/**
 * Schema for the union of all errors of this module.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolError = Schema.Union(ToolFailure, DuplicateTool)

/**
 * The union of all errors of this module.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolError = typeof ToolError.Type

/**
 * Checks whether a value is one of the errors of this module.
 *
 * @since 0.1.0
 * @category guards
 */
export const isToolError = (u: unknown): u is ToolError => hasProperty(u, TypeId)
