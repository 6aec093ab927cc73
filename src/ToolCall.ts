/**
 * A model's request to run a tool.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Schema for a tool call.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolCall = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  parameters: Schema.Unknown,
  rootId: Schema.optional(Schema.String),
  agent: Schema.optional(Schema.String)
})

/**
 * A model's request to run a tool.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolCall {
  /** The id that the model gave the call. It need not be unique: nothing in here is keyed by it. */
  readonly id: string
  /** The name of the tool. */
  readonly name: string
  /** What the model sent. Read once, when the call is accepted, then only a frozen copy is used. */
  readonly parameters: unknown
  /** The outermost call that this one is a part of; absent for a call of the model itself. */
  readonly rootId?: string | undefined
  /** The agent on whose behalf the call runs, where policies and approvals differ by agent. */
  readonly agent?: string | undefined
}

/**
 * Creates a call.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { ToolCall } from "quiesce"
 *
 * const call = ToolCall.make({ id: "call_1", name: "read_file", parameters: { path: "README.md" } })
 * assert.strictEqual(call.name, "read_file")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (call: ToolCall): ToolCall => call
