/**
 * How a call ended, for code without Effect: one frozen value, the same for the caller and every observer (L1).
 *
 * It says what a model is shown (`content`), what the tool gave (`value`) or what went wrong (`error`), and in `report`
 * what is known beside that: whether the body ran, how it ended, and what could not be stopped.
 *
 * @since 0.1.0
 */
import type * as CancelCause from "../CancelCause.js"
import type * as Content from "../Content.js"
import type * as CoreResult from "../ToolResult.js"

/**
 * What is known of a call beside its result.
 *
 * @since 0.1.0
 * @category models
 */
export interface Report {
  readonly callId: string
  /** The name that was called. */
  readonly tool: string
  /** Whether the body was called, in any attempt. Set in the step of that call and never unset (L2). */
  readonly dispatched: boolean
  /** How the body of the attempt that counts ended. */
  readonly body: CoreResult.BodyEnd
  /** What could not be stopped or waited for, in words. */
  readonly escaped: ReadonlyArray<string>
  /** What a failure is, also where `error.info` says nothing: `DENIED`, `TOOL_FAILURE`, `BLOCKED`. */
  readonly code?: string
  /** Why the call was cancelled, where that is why it failed. */
  readonly cause?: CancelCause.Encoded
  /** The body's own failure, where something else decided, such as a timeout. */
  readonly bodyFailure?: CoreResult.Reported
}

interface Common {
  /** What the model is shown. */
  readonly content: ReadonlyArray<Content.Content>
  /** What the tool wants shown to people, never to the model. */
  readonly meta?: CoreResult.Json
  /** What the model is to be told before its next step (L12). Absent where there is nothing. */
  readonly additionalContexts?: ReadonlyArray<Content.Content>
  readonly report: Report
}

/**
 * The call did what was asked.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolSuccess extends Common {
  readonly isError: false
  /** What the body returned and its schema gave, as JSON. */
  readonly value: CoreResult.Json
  /** The tool asked that the turn end with this step. */
  readonly concludesTurn?: true
}

/**
 * The call did not do what was asked, or was stopped, or may not have been finished.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolFailure extends Common {
  readonly isError: true
  readonly error: {
    readonly message: string
    /** Only where somebody has named the failure: the runtime, or a `CodedError`. */
    readonly info?: { readonly name: string; readonly code: string }
  }
}

/**
 * How a call ended.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolResult = ToolSuccess | ToolFailure

/**
 * What an `around` policy may answer with: what `next` gave, or an answer of its own. Of a success of its own only the
 * value counts, and contexts; of a failure its error, content and contexts.
 *
 * @since 0.1.0
 * @category models
 */
export type Answer =
  | ToolResult
  | {
      readonly isError: false
      readonly value: CoreResult.Json
      readonly additionalContexts?: ReadonlyArray<Content.Content> | undefined
    }
  | {
      readonly isError: true
      readonly error: ToolFailure["error"]
      readonly content?: ReadonlyArray<Content.Content> | undefined
      readonly additionalContexts?: ReadonlyArray<Content.Content> | undefined
    }

/**
 * A failure with a code: what a body or a policy throws where somebody is to tell it from others. The result carries the
 * name and the code in `error.info`. What else is thrown has only its message there.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { CodedError } from "quiesce/promise"
 *
 * const error = new CodedError("no calls left today", "QUOTA")
 * assert.strictEqual(error.code, "QUOTA")
 * assert.strictEqual(error.name, "CodedError")
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class CodedError extends Error {
  override readonly name: string
  readonly code: string

  constructor(message: string, code: string, options?: ErrorOptions & { readonly name?: string | undefined }) {
    super(message, options)
    this.name = options?.name ?? "CodedError"
    this.code = code
  }

  /** How a failure names itself to the runtime. */
  get _tag(): string {
    return this.name
  }
}
