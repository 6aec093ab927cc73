import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import type * as Fiber from "effect/Fiber";
export interface Happening {
    readonly onlyTells?: boolean | undefined;
}
export interface Service {
    readonly addFault: (name: string, happen: () => void, options?: Happening) => () => void;
    readonly addExternal: (name: string, outcomes: ReadonlyArray<string>, happen: (outcome: string) => void, options?: Happening) => () => void;
    readonly note: (text: string) => void;
    readonly event: (tag: string) => void;
    readonly outcome: (outcome: string) => void;
    readonly name: (label: string) => void;
}
declare const Sim_base: Context.TagClass<Sim, "quiesce/testing/Sim", Service>;
export declare class Sim extends Sim_base {
}
export declare const interrupt: (fiber: Fiber.RuntimeFiber<any, any>, name?: string) => Effect.Effect<void, never, Sim>;
export declare const abort: (controller: AbortController, reason?: unknown, name?: string) => Effect.Effect<void, never, Sim>;
export declare const fault: (name: string, happen: () => void) => Effect.Effect<void, never, Sim>;
export declare const external: <A, E, R>(name: string, outcomes: {
    readonly [outcome: string]: Effect.Effect<A, E, R>;
}) => Effect.Effect<A, E, R | Sim>;
export declare const promise: <A>(name: string, outcomes: {
    readonly [outcome: string]: () => A;
}) => Effect.Effect<Promise<A>, never, Sim>;
export declare const note: (text: string) => Effect.Effect<void, never, Sim>;
export declare const event: (tag: string) => Effect.Effect<void, never, Sim>;
export declare const outcome: (outcome: string) => Effect.Effect<void, never, Sim>;
export declare const fork: (name: string) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<Fiber.RuntimeFiber<A, E>, never, R | Sim>;
export {};
