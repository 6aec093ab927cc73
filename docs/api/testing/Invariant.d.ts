import type * as Exit from "effect/Exit";
export interface Event {
    readonly tag: string;
    readonly fiber: string;
}
export interface Run<A, E> {
    readonly exit: Exit.Exit<A, E>;
    readonly events: ReadonlyArray<Event>;
    readonly outcome: string | undefined;
    readonly schedule: string;
}
export type Invariant<A = unknown, E = unknown> = (run: Run<A, E>) => string | undefined;
export declare const exactlyOnce: (tag: string) => Invariant;
export declare const atMostOnce: (tag: string) => Invariant;
export declare const never: (tag: string, options: {
    readonly after: string;
}) => Invariant;
export declare const balanced: (acquire: string, release: string) => Invariant;
