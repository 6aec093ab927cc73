import * as Context from "effect/Context";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Option from "effect/Option";
import type * as Scope from "effect/Scope";
import * as CancelCause from "./CancelCause.js";
declare const opaque: unique symbol;
export interface Service {
    readonly [opaque]: never;
    readonly signal: AbortSignal;
    readonly cause: CancelCause.CancelCause | undefined;
}
declare const Cancellation_base: Context.TagClass<Cancellation, "quiesce/Cancellation", Service>;
export declare class Cancellation extends Cancellation_base {
}
export declare const signal: Effect.Effect<AbortSignal, never, Cancellation>;
export declare const cause: Effect.Effect<Option.Option<CancelCause.CancelCause>, never, Cancellation>;
export declare const remaining: Effect.Effect<Option.Option<Duration.Duration>, never, Cancellation>;
export declare const own: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Cancellation>>;
export declare const ownSignal: {
    (signal: AbortSignal): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Cancellation>>;
    <A, E, R>(self: Effect.Effect<A, E, R>, signal: AbortSignal): Effect.Effect<A, E, Exclude<R, Cancellation>>;
};
export interface DeadlineOptions<A, E, R> {
    readonly duration: Duration.DurationInput;
    readonly code?: string | undefined;
    readonly onExpire?: (() => Effect.Effect<A, E, R>) | undefined;
}
export declare const withDeadline: {
    <B = never, E2 = never, R2 = never>(options: DeadlineOptions<B, E2, R2>): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A | B, E | E2, Exclude<R, Cancellation> | R2>;
    <A, E, R, B = never, E2 = never, R2 = never>(self: Effect.Effect<A, E, R>, options: DeadlineOptions<B, E2, R2>): Effect.Effect<A | B, E | E2, Exclude<R, Cancellation> | R2>;
};
export declare const shield: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R | Cancellation>;
export declare const ownScoped: Effect.Effect<Context.Context<Cancellation>, never, Scope.Scope>;
export declare const layer: Layer.Layer<Cancellation>;
export declare const operation: {
    (name: string): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R | Cancellation>;
    <A, E, R>(self: Effect.Effect<A, E, R>, name: string): Effect.Effect<A, E, R | Cancellation>;
};
export declare const recordEscape: (what: string) => Effect.Effect<void, never, Cancellation>;
export {};
