/**
 * The same capability for code that has promises and an `AbortSignal`, and for code that has Effect.
 *
 * A *seam* is a service with its operations as functions: what can wait gives a promise or an async iterable, and takes a
 * `signal` in its last argument, which is required. One descriptor maps both ways: `toSeam` and `open` give the seam of a
 * service, `fromSeam` a service of a seam that somebody has written. The compiler checks it against the service, so an
 * operation that is added to a service is described, or does not compile.
 *
 * A promise of a seam settles when nothing of its operation runs any more, and not before (L3): an abort stops the
 * operation, waits for its clean-up, and rejects with the signal's reason, the same object (L6).
 *
 * Long because the mapping is one of types, and each of its rules is said where it stands.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import type * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Cancellation } from "../Cancellation.js"
import { serviceOf } from "../internal/promise/seamFromPromise.js"
import { Host, openHost } from "../internal/promise/seamHost.js"
import { seamOf } from "../internal/promise/seamToPromise.js"

/**
 * What every operation that can wait takes in its last argument.
 *
 * @since 0.1.0
 * @category models
 */
export interface Signalled {
  /** Stops the operation when it aborts. Where it has aborted already nothing is started. */
  readonly signal: AbortSignal
}

/**
 * What stands for an operation that no seam can have, and why. There is no value of it, so its descriptor does not compile.
 *
 * @since 0.1.0
 * @category utility types
 */
export interface Unmappable<Why extends string> {
  readonly "this operation has no seam": Why
  readonly "~quiesce/promise/Seam/Unmappable": never
}

/**
 * How one argument is written with promises, and how with Effect. What either function throws fails the operation.
 *
 * @since 0.1.0
 * @category models
 */
export interface Codec<Promised, Effectful> {
  readonly toEffect: (promised: Promised) => Effectful
  readonly toPromise: (effectful: Effectful) => Promised
  /**
   * What it is where it is left out in a seam, if the default of the service cannot be had there. `toPromise` is then asked
   * for `undefined`, too.
   */
  readonly absent?: Effectful | undefined
}

/** An object in which nothing has to be. */
// biome-ignore lint/complexity/noBannedTypes: an interface without members would be refused as well
type Nothing = {}
type AnyEffect = Effect.Effect<any, any, any>
type AnyStream = Stream.Stream<any, any, any>
type NoOptions =
  | string
  | number
  | boolean
  | bigint
  | symbol
  | null
  | undefined
  | ReadonlyArray<any>
  | ((...args: Array<any>) => any)
  | ArrayBufferView
  | AnyEffect
  | AnyStream
  | AsyncIterable<any>

type Identical<X, Y> = (<T>() => T extends X ? 1 : 2) extends <T>() => T extends Y ? 1 : 2 ? true : false

/** `false` for what is no options object, `true` for what is one, `boolean` for what may be both. */
type IsOptions<T> = T extends NoOptions ? false : T extends object ? true : false

/** Whether something is, gives, or by its names holds, an effect or a stream. */
type IsEffectful<T> = T extends AnyEffect | AnyStream | Schedule.Schedule<any, any, any>
  ? true
  : T extends (...args: Array<any>) => infer G
    ? G extends AnyEffect | AnyStream
      ? true
      : false
    : T extends NoOptions
      ? false
      : string extends keyof T
        ? T[keyof T] extends (...args: Array<any>) => AnyEffect | AnyStream
          ? true
          : false
        : false

type EffectfulKeys<T> = T extends NoOptions
  ? never
  : { [K in keyof T]-?: true extends IsEffectful<Exclude<T[K], undefined>> ? K : never }[keyof T]

/** Whether what an operation gives has operations of its own. */
type IsHandle<T> = T extends ReadonlyArray<infer H> ? IsHandle<H> : [EffectfulKeys<T>] extends [never] ? false : true

interface Member<Kind, P extends ReadonlyArray<any>, A, E, R> {
  readonly kind: Kind
  readonly parameters: P
  readonly given: A
  readonly failure: E
  readonly needs: R
}

// An Effect is a Stream, too, so it is looked for first.
type Given<Prefix extends string, P extends ReadonlyArray<any>, G> =
  G extends Effect.Effect<infer A, infer E, infer R>
    ? Member<`${Prefix}${[R] extends [never] ? "at-once" : "effect"}`, P, A, E, R>
    : G extends Stream.Stream<infer A, infer E, infer R>
      ? Member<`${Prefix}stream`, P, A, E, R>
      : "sync"

type Shape<F> = F extends AnyStream | AnyEffect
  ? Given<"get ", [], F>
  : F extends (...args: infer P) => infer G
    ? Identical<F, (...args: P) => G> extends true
      ? number extends P["length"]
        ? Unmappable<"it takes any number of arguments">
        : Given<"", P, G>
      : Unmappable<"it is generic or overloaded">
    : F extends (...args: any) => any // with readonly rest arguments
      ? Unmappable<"it takes any number of arguments">
      : "sync"

// An options object that may be left out, or never is empty, so that `signal` alone means that there is none.
type Merged<L, T> = "signal" extends keyof L
  ? Unmappable<"its options have a signal already">
  : (keyof T extends never ? L : Taken<L, T>) & Signalled

type Taken<L, T> = L extends unknown
  ? {
      [K in keyof L]: K extends keyof T
        ? (T[K] extends Codec<infer P, any> ? P : never) | Extract<L[K], undefined>
        : L[K]
    }
  : never

type Last<I extends ReadonlyArray<any>, P extends ReadonlyArray<any>, L, T> =
  true extends IsEffectful<I[number]>
    ? Unmappable<"an argument before its options is an effect">
    : I extends P
      ? [IsOptions<Exclude<L, undefined>>] extends [true]
        ? Append<I, Merged<Exclude<L, undefined>, T>>
        : Unmappable<"its last argument may be left out, and is no options object">
      : [IsOptions<L>] extends [true]
        ? Nothing extends L
          ? Unmappable<"its options may be empty, and not be left out">
          : Append<I, Merged<L, T>>
        : [IsOptions<L>] extends [false]
          ? undefined extends L
            ? Unmappable<"its last argument may be undefined">
            : true extends IsEffectful<L>
              ? Unmappable<"its last argument is an effect">
              : [...P, options: Signalled]
          : Unmappable<"its last argument may be an options object or something else">

type Append<I extends ReadonlyArray<any>, O> = O extends Unmappable<any> ? O : [...I, options: O]

/** The arguments of an operation that can wait: `signal` is in its options, which are the last of them and required. */
type WithSignal<P extends ReadonlyArray<any>, T> = P extends readonly []
  ? [options: Signalled]
  : Required<P> extends readonly [...infer I, infer L]
    ? P extends readonly [...I, ...Array<any>]
      ? Last<I, P, L, T>
      : Unmappable<"an argument before its last may be left out">
    : Unmappable<"its arguments are unknown">

type Options<P extends ReadonlyArray<any>> =
  Required<P> extends readonly [...any, infer L] ? Exclude<L, undefined> : never

type Takes<O> = { readonly [K in EffectfulKeys<O> & keyof O]: Codec<any, Exclude<O[K], undefined>> } & {
  readonly [K in Exclude<keyof O, EffectfulKeys<O>>]?: Codec<any, Exclude<O[K], undefined>>
}

type Element<A> = A extends ReadonlyArray<infer H> ? H : Exclude<A, undefined | null>

type Details<M> =
  M extends Member<any, infer P, infer A, any, infer R>
    ? ([EffectfulKeys<Options<P>>] extends [never]
        ? { readonly takes?: Takes<Options<P>> }
        : { readonly takes: Takes<Options<P>> }) &
        (true extends IsHandle<A> ? { readonly gives: Descriptor<Element<A>> } : unknown) &
        (Scope.Scope extends R ? { readonly endedBy: ReadonlyArray<keyof Element<A>> } : unknown)
    : never

type IsPlain<M> =
  M extends Member<any, infer P, infer A, any, infer R>
    ? [EffectfulKeys<Options<P>>] extends [never]
      ? true extends IsHandle<A>
        ? false
        : Scope.Scope extends R
          ? false
          : true
      : false
    : false

type EntryOf<M> =
  M extends Member<infer Kind, infer P, infer A, any, infer R>
    ? [Exclude<R, Cancellation | Scope.Scope>] extends [never]
      ? Kind extends "at-once" | "get at-once"
        ? true extends IsEffectful<P[number]>
          ? Unmappable<"it answers at once, and takes an effect">
          : EntryFor<M, Kind>
        : WithSignal<P, Nothing> extends Unmappable<infer Why>
          ? Unmappable<Why>
          : Kind extends "stream" | "get stream"
            ? true extends IsHandle<A>
              ? Unmappable<"what it streams has operations">
              : EntryFor<M, Kind>
            : EntryFor<M, Kind>
      : Unmappable<"it needs more than an owner and a scope">
    : M

type EntryFor<M, Kind> = (IsPlain<M> extends true ? Kind : never) | ({ readonly kind: Kind } & Details<M>)

/**
 * How one member of a service is mapped: its kind, where that says all, else its kind and
 *
 * - `takes`: how those of its options that hold effects are written with promises; one for each, and for others that differ
 * - `gives`: the descriptor of the handle, or handles, that it gives
 * - `endedBy`, where what it gives is as long as a scope: the operations of that behind which nothing is left of it
 *
 * A member whose shape has no seam (generic, overloaded, with any number of arguments, ...) has no value here.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Entry<F> = EntryOf<Shape<F>>

/**
 * How a service, or a handle that it gives, is mapped. Each of its members is
 *
 * - `effect`: an operation that can wait, and so needs an owner
 * - `at-once`: one that answers at once, and needs none
 * - `stream`
 * - `sync`: a plain value, or a function that gives one, handed on as it is
 *
 * and `get effect`, `get at-once` or `get stream`, where it is no function but the effect or the stream itself. A seam has
 * functions in each case.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Descriptor<S> = { readonly [K in keyof S]-?: Entry<S[K]> }

/**
 * What is given as long as it is needed, and then closed. The signal that it was made with closes it, too.
 *
 * @since 0.1.0
 * @category models
 */
export interface Scoped extends AsyncDisposable {
  /** Ends it, and settles when nothing of it is left. Again and again it is the same as once. */
  readonly close: () => Promise<void>
}

type Result<A, D> = D extends { readonly gives: infer G }
  ? A extends ReadonlyArray<infer H>
    ? ReadonlyArray<Of<H, G>>
    : A extends undefined | null
      ? A
      : Of<A, G> & (D extends { readonly endedBy: any } ? Scoped : unknown)
  : A

type Operation<M, F, D> =
  M extends Member<infer Kind, infer P, infer A, any, any>
    ? Kind extends "at-once" | "get at-once"
      ? (...args: P) => Promise<Result<A, D>>
      : WithSignal<P, D extends { readonly takes: infer T } ? T : Nothing> extends infer Q extends ReadonlyArray<any>
        ? (...args: Q) => Kind extends "stream" | "get stream" ? AsyncIterable<A> : Promise<Result<A, D>>
        : never
    : F

/**
 * The seam of a service (or of a handle), with the descriptor `D`.
 *
 * - An operation that can wait takes a `signal`, required and exactly an `AbortSignal`, in its last argument: in its options
 *   object where it has one, else in one of its own behind the others.
 * - One that answers at once needs nobody to stop it, takes no signal, and works in clean-up after an abort, too.
 * - A stream is an async iterable, which runs anew each time that it is iterated.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Of<S, D> = {
  readonly [K in keyof S]: K extends keyof D ? Operation<Shape<S[K]>, S[K], D[K]> : never
}

/**
 * What the operations of a service fail with.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Failure<S> = {
  [K in keyof S]: Shape<S[K]> extends Member<any, any, any, infer E, any> ? E : never
}[keyof S]

/**
 * What `define` needs to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface DefineOptions<I, S, D> {
  readonly operations: D & { readonly [K in Exclude<keyof D, keyof S>]: never }
  /**
   * Turns what a promise of a seam rejects with into a failure of the service; its own errors, mostly, as they are. Not
   * called for a cancellation. What it throws is a defect.
   */
  readonly catch: (error: unknown, operation: string) => Failure<S>
  /** Provides a service that `fromSeam` has made. Default: as it is. */
  readonly layer?: ((service: S) => Layer.Layer<I>) | undefined
}

declare const promised: unique symbol

/**
 * A service and its seam.
 *
 * @since 0.1.0
 * @category models
 */
export interface Definition<I, S, P> {
  readonly tag: Context.Tag<I, S>
  readonly operations: { readonly [operation: string]: unknown }
  readonly catch: (error: unknown, operation: string) => Failure<S>
  readonly layer: (service: S) => Layer.Layer<I>
  readonly [promised]?: P
}

/**
 * Describes the seam of a service: its tag, then each of its operations.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Context, Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Seam } from "quiesce/promise"
 *
 * interface Dictionary {
 *   readonly look: (word: string) => Effect.Effect<string, "unknown", Cancellation.Cancellation>
 * }
 * class Words extends Context.Tag("Words")<Words, Dictionary>() {}
 *
 * const words = Seam.define(Words)({ operations: { look: "effect" }, catch: () => "unknown" as const })
 * const seam = Seam.toSeam(words, { look: (word) => Cancellation.operation(Effect.succeed(`${word}: n.`), "look") })
 *
 * const { signal } = new AbortController()
 * assert.strictEqual(await seam.look("seam", { signal }), "seam: n.")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const define =
  <I, S>(tag: Context.Tag<I, S>) =>
  <const D extends Descriptor<S>>(options: DefineOptions<I, S, D>): Definition<I, S, Of<S, D>> => ({
    tag,
    operations: options.operations as { readonly [operation: string]: unknown },
    catch: options.catch,
    layer: options.layer ?? ((service) => Layer.succeed(tag, service))
  })

/**
 * How the operations of a seam run.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToSeamOptions {
  /** Where log, clock and tracer come from, for a program that has Effect as well. Default: Effect's own. */
  readonly effectRuntime?: Runtime.Runtime<never> | undefined
}

/**
 * The seam of a service that one has.
 *
 * What its operations fail with is what its promises reject with, the same object. Each operation is an owner of its own,
 * which its signal cancels.
 *
 * @see {@link open} for the seam of a layer
 * @since 0.1.0
 * @category converting
 */
export const toSeam = <I, S, P>(definition: Definition<I, S, P>, service: S, options?: ToSeamOptions): P =>
  seamOf(new Host(options?.effectRuntime ?? Runtime.defaultRuntime), definition.operations, service) as P

/**
 * A seam that is open, with all that its layer holds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Opened<P> extends Scoped {
  readonly seam: P
}

/**
 * Builds a layer, and gives the seam of a service in it.
 *
 * `close` aborts the operations that still run, waits for them, and closes the layer, with whatever belongs to it
 * (processes in the background, tasks). It settles when nothing of it is left; nothing starts after it. Rejects with what
 * the layer fails with, and where `signal` aborts while it is being built with that signal's reason, nothing of it left.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Seam, Seams } from "quiesce/promise"
 * import { NodeProcess } from "quiesce/node"
 *
 * await using processes = await Seam.open(Seams.process, NodeProcess.layer)
 * const { signal } = new AbortController()
 * const result = await processes.seam.run({ command: "echo", args: ["hello"], signal })
 * assert.strictEqual(result.stdout, "hello\n")
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const open = async <I, S, P, E>(
  definition: Definition<I, S, P>,
  layer: Layer.Layer<NoInfer<I>, E>,
  options?: { readonly signal?: AbortSignal | undefined }
): Promise<Opened<P>> => {
  const { close, host, service } = await openHost(definition.tag, layer, options?.signal)
  const seam = seamOf(host, definition.operations, service) as P
  return { seam, close, [Symbol.asyncDispose]: close }
}

/**
 * A layer of the service that a seam is of.
 *
 * Each operation of the service calls that of the seam with a signal that follows its owner and aborts with its reason. It
 * does not leave before the promise has settled (L4): a seam that ignores its signal is waited for. A rejection with the
 * signal's reason, or with an `AbortError` after an abort, is the cancellation; any other goes through `catch` of the
 * definition. An async iterable is asked for one element at a time, and its `return` is awaited.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Approval } from "quiesce/capability"
 * import { Seam, Seams } from "quiesce/promise"
 *
 * const layer = Seam.fromSeam(Seams.approval, {
 *   request: async ({ tool, signal }) => (signal.aborted || tool !== "read_file" ? "rejected" : "allowed-once")
 * })
 * const question = Approval.request({ callId: "c1", tool: "read_file", parameters: {} })
 * assert.strictEqual(await Effect.runPromise(Cancellation.own(question).pipe(Effect.provide(layer))), "allowed-once")
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const fromSeam = <I, S, P>(definition: Definition<I, S, P>, seam: P): Layer.Layer<I> =>
  definition.layer(serviceOf(definition.operations, seam as object, definition.catch) as S)
