/**
 * A tool is a named Effect that a model can ask for.
 *
 * A `Tool` is a value: building one runs nothing. It carries the schemas that stand between the model's JSON and the
 * handler's types, and the handler itself. Running tools is the job of `ToolRuntime`.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as JSONSchema from "effect/JSONSchema"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import { hasProperty } from "effect/Predicate"
import * as Schema from "effect/Schema"
import { timerMillis } from "./Cancellation.js"
import type * as Content from "./Content.js"
import { misuse } from "./internal/invariant.js"
import { describeThrown } from "./internal/thrown.js"
import type * as ToolResult from "./ToolResult.js"

const TypeId = "~quiesce/Tool"

/**
 * Whether a call may run beside others of the same step: `exclusive` calls run alone.
 *
 * @since 0.1.0
 * @category models
 */
export type Concurrency = "parallel" | "exclusive"

/**
 * A named Effect together with the schemas of its input and outputs.
 *
 * - `P` is what the handler receives, after decoding
 * - `A` and `E` are what it succeeds and fails with
 * - `R` is what it needs
 *
 * @since 0.1.0
 * @category models
 */
export interface Tool<out Name extends string, in out P, in out A, in out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: typeof TypeId
  readonly name: Name
  readonly description: string
  readonly parameters: Schema.Schema<P, any>
  readonly success: Schema.Schema<A, any>
  readonly failure: Schema.Schema<E, any>
  /** What a model is told of the parameters. */
  readonly jsonSchema: JSONSchema.JsonSchema7Root
  /** The time that the tool has for one call. The model never sees it. */
  readonly timeoutMillis: number | undefined
  /** Asked again right before each start. What it throws means `exclusive`. */
  readonly concurrency: (parameters: P) => Concurrency
  /** Runs with decoded parameters. */
  readonly handler: (parameters: P) => Effect.Effect<A, E, R>
  /** What the model is shown of a success. Absent: a string as it is, anything else as JSON. */
  readonly render: ((value: A) => string | ReadonlyArray<Content.Content>) | undefined
  /** What people are shown of a success. */
  readonly meta: ((value: A) => ToolResult.Json) | undefined
  /** Has the last word on the content of any result of this tool; `undefined` keeps what is there. */
  readonly finalContent: ((result: ToolResult.ToolResult) => ReadonlyArray<Content.Content> | undefined) | undefined
}

/**
 * Any tool, whatever its types.
 *
 * @since 0.1.0
 * @category utility types
 */
export interface Any extends Pipeable {
  readonly [TypeId]: typeof TypeId
  readonly name: string
  readonly description: string
  readonly parameters: Schema.Schema.AnyNoContext
  readonly success: Schema.Schema.AnyNoContext
  readonly failure: Schema.Schema.All
  readonly jsonSchema: JSONSchema.JsonSchema7Root
  readonly timeoutMillis: number | undefined
  readonly concurrency: (parameters: any) => Concurrency
  readonly handler: (parameters: any) => Effect.Effect<any, any, any>
  readonly render: ((value: any) => string | ReadonlyArray<Content.Content>) | undefined
  readonly meta: ((value: any) => ToolResult.Json) | undefined
  readonly finalContent: ((result: ToolResult.ToolResult) => ReadonlyArray<Content.Content> | undefined) | undefined
}

/**
 * What the handler of a tool needs.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Requirements<T extends Any> = T extends {
  readonly handler: (parameters: any) => Effect.Effect<any, any, infer R>
}
  ? R
  : never

/**
 * What the handler of a tool receives.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Parameters<T extends Any> = Schema.Schema.Type<T["parameters"]>

/**
 * The fields of a parameter schema: none may need a service, since parameters are decoded synchronously, before anybody
 * is asked to approve the call.
 *
 * @since 0.1.0
 * @category utility types
 */
export interface Fields {
  readonly [field: PropertyKey]:
    | Schema.Schema<any, any>
    | Schema.Schema<never, any>
    | Schema.PropertySignature<
        Schema.PropertySignature.Token,
        any,
        PropertyKey,
        Schema.PropertySignature.Token,
        any,
        boolean
      >
}

/**
 * The schema that `make` builds from what it is given as parameters.
 *
 * @since 0.1.0
 * @category utility types
 */
export type ParametersSchema<P> = P extends Schema.Schema.Any
  ? P
  : P extends Schema.Struct.Fields
    ? Schema.Struct<P>
    : never

/**
 * What `make` needs to know of a tool.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<
  P extends Fields | Schema.Schema.AnyNoContext,
  Success extends Schema.Schema.AnyNoContext,
  Failure extends Schema.Schema.All,
  R
> {
  /** What the model is told the tool does. */
  readonly description: string
  /** The fields of the parameters, or a whole schema. It must decode synchronously. */
  readonly parameters: P
  readonly success: Success
  readonly failure?: Failure | undefined
  /** The time for one call, at most 2^31 - 1 milliseconds. Default: no limit. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Default: `exclusive`. */
  readonly concurrency?:
    | Concurrency
    | ((parameters: Schema.Schema.Type<ParametersSchema<P>>) => Concurrency)
    | undefined
  readonly handler: (
    parameters: Schema.Schema.Type<ParametersSchema<P>>
  ) => Effect.Effect<Schema.Schema.Type<Success>, Schema.Schema.Type<Failure>, R>
  /** What the model is shown of a success. Default: a string as it is, anything else as JSON. */
  readonly render?: ((value: Schema.Schema.Type<Success>) => string | ReadonlyArray<Content.Content>) | undefined
  /** What people are shown of a success. */
  readonly meta?: ((value: Schema.Schema.Type<Success>) => ToolResult.Json) | undefined
  /** Has the last word on the content of any result of this tool; `undefined` keeps what is there. Must not throw. */
  readonly finalContent?: ((result: ToolResult.ToolResult) => ReadonlyArray<Content.Content> | undefined) | undefined
}

/**
 * Checks whether a value is a `Tool`.
 *
 * @since 0.1.0
 * @category guards
 */
export const isTool = (u: unknown): u is Any => hasProperty(u, TypeId)

const Proto = {
  [TypeId]: TypeId,
  pipe() {
    // biome-ignore lint/complexity/noArguments: `pipeArguments` wants the raw arguments object
    return pipeArguments(this, arguments)
  }
}

// What OpenAI, Anthropic and MCP all accept.
const validName = /^[a-zA-Z0-9_-]{1,64}$/

const describeParameters = (name: string, parameters: Schema.Schema.AnyNoContext): JSONSchema.JsonSchema7Root => {
  try {
    return JSONSchema.make(parameters)
  } catch (error) {
    return misuse(
      `The parameters of tool "${name}" cannot be described to a model: ${describeThrown(error).message}\nGive the schema a "jsonSchema" annotation`
    )
  }
}

/**
 * Creates a tool.
 *
 * Throws when the tool can never work: a name that providers reject, a timeout that no timer can wait for, parameters
 * that have no JSON Schema.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Schema } from "effect"
 * import { Tool } from "quiesce"
 *
 * const Double = Tool.make("double", {
 *   description: "Doubles a number",
 *   parameters: { n: Schema.Number },
 *   success: Schema.Number,
 *   handler: ({ n }) => Effect.succeed(n * 2)
 * })
 *
 * assert.strictEqual(Double.name, "double")
 * assert.strictEqual(await Effect.runPromise(Double.handler({ n: 21 })), 42)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <
  const Name extends string,
  P extends Fields | Schema.Schema.AnyNoContext,
  Success extends Schema.Schema.AnyNoContext,
  Failure extends Schema.Schema.All = typeof Schema.Never,
  R = never
>(
  name: Name,
  options: Options<P, Success, Failure, R>
): Tool<Name, Schema.Schema.Type<ParametersSchema<P>>, Schema.Schema.Type<Success>, Schema.Schema.Type<Failure>, R> => {
  if (!validName.test(name)) misuse(`"${name}" cannot be the name of a tool: use 1 to 64 letters, digits, _ and -`)
  const parameters = Schema.isSchema(options.parameters)
    ? (options.parameters as Schema.Schema.AnyNoContext)
    : (Schema.Struct(options.parameters as Schema.Struct.Fields) as unknown as Schema.Schema.AnyNoContext)
  const { concurrency = "exclusive" } = options
  return Object.freeze(
    Object.assign(Object.create(Proto), {
      name,
      description: options.description,
      parameters,
      success: options.success,
      failure: options.failure ?? Schema.Never,
      jsonSchema: describeParameters(name, parameters),
      timeoutMillis:
        options.timeout === undefined ? undefined : timerMillis(options.timeout, `The timeout of tool "${name}"`), // W27
      concurrency: typeof concurrency === "function" ? concurrency : () => concurrency,
      handler: options.handler,
      render: options.render,
      meta: options.meta,
      finalContent: options.finalContent
    })
  )
}
