import * as Schema from "effect/Schema";
import * as ToolResult from "./ToolResult.js";
export declare const version = 1;
export declare const SessionStarted: Schema.TaggedStruct<"SessionStarted", {
    version: typeof Schema.Int;
    agent: typeof Schema.String;
}>;
export declare const SessionReopened: Schema.TaggedStruct<"SessionReopened", {}>;
export declare const SessionClosed: Schema.TaggedStruct<"SessionClosed", {}>;
export declare const Repaired: Schema.TaggedStruct<"Repaired", {
    what: Schema.Array$<typeof Schema.String>;
}>;
export declare const InputMessage: Schema.Struct<{
    id: typeof Schema.String;
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
    source: Schema.optional<typeof Schema.String>;
}>;
export type InputMessage = typeof InputMessage.Type;
export declare const InputQueued: Schema.TaggedStruct<"InputQueued", {
    message: Schema.Struct<{
        id: typeof Schema.String;
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
        source: Schema.optional<typeof Schema.String>;
    }>;
    target: Schema.Literal<["step", "turn"]>;
    wakes: typeof Schema.Boolean;
}>;
export declare const InputDiscarded: Schema.TaggedStruct<"InputDiscarded", {
    ids: Schema.Array$<typeof Schema.String>;
    reason: typeof Schema.String;
}>;
export declare const InputParked: Schema.TaggedStruct<"InputParked", {
    ids: Schema.Array$<typeof Schema.String>;
    reason: typeof Schema.String;
}>;
export declare const InputReturned: Schema.TaggedStruct<"InputReturned", {
    ids: Schema.Array$<typeof Schema.String>;
}>;
export declare const TurnStarted: Schema.TaggedStruct<"TurnStarted", {
    turn: Schema.filter<typeof Schema.Int>;
}>;
export declare const InputClaimed: Schema.TaggedStruct<"InputClaimed", {
    ids: Schema.Array$<typeof Schema.String>;
    turn: Schema.filter<typeof Schema.Int>;
}>;
export declare const StepStarted: Schema.TaggedStruct<"StepStarted", {
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>;
export declare const UserMessage: Schema.TaggedStruct<"UserMessage", {
    id: Schema.optional<typeof Schema.String>;
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
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>;
export declare const ModelRequested: Schema.TaggedStruct<"ModelRequested", {
    model: typeof Schema.String;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
    attempt: Schema.filter<typeof Schema.Int>;
}>;
export declare const ModelChunk: Schema.TaggedStruct<"ModelChunk", {
    chunk: Schema.Union<[Schema.TaggedStruct<"Text", {
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
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
    attempt: Schema.filter<typeof Schema.Int>;
}>;
export declare const RequestFailed: Schema.TaggedStruct<"RequestFailed", {
    code: typeof Schema.String;
    message: typeof Schema.String;
    retried: typeof Schema.Boolean;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
    attempt: Schema.filter<typeof Schema.Int>;
}>;
export declare const AssistantMessage: Schema.TaggedStruct<"AssistantMessage", {
    blocks: Schema.Array$<Schema.Union<[Schema.Struct<{
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
    interrupted: typeof Schema.Boolean;
    usage: Schema.optional<Schema.TaggedStruct<"Usage", {
        inputTokens: Schema.refine<number, typeof Schema.NonNegative>;
        outputTokens: Schema.refine<number, typeof Schema.NonNegative>;
        cachedInputTokens: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
        reasoningTokens: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
    }>>;
    finish: Schema.optional<Schema.Literal<["stop", "tool-calls", "length", "content-filter", "aborted", "error"]>>;
    chunkSeqs: Schema.Array$<Schema.filter<typeof Schema.Int>>;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>;
export declare const CallStarted: Schema.TaggedStruct<"CallStarted", {
    callId: typeof Schema.String;
    tool: typeof Schema.String;
    parameters: typeof Schema.Unknown;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>;
export declare const CallEnded: Schema.TaggedStruct<"CallEnded", {
    result: Schema.Schema<ToolResult.ToolResult, ToolResult.ToolResult, never>;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>;
export declare const NestedCallStarted: Schema.TaggedStruct<"NestedCallStarted", {
    callId: typeof Schema.String;
    tool: typeof Schema.String;
    parameters: typeof Schema.Unknown;
    parentId: typeof Schema.String;
    rootId: typeof Schema.String;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>;
export declare const NestedCallEnded: Schema.TaggedStruct<"NestedCallEnded", {
    result: Schema.Schema<ToolResult.ToolResult, ToolResult.ToolResult, never>;
    parentId: typeof Schema.String;
    rootId: typeof Schema.String;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>;
export declare const ContextAdded: Schema.TaggedStruct<"ContextAdded", {
    callId: typeof Schema.String;
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
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>;
export declare const StepEnded: Schema.TaggedStruct<"StepEnded", {
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>;
export declare const Outcome: Schema.Union<[Schema.TaggedStruct<"Completed", {}>, Schema.TaggedStruct<"MaxTokens", {}>, Schema.TaggedStruct<"Blocked", {
    reason: typeof Schema.String;
}>, Schema.TaggedStruct<"Cancelled", {
    cause: Schema.SchemaClass<{
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
    }, never>;
}>, Schema.TaggedStruct<"Error", {
    code: typeof Schema.String;
    message: typeof Schema.String;
}>, Schema.TaggedStruct<"Interrupted", {}>]>;
export type Outcome = typeof Outcome.Type;
export declare const TurnEnded: Schema.TaggedStruct<"TurnEnded", {
    outcome: Schema.Union<[Schema.TaggedStruct<"Completed", {}>, Schema.TaggedStruct<"MaxTokens", {}>, Schema.TaggedStruct<"Blocked", {
        reason: typeof Schema.String;
    }>, Schema.TaggedStruct<"Cancelled", {
        cause: Schema.SchemaClass<{
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
        }, never>;
    }>, Schema.TaggedStruct<"Error", {
        code: typeof Schema.String;
        message: typeof Schema.String;
    }>, Schema.TaggedStruct<"Interrupted", {}>]>;
    turn: Schema.filter<typeof Schema.Int>;
}>;
export declare const AgentEvent: Schema.Union<[Schema.TaggedStruct<"SessionStarted", {
    version: typeof Schema.Int;
    agent: typeof Schema.String;
}>, Schema.TaggedStruct<"SessionReopened", {}>, Schema.TaggedStruct<"SessionClosed", {}>, Schema.TaggedStruct<"Repaired", {
    what: Schema.Array$<typeof Schema.String>;
}>, Schema.TaggedStruct<"InputQueued", {
    message: Schema.Struct<{
        id: typeof Schema.String;
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
        source: Schema.optional<typeof Schema.String>;
    }>;
    target: Schema.Literal<["step", "turn"]>;
    wakes: typeof Schema.Boolean;
}>, Schema.TaggedStruct<"InputDiscarded", {
    ids: Schema.Array$<typeof Schema.String>;
    reason: typeof Schema.String;
}>, Schema.TaggedStruct<"InputParked", {
    ids: Schema.Array$<typeof Schema.String>;
    reason: typeof Schema.String;
}>, Schema.TaggedStruct<"InputReturned", {
    ids: Schema.Array$<typeof Schema.String>;
}>, Schema.TaggedStruct<"TurnStarted", {
    turn: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"InputClaimed", {
    ids: Schema.Array$<typeof Schema.String>;
    turn: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"StepStarted", {
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"UserMessage", {
    id: Schema.optional<typeof Schema.String>;
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
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"ModelRequested", {
    model: typeof Schema.String;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
    attempt: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"ModelChunk", {
    chunk: Schema.Union<[Schema.TaggedStruct<"Text", {
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
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
    attempt: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"RequestFailed", {
    code: typeof Schema.String;
    message: typeof Schema.String;
    retried: typeof Schema.Boolean;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
    attempt: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"AssistantMessage", {
    blocks: Schema.Array$<Schema.Union<[Schema.Struct<{
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
    interrupted: typeof Schema.Boolean;
    usage: Schema.optional<Schema.TaggedStruct<"Usage", {
        inputTokens: Schema.refine<number, typeof Schema.NonNegative>;
        outputTokens: Schema.refine<number, typeof Schema.NonNegative>;
        cachedInputTokens: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
        reasoningTokens: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
    }>>;
    finish: Schema.optional<Schema.Literal<["stop", "tool-calls", "length", "content-filter", "aborted", "error"]>>;
    chunkSeqs: Schema.Array$<Schema.filter<typeof Schema.Int>>;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"CallStarted", {
    callId: typeof Schema.String;
    tool: typeof Schema.String;
    parameters: typeof Schema.Unknown;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"CallEnded", {
    result: Schema.Schema<ToolResult.ToolResult, ToolResult.ToolResult, never>;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"NestedCallStarted", {
    callId: typeof Schema.String;
    tool: typeof Schema.String;
    parameters: typeof Schema.Unknown;
    parentId: typeof Schema.String;
    rootId: typeof Schema.String;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"NestedCallEnded", {
    result: Schema.Schema<ToolResult.ToolResult, ToolResult.ToolResult, never>;
    parentId: typeof Schema.String;
    rootId: typeof Schema.String;
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"ContextAdded", {
    callId: typeof Schema.String;
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
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"StepEnded", {
    turn: Schema.filter<typeof Schema.Int>;
    step: Schema.filter<typeof Schema.Int>;
}>, Schema.TaggedStruct<"TurnEnded", {
    outcome: Schema.Union<[Schema.TaggedStruct<"Completed", {}>, Schema.TaggedStruct<"MaxTokens", {}>, Schema.TaggedStruct<"Blocked", {
        reason: typeof Schema.String;
    }>, Schema.TaggedStruct<"Cancelled", {
        cause: Schema.SchemaClass<{
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
        }, never>;
    }>, Schema.TaggedStruct<"Error", {
        code: typeof Schema.String;
        message: typeof Schema.String;
    }>, Schema.TaggedStruct<"Interrupted", {}>]>;
    turn: Schema.filter<typeof Schema.Int>;
}>]>;
export type AgentEvent = typeof AgentEvent.Type;
export declare const isAgentEvent: (u: unknown) => u is AgentEvent;
export declare const Envelope: Schema.Struct<{
    seq: Schema.filter<typeof Schema.Int>;
    at: typeof Schema.Finite;
    event: Schema.Union<[Schema.TaggedStruct<"SessionStarted", {
        version: typeof Schema.Int;
        agent: typeof Schema.String;
    }>, Schema.TaggedStruct<"SessionReopened", {}>, Schema.TaggedStruct<"SessionClosed", {}>, Schema.TaggedStruct<"Repaired", {
        what: Schema.Array$<typeof Schema.String>;
    }>, Schema.TaggedStruct<"InputQueued", {
        message: Schema.Struct<{
            id: typeof Schema.String;
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
            source: Schema.optional<typeof Schema.String>;
        }>;
        target: Schema.Literal<["step", "turn"]>;
        wakes: typeof Schema.Boolean;
    }>, Schema.TaggedStruct<"InputDiscarded", {
        ids: Schema.Array$<typeof Schema.String>;
        reason: typeof Schema.String;
    }>, Schema.TaggedStruct<"InputParked", {
        ids: Schema.Array$<typeof Schema.String>;
        reason: typeof Schema.String;
    }>, Schema.TaggedStruct<"InputReturned", {
        ids: Schema.Array$<typeof Schema.String>;
    }>, Schema.TaggedStruct<"TurnStarted", {
        turn: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"InputClaimed", {
        ids: Schema.Array$<typeof Schema.String>;
        turn: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"StepStarted", {
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"UserMessage", {
        id: Schema.optional<typeof Schema.String>;
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
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"ModelRequested", {
        model: typeof Schema.String;
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
        attempt: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"ModelChunk", {
        chunk: Schema.Union<[Schema.TaggedStruct<"Text", {
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
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
        attempt: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"RequestFailed", {
        code: typeof Schema.String;
        message: typeof Schema.String;
        retried: typeof Schema.Boolean;
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
        attempt: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"AssistantMessage", {
        blocks: Schema.Array$<Schema.Union<[Schema.Struct<{
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
        interrupted: typeof Schema.Boolean;
        usage: Schema.optional<Schema.TaggedStruct<"Usage", {
            inputTokens: Schema.refine<number, typeof Schema.NonNegative>;
            outputTokens: Schema.refine<number, typeof Schema.NonNegative>;
            cachedInputTokens: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
            reasoningTokens: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
        }>>;
        finish: Schema.optional<Schema.Literal<["stop", "tool-calls", "length", "content-filter", "aborted", "error"]>>;
        chunkSeqs: Schema.Array$<Schema.filter<typeof Schema.Int>>;
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"CallStarted", {
        callId: typeof Schema.String;
        tool: typeof Schema.String;
        parameters: typeof Schema.Unknown;
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"CallEnded", {
        result: Schema.Schema<ToolResult.ToolResult, ToolResult.ToolResult, never>;
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"NestedCallStarted", {
        callId: typeof Schema.String;
        tool: typeof Schema.String;
        parameters: typeof Schema.Unknown;
        parentId: typeof Schema.String;
        rootId: typeof Schema.String;
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"NestedCallEnded", {
        result: Schema.Schema<ToolResult.ToolResult, ToolResult.ToolResult, never>;
        parentId: typeof Schema.String;
        rootId: typeof Schema.String;
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"ContextAdded", {
        callId: typeof Schema.String;
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
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"StepEnded", {
        turn: Schema.filter<typeof Schema.Int>;
        step: Schema.filter<typeof Schema.Int>;
    }>, Schema.TaggedStruct<"TurnEnded", {
        outcome: Schema.Union<[Schema.TaggedStruct<"Completed", {}>, Schema.TaggedStruct<"MaxTokens", {}>, Schema.TaggedStruct<"Blocked", {
            reason: typeof Schema.String;
        }>, Schema.TaggedStruct<"Cancelled", {
            cause: Schema.SchemaClass<{
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
            }, never>;
        }>, Schema.TaggedStruct<"Error", {
            code: typeof Schema.String;
            message: typeof Schema.String;
        }>, Schema.TaggedStruct<"Interrupted", {}>]>;
        turn: Schema.filter<typeof Schema.Int>;
    }>]>;
}>;
export type Envelope = typeof Envelope.Type;
export declare const isEnvelope: (u: unknown) => u is Envelope;
