import type * as Duration from "effect/Duration";
import * as Process from "../capability/Process.js";
import * as Task from "../capability/Task.js";
import * as Tool from "../Tool.js";
import * as Toolkit from "../Toolkit.js";
export interface Options {
    readonly cwd: string;
    readonly containment?: Process.Containment | undefined;
    readonly timeout?: Duration.DurationInput | undefined;
}
export declare const startTask: ({ containment, cwd, timeout }: Options) => Tool.Tool<"start_task", {
    readonly command: string;
    readonly args?: readonly string[] | undefined;
    readonly label: string;
}, {
    readonly id: string;
}, Task.TaskError, import("../Cancellation.js").Cancellation | Process.Process | Task.Task>;
export declare const taskOutput: ({ timeout }: Options) => Tool.Tool<"task_output", any, {
    readonly text: string;
    readonly next: number;
    readonly task: {
        readonly error?: string | undefined;
        readonly id: string;
        readonly escaped: readonly string[];
        readonly cause?: {
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
        } | undefined;
        readonly status: "completed" | "failed" | "running" | "stopping" | "killed";
        readonly startedAt: number;
        readonly endedAt?: number | undefined;
        readonly label: string;
    };
    readonly missed: number;
}, Task.TaskError, import("../Cancellation.js").Cancellation | Task.Task>;
export declare const killTask: ({ timeout }: Options) => Tool.Tool<"kill_task", {
    readonly id: string;
}, {
    readonly error?: string | undefined;
    readonly id: string;
    readonly escaped: readonly string[];
    readonly cause?: {
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
    } | undefined;
    readonly status: "completed" | "failed" | "running" | "stopping" | "killed";
    readonly startedAt: number;
    readonly endedAt?: number | undefined;
    readonly label: string;
}, Task.TaskError, import("../Cancellation.js").Cancellation | Task.Task>;
export declare const make: (options: Options) => Toolkit.Toolkit<Tool.Tool<"start_task", {
    readonly command: string;
    readonly args?: readonly string[] | undefined;
    readonly label: string;
}, {
    readonly id: string;
}, Task.TaskError, import("../Cancellation.js").Cancellation | Process.Process | Task.Task> | Tool.Tool<"task_output", any, {
    readonly text: string;
    readonly next: number;
    readonly task: {
        readonly error?: string | undefined;
        readonly id: string;
        readonly escaped: readonly string[];
        readonly cause?: {
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
        } | undefined;
        readonly status: "completed" | "failed" | "running" | "stopping" | "killed";
        readonly startedAt: number;
        readonly endedAt?: number | undefined;
        readonly label: string;
    };
    readonly missed: number;
}, Task.TaskError, import("../Cancellation.js").Cancellation | Task.Task> | Tool.Tool<"kill_task", {
    readonly id: string;
}, {
    readonly error?: string | undefined;
    readonly id: string;
    readonly escaped: readonly string[];
    readonly cause?: {
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
    } | undefined;
    readonly status: "completed" | "failed" | "running" | "stopping" | "killed";
    readonly startedAt: number;
    readonly endedAt?: number | undefined;
    readonly label: string;
}, Task.TaskError, import("../Cancellation.js").Cancellation | Task.Task>>;
