import type * as Duration from "effect/Duration";
import type * as Content from "../Content.js";
import * as Core from "../Tool.js";
import type * as CoreResult from "../ToolResult.js";
import type { BodyContext } from "./Call.js";
import type { ToolResult } from "./Result.js";
import type { InferInput, InferOutput, StandardSchema } from "./StandardSchema.js";
export interface Tool<out Name extends string = string> {
    readonly name: Name;
    readonly description: string;
    readonly jsonSchema: object;
}
export type Returned<A> = A | PromiseLike<A> | AsyncIterable<string, A>;
export interface ToolOptions<Name extends string, P extends StandardSchema<any, any>, O extends StandardSchema<any, any>> {
    readonly name: Name;
    readonly description: string;
    readonly parameters: P;
    readonly jsonSchema?: object | undefined;
    readonly output?: O | undefined;
    readonly timeout?: Duration.DurationInput | undefined;
    readonly concurrency?: Core.Concurrency | ((parameters: InferOutput<P>) => Core.Concurrency) | undefined;
    readonly execute: (parameters: InferOutput<P>, context: BodyContext) => Returned<InferInput<O>>;
    readonly render?: ((value: InferOutput<O>) => string | ReadonlyArray<Content.Content>) | undefined;
    readonly meta?: ((value: InferOutput<O>) => CoreResult.Json) | undefined;
    readonly finalContent?: ((result: ToolResult) => ReadonlyArray<Content.Content> | undefined) | undefined;
}
export declare const defineTool: <const Name extends string, P extends StandardSchema<any, any>, O extends StandardSchema<any, any> = StandardSchema<unknown>>(options: ToolOptions<Name, P, O>) => Tool<Name>;
