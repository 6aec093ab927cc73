import * as Context from "effect/Context";
import type * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import type * as JSONSchema from "effect/JSONSchema";
import * as Layer from "effect/Layer";
import type * as Scope from "effect/Scope";
import * as Stream from "effect/Stream";
import type * as CancelCause from "./CancelCause.js";
import { type Cancellation } from "./Cancellation.js";
import { type Phase as CallPhase } from "./internal/toolRuntime/callState.js";
import type { NestedCall as AnyNestedCall, NestedJournal as AnyNestedJournal } from "./internal/toolRuntime/nestedJournal.js";
import * as Policy from "./Policy.js";
import type * as Tool from "./Tool.js";
import type * as ToolCall from "./ToolCall.js";
import { ToolContext } from "./ToolContext.js";
import * as ToolError from "./ToolError.js";
import type * as Toolkit from "./Toolkit.js";
import type * as ToolResult from "./ToolResult.js";
export type Phase = CallPhase;
export interface CallStatus {
    readonly callId: string;
    readonly rootId: string;
    readonly parentId: string | undefined;
    readonly tool: string;
    readonly phase: Phase;
    readonly dispatched: boolean;
    readonly attempts: number;
    readonly startedAt: number;
    readonly cancelledAt: number | undefined;
    readonly cause: CancelCause.CancelCause | undefined;
    readonly progress: string | undefined;
}
export interface RunningCall {
    readonly callId: string;
    readonly result: Effect.Effect<ToolResult.ToolResult>;
    readonly cancel: (cause: CancelCause.CancelCause) => Effect.Effect<boolean>;
    readonly phase: Effect.Effect<Phase>;
}
export interface ToolSchema {
    readonly name: string;
    readonly description: string;
    readonly parameters: JSONSchema.JsonSchema7Root;
}
export type Provided = Cancellation | ToolContext | ToolRuntime;
export interface BatchOptions {
    readonly maxParallel?: number | undefined;
    readonly finishedSiblings?: "keep" | "abort" | undefined;
    readonly onStart?: ((call: ToolCall.ToolCall, index: number) => void) | undefined;
    readonly onResult?: ((result: ToolResult.ToolResult, index: number) => void) | undefined;
    readonly nested?: NestedJournal | undefined;
}
export type NestedCall = AnyNestedCall;
export type NestedJournal = AnyNestedJournal;
export interface BatchResult {
    readonly results: ReadonlyArray<ToolResult.ToolResult>;
    readonly broken: {
        readonly error: unknown;
    } | undefined;
}
export interface Service {
    readonly execute: (call: ToolCall.ToolCall) => Effect.Effect<ToolResult.ToolResult, never, Cancellation>;
    readonly start: (call: ToolCall.ToolCall) => Effect.Effect<RunningCall, never, Cancellation>;
    readonly executeBatch: (calls: ReadonlyArray<ToolCall.ToolCall>, options?: BatchOptions) => Effect.Effect<BatchResult, never, Cancellation>;
    readonly register: <T extends Tool.Any>(tool: T) => Effect.Effect<void, ToolError.DuplicateTool, Scope.Scope | Exclude<Tool.Requirements<T>, Provided>>;
    readonly registerPolicy: <P extends Policy.Any>(policy: P, options?: {
        readonly agent?: string | undefined;
    }) => Effect.Effect<void, never, Scope.Scope | Exclude<Policy.Requirements<P>, Provided>>;
    readonly cancelCall: (callId: string, cause: CancelCause.CancelCause) => Effect.Effect<boolean>;
    readonly inFlight: Effect.Effect<ReadonlyArray<CallStatus>>;
    readonly changes: Stream.Stream<ReadonlyArray<CallStatus>>;
    readonly schemas: Effect.Effect<ReadonlyArray<ToolSchema>>;
    readonly awaitIdle: Effect.Effect<void>;
}
declare const ToolRuntime_base: Context.TagClass<ToolRuntime, "quiesce/ToolRuntime", Service>;
export declare class ToolRuntime extends ToolRuntime_base {
}
export interface Options<T extends Tool.Any, P extends Policy.Any> {
    readonly toolkit?: Toolkit.Toolkit<T> | undefined;
    readonly policies?: ReadonlyArray<P> | undefined;
    readonly toolTimeouts?: boolean | undefined;
    readonly warnAfter?: Duration.DurationInput | undefined;
}
type Needed<T extends Tool.Any, P extends Policy.Any> = Exclude<Tool.Requirements<T> | Policy.Requirements<P>, Provided>;
export declare const make: <T extends Tool.Any = never, P extends Policy.Any = never>(options?: Options<T, P>) => Effect.Effect<Service, never, Scope.Scope | Needed<T, P>>;
export declare const layer: <T extends Tool.Any = never, P extends Policy.Any = never>(options?: Options<T, P>) => Layer.Layer<ToolRuntime, never, Needed<T, P>>;
export declare const execute: (call: ToolCall.ToolCall) => Effect.Effect<ToolResult.ToolResult, never, ToolRuntime | Cancellation>;
export declare const start: (call: ToolCall.ToolCall) => Effect.Effect<RunningCall, never, ToolRuntime | Cancellation>;
export {};
