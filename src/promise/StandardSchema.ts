/**
 * The interface that schema libraries share (https://standardschema.dev, version 1): zod, valibot, arktype and
 * `effect/Schema` (through `Schema.standardSchemaV1`) alike.
 *
 * These are its types, copied, as the specification invites one to: nothing depends on a package.
 *
 * @since 0.1.0
 */

/**
 * A schema of any library.
 *
 * @since 0.1.0
 * @category models
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardProps<Input, Output>
}

/**
 * What a schema says of itself.
 *
 * @since 0.1.0
 * @category models
 */
export interface StandardProps<Input = unknown, Output = Input> {
  readonly version: 1
  /** The name of the library. */
  readonly vendor: string
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
  /** Not there at run time: what the schema takes, and what it gives. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
  /** Where the library can describe its schemas to others. */
  readonly jsonSchema?: StandardJsonSchema | undefined
}

/**
 * Describes a schema as JSON Schema, as far as the library can.
 *
 * @since 0.1.0
 * @category models
 */
export interface StandardJsonSchema {
  readonly input: (options: { readonly target: string }) => Record<string, unknown>
}

/**
 * What validating came to: a value, or what is wrong.
 *
 * @since 0.1.0
 * @category models
 */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: ReadonlyArray<StandardIssue> }

/**
 * One thing that is wrong with a value, and where.
 *
 * @since 0.1.0
 * @category models
 */
export interface StandardIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/**
 * What a schema takes.
 *
 * @since 0.1.0
 * @category utility types
 */
export type InferInput<S extends StandardSchema<any, any>> = NonNullable<S["~standard"]["types"]>["input"]

/**
 * What a schema gives.
 *
 * @since 0.1.0
 * @category utility types
 */
export type InferOutput<S extends StandardSchema<any, any>> = NonNullable<S["~standard"]["types"]>["output"]
