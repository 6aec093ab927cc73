/**
 * Tools whose bodies are functions: what they return may be a value, a promise, or an async generator.
 *
 * A body gets its parameters, validated, and a context with the signal that it is to listen to. It is awaited whatever
 * it does with that: a call is answered when its body has settled, and not before (L3, L4).
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Content from "../Content.js"
import { startBody } from "../internal/promise/body.js"
import { toFacade } from "../internal/promise/results.js"
import { type Checked, check, outputOf, parametersOf, valueOf } from "../internal/promise/standard.js"
import { keepTool } from "../internal/promise/tools.js"
import * as Core from "../Tool.js"
import type * as CoreResult from "../ToolResult.js"
import type { BodyContext } from "./Call.js"
import type { ToolResult } from "./Result.js"
import type { InferInput, InferOutput, StandardSchema } from "./StandardSchema.js"

/**
 * A tool, as `defineTool` makes it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Tool<out Name extends string = string> {
  readonly name: Name
  readonly description: string
  /** What a model is told of the parameters. */
  readonly jsonSchema: object
}

/**
 * What a body may return: its value, a promise of it, or an async generator that yields what people are shown of its
 * progress, and returns the value.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Returned<A> = A | PromiseLike<A> | AsyncIterable<string, A>

/**
 * What `defineTool` needs to know of a tool.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolOptions<
  Name extends string,
  P extends StandardSchema<any, any>,
  O extends StandardSchema<any, any>
> {
  readonly name: Name
  /** What the model is told the tool does. */
  readonly description: string
  /** A schema of any library that speaks Standard Schema. It must validate synchronously. */
  readonly parameters: P
  /** What the model is told of the parameters, where their schema cannot say so itself. */
  readonly jsonSchema?: object | undefined
  /** The schema of what the body returns. What it gives must be JSON. Default: any JSON. */
  readonly output?: O | undefined
  /** The time for one call in milliseconds, at most 2^31 - 1, or a duration in words. Default: no limit. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Whether calls of one message may run beside others. Asked again right before each start. Default: `exclusive`. */
  readonly concurrency?: Core.Concurrency | ((parameters: InferOutput<P>) => Core.Concurrency) | undefined
  /** The body. What it throws is the result of the call; a `CodedError` names itself there. */
  readonly execute: (parameters: InferOutput<P>, context: BodyContext) => Returned<InferInput<O>>
  /** What the model is shown of a success. Default: a string as it is, anything else as JSON. */
  readonly render?: ((value: InferOutput<O>) => string | ReadonlyArray<Content.Content>) | undefined
  /** What people are shown of a success. */
  readonly meta?: ((value: InferOutput<O>) => CoreResult.Json) | undefined
  /** Has the last word on the content of any result of this tool; `undefined` keeps what is there. Must not throw. */
  readonly finalContent?: ((result: ToolResult) => ReadonlyArray<Content.Content> | undefined) | undefined
}

/**
 * Defines a tool.
 *
 * Runs nothing. Throws where the tool can never work: a name that providers reject, a timeout that no timer can wait for,
 * parameters that nobody has described.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Schema } from "effect"
 * import { createRuntime, defineTool } from "quiesce/promise"
 *
 * // A schema of zod, valibot or arktype does as well.
 * const parameters = Schema.standardSchemaV1(Schema.Struct({ seconds: Schema.Number }))
 * const wait = defineTool({
 *   name: "wait",
 *   description: "Waits",
 *   parameters,
 *   execute: ({ seconds }, { signal }) =>
 *     new Promise<string>((resolve, reject) => {
 *       const timer = setTimeout(() => resolve("done"), seconds * 1000)
 *       signal.addEventListener("abort", () => {
 *         clearTimeout(timer)
 *         reject(signal.reason)
 *       })
 *     })
 * })
 *
 * await using runtime = createRuntime({ tools: [wait] })
 * const controller = new AbortController()
 * const call = runtime.call({ callId: "c1", name: "wait", arguments: { seconds: 60 }, signal: controller.signal })
 * controller.abort()
 * const result = await call
 * assert.ok(result.isError)
 * assert.deepStrictEqual(result.error.info, { name: "AbortError", code: "ABORTED" })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const defineTool = <
  const Name extends string,
  P extends StandardSchema<any, any>,
  O extends StandardSchema<any, any> = StandardSchema<unknown>
>(
  options: ToolOptions<Name, P, O>
): Tool<Name> => {
  const { finalContent, meta, name, output, render } = options
  const body = {
    execute: options.execute as (parameters: unknown, context: BodyContext) => unknown,
    check: (value: unknown) => check(output, value)
  }
  const core = Core.make(name, {
    description: options.description,
    parameters: parametersOf(name, options.parameters, options.jsonSchema),
    success: outputOf(output),
    timeout: options.timeout,
    concurrency: options.concurrency as Core.Concurrency,
    failure: Schema.Unknown,
    handler: (parameters) => startBody(body, parameters) as Effect.Effect<Checked, unknown>,
    render: render && ((checked: Checked) => render(valueOf(checked) as InferOutput<O>)),
    meta: meta && ((checked: Checked) => meta(valueOf(checked) as InferOutput<O>)),
    finalContent: finalContent && ((result) => finalContent(toFacade(result)))
  })
  const { description, jsonSchema } = core
  return keepTool(Object.freeze({ name, description, jsonSchema }), core)
}
