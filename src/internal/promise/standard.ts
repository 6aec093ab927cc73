/**
 * Schemas of any library, as those that a tool stands on.
 *
 * Parameters are validated synchronously, before anybody is asked about a call. What a body returns is validated in its
 * own promise, so that may take its time, and comes to the core as `Checked`; only what a policy brings is validated
 * there, and synchronously.
 */
import * as Arr from "effect/Array"
import type * as Effect from "effect/Effect"
import * as JSONSchema from "effect/JSONSchema"
import * as ParseResult from "effect/ParseResult"
import { isPromiseLike } from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"
import type { StandardIssue, StandardResult, StandardSchema } from "../../promise/StandardSchema.js"
import { misuse } from "../invariant.js"
import { describeThrown } from "../thrown.js"

type AnySchema = StandardSchema<any, any>
type Parsed = Effect.Effect<unknown, ParseResult.ParseIssue>

const keyOf = (segment: PropertyKey | { readonly key: PropertyKey }): PropertyKey =>
  typeof segment === "object" ? segment.key : segment

const issueOf = (ast: AST.AST, value: unknown, issues: ReadonlyArray<StandardIssue>): ParseResult.ParseIssue => {
  const each = issues.map(({ message, path = [] }): ParseResult.ParseIssue => {
    const what = new ParseResult.Type(ast, value, message)
    const keys = path.map(keyOf)
    return Arr.isNonEmptyArray(keys) ? new ParseResult.Pointer(keys, value, what) : what
  })
  // A library that says that something is wrong, and not what.
  return Arr.isNonEmptyReadonlyArray(each)
    ? new ParseResult.Composite(ast, value, each)
    : new ParseResult.Type(ast, value, "it does not fit the schema")
}

const parsed = (result: StandardResult<unknown>, value: unknown, ast: AST.AST): Parsed =>
  result.issues ? ParseResult.fail(issueOf(ast, value, result.issues)) : ParseResult.succeed(result.value)

/** Validates now. What only a promise could tell is said to be no synchronous step, as Effect's own schemas say it. */
const validateNow = (schema: AnySchema, value: unknown, ast: AST.AST): Parsed => {
  const result = schema["~standard"].validate(value)
  if (!isPromiseLike(result)) return parsed(result, value, ast)
  result.then(undefined, () => {}) // L10
  return ParseResult.fail(new ParseResult.Forbidden(ast, value, "its validation is asynchronous"))
}

/**
 * What a model is told of the parameters: what the definition says, what the library says, or what Effect says of a
 * schema of its own.
 */
const describe = (name: string, schema: AnySchema, given: object | undefined): object => {
  if (given !== undefined) return given
  try {
    const said = schema["~standard"].jsonSchema?.input({ target: "draft-07" })
    if (said !== undefined) return said
    if (Schema.isSchema(schema)) return JSONSchema.make(schema as unknown as Schema.Schema.AnyNoContext)
  } catch (error) {
    return misuse(
      `The parameters of tool "${name}" cannot be described to a model: ${describeThrown(error).message}\nSay what it is told, in "jsonSchema"`
    )
  }
  return misuse(
    `The parameters of tool "${name}" cannot be described to a model: their schema comes from "${schema["~standard"].vendor}", which says nothing of itself. Say what it is told, in "jsonSchema"`
  )
}

/**
 * The schema of parameters.
 *
 * @internal
 */
export const parametersOf = (
  name: string,
  schema: AnySchema,
  jsonSchema: object | undefined
): Schema.Schema<unknown, unknown> => {
  const described = { jsonSchema: describe(name, schema, jsonSchema) }
  // Effect's own is decoded as it is: through its `validate` it takes a fiber of its own for each value.
  if (Schema.isSchema(schema)) return (schema as unknown as Schema.Schema<unknown, unknown>).annotations(described)
  return Schema.transformOrFail(Schema.Unknown, Schema.Unknown, {
    strict: true,
    decode: (value, _, ast) => validateNow(schema, value, ast) as Effect.Effect<unknown, ParseResult.ParseIssue>,
    encode: (value, _, ast) => ParseResult.fail(new ParseResult.Forbidden(ast, value, "parameters are never encoded"))
  }).annotations(described)
}

/**
 * What became of an output when it was validated.
 *
 * @internal
 */
export class Checked {
  readonly result: StandardResult<unknown>
  /** What was validated. */
  readonly value: unknown

  constructor(result: StandardResult<unknown>, value: unknown) {
    this.result = result
    this.value = value
  }
}

/**
 * Validates what a body returned. A promise where the library gives one.
 *
 * @internal
 */
export const check = (schema: AnySchema | undefined, value: unknown): Checked | PromiseLike<Checked> => {
  if (schema === undefined) return new Checked({ value }, value)
  const result = schema["~standard"].validate(value)
  return isPromiseLike(result) ? result.then((result) => new Checked(result, value)) : new Checked(result, value)
}

/**
 * The schema of an output, which has been checked already where a body returned it.
 *
 * @internal
 */
export const outputOf = (schema: AnySchema | undefined): Schema.Schema<Checked, unknown> =>
  Schema.transformOrFail(Schema.Unknown, Schema.Unknown, {
    strict: true,
    decode: (value, _, ast) =>
      schema === undefined
        ? ParseResult.succeed(new Checked({ value }, value))
        : ParseResult.map(validateNow(schema, value, ast), (output) => new Checked({ value: output }, value)),
    encode: (checked, _, ast) => {
      const { result, value } = checked as Checked
      return parsed(result, value, ast)
    }
  }) as unknown as Schema.Schema<Checked, unknown>

/**
 * The output of a value that has been found good.
 *
 * @internal
 */
export const valueOf = ({ result }: Checked): unknown => (result.issues ? undefined : result.value)
