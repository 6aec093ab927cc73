import * as Context from "effect/Context";
import type * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Schema from "effect/Schema";
import { Cancellation } from "../Cancellation.js";
export declare const Log: Schema.Struct<{
    level: Schema.Literal<["debug", "info", "log", "warn", "error"]>;
    text: typeof Schema.String;
}>;
export type Log = typeof Log.Type;
export declare const Reason: Schema.Literal<["InvalidOptions", "Syntax", "Exception", "Unsettled", "Timeout", "OutOfMemory", "InvalidOutput", "OutputLimit", "WorkerFailed"]>;
export type Reason = typeof Reason.Type;
declare const CodeError_base: Schema.TaggedErrorClass<CodeError, "CodeError", {
    readonly _tag: Schema.tag<"CodeError">;
} & {
    reason: Schema.Literal<["InvalidOptions", "Syntax", "Exception", "Unsettled", "Timeout", "OutOfMemory", "InvalidOutput", "OutputLimit", "WorkerFailed"]>;
    detail: Schema.optional<typeof Schema.String>;
    line: Schema.optional<typeof Schema.Int>;
    stack: Schema.optional<typeof Schema.String>;
    logs: Schema.Array$<Schema.Struct<{
        level: Schema.Literal<["debug", "info", "log", "warn", "error"]>;
        text: typeof Schema.String;
    }>>;
    logsTruncated: typeof Schema.Boolean;
}>;
export declare class CodeError extends CodeError_base {
    get code(): string;
    get message(): string;
}
export interface Bindings<R = never> {
    readonly [name: string]: (argument: unknown) => Effect.Effect<unknown, unknown, R>;
}
export interface RunOptions<R = never> {
    readonly code: string;
    readonly bindings?: Bindings<R> | undefined;
    readonly timeout?: Duration.DurationInput | undefined;
    readonly maxMemoryMb?: number | undefined;
    readonly maxOutputBytes?: number | undefined;
    readonly maxLogBytes?: number | undefined;
    readonly maxCalls?: number | undefined;
    readonly onLog?: ((log: Log) => void) | undefined;
}
export interface RunResult {
    readonly value: unknown;
    readonly logs: ReadonlyArray<Log>;
    readonly logsTruncated: boolean;
}
export interface Service {
    readonly run: (options: RunOptions<Cancellation>) => Effect.Effect<RunResult, CodeError, Cancellation>;
}
declare const CodeRuntime_base: Context.TagClass<CodeRuntime, "quiesce/capability/CodeRuntime", Service>;
export declare class CodeRuntime extends CodeRuntime_base {
}
export declare const run: <R = never>(options: RunOptions<R>) => Effect.Effect<RunResult, CodeError, Exclude<R, Cancellation> | CodeRuntime | Cancellation>;
export {};
