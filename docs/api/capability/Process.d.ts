import * as Context from "effect/Context";
import type * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Schema from "effect/Schema";
import type { CancelCause } from "../CancelCause.js";
import type { Cancellation } from "../Cancellation.js";
export type Containment = "group" | "marker";
export interface Surroundings {
    readonly cwd?: string | undefined;
    readonly env?: Readonly<Record<string, string>> | undefined;
    readonly grace?: Duration.DurationInput | undefined;
    readonly maxOutputBytes?: number | undefined;
    readonly containment?: Containment | undefined;
}
export interface SpillOptions {
    readonly maxBytes?: number | undefined;
}
export interface RunOptions extends Surroundings {
    readonly command: string;
    readonly args?: ReadonlyArray<string> | undefined;
    readonly stdin?: string | undefined;
    readonly timeout?: Duration.DurationInput | undefined;
    readonly spill?: SpillOptions | undefined;
    readonly onOutput?: ((text: string, stream: "stdout" | "stderr") => void) | undefined;
}
export interface Ending {
    readonly pid: number;
    readonly exitCode: number | undefined;
    readonly signal: string | undefined;
    readonly timedOut: boolean;
    readonly escaped: ReadonlyArray<string>;
}
export interface RunResult extends Ending {
    readonly stdout: string;
    readonly stderr: string;
    readonly stdoutTruncated: boolean;
    readonly stderrTruncated: boolean;
    readonly stdoutFile: string | undefined;
    readonly stderrFile: string | undefined;
}
export interface StartOptions extends RunOptions {
    readonly keepStdinOpen?: boolean | undefined;
}
export interface Cursor {
    readonly stdout: number;
    readonly stderr: number;
}
export interface OutputPart {
    readonly stdout: string;
    readonly stderr: string;
    readonly stdoutSkipped: number;
    readonly stderrSkipped: number;
    readonly stdoutFile: string | undefined;
    readonly stderrFile: string | undefined;
    readonly cursor: Cursor;
}
export type Status = {
    readonly _tag: "Running";
} | {
    readonly _tag: "Stopping";
    readonly cause: CancelCause;
} | {
    readonly _tag: "Ended";
    readonly cause: CancelCause | undefined;
    readonly ending: Ending;
};
export interface Background {
    readonly pid: number;
    readonly command: string;
    readonly status: Effect.Effect<Status>;
    readonly kill: (cause: CancelCause) => Effect.Effect<boolean>;
    readonly awaitExit: Effect.Effect<Ending, never, Cancellation>;
    readonly read: (cursor?: Cursor) => Effect.Effect<OutputPart>;
    readonly write: (text: string) => Effect.Effect<void, ProcessError, Cancellation>;
    readonly closeStdin: Effect.Effect<void, never, Cancellation>;
}
export interface SessionOptions extends Surroundings {
    readonly spill?: SpillOptions | undefined;
}
export interface SendOptions {
    readonly timeout?: Duration.DurationInput | undefined;
}
export type StoppedBy = "SIGINT" | "SIGTERM" | "SIGKILL" | "session";
export interface SendResult {
    readonly stdout: string;
    readonly stderr: string;
    readonly stdoutTruncated: boolean;
    readonly stderrTruncated: boolean;
    readonly stdoutFile: string | undefined;
    readonly stderrFile: string | undefined;
    readonly exitCode: number | undefined;
    readonly timedOut: boolean;
    readonly stoppedBy: StoppedBy | undefined;
}
export interface Session {
    readonly pid: number;
    readonly status: Effect.Effect<Status>;
    readonly send: (command: string, options?: SendOptions) => Effect.Effect<SendResult, ProcessError, Cancellation>;
    readonly close: Effect.Effect<Ending, never, Cancellation>;
}
declare const codes: {
    readonly CommandNotFound: "PROCESS_COMMAND_NOT_FOUND";
    readonly InterpreterNotFound: "PROCESS_INTERPRETER_NOT_FOUND";
    readonly NotExecutable: "PROCESS_NOT_EXECUTABLE";
    readonly BadWorkingDirectory: "PROCESS_BAD_WORKING_DIRECTORY";
    readonly InvalidOptions: "PROCESS_INVALID_OPTIONS";
    readonly PlatformNotSupported: "PROCESS_PLATFORM_NOT_SUPPORTED";
    readonly SpawnFailed: "PROCESS_SPAWN_FAILED";
    readonly ServiceClosed: "PROCESS_SERVICE_CLOSED";
    readonly InputClosed: "PROCESS_INPUT_CLOSED";
    readonly SessionEnded: "PROCESS_SESSION_ENDED";
};
export declare const Reason: Schema.Literal<["CommandNotFound", "InterpreterNotFound", "NotExecutable", "BadWorkingDirectory", "InvalidOptions", "PlatformNotSupported", "SpawnFailed", "ServiceClosed", "InputClosed", "SessionEnded"]>;
export type Reason = typeof Reason.Type;
declare const ProcessError_base: Schema.TaggedErrorClass<ProcessError, "ProcessError", {
    readonly _tag: Schema.tag<"ProcessError">;
} & {
    reason: Schema.Literal<["CommandNotFound", "InterpreterNotFound", "NotExecutable", "BadWorkingDirectory", "InvalidOptions", "PlatformNotSupported", "SpawnFailed", "ServiceClosed", "InputClosed", "SessionEnded"]>;
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
    readonly start: (options: StartOptions) => Effect.Effect<Background, ProcessError, Cancellation>;
    readonly openSession: (options?: SessionOptions) => Effect.Effect<Session, ProcessError, Cancellation>;
    readonly list: Effect.Effect<ReadonlyArray<Background>>;
}
declare const Process_base: Context.TagClass<Process, "quiesce/capability/Process", Service>;
export declare class Process extends Process_base {
}
export declare const run: (options: RunOptions) => Effect.Effect<RunResult, ProcessError, Process | Cancellation>;
export declare const start: (options: StartOptions) => Effect.Effect<Background, ProcessError, Process | Cancellation>;
export declare const openSession: (options?: SessionOptions) => Effect.Effect<Session, ProcessError, Process | Cancellation>;
export declare const list: Effect.Effect<ReadonlyArray<Background>, never, Process>;
export {};
