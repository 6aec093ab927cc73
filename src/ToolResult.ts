/**
 * How a call ended: one frozen value, the same for the caller, every observer and the store (L1).
 *
 * It answers three questions that other systems mix up: what the model is told (`content`), whether the handler was
 * ever called (`dispatched`), and how the body's own work ended (`body`), so that finished work is never called stopped.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as CancelCause from "./CancelCause.js"
import * as Content from "./Content.js"
import type { Json as AnyJson } from "./internal/json.js"
import * as ToolError from "./ToolError.js"

/**
 * A value that is lossless JSON.
 *
 * @since 0.1.0
 * @category models
 */
export type Json = AnyJson

/**
 * Schema for how the body of the attempt that counts ended.
 *
 * @since 0.1.0
 * @category schemas
 */
export const BodyEnd = Schema.Literal("not-started", "interrupted", "completed", "failed")

/**
 * How the body of the attempt that counts ended, whatever became of the call.
 *
 * - `not-started`: the handler was not called
 * - `interrupted`: it was stopped on its way; it may have had effects
 * - `completed`: it succeeded; where the call is a failure all the same, its effects stand and its value was discarded
 * - `failed`: it failed by itself
 *
 * @since 0.1.0
 * @category models
 */
export type BodyEnd = typeof BodyEnd.Type

const Reported = Schema.Struct({ code: Schema.String, name: Schema.String, message: Schema.String })

/**
 * A failure as code, name and message.
 *
 * @since 0.1.0
 * @category models
 */
export type Reported = typeof Reported.Type

const common = {
  callId: Schema.String,
  tool: Schema.String,
  content: Schema.Array(Content.Content),
  contexts: Schema.Array(Content.Content),
  dispatched: Schema.Boolean,
  body: BodyEnd,
  escaped: Schema.Array(Schema.String),
  meta: Schema.optional(Schema.Unknown)
}

/**
 * Schema for a result.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolResult = Schema.Union(
  Schema.TaggedStruct("Success", {
    ...common,
    value: Schema.Unknown,
    concludesTurn: Schema.Boolean
  }),
  Schema.TaggedStruct("Failure", {
    ...common,
    ...Reported.fields,
    cause: Schema.optional(Schema.encodedSchema(CancelCause.CancelCause)),
    bodyFailure: Schema.optional(Reported)
  })
)

interface Common {
  /** The id of the call. */
  readonly callId: string
  /** The name that was called. */
  readonly tool: string
  /** What the model is shown. */
  readonly content: ReadonlyArray<Content.Content>
  /** What the body, then wrappers, then `after` policies want the model to be told before its next step (L12). */
  readonly contexts: ReadonlyArray<Content.Content>
  /** Whether a handler was called, in any attempt. Set in the step of that call and never unset (L2). */
  readonly dispatched: boolean
  /** How the body of the attempt that counts ended. */
  readonly body: BodyEnd
  /** What could not be stopped or waited for, in words: a process that left its group, work that was abandoned. */
  readonly escaped: ReadonlyArray<string>
  /** What the tool wants shown to people, never to the model. */
  readonly meta?: Json
}

/**
 * The call did what was asked.
 *
 * @since 0.1.0
 * @category models
 */
export interface Success extends Common {
  readonly _tag: "Success"
  /** The encoded JSON of the tool's success schema. */
  readonly value: Json
  /** Whether the tool asked that the turn end with this step. */
  readonly concludesTurn: boolean
}

/**
 * The call did not do what was asked, or was stopped, or may not have been finished.
 *
 * @since 0.1.0
 * @category models
 */
export interface Failure extends Common, Reported {
  readonly _tag: "Failure"
  /** Why the call was cancelled, where that is why it failed. */
  readonly cause?: CancelCause.Encoded
  /** The body's own failure, where something else decided: a timeout, a cancellation between two attempts. */
  readonly bodyFailure?: Reported
}

/**
 * How a call ended.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolResult = Success | Failure

/**
 * Checks whether a result is a success.
 *
 * @since 0.1.0
 * @category guards
 */
export const isSuccess = (result: ToolResult): result is Success => result._tag === "Success"

/**
 * Checks whether a result is a failure.
 *
 * @since 0.1.0
 * @category guards
 */
export const isFailure = (result: ToolResult): result is Failure => result._tag === "Failure"

/**
 * A success for a wrapper that answers without calling its `next`.
 *
 * `value` is encoded JSON. The runtime checks it against the tool's success schema, renders its content, and fills in
 * the rest.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { ToolResult } from "quiesce"
 *
 * const cached = ToolResult.success({ total: 3 })
 * assert.deepStrictEqual(cached.value, { total: 3 })
 * assert.strictEqual(cached.dispatched, false)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const success = (value: Json): Success => ({
  _tag: "Success",
  callId: "",
  tool: "",
  value,
  content: [],
  contexts: [],
  dispatched: false,
  body: "not-started",
  escaped: [],
  concludesTurn: false
})

/**
 * A failure for a wrapper that answers by itself. The runtime fills in the rest.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { ToolResult } from "quiesce"
 *
 * const failure = ToolResult.failure({ code: "QUOTA", message: "no calls left today" })
 * assert.deepStrictEqual(failure.content, [{ type: "text", text: "Error: no calls left today" }])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const failure = (options: {
  readonly code: string
  readonly message: string
  readonly name?: string | undefined
}): Failure => ({
  _tag: "Failure",
  callId: "",
  tool: "",
  code: options.code,
  name: options.name ?? nameOf(options.code),
  message: options.message,
  content: errorContent(options.message),
  contexts: [],
  dispatched: false,
  body: "not-started",
  escaped: []
})

const nameOf = (code: string): string =>
  Object.hasOwn(ToolError.names, code) ? ToolError.names[code as ToolError.Code] : "Error"

/**
 * What a model is shown of a failure: `Error: ` and its message.
 *
 * @since 0.1.0
 * @category converting
 */
export const errorContent = (message: string): ReadonlyArray<Content.Content> =>
  Object.freeze([Content.text(`Error: ${message}`)])

/**
 * The same result with `contexts` added behind those it has.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Content, ToolResult } from "quiesce"
 *
 * const result = ToolResult.withContexts(ToolResult.success(1), [Content.text("cached yesterday")])
 * assert.strictEqual(result.contexts.length, 1)
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const withContexts = (result: ToolResult, contexts: ReadonlyArray<Content.Content>): ToolResult => ({
  ...result,
  contexts: [...result.contexts, ...contexts]
})

/**
 * What a model is told of a call.
 *
 * @since 0.1.0
 * @category models
 */
export interface Message {
  readonly role: "tool"
  readonly toolCallId: string
  readonly toolName: string
  readonly isError: boolean
  readonly content: ReadonlyArray<Content.Content>
}

// A model that reads only "aborted" guesses, and often guesses that nothing happened.
const truthOf = (result: Failure): string | undefined => {
  if (result.cause === undefined) return undefined
  switch (result.body) {
    case "not-started":
      return result.dispatched ? "An earlier attempt ran and may have had effects." : "It never ran."
    case "interrupted":
      return "It was stopped while it ran and may have had effects."
    case "completed":
      return "It had already completed: its effects stand, its output was discarded."
    case "failed":
      return "It ran and failed by itself; it may have had effects."
  }
}

/**
 * Renders a result as a message for the model.
 *
 * To the content of a stopped call it adds what is known of its effects, and what could not be stopped.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { ToolResult } from "quiesce"
 *
 * const message = ToolResult.toMessage({
 *   ...ToolResult.failure({ code: "ABORTED", message: "tool call aborted" }),
 *   cause: { _tag: "User" },
 *   dispatched: true,
 *   body: "completed"
 * })
 * assert.deepStrictEqual(message.content.map((block) => block.type === "text" && block.text), [
 *   "Error: tool call aborted",
 *   "It had already completed: its effects stand, its output was discarded."
 * ])
 * ```
 *
 * @since 0.1.0
 * @category converting
 */
export const toMessage = (result: ToolResult): Message => {
  const notes: Array<string> = []
  const truth = isFailure(result) ? truthOf(result) : undefined
  if (truth !== undefined) notes.push(truth)
  if (result.escaped.length > 0) notes.push(`Still running: ${result.escaped.join("; ")}.`)
  return {
    role: "tool",
    toolCallId: result.callId,
    toolName: result.tool,
    isError: isFailure(result),
    content: [...result.content, ...notes.map(Content.text)]
  }
}
