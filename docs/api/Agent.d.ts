import * as Effect from "effect/Effect";
import * as Schema from "effect/Schema";
import type * as Scope from "effect/Scope";
import * as CancelCause from "./CancelCause.js";
import * as Cancellation from "./Cancellation.js";
import * as Content from "./Content.js";
import * as Model from "./capability/Model.js";
import type * as Inbox from "./Inbox.js";
import type { Retry as AnyRetry } from "./internal/agent/request.js";
import type { Entry as AnyEntry, StepInfo as AnyStepInfo } from "./internal/agent/turn.js";
import * as Session from "./Session.js";
import * as ToolRuntime from "./ToolRuntime.js";
declare const AgentError_base: Schema.TaggedErrorClass<AgentError, "AgentError", {
    readonly _tag: Schema.tag<"AgentError">;
} & {
    agent: typeof Schema.String;
    reason: Schema.Literal<["Closed", "Busy"]>;
}>;
export declare class AgentError extends AgentError_base {
    get code(): string;
    get message(): string;
}
export type StepInfo = AnyStepInfo;
export type Entry = AnyEntry;
export type Retry = AnyRetry;
export declare const enter: (messages: ReadonlyArray<Inbox.Message>) => Entry;
export declare const reject: (reason: string) => Entry;
export declare const retry: (afterMillis: number) => Retry;
export declare const fail: Retry;
export interface Options<R = never> {
    readonly id: string;
    readonly model: string;
    readonly instructions?: string | ((step: StepInfo) => Effect.Effect<string, unknown, R>) | undefined;
    readonly modelOptions?: Model.Options | undefined;
    readonly beforeStep?: ((step: StepInfo, messages: ReadonlyArray<Inbox.Message>) => Effect.Effect<Entry, unknown, R>) | undefined;
    readonly beforeStop?: ((turn: number) => Effect.Effect<void, unknown, R>) | undefined;
    readonly onRequestFailed?: ((problem: Model.Problem, attempt: number) => Effect.Effect<Retry, unknown, R>) | undefined;
    readonly maxParallelCalls?: number | undefined;
    readonly finishedSiblings?: "keep" | "abort" | undefined;
}
export interface SendOptions {
    readonly target?: Inbox.Target | undefined;
    readonly wakes?: boolean | undefined;
    readonly source?: string | undefined;
}
type Said = string | ReadonlyArray<Content.Content>;
export type Status = "idle" | "running" | "closed";
export interface Agent {
    readonly id: string;
    readonly options: Options<any>;
    readonly session: Session.Service;
    readonly status: Effect.Effect<Status>;
    readonly send: (said: Said, options?: SendOptions) => Effect.Effect<string, AgentError | Session.SessionError>;
    readonly followup: (said: Said) => Effect.Effect<string, AgentError | Session.SessionError>;
    readonly steer: (said: Said) => Effect.Effect<string, AgentError | Session.SessionError>;
    readonly inject: (said: Said) => Effect.Effect<string, AgentError | Session.SessionError>;
    readonly withdraw: (id: string) => Effect.Effect<boolean, AgentError | Session.SessionError>;
    readonly cancel: (cause: CancelCause.CancelCause, options?: {
        readonly keepInbox?: boolean | undefined;
    }) => Effect.Effect<void>;
    readonly whenIdle: Effect.Effect<void>;
    readonly runMaintenance: <A, E, R>(task: Effect.Effect<A, E, R>) => Effect.Effect<A, E | AgentError, Exclude<R, Cancellation.Cancellation>>;
}
export interface Handle extends Agent {
    readonly dispose: Effect.Effect<void>;
}
export declare const make: <R = never>(options: Options<R>) => Effect.Effect<Handle, never, Exclude<R, Cancellation.Cancellation> | Model.Model | Session.Session | ToolRuntime.ToolRuntime | Scope.Scope>;
export {};
