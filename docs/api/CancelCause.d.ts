import type * as FiberId from "effect/FiberId";
import * as Schema from "effect/Schema";
export declare const User: Schema.TaggedStruct<"User", {
    note: Schema.optional<typeof Schema.String>;
}>;
export declare const Parent: Schema.TaggedStruct<"Parent", {}>;
export declare const Disposed: Schema.TaggedStruct<"Disposed", {}>;
export declare const Deadline: Schema.TaggedStruct<"Deadline", {
    code: typeof Schema.String;
    millis: typeof Schema.Finite;
}>;
export declare const HostSignal: Schema.TaggedStruct<"HostSignal", {
    reason: typeof Schema.Defect;
}>;
export declare const Interrupted: Schema.TaggedStruct<"Interrupted", {
    by: typeof Schema.String;
}>;
export declare const CancelCause: Schema.Union<[Schema.TaggedStruct<"User", {
    note: Schema.optional<typeof Schema.String>;
}>, Schema.TaggedStruct<"Parent", {}>, Schema.TaggedStruct<"Disposed", {}>, Schema.TaggedStruct<"Deadline", {
    code: typeof Schema.String;
    millis: typeof Schema.Finite;
}>, Schema.TaggedStruct<"HostSignal", {
    reason: typeof Schema.Defect;
}>, Schema.TaggedStruct<"Interrupted", {
    by: typeof Schema.String;
}>]>;
export type CancelCause = typeof CancelCause.Type;
export type Encoded = typeof CancelCause.Encoded;
export declare const user: (note?: string) => CancelCause;
export declare const parent: () => CancelCause;
export declare const disposed: () => CancelCause;
export declare const deadline: (code: string, millis: number) => CancelCause;
export declare const hostSignal: (reason: unknown) => CancelCause;
export declare const interrupted: (by: FiberId.FiberId) => CancelCause;
export declare const isDeadline: (cause: CancelCause, code?: string) => cause is typeof Deadline.Type;
export declare const describe: (cause: CancelCause) => string;
export declare class Cancelled extends Error {
    readonly name: "AbortError" | "TimeoutError";
    readonly cause: CancelCause;
    constructor(cause: CancelCause);
}
export declare const toReason: (cause: CancelCause) => unknown;
export declare const encode: (cause: CancelCause) => Encoded;
