import type * as Context from "effect/Context";
import type * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Runtime from "effect/Runtime";
import type * as Schedule from "effect/Schedule";
import type * as Scope from "effect/Scope";
import type * as Stream from "effect/Stream";
import type { Cancellation } from "../Cancellation.js";
export interface Signalled {
    readonly signal: AbortSignal;
}
export interface Unmappable<Why extends string> {
    readonly "this operation has no seam": Why;
    readonly "~quiesce/promise/Seam/Unmappable": never;
}
export interface Codec<Promised, Effectful> {
    readonly toEffect: (promised: Promised) => Effectful;
    readonly toPromise: (effectful: Effectful) => Promised;
    readonly absent?: Effectful | undefined;
}
type Nothing = {};
type AnyEffect = Effect.Effect<any, any, any>;
type AnyStream = Stream.Stream<any, any, any>;
type NoOptions = string | number | boolean | bigint | symbol | null | undefined | ReadonlyArray<any> | ((...args: Array<any>) => any) | ArrayBufferView | AnyEffect | AnyStream | AsyncIterable<any>;
type Identical<X, Y> = (<T>() => T extends X ? 1 : 2) extends <T>() => T extends Y ? 1 : 2 ? true : false;
type IsOptions<T> = T extends NoOptions ? false : T extends object ? true : false;
type IsEffectful<T> = T extends AnyEffect | AnyStream | Schedule.Schedule<any, any, any> ? true : T extends (...args: Array<any>) => infer G ? G extends AnyEffect | AnyStream ? true : false : T extends NoOptions ? false : string extends keyof T ? T[keyof T] extends (...args: Array<any>) => AnyEffect | AnyStream ? true : false : false;
type EffectfulKeys<T> = T extends NoOptions ? never : {
    [K in keyof T]-?: true extends IsEffectful<Exclude<T[K], undefined>> ? K : never;
}[keyof T];
type IsHandle<T> = T extends ReadonlyArray<infer H> ? IsHandle<H> : [EffectfulKeys<T>] extends [never] ? false : true;
interface Member<Kind, P extends ReadonlyArray<any>, A, E, R> {
    readonly kind: Kind;
    readonly parameters: P;
    readonly given: A;
    readonly failure: E;
    readonly needs: R;
}
type Given<Prefix extends string, P extends ReadonlyArray<any>, G> = G extends Effect.Effect<infer A, infer E, infer R> ? Member<`${Prefix}${[R] extends [never] ? "at-once" : "effect"}`, P, A, E, R> : G extends Stream.Stream<infer A, infer E, infer R> ? Member<`${Prefix}stream`, P, A, E, R> : "sync";
type Shape<F> = F extends AnyStream | AnyEffect ? Given<"get ", [], F> : F extends (...args: infer P) => infer G ? Identical<F, (...args: P) => G> extends true ? number extends P["length"] ? Unmappable<"it takes any number of arguments"> : Given<"", P, G> : Unmappable<"it is generic or overloaded"> : F extends (...args: any) => any ? Unmappable<"it takes any number of arguments"> : "sync";
type Merged<L, T> = "signal" extends keyof L ? Unmappable<"its options have a signal already"> : (keyof T extends never ? L : Taken<L, T>) & Signalled;
type Taken<L, T> = L extends unknown ? {
    [K in keyof L]: K extends keyof T ? (T[K] extends Codec<infer P, any> ? P : never) | Extract<L[K], undefined> : L[K];
} : never;
type Last<I extends ReadonlyArray<any>, P extends ReadonlyArray<any>, L, T> = true extends IsEffectful<I[number]> ? Unmappable<"an argument before its options is an effect"> : I extends P ? [IsOptions<Exclude<L, undefined>>] extends [true] ? Append<I, Merged<Exclude<L, undefined>, T>> : Unmappable<"its last argument may be left out, and is no options object"> : [IsOptions<L>] extends [true] ? Nothing extends L ? Unmappable<"its options may be empty, and not be left out"> : Append<I, Merged<L, T>> : [IsOptions<L>] extends [false] ? undefined extends L ? Unmappable<"its last argument may be undefined"> : true extends IsEffectful<L> ? Unmappable<"its last argument is an effect"> : [...P, options: Signalled] : Unmappable<"its last argument may be an options object or something else">;
type Append<I extends ReadonlyArray<any>, O> = O extends Unmappable<any> ? O : [...I, options: O];
type WithSignal<P extends ReadonlyArray<any>, T> = P extends readonly [] ? [options: Signalled] : Required<P> extends readonly [...infer I, infer L] ? P extends readonly [...I, ...Array<any>] ? Last<I, P, L, T> : Unmappable<"an argument before its last may be left out"> : Unmappable<"its arguments are unknown">;
type Options<P extends ReadonlyArray<any>> = Required<P> extends readonly [...any, infer L] ? Exclude<L, undefined> : never;
type Takes<O> = {
    readonly [K in EffectfulKeys<O> & keyof O]: Codec<any, Exclude<O[K], undefined>>;
} & {
    readonly [K in Exclude<keyof O, EffectfulKeys<O>>]?: Codec<any, Exclude<O[K], undefined>>;
};
type Element<A> = A extends ReadonlyArray<infer H> ? H : Exclude<A, undefined | null>;
type Details<M> = M extends Member<any, infer P, infer A, any, infer R> ? ([EffectfulKeys<Options<P>>] extends [never] ? {
    readonly takes?: Takes<Options<P>>;
} : {
    readonly takes: Takes<Options<P>>;
}) & (true extends IsHandle<A> ? {
    readonly gives: Descriptor<Element<A>>;
} : unknown) & (Scope.Scope extends R ? {
    readonly endedBy: ReadonlyArray<keyof Element<A>>;
} : unknown) : never;
type IsPlain<M> = M extends Member<any, infer P, infer A, any, infer R> ? [EffectfulKeys<Options<P>>] extends [never] ? true extends IsHandle<A> ? false : Scope.Scope extends R ? false : true : false : false;
type EntryOf<M> = M extends Member<infer Kind, infer P, infer A, any, infer R> ? [Exclude<R, Cancellation | Scope.Scope>] extends [never] ? Kind extends "at-once" | "get at-once" ? true extends IsEffectful<P[number]> ? Unmappable<"it answers at once, and takes an effect"> : EntryFor<M, Kind> : WithSignal<P, Nothing> extends Unmappable<infer Why> ? Unmappable<Why> : Kind extends "stream" | "get stream" ? true extends IsHandle<A> ? Unmappable<"what it streams has operations"> : EntryFor<M, Kind> : EntryFor<M, Kind> : Unmappable<"it needs more than an owner and a scope"> : M;
type EntryFor<M, Kind> = (IsPlain<M> extends true ? Kind : never) | ({
    readonly kind: Kind;
} & Details<M>);
export type Entry<F> = EntryOf<Shape<F>>;
export type Descriptor<S> = {
    readonly [K in keyof S]-?: Entry<S[K]>;
};
export interface Scoped extends AsyncDisposable {
    readonly close: () => Promise<void>;
}
type Result<A, D> = D extends {
    readonly gives: infer G;
} ? A extends ReadonlyArray<infer H> ? ReadonlyArray<Of<H, G>> : A extends undefined | null ? A : Of<A, G> & (D extends {
    readonly endedBy: any;
} ? Scoped : unknown) : A;
type Operation<M, F, D> = M extends Member<infer Kind, infer P, infer A, any, any> ? Kind extends "at-once" | "get at-once" ? (...args: P) => Promise<Result<A, D>> : WithSignal<P, D extends {
    readonly takes: infer T;
} ? T : Nothing> extends infer Q extends ReadonlyArray<any> ? (...args: Q) => Kind extends "stream" | "get stream" ? AsyncIterable<A> : Promise<Result<A, D>> : never : F;
export type Of<S, D> = {
    readonly [K in keyof S]: K extends keyof D ? Operation<Shape<S[K]>, S[K], D[K]> : never;
};
export type Failure<S> = {
    [K in keyof S]: Shape<S[K]> extends Member<any, any, any, infer E, any> ? E : never;
}[keyof S];
export interface DefineOptions<I, S, D> {
    readonly operations: D & {
        readonly [K in Exclude<keyof D, keyof S>]: never;
    };
    readonly catch: (error: unknown, operation: string) => Failure<S>;
    readonly layer?: ((service: S) => Layer.Layer<I>) | undefined;
}
declare const promised: unique symbol;
export interface Definition<I, S, P> {
    readonly tag: Context.Tag<I, S>;
    readonly operations: {
        readonly [operation: string]: unknown;
    };
    readonly catch: (error: unknown, operation: string) => Failure<S>;
    readonly layer: (service: S) => Layer.Layer<I>;
    readonly [promised]?: P;
}
export declare const define: <I, S>(tag: Context.Tag<I, S>) => <const D extends Descriptor<S>>(options: DefineOptions<I, S, D>) => Definition<I, S, Of<S, D>>;
export interface ToSeamOptions {
    readonly effectRuntime?: Runtime.Runtime<never> | undefined;
}
export declare const toSeam: <I, S, P>(definition: Definition<I, S, P>, service: S, options?: ToSeamOptions) => P;
export interface Opened<P> extends Scoped {
    readonly seam: P;
}
export declare const open: <I, S, P, E>(definition: Definition<I, S, P>, layer: Layer.Layer<NoInfer<I>, E>, options?: {
    readonly signal?: AbortSignal | undefined;
}) => Promise<Opened<P>>;
export declare const fromSeam: <I, S, P>(definition: Definition<I, S, P>, seam: P) => Layer.Layer<I>;
export {};
