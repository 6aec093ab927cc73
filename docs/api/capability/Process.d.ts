import * as Context from "effect/Context";
import type * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Schema from "effect/Schema";
import type { Cancellation } from "../Cancellation.js";
export interface RunOptions {
    readonly command: string;
    readonly args?: ReadonlyArray<string> | undefined;
    readonly cwd?: string | undefined;
    readonly env?: Readonly<Record<string, string>> | undefined;
    readonly stdin?: string | undefined;
    readonly timeout?: Duration.DurationInput | undefined;
    readonly grace?: Duration.DurationInput | undefined;
    readonly maxOutputBytes?: number | undefined;
}
export interface RunResult {
    readonly pid: number;
    readonly stdout: string;
    readonly stderr: string;
    readonly stdoutTruncated: boolean;
    readonly stderrTruncated: boolean;
    readonly exitCode: number | undefined;
    readonly signal: string | undefined;
    readonly timedOut: boolean;
    readonly escaped: ReadonlyArray<string>;
}
declare const codes: {
    readonly CommandNotFound: "PROCESS_COMMAND_NOT_FOUND";
    readonly InterpreterNotFound: "PROCESS_INTERPRETER_NOT_FOUND";
    readonly NotExecutable: "PROCESS_NOT_EXECUTABLE";
    readonly BadWorkingDirectory: "PROCESS_BAD_WORKING_DIRECTORY";
    readonly InvalidOptions: "PROCESS_INVALID_OPTIONS";
    readonly PlatformNotSupported: "PROCESS_PLATFORM_NOT_SUPPORTED";
    readonly SpawnFailed: "PROCESS_SPAWN_FAILED";
};
export declare const Reason: Schema.Literal<["CommandNotFound", "InterpreterNotFound", "NotExecutable", "BadWorkingDirectory", "InvalidOptions", "PlatformNotSupported", "SpawnFailed"]>;
export type Reason = typeof Reason.Type;
declare const ProcessError_base: Schema.TaggedErrorClass<ProcessError, "ProcessError", {
    readonly _tag: Schema.tag<"ProcessError">;
} & {
    reason: Schema.Literal<["CommandNotFound", "InterpreterNotFound", "NotExecutable", "BadWorkingDirectory", "InvalidOptions", "PlatformNotSupported", "SpawnFailed"]>;
    command: typeof Schema.String;
    cwd: Schema.optional<typeof Schema.String>;
    detail: Schema.optional<typeof Schema.String>;
}>;
export declare class ProcessError extends ProcessError_base {
    get code(): (typeof codes)[Reason];
    get message(): string;
}
export interface Service {
    readonly run: (options: RunOptions) => Effect.Effect<RunResult, ProcessError, Cancellation>;
}
declare const Process_base: Context.TagClass<Process, "quiesce/capability/Process", Service>;
export declare class Process extends Process_base {
}
export declare const run: (options: RunOptions) => Effect.Effect<RunResult, ProcessError, Process | Cancellation>;
export {};
