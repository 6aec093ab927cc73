import * as Cause from "effect/Cause";
import * as Effect from "effect/Effect";
import type * as Runtime from "effect/Runtime";
import { Cancellation } from "./Cancellation.js";
export interface Body {
    readonly signal: AbortSignal;
}
export interface FromPromiseOptions<A, E> {
    readonly try: (body: Body) => PromiseLike<A>;
    readonly catch: (error: unknown) => E;
    readonly release?: ((value: A) => Effect.Effect<void>) | undefined;
}
export declare const fromPromise: {
    <A, E>(options: FromPromiseOptions<A, E>): Effect.Effect<A, E, Cancellation>;
    <A>(evaluate: (body: Body) => PromiseLike<A>): Effect.Effect<A, Cause.UnknownException, Cancellation>;
};
export declare const abandon: <A, E>(options: FromPromiseOptions<A, E> & {
    readonly name: string;
}) => Effect.Effect<A, E, Cancellation>;
export declare const toPromise: <A, E>(effect: Effect.Effect<A, E, Cancellation>, options?: {
    readonly signal?: AbortSignal | undefined;
}) => Promise<A>;
export declare const toPromiseWith: <R>(runtime: Runtime.Runtime<R>) => <A, E>(effect: Effect.Effect<A, E, R | Cancellation>, options?: {
    readonly signal?: AbortSignal | undefined;
}) => Promise<A>;
