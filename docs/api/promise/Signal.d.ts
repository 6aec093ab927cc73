import type * as Duration from "effect/Duration";
import * as CancelCause from "../CancelCause.js";
export interface Child extends Disposable {
    readonly signal: AbortSignal;
    readonly abort: (reason?: unknown) => boolean;
    readonly dispose: () => void;
}
export interface Deadline extends Child {
    readonly isExpired: boolean;
}
export declare const child: (parent: AbortSignal | undefined) => Child;
export declare const fuse: (...parents: ReadonlyArray<AbortSignal | undefined>) => Child;
export interface DeadlineOptions {
    readonly duration: Duration.DurationInput;
    readonly code?: string | undefined;
}
export declare const deadline: (parent: AbortSignal | undefined, options: DeadlineOptions) => Deadline;
export declare const isDeadline: (reason: unknown, code?: string) => reason is CancelCause.Cancelled;
export type Settled<W extends ReadonlyArray<(signal: AbortSignal) => unknown>> = {
    -readonly [K in keyof W]: Awaited<ReturnType<W[K]>>;
};
export declare const settled: {
    <A>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => A | PromiseLike<A>): Promise<A>;
    <const W extends ReadonlyArray<(signal: AbortSignal) => unknown>>(signal: AbortSignal | undefined, work: W): Promise<Settled<W>>;
};
