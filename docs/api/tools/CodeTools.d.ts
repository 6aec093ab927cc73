import type * as Duration from "effect/Duration";
import * as CodeRuntime from "../capability/CodeRuntime.js";
import * as Tool from "../Tool.js";
import { ToolContext } from "../ToolContext.js";
import * as Toolkit from "../Toolkit.js";
export interface Options {
    readonly timeout?: Duration.DurationInput | undefined;
    readonly limits?: Pick<CodeRuntime.RunOptions, "timeout" | "maxMemoryMb" | "maxOutputBytes" | "maxLogBytes">;
}
export declare const runCode: ({ limits, timeout }?: Options) => Tool.Tool<"run_code", {
    readonly code: string;
}, {
    readonly value: unknown;
    readonly logsTruncated: boolean;
    readonly logs: readonly {
        readonly text: string;
        readonly level: "error" | "log" | "debug" | "info" | "warn";
    }[];
}, CodeRuntime.CodeError, import("../Cancellation.js").Cancellation | ToolContext | CodeRuntime.CodeRuntime>;
export declare const make: (options?: Options) => Toolkit.Toolkit<Tool.Tool<"run_code", {
    readonly code: string;
}, {
    readonly value: unknown;
    readonly logsTruncated: boolean;
    readonly logs: readonly {
        readonly text: string;
        readonly level: "error" | "log" | "debug" | "info" | "warn";
    }[];
}, CodeRuntime.CodeError, import("../Cancellation.js").Cancellation | ToolContext | CodeRuntime.CodeRuntime>>;
