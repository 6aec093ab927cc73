import * as Cause from "effect/Cause";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Fiber from "effect/Fiber";
export type Leak = {
    readonly _tag: "Fiber";
    readonly id: string;
    readonly span: string | undefined;
    readonly fiber: Fiber.RuntimeFiber<unknown, unknown>;
} | {
    readonly _tag: "Listeners";
    readonly signal: AbortSignal;
    readonly index: number;
    readonly count: number;
} | {
    readonly _tag: "Scope";
    readonly finalizers: number;
    readonly span: string | undefined;
} | {
    readonly _tag: "Resource";
    readonly type: string;
    readonly at: string | undefined;
} | {
    readonly _tag: "Process";
    readonly pid: number;
    readonly name: string;
};
declare const LeakFailure_base: new <A extends Record<string, any> = {}>(args: import("effect/Types").VoidIfEmpty<{ readonly [P in keyof A as P extends "_tag" ? never : P]: A[P]; }>) => Cause.YieldableError & {
    readonly _tag: "LeakFailure";
} & Readonly<A>;
export declare class LeakFailure extends LeakFailure_base<{
    readonly leaks: ReadonlyArray<Leak>;
}> {
    get message(): string;
}
export interface Options {
    readonly signals?: ReadonlyArray<AbortSignal> | undefined;
    readonly grace?: Duration.DurationInput | undefined;
}
export interface Process {
    readonly pid: number;
    readonly name: string;
}
export declare const listeners: (signal: AbortSignal) => Effect.Effect<number>;
export declare const roots: Effect.Effect<ReadonlyArray<Fiber.RuntimeFiber<unknown, unknown>>>;
export declare const resources: Effect.Effect<ReadonlyMap<string, number>>;
export declare const processes: Effect.Effect<ReadonlyArray<Process>>;
export declare const check: {
    (options?: Options): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | LeakFailure, R>;
    <A, E, R>(self: Effect.Effect<A, E, R>, options?: Options): Effect.Effect<A, E | LeakFailure, R>;
};
export {};
