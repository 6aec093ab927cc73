import type * as Duration from "effect/Duration";
import type * as EffectRuntime from "effect/Runtime";
import * as Approval from "../capability/Approval.js";
import * as Core from "../ToolRuntime.js";
import type { CallInput } from "./Call.js";
import type { Policy } from "./Policy.js";
import type { ToolResult } from "./Result.js";
import type { Tool } from "./Tool.js";
export interface Question {
    readonly callId: string;
    readonly tool: string;
    readonly arguments: unknown;
    readonly reason: string | undefined;
    readonly agent: string | undefined;
    readonly signal: AbortSignal;
}
export interface RuntimeOptions {
    readonly tools?: ReadonlyArray<Tool> | undefined;
    readonly policies?: ReadonlyArray<Policy> | undefined;
    readonly approve?: ((question: Question) => Approval.Answer | Promise<Approval.Answer>) | undefined;
    readonly warnAfter?: Duration.DurationInput | undefined;
    readonly effectRuntime?: EffectRuntime.Runtime<never> | undefined;
}
export interface BatchInput {
    readonly calls: ReadonlyArray<Omit<CallInput, "signal">>;
    readonly signal: AbortSignal;
    readonly maxParallel?: number | undefined;
    readonly finishedSiblings?: "keep" | "abort" | undefined;
    readonly onStart?: ((index: number) => void) | undefined;
    readonly onResult?: ((result: ToolResult, index: number) => void) | undefined;
}
export interface BatchResult {
    readonly results: ReadonlyArray<ToolResult>;
    readonly broken: {
        readonly error: unknown;
    } | undefined;
}
export interface Runtime extends AsyncDisposable {
    readonly call: (input: CallInput) => Promise<ToolResult>;
    readonly batch: (input: BatchInput) => Promise<BatchResult>;
    readonly cancelCall: (callId: string, reason?: unknown) => boolean;
    readonly inFlight: () => ReadonlyArray<Core.CallStatus>;
    readonly changes: (options: {
        readonly signal: AbortSignal;
    }) => AsyncIterable<ReadonlyArray<Core.CallStatus>>;
    readonly whenIdle: () => Promise<void>;
    readonly schemas: () => ReadonlyArray<Core.ToolSchema>;
    readonly addTool: (tool: Tool) => () => void;
    readonly addPolicy: (policy: Policy, options?: {
        readonly agent?: string | undefined;
    }) => () => void;
    readonly dispose: () => Promise<void>;
}
export declare const createRuntime: (options?: RuntimeOptions) => Runtime;
