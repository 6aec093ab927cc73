import * as Context from "effect/Context";
import type * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Schema from "effect/Schema";
import * as CancelCause from "../CancelCause.js";
import * as Cancellation from "../Cancellation.js";
import type * as Content from "../Content.js";
export declare const Outcome: Schema.Literal<["completed", "aborted", "error", "max-tokens", "refusal"]>;
export type Outcome = typeof Outcome.Type;
export declare const Result: Schema.Struct<{
    outcome: Schema.Literal<["completed", "aborted", "error", "max-tokens", "refusal"]>;
    output: typeof Schema.String;
    error: Schema.optional<Schema.Struct<{
        code: typeof Schema.String;
        message: typeof Schema.String;
    }>>;
}>;
export type Result = typeof Result.Type;
export declare const Attachment: Schema.Literal<["attached", "detached"]>;
export type Attachment = typeof Attachment.Type;
export declare const Status: Schema.Literal<["running", "idle", "stopping", "disposed"]>;
export type Status = typeof Status.Type;
export declare const Snapshot: Schema.Struct<{
    id: typeof Schema.String;
    profile: typeof Schema.String;
    attachment: Schema.Literal<["attached", "detached"]>;
    status: Schema.Literal<["running", "idle", "stopping", "disposed"]>;
    startedAt: typeof Schema.Number;
    endedAt: Schema.optional<typeof Schema.Number>;
    result: Schema.optional<Schema.Struct<{
        outcome: Schema.Literal<["completed", "aborted", "error", "max-tokens", "refusal"]>;
        output: typeof Schema.String;
        error: Schema.optional<Schema.Struct<{
            code: typeof Schema.String;
            message: typeof Schema.String;
        }>>;
    }>>;
    cause: Schema.optional<Schema.Union<[Schema.TaggedStruct<"User", {
        note: Schema.optional<typeof Schema.String>;
    }>, Schema.TaggedStruct<"Parent", {}>, Schema.TaggedStruct<"Disposed", {}>, Schema.TaggedStruct<"Deadline", {
        code: typeof Schema.String;
        millis: typeof Schema.Finite;
    }>, Schema.TaggedStruct<"HostSignal", {
        reason: typeof Schema.Defect;
    }>, Schema.TaggedStruct<"Interrupted", {
        by: typeof Schema.String;
    }>]>>;
    disposal: Schema.optional<typeof Schema.String>;
    escaped: Schema.Array$<typeof Schema.String>;
}>;
export type Snapshot = typeof Snapshot.Type;
export declare const Reason: Schema.Literal<["NotFound", "UnknownProfile", "TooMany", "InvalidOptions", "NotStarted", "NotAccepted", "Disposed", "OwnerEnded", "WaitsForItself", "DisposalFailed"]>;
declare const SubagentError_base: Schema.TaggedErrorClass<SubagentError, "SubagentError", {
    readonly _tag: Schema.tag<"SubagentError">;
} & {
    subagent: typeof Schema.String;
    reason: Schema.Literal<["NotFound", "UnknownProfile", "TooMany", "InvalidOptions", "NotStarted", "NotAccepted", "Disposed", "OwnerEnded", "WaitsForItself", "DisposalFailed"]>;
    detail: Schema.optional<typeof Schema.String>;
}>;
export declare class SubagentError extends SubagentError_base {
    get code(): string;
    get message(): string;
}
declare const RunFailed_base: Schema.TaggedErrorClass<RunFailed, "RunFailed", {
    readonly _tag: Schema.tag<"RunFailed">;
} & {
    subagent: typeof Schema.String;
    result: Schema.Struct<{
        outcome: Schema.Literal<["completed", "aborted", "error", "max-tokens", "refusal"]>;
        output: typeof Schema.String;
        error: Schema.optional<Schema.Struct<{
            code: typeof Schema.String;
            message: typeof Schema.String;
        }>>;
    }>;
    disposal: Schema.optional<typeof Schema.String>;
}>;
export declare class RunFailed extends RunFailed_base {
    get code(): string;
    get message(): string;
}
export interface StartOptions {
    readonly profile: string;
    readonly task: string | ReadonlyArray<Content.Content>;
    readonly attachment?: Attachment | undefined;
    readonly disposeAtRest?: boolean | undefined;
}
export interface WaitOptions {
    readonly timeout?: Duration.DurationInput | undefined;
}
export interface Service {
    readonly start: (options: StartOptions) => Effect.Effect<string, SubagentError, Cancellation.Cancellation>;
    readonly send: (id: string, message: string | ReadonlyArray<Content.Content>) => Effect.Effect<string, SubagentError, Cancellation.Cancellation>;
    readonly wait: (id: string, options?: WaitOptions) => Effect.Effect<Snapshot, SubagentError, Cancellation.Cancellation>;
    readonly interrupt: (id: string, cause?: CancelCause.CancelCause) => Effect.Effect<"requested" | "already-resting", SubagentError>;
    readonly dispose: (id: string) => Effect.Effect<void, SubagentError, Cancellation.Cancellation>;
    readonly list: Effect.Effect<ReadonlyArray<Snapshot>>;
}
declare const Subagent_base: Context.TagClass<Subagent, "quiesce/capability/Subagent", Service>;
export declare class Subagent extends Subagent_base {
}
type Needs = Subagent | Cancellation.Cancellation;
export declare const start: (options: StartOptions) => Effect.Effect<string, SubagentError, Needs>;
export declare const send: (id: string, message: string | ReadonlyArray<Content.Content>) => Effect.Effect<string, SubagentError, Needs>;
export declare const wait: (id: string, options?: WaitOptions) => Effect.Effect<Snapshot, SubagentError, Needs>;
export declare const interrupt: (id: string, cause?: CancelCause.CancelCause) => Effect.Effect<"requested" | "already-resting", SubagentError, Subagent>;
export declare const dispose: (id: string) => Effect.Effect<void, SubagentError, Needs>;
export declare const list: Effect.Effect<ReadonlyArray<Snapshot>, never, Subagent>;
export declare const run: (options: Pick<StartOptions, "profile" | "task">) => Effect.Effect<string, SubagentError | RunFailed, Needs>;
export {};
