export interface StandardSchema<Input = unknown, Output = Input> {
    readonly "~standard": StandardProps<Input, Output>;
}
export interface StandardProps<Input = unknown, Output = Input> {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: {
        readonly input: Input;
        readonly output: Output;
    } | undefined;
    readonly jsonSchema?: StandardJsonSchema | undefined;
}
export interface StandardJsonSchema {
    readonly input: (options: {
        readonly target: string;
    }) => Record<string, unknown>;
}
export type StandardResult<Output> = {
    readonly value: Output;
    readonly issues?: undefined;
} | {
    readonly issues: ReadonlyArray<StandardIssue>;
};
export interface StandardIssue {
    readonly message: string;
    readonly path?: ReadonlyArray<PropertyKey | {
        readonly key: PropertyKey;
    }> | undefined;
}
export type InferInput<S extends StandardSchema<any, any>> = NonNullable<S["~standard"]["types"]>["input"];
export type InferOutput<S extends StandardSchema<any, any>> = NonNullable<S["~standard"]["types"]>["output"];
