import type * as Duration from "effect/Duration";
import type * as Effect from "effect/Effect";
import * as JSONSchema from "effect/JSONSchema";
import { type Pipeable } from "effect/Pipeable";
import * as Schema from "effect/Schema";
import type * as Content from "./Content.js";
import type * as ToolResult from "./ToolResult.js";
declare const TypeId = "~quiesce/Tool";
export type Concurrency = "parallel" | "exclusive";
export interface Tool<out Name extends string, in out P, in out A, in out E = never, out R = never> extends Pipeable {
    readonly [TypeId]: typeof TypeId;
    readonly name: Name;
    readonly description: string;
    readonly parameters: Schema.Schema<P, any>;
    readonly success: Schema.Schema<A, any>;
    readonly failure: Schema.Schema<E, any>;
    readonly jsonSchema: JSONSchema.JsonSchema7Root;
    readonly timeoutMillis: number | undefined;
    readonly concurrency: (parameters: P) => Concurrency;
    readonly handler: (parameters: P) => Effect.Effect<A, E, R>;
    readonly render: ((value: A) => string | ReadonlyArray<Content.Content>) | undefined;
    readonly meta: ((value: A) => ToolResult.Json) | undefined;
    readonly finalContent: ((result: ToolResult.ToolResult) => ReadonlyArray<Content.Content> | undefined) | undefined;
}
export interface Any extends Pipeable {
    readonly [TypeId]: typeof TypeId;
    readonly name: string;
    readonly description: string;
    readonly parameters: Schema.Schema.AnyNoContext;
    readonly success: Schema.Schema.AnyNoContext;
    readonly failure: Schema.Schema.All;
    readonly jsonSchema: JSONSchema.JsonSchema7Root;
    readonly timeoutMillis: number | undefined;
    readonly concurrency: (parameters: any) => Concurrency;
    readonly handler: (parameters: any) => Effect.Effect<any, any, any>;
    readonly render: ((value: any) => string | ReadonlyArray<Content.Content>) | undefined;
    readonly meta: ((value: any) => ToolResult.Json) | undefined;
    readonly finalContent: ((result: ToolResult.ToolResult) => ReadonlyArray<Content.Content> | undefined) | undefined;
}
export type Requirements<T extends Any> = T extends {
    readonly handler: (parameters: any) => Effect.Effect<any, any, infer R>;
} ? R : never;
export type Parameters<T extends Any> = Schema.Schema.Type<T["parameters"]>;
export interface Fields {
    readonly [field: PropertyKey]: Schema.Schema<any, any> | Schema.Schema<never, any> | Schema.PropertySignature<Schema.PropertySignature.Token, any, PropertyKey, Schema.PropertySignature.Token, any, boolean>;
}
export type ParametersSchema<P> = P extends Schema.Schema.Any ? P : P extends Schema.Struct.Fields ? Schema.Struct<P> : never;
export interface Options<P extends Fields | Schema.Schema.AnyNoContext, Success extends Schema.Schema.AnyNoContext, Failure extends Schema.Schema.All, R> {
    readonly description: string;
    readonly parameters: P;
    readonly success: Success;
    readonly failure?: Failure | undefined;
    readonly timeout?: Duration.DurationInput | undefined;
    readonly concurrency?: Concurrency | ((parameters: Schema.Schema.Type<ParametersSchema<P>>) => Concurrency) | undefined;
    readonly handler: (parameters: Schema.Schema.Type<ParametersSchema<P>>) => Effect.Effect<Schema.Schema.Type<Success>, Schema.Schema.Type<Failure>, R>;
    readonly render?: ((value: Schema.Schema.Type<Success>) => string | ReadonlyArray<Content.Content>) | undefined;
    readonly meta?: ((value: Schema.Schema.Type<Success>) => ToolResult.Json) | undefined;
    readonly finalContent?: ((result: ToolResult.ToolResult) => ReadonlyArray<Content.Content> | undefined) | undefined;
}
export declare const isTool: (u: unknown) => u is Any;
export declare const make: <const Name extends string, P extends Fields | Schema.Schema.AnyNoContext, Success extends Schema.Schema.AnyNoContext, Failure extends Schema.Schema.All = typeof Schema.Never, R = never>(name: Name, options: Options<P, Success, Failure, R>) => Tool<Name, Schema.Schema.Type<ParametersSchema<P>>, Schema.Schema.Type<Success>, Schema.Schema.Type<Failure>, R>;
export {};
