import * as Cause from "effect/Cause";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Exit from "effect/Exit";
import * as Layer from "effect/Layer";
import * as Schema from "effect/Schema";
import type * as Scope from "effect/Scope";
import * as CancelCause from "../CancelCause.js";
import * as Cancellation from "../Cancellation.js";
export declare const Outcome: Schema.Literal<["completed", "cancelled", "error"]>;
export type Outcome = typeof Outcome.Type;
export declare const Event: Schema.Union<[Schema.TaggedStruct<"WorkflowStarted", {
    workflow: typeof Schema.String;
}>, Schema.TaggedStruct<"StepStarted", {
    step: typeof Schema.Number;
    name: typeof Schema.String;
    workflow: typeof Schema.String;
}>, Schema.TaggedStruct<"StepEnded", {
    outcome: Schema.Literal<["completed", "cancelled", "error"]>;
    error: Schema.optional<typeof Schema.String>;
    step: typeof Schema.Number;
    name: typeof Schema.String;
    workflow: typeof Schema.String;
}>, Schema.TaggedStruct<"CompensationStarted", {
    step: typeof Schema.Number;
    name: typeof Schema.String;
    workflow: typeof Schema.String;
}>, Schema.TaggedStruct<"CompensationEnded", {
    outcome: Schema.Literal<["completed", "cancelled", "error"]>;
    error: Schema.optional<typeof Schema.String>;
    step: typeof Schema.Number;
    name: typeof Schema.String;
    workflow: typeof Schema.String;
}>, Schema.TaggedStruct<"WorkflowEnded", {
    outcome: Schema.Literal<["completed", "cancelled", "error"]>;
    error: Schema.optional<typeof Schema.String>;
    workflow: typeof Schema.String;
}>]>;
export type Event = typeof Event.Type;
export declare const Attachment: Schema.Literal<["attached", "detached"]>;
export type Attachment = typeof Attachment.Type;
export declare const Snapshot: Schema.Struct<{
    id: typeof Schema.String;
    name: typeof Schema.String;
    attachment: Schema.Literal<["attached", "detached"]>;
    status: Schema.Literal<["running", "stopping", "compensating", "ended"]>;
    startedAt: typeof Schema.Number;
    endedAt: Schema.optional<typeof Schema.Number>;
    outcome: Schema.optional<Schema.Literal<["completed", "cancelled", "error"]>>;
    error: Schema.optional<typeof Schema.String>;
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
    steps: Schema.Array$<Schema.Struct<{
        name: typeof Schema.String;
        status: Schema.Literal<["running", "completed", "cancelled", "error"]>;
        error: Schema.optional<typeof Schema.String>;
    }>>;
    compensations: Schema.Array$<Schema.Struct<{
        name: typeof Schema.String;
        status: Schema.Literal<["running", "completed", "cancelled", "error"]>;
        error: Schema.optional<typeof Schema.String>;
    }>>;
    escaped: Schema.Array$<typeof Schema.String>;
}>;
export type Snapshot = typeof Snapshot.Type;
export interface StepEnd {
    readonly name: string;
    readonly exit: Exit.Exit<unknown, unknown>;
}
export interface Ended {
    readonly steps: ReadonlyArray<StepEnd>;
    readonly compensations: ReadonlyArray<StepEnd>;
    readonly escaped: ReadonlyArray<string>;
}
export type Result<A, E> = Ended & ({
    readonly outcome: "completed";
    readonly value: A;
} | {
    readonly outcome: "cancelled";
    readonly cause: CancelCause.CancelCause;
} | {
    readonly outcome: "error";
    readonly cause: Cause.Cause<E>;
});
declare const WorkflowError_base: Schema.TaggedErrorClass<WorkflowError, "WorkflowError", {
    readonly _tag: Schema.tag<"WorkflowError">;
} & {
    workflow: typeof Schema.String;
    reason: Schema.Literal<["OwnerEnded", "WaitsForItself"]>;
}>;
export declare class WorkflowError extends WorkflowError_base {
    get code(): string;
    get message(): string;
}
declare const CompensationFailed_base: Schema.TaggedErrorClass<CompensationFailed, "CompensationFailed", {
    readonly _tag: Schema.tag<"CompensationFailed">;
} & {
    workflow: typeof Schema.String;
    outcome: Schema.Literal<["completed", "cancelled", "error"]>;
    error: typeof Schema.String;
    failures: Schema.Array$<Schema.Struct<{
        step: typeof Schema.String;
        error: typeof Schema.String;
    }>>;
}>;
export declare class CompensationFailed extends CompensationFailed_base {
    get code(): "WORKFLOW_COMPENSATION_FAILED";
    get message(): string;
}
export interface StepOptions<A, R = never> {
    readonly compensate?: ((value: A) => Effect.Effect<unknown, unknown, R>) | undefined;
}
export interface ScriptService {
    readonly step: <A, E, R, R2 = never>(name: string, work: Effect.Effect<A, E, R>, options?: StepOptions<A, R2>) => Effect.Effect<A, E, R | R2 | Cancellation.Cancellation>;
}
declare const Script_base: Context.TagClass<Script, "quiesce/capability/Workflow/Script", ScriptService>;
export declare class Script extends Script_base {
}
export interface StartOptions<A, E, R> {
    readonly name: string;
    readonly script: Effect.Effect<A, E, R>;
    readonly concurrency?: number | undefined;
    readonly attachment?: Attachment | undefined;
    readonly onEvent?: ((event: Event) => void) | undefined;
}
export interface Running<A, E> {
    readonly id: string;
    readonly result: Effect.Effect<Result<A, E>, WorkflowError, Cancellation.Cancellation>;
    readonly cancel: (cause?: CancelCause.CancelCause) => Effect.Effect<"requested" | "already-ended">;
    readonly snapshot: Effect.Effect<Snapshot>;
}
type Given = Script | Cancellation.Cancellation | Scope.Scope;
export interface Service {
    readonly start: <A, E, R>(options: StartOptions<A, E, R>) => Effect.Effect<Running<A, E>, WorkflowError, Exclude<R, Given> | Cancellation.Cancellation>;
    readonly list: Effect.Effect<ReadonlyArray<Snapshot>>;
}
declare const Workflow_base: Context.TagClass<Workflow, "quiesce/capability/Workflow", Service>;
export declare class Workflow extends Workflow_base {
}
export declare const step: <A, E, R, R2 = never>(name: string, work: Effect.Effect<A, E, R>, options?: StepOptions<A, R2>) => Effect.Effect<A, E, Exclude<R, Cancellation.Cancellation> | R2 | Script | Cancellation.Cancellation>;
export declare const parallel: <A, B, E, R>(items: Iterable<A>, f: (item: A, index: number) => Effect.Effect<B, E, R>) => Effect.Effect<ReadonlyArray<B>, E, R>;
export declare const start: <A, E, R>(options: StartOptions<A, E, R>) => Effect.Effect<Running<A, E>, WorkflowError, Exclude<R, Given> | Workflow | Cancellation.Cancellation>;
export declare const list: Effect.Effect<ReadonlyArray<Snapshot>, never, Workflow>;
export declare const run: <A, E, R>(options: Omit<StartOptions<A, E, R>, "attachment">) => Effect.Effect<A, E | CompensationFailed | WorkflowError, Exclude<R, Given> | Workflow | Cancellation.Cancellation>;
export interface LayerOptions {
    readonly maxEnded?: number | undefined;
}
export declare const layer: (options?: LayerOptions) => Layer.Layer<Workflow>;
export {};
