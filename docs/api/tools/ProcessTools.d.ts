import type * as Duration from "effect/Duration";
import * as Process from "../capability/Process.js";
import * as Tool from "../Tool.js";
import { ToolContext } from "../ToolContext.js";
import { ToolFailure } from "../ToolError.js";
import * as Toolkit from "../Toolkit.js";
export interface Options {
    readonly cwd: string;
    readonly env?: ((callId: string) => Readonly<Record<string, string>>) | undefined;
    readonly containment?: Process.Containment | undefined;
    readonly timeout?: Duration.DurationInput | undefined;
}
export declare const runCommand: ({ containment, cwd, env, timeout }: Options) => Tool.Tool<"run_command", any, {
    readonly signal: string | null;
    readonly stdout: string;
    readonly stderr: string;
    readonly exitCode: number | null;
    readonly truncated: boolean;
}, ToolFailure | Process.ProcessError, import("../Cancellation.js").Cancellation | ToolContext | Process.Process>;
export declare const shell: ({ containment, cwd, timeout }: Options) => Tool.Tool<"shell", {
    readonly command: string;
}, {
    readonly stdout: string;
    readonly stderr: string;
    readonly exitCode: number | null;
    readonly truncated: boolean;
}, Process.ProcessError, import("../Cancellation.js").Cancellation | Process.Process>;
export declare const make: (options: Options) => Toolkit.Toolkit<Tool.Tool<"run_command", any, {
    readonly signal: string | null;
    readonly stdout: string;
    readonly stderr: string;
    readonly exitCode: number | null;
    readonly truncated: boolean;
}, ToolFailure | Process.ProcessError, import("../Cancellation.js").Cancellation | ToolContext | Process.Process> | Tool.Tool<"shell", {
    readonly command: string;
}, {
    readonly stdout: string;
    readonly stderr: string;
    readonly exitCode: number | null;
    readonly truncated: boolean;
}, Process.ProcessError, import("../Cancellation.js").Cancellation | Process.Process>>;
