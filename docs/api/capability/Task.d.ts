import * as Context from "effect/Context";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Schema from "effect/Schema";
import * as CancelCause from "../CancelCause.js";
import * as Cancellation from "../Cancellation.js";
export declare const Status: Schema.Literal<["running", "stopping", "completed", "failed", "killed"]>;
export type Status = typeof Status.Type;
export declare const Snapshot: Schema.Struct<{
    id: typeof Schema.String;
    label: typeof Schema.String;
    status: Schema.Literal<["running", "stopping", "completed", "failed", "killed"]>;
    startedAt: typeof Schema.Number;
    endedAt: Schema.optional<typeof Schema.Number>;
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
    escaped: Schema.Array$<typeof Schema.String>;
}>;
export type Snapshot = typeof Snapshot.Type;
export declare const Reason: Schema.Literal<["NotFound", "TooMany", "InvalidOptions", "OwnerEnded"]>;
declare const TaskError_base: Schema.TaggedErrorClass<TaskError, "TaskError", {
    readonly _tag: Schema.tag<"TaskError">;
} & {
    task: typeof Schema.String;
    reason: Schema.Literal<["NotFound", "TooMany", "InvalidOptions", "OwnerEnded"]>;
    detail: Schema.optional<typeof Schema.String>;
}>;
export declare class TaskError extends TaskError_base {
    get code(): string;
    get message(): string;
}
export interface Running {
    readonly id: string;
    readonly write: (text: string) => void;
}
export interface StartOptions<R = never> {
    readonly label: string;
    readonly run: (task: Running) => Effect.Effect<unknown, unknown, R>;
}
export interface WaitOptions {
    readonly timeout?: Duration.DurationInput | undefined;
}
export interface Output {
    readonly text: string;
    readonly next: number;
    readonly missed: number;
}
export interface Service {
    readonly start: (options: StartOptions<Cancellation.Cancellation>) => Effect.Effect<string, TaskError, Cancellation.Cancellation>;
    readonly wait: (id: string, options?: WaitOptions) => Effect.Effect<Snapshot, TaskError, Cancellation.Cancellation>;
    readonly read: (id: string, from?: number) => Effect.Effect<Output, TaskError>;
    readonly kill: (id: string, cause?: CancelCause.CancelCause) => Effect.Effect<"requested" | "already-finished", TaskError>;
    readonly list: Effect.Effect<ReadonlyArray<Snapshot>>;
}
declare const Task_base: Context.TagClass<Task, "quiesce/capability/Task", Service>;
export declare class Task extends Task_base {
}
export declare const start: <R>(options: StartOptions<R>) => Effect.Effect<string, TaskError, Exclude<R, Cancellation.Cancellation> | Task | Cancellation.Cancellation>;
export declare const wait: (id: string, options?: WaitOptions) => Effect.Effect<Snapshot, TaskError, Task | Cancellation.Cancellation>;
export declare const read: (id: string, from?: number) => Effect.Effect<Output, TaskError, Task>;
export declare const kill: (id: string, cause?: CancelCause.CancelCause) => Effect.Effect<"requested" | "already-finished", TaskError, Task>;
export declare const list: Effect.Effect<ReadonlyArray<Snapshot>, never, Task>;
export interface LayerOptions {
    readonly maxRunning?: number | undefined;
    readonly maxEnded?: number | undefined;
    readonly maxOutput?: number | undefined;
}
export declare const layer: (options?: LayerOptions) => Layer.Layer<Task>;
export {};
