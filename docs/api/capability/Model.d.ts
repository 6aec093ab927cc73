import * as Context from "effect/Context";
import * as Duration from "effect/Duration";
import * as Layer from "effect/Layer";
import * as Schema from "effect/Schema";
import * as Stream from "effect/Stream";
import { type Cancellation } from "../Cancellation.js";
import * as Content from "../Content.js";
import type * as ToolCall from "../ToolCall.js";
import type * as ToolResult from "../ToolResult.js";
export declare const System: Schema.Struct<{
    role: Schema.Literal<["system"]>;
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
}>;
export declare const User: Schema.Struct<{
    role: Schema.Literal<["user"]>;
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
}>;
export declare const ToolCallBlock: Schema.Struct<{
    type: Schema.Literal<["tool-call"]>;
    id: typeof Schema.String;
    name: typeof Schema.String;
    arguments: typeof Schema.String;
}>;
export type ToolCallBlock = typeof ToolCallBlock.Type;
export declare const Block: Schema.Union<[Schema.Struct<{
    type: Schema.Literal<["text"]>;
    text: typeof Schema.String;
}>, Schema.Struct<{
    type: Schema.Literal<["reasoning"]>;
    text: typeof Schema.String;
}>, Schema.Struct<{
    type: Schema.Literal<["tool-call"]>;
    id: typeof Schema.String;
    name: typeof Schema.String;
    arguments: typeof Schema.String;
}>]>;
export type Block = typeof Block.Type;
export declare const Assistant: Schema.Struct<{
    role: Schema.Literal<["assistant"]>;
    content: Schema.Array$<Schema.Union<[Schema.Struct<{
        type: Schema.Literal<["text"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["reasoning"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["tool-call"]>;
        id: typeof Schema.String;
        name: typeof Schema.String;
        arguments: typeof Schema.String;
    }>]>>;
}>;
export declare const Tool: Schema.Schema<ToolResult.Message>;
export declare const Message: Schema.Union<[Schema.Struct<{
    role: Schema.Literal<["system"]>;
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
}>, Schema.Struct<{
    role: Schema.Literal<["user"]>;
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
}>, Schema.Struct<{
    role: Schema.Literal<["assistant"]>;
    content: Schema.Array$<Schema.Union<[Schema.Struct<{
        type: Schema.Literal<["text"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["reasoning"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["tool-call"]>;
        id: typeof Schema.String;
        name: typeof Schema.String;
        arguments: typeof Schema.String;
    }>]>>;
}>, Schema.Schema<ToolResult.Message, ToolResult.Message, never>]>;
export type Message = typeof Message.Type;
export declare const ToolSchema: Schema.Struct<{
    name: typeof Schema.String;
    description: typeof Schema.String;
    parameters: typeof Schema.Object;
}>;
export declare const Options: Schema.Struct<{
    temperature: Schema.optional<typeof Schema.Finite>;
    topP: Schema.optional<typeof Schema.Finite>;
    maxTokens: Schema.optional<Schema.filter<typeof Schema.Int>>;
    stop: Schema.optional<Schema.Array$<typeof Schema.String>>;
    toolChoice: Schema.optional<Schema.Literal<["auto", "none", "required"]>>;
}>;
export type Options = typeof Options.Type;
export declare const Request: Schema.Struct<{
    model: typeof Schema.String;
    messages: Schema.Array$<Schema.Union<[Schema.Struct<{
        role: Schema.Literal<["system"]>;
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
    }>, Schema.Struct<{
        role: Schema.Literal<["user"]>;
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
    }>, Schema.Struct<{
        role: Schema.Literal<["assistant"]>;
        content: Schema.Array$<Schema.Union<[Schema.Struct<{
            type: Schema.Literal<["text"]>;
            text: typeof Schema.String;
        }>, Schema.Struct<{
            type: Schema.Literal<["reasoning"]>;
            text: typeof Schema.String;
        }>, Schema.Struct<{
            type: Schema.Literal<["tool-call"]>;
            id: typeof Schema.String;
            name: typeof Schema.String;
            arguments: typeof Schema.String;
        }>]>>;
    }>, Schema.Schema<ToolResult.Message, ToolResult.Message, never>]>>;
    tools: Schema.optional<Schema.Array$<Schema.Struct<{
        name: typeof Schema.String;
        description: typeof Schema.String;
        parameters: typeof Schema.Object;
    }>>>;
    options: Schema.optional<Schema.Struct<{
        temperature: Schema.optional<typeof Schema.Finite>;
        topP: Schema.optional<typeof Schema.Finite>;
        maxTokens: Schema.optional<Schema.filter<typeof Schema.Int>>;
        stop: Schema.optional<Schema.Array$<typeof Schema.String>>;
        toolChoice: Schema.optional<Schema.Literal<["auto", "none", "required"]>>;
    }>>;
}>;
export type Request = typeof Request.Type;
export declare const Text: Schema.TaggedStruct<"Text", {
    text: typeof Schema.String;
}>;
export declare const Reasoning: Schema.TaggedStruct<"Reasoning", {
    text: typeof Schema.String;
}>;
export declare const ToolCallStart: Schema.TaggedStruct<"ToolCallStart", {
    id: typeof Schema.String;
    name: typeof Schema.String;
}>;
export declare const ToolCallArguments: Schema.TaggedStruct<"ToolCallArguments", {
    id: typeof Schema.String;
    text: typeof Schema.String;
}>;
export declare const Usage: Schema.TaggedStruct<"Usage", {
    inputTokens: Schema.refine<number, typeof Schema.NonNegative>;
    outputTokens: Schema.refine<number, typeof Schema.NonNegative>;
    cachedInputTokens: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
    reasoningTokens: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
}>;
export type Usage = typeof Usage.Type;
export declare const ErrorCode: Schema.Literal<["ABORTED", "TIMEOUT", "INVALID_REQUEST", "CONTEXT_TOO_LONG", "UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "QUOTA_EXCEEDED", "RATE_LIMITED", "OVERLOADED", "SERVER_ERROR", "CONNECTION_FAILED", "CONNECTION_LOST", "INVALID_RESPONSE", "PROVIDER_FAILURE"]>;
export type ErrorCode = typeof ErrorCode.Type;
export declare const Problem: Schema.Struct<{
    code: Schema.Literal<["ABORTED", "TIMEOUT", "INVALID_REQUEST", "CONTEXT_TOO_LONG", "UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "QUOTA_EXCEEDED", "RATE_LIMITED", "OVERLOADED", "SERVER_ERROR", "CONNECTION_FAILED", "CONNECTION_LOST", "INVALID_RESPONSE", "PROVIDER_FAILURE"]>;
    message: typeof Schema.String;
    isRetryable: typeof Schema.Boolean;
    retryAfterMillis: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
}>;
export type Problem = typeof Problem.Type;
export declare const FinishReason: Schema.Literal<["stop", "tool-calls", "length", "content-filter", "aborted", "error"]>;
export type FinishReason = typeof FinishReason.Type;
export declare const Finish: Schema.TaggedStruct<"Finish", {
    reason: Schema.Literal<["stop", "tool-calls", "length", "content-filter", "aborted", "error"]>;
    error: Schema.optional<Schema.Struct<{
        code: Schema.Literal<["ABORTED", "TIMEOUT", "INVALID_REQUEST", "CONTEXT_TOO_LONG", "UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "QUOTA_EXCEEDED", "RATE_LIMITED", "OVERLOADED", "SERVER_ERROR", "CONNECTION_FAILED", "CONNECTION_LOST", "INVALID_RESPONSE", "PROVIDER_FAILURE"]>;
        message: typeof Schema.String;
        isRetryable: typeof Schema.Boolean;
        retryAfterMillis: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
    }>>;
}>;
export type Finish = typeof Finish.Type;
export declare const Chunk: Schema.Union<[Schema.TaggedStruct<"Text", {
    text: typeof Schema.String;
}>, Schema.TaggedStruct<"Reasoning", {
    text: typeof Schema.String;
}>, Schema.TaggedStruct<"ToolCallStart", {
    id: typeof Schema.String;
    name: typeof Schema.String;
}>, Schema.TaggedStruct<"ToolCallArguments", {
    id: typeof Schema.String;
    text: typeof Schema.String;
}>, Schema.TaggedStruct<"Usage", {
    inputTokens: Schema.refine<number, typeof Schema.NonNegative>;
    outputTokens: Schema.refine<number, typeof Schema.NonNegative>;
    cachedInputTokens: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
    reasoningTokens: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
}>, Schema.TaggedStruct<"Finish", {
    reason: Schema.Literal<["stop", "tool-calls", "length", "content-filter", "aborted", "error"]>;
    error: Schema.optional<Schema.Struct<{
        code: Schema.Literal<["ABORTED", "TIMEOUT", "INVALID_REQUEST", "CONTEXT_TOO_LONG", "UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "QUOTA_EXCEEDED", "RATE_LIMITED", "OVERLOADED", "SERVER_ERROR", "CONNECTION_FAILED", "CONNECTION_LOST", "INVALID_RESPONSE", "PROVIDER_FAILURE"]>;
        message: typeof Schema.String;
        isRetryable: typeof Schema.Boolean;
        retryAfterMillis: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
    }>>;
}>]>;
export type Chunk = typeof Chunk.Type;
export interface Service {
    readonly stream: (request: Request) => Stream.Stream<Chunk, never, Cancellation>;
}
declare const Model_base: Context.TagClass<Model, "quiesce/capability/Model", Service>;
export declare class Model extends Model_base {
}
export declare const stream: (request: Request) => Stream.Stream<Chunk, never, Model | Cancellation>;
export interface LayerOptions {
    readonly idleTimeout?: Duration.DurationInput | undefined;
}
export declare const layer: <R = never>(ask: (request: Request) => Stream.Stream<Chunk, never, R>, options?: LayerOptions) => Layer.Layer<Model, never, Exclude<R, Cancellation>>;
export interface DraftBlock {
    readonly block: Block;
    readonly isOpen: boolean;
}
export interface Draft {
    readonly blocks: ReadonlyArray<DraftBlock>;
    readonly usage: Usage | undefined;
    readonly finish: Finish | undefined;
}
export declare const emptyDraft: Draft;
export declare const append: (draft: Draft, chunk: Chunk) => Draft;
export declare const assemble: (chunks: Iterable<Chunk>) => Draft;
export declare const prefix: (draft: Draft) => ReadonlyArray<Content.Content>;
export declare const toToolCall: ({ arguments: text, id, name }: ToolCallBlock) => ToolCall.ToolCall;
export {};
