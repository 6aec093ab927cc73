import type * as Duration from "effect/Duration";
import * as Layer from "effect/Layer";
import * as Subagent from "../capability/Subagent.js";
import * as Tool from "../Tool.js";
import type { DuplicateTool } from "../ToolError.js";
import * as Toolkit from "../Toolkit.js";
import { ToolRuntime } from "../ToolRuntime.js";
export interface Options {
    readonly profiles: {
        readonly [name: string]: string;
    };
    readonly timeout?: Duration.DurationInput | undefined;
}
export declare const spawnAgent: ({ profiles, timeout }: Options) => Tool.Tool<"spawn_agent", any, {
    readonly output: string;
} | {
    readonly id: string;
}, Subagent.SubagentError | Subagent.RunFailed, import("../Cancellation.js").Cancellation | Subagent.Subagent>;
export declare const agentOutput: ({ timeout }: Options) => Tool.Tool<"agent_output", any, {
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
    readonly result?: {
        readonly error?: {
            readonly message: string;
            readonly code: string;
        } | undefined;
        readonly outcome: "error" | "completed" | "aborted" | "max-tokens" | "refusal";
        readonly output: string;
    } | undefined;
    readonly profile: string;
    readonly attachment: "attached" | "detached";
    readonly status: "idle" | "running" | "stopping" | "disposed";
    readonly startedAt: number;
    readonly endedAt?: number | undefined;
    readonly disposal?: string | undefined;
}, Subagent.SubagentError, import("../Cancellation.js").Cancellation | Subagent.Subagent>;
export declare const make: (options: Options) => Toolkit.Toolkit<Tool.Tool<"spawn_agent", any, {
    readonly output: string;
} | {
    readonly id: string;
}, Subagent.SubagentError | Subagent.RunFailed, import("../Cancellation.js").Cancellation | Subagent.Subagent> | Tool.Tool<"agent_output", any, {
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
    readonly result?: {
        readonly error?: {
            readonly message: string;
            readonly code: string;
        } | undefined;
        readonly outcome: "error" | "completed" | "aborted" | "max-tokens" | "refusal";
        readonly output: string;
    } | undefined;
    readonly profile: string;
    readonly attachment: "attached" | "detached";
    readonly status: "idle" | "running" | "stopping" | "disposed";
    readonly startedAt: number;
    readonly endedAt?: number | undefined;
    readonly disposal?: string | undefined;
}, Subagent.SubagentError, import("../Cancellation.js").Cancellation | Subagent.Subagent>>;
export declare const layer: (options: Options) => Layer.Layer<never, DuplicateTool, ToolRuntime | Subagent.Subagent>;
