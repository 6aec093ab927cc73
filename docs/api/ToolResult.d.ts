import * as Schema from "effect/Schema";
import * as CancelCause from "./CancelCause.js";
import * as Content from "./Content.js";
import type { Json as AnyJson } from "./internal/json.js";
export type Json = AnyJson;
export declare const BodyEnd: Schema.Literal<["not-started", "interrupted", "completed", "failed"]>;
export type BodyEnd = typeof BodyEnd.Type;
declare const Reported: Schema.Struct<{
    code: typeof Schema.String;
    name: typeof Schema.String;
    message: typeof Schema.String;
}>;
export type Reported = typeof Reported.Type;
export declare const ToolResult: Schema.Union<[Schema.TaggedStruct<"Success", {
    value: typeof Schema.Unknown;
    concludesTurn: typeof Schema.Boolean;
    callId: typeof Schema.String;
    tool: typeof Schema.String;
    content: Schema.Array$<Schema.Union<[Schema.Struct<{
        type: Schema.Literal<["text"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["reasoning"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["image"]>;
        data: typeof Schema.String;
        mediaType: typeof Schema.String;
    }>]>>;
    contexts: Schema.Array$<Schema.Union<[Schema.Struct<{
        type: Schema.Literal<["text"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["reasoning"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["image"]>;
        data: typeof Schema.String;
        mediaType: typeof Schema.String;
    }>]>>;
    dispatched: typeof Schema.Boolean;
    body: Schema.Literal<["not-started", "interrupted", "completed", "failed"]>;
    escaped: Schema.Array$<typeof Schema.String>;
    meta: Schema.optional<typeof Schema.Unknown>;
}>, Schema.TaggedStruct<"Failure", {
    cause: Schema.optional<Schema.SchemaClass<{
        readonly _tag: "User";
        readonly note?: string | undefined;
    } | {
        readonly _tag: "Parent";
    } | {
        readonly _tag: "Disposed";
    } | {
        readonly _tag: "Deadline";
        readonly code: string;
        readonly millis: number;
    } | {
        readonly _tag: "HostSignal";
        readonly reason: unknown;
    } | {
        readonly _tag: "Interrupted";
        readonly by: string;
    }, {
        readonly _tag: "User";
        readonly note?: string | undefined;
    } | {
        readonly _tag: "Parent";
    } | {
        readonly _tag: "Disposed";
    } | {
        readonly _tag: "Deadline";
        readonly code: string;
        readonly millis: number;
    } | {
        readonly _tag: "HostSignal";
        readonly reason: unknown;
    } | {
        readonly _tag: "Interrupted";
        readonly by: string;
    }, never>>;
    bodyFailure: Schema.optional<Schema.Struct<{
        code: typeof Schema.String;
        name: typeof Schema.String;
        message: typeof Schema.String;
    }>>;
    code: typeof Schema.String;
    name: typeof Schema.String;
    message: typeof Schema.String;
    callId: typeof Schema.String;
    tool: typeof Schema.String;
    content: Schema.Array$<Schema.Union<[Schema.Struct<{
        type: Schema.Literal<["text"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["reasoning"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["image"]>;
        data: typeof Schema.String;
        mediaType: typeof Schema.String;
    }>]>>;
    contexts: Schema.Array$<Schema.Union<[Schema.Struct<{
        type: Schema.Literal<["text"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["reasoning"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["image"]>;
        data: typeof Schema.String;
        mediaType: typeof Schema.String;
    }>]>>;
    dispatched: typeof Schema.Boolean;
    body: Schema.Literal<["not-started", "interrupted", "completed", "failed"]>;
    escaped: Schema.Array$<typeof Schema.String>;
    meta: Schema.optional<typeof Schema.Unknown>;
}>]>;
interface Common {
    readonly callId: string;
    readonly tool: string;
    readonly content: ReadonlyArray<Content.Content>;
    readonly contexts: ReadonlyArray<Content.Content>;
    readonly dispatched: boolean;
    readonly body: BodyEnd;
    readonly escaped: ReadonlyArray<string>;
    readonly meta?: Json;
}
export interface Success extends Common {
    readonly _tag: "Success";
    readonly value: Json;
    readonly concludesTurn: boolean;
}
export interface Failure extends Common, Reported {
    readonly _tag: "Failure";
    readonly cause?: CancelCause.Encoded;
    readonly bodyFailure?: Reported;
}
export type ToolResult = Success | Failure;
export declare const isSuccess: (result: ToolResult) => result is Success;
export declare const isFailure: (result: ToolResult) => result is Failure;
export declare const success: (value: Json) => Success;
export declare const failure: (options: {
    readonly code: string;
    readonly message: string;
    readonly name?: string | undefined;
}) => Failure;
export declare const errorContent: (message: string) => ReadonlyArray<Content.Content>;
export declare const withContexts: (result: ToolResult, contexts: ReadonlyArray<Content.Content>) => ToolResult;
export interface Message {
    readonly role: "tool";
    readonly toolCallId: string;
    readonly toolName: string;
    readonly isError: boolean;
    readonly content: ReadonlyArray<Content.Content>;
}
export declare const toMessage: (result: ToolResult) => Message;
export {};
