import * as Effect from "effect/Effect";
import * as FastCheck from "effect/FastCheck";
import type * as Scope from "effect/Scope";
import type { Granularity as AnyGranularity } from "../internal/testing/driver.js";
import type * as Invariant from "./Invariant.js";
import type { Sim } from "./Sim.js";
export type Granularity = AnyGranularity;
export interface Options<A, E> {
    readonly invariants?: ReadonlyArray<Invariant.Invariant<A, E>> | undefined;
    readonly faults?: number | undefined;
    readonly preemptions?: number | undefined;
    readonly answers?: number | undefined;
    readonly granularity?: Granularity | undefined;
    readonly reduction?: "none" | "happens-before" | undefined;
    readonly timers?: "quiescent" | "any" | undefined;
    readonly atomicAsync?: boolean | undefined;
    readonly maxSteps?: number | undefined;
    readonly sample?: {
        readonly runs: number;
        readonly seed?: number | undefined;
        readonly strategy?: "uniform" | {
            readonly pct: number;
        } | undefined;
    } | undefined;
    readonly maxSchedules?: number | undefined;
    readonly expect?: ReadonlyArray<string> | undefined;
    readonly replay?: string | undefined;
    readonly name?: string | undefined;
    readonly html?: string | undefined;
}
export interface Report {
    readonly schedules: number;
    readonly pruned: number;
    readonly steps: number;
    readonly bound: string;
    readonly complete: boolean;
    readonly outcomes: ReadonlyMap<string, number>;
}
declare const ExploreFailure_base: new <A extends Record<string, any> = {}>(args: import("effect/Types").VoidIfEmpty<{ readonly [P in keyof A as P extends "_tag" ? never : P]: A[P]; }>) => import("effect/Cause").YieldableError & {
    readonly _tag: "ExploreFailure";
} & Readonly<A>;
export declare class ExploreFailure extends ExploreFailure_base<{
    readonly problem: string;
    readonly schedule: string;
    readonly message: string;
}> {
}
export declare const toHtml: (failure: ExploreFailure) => string;
type Scenario<A, E> = Effect.Effect<A, E, Sim | Scope.Scope>;
export declare const check: <A, E>(scenario: Scenario<A, E>, options?: Options<A, E>) => Effect.Effect<Report, ExploreFailure>;
export interface Drawn {
    readonly seed: number;
    text: string | undefined;
}
export declare const schedule: () => FastCheck.Arbitrary<Drawn>;
export declare const run: <A, E>(scenario: Scenario<A, E>, drawn: Drawn, options?: Omit<Options<A, E>, "sample" | "replay" | "expect" | "html" | "reduction">) => Effect.Effect<Invariant.Run<A, E>, ExploreFailure>;
export {};
