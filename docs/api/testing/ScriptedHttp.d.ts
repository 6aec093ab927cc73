import type * as Headers from "@effect/platform/Headers";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import type * as Stream from "effect/Stream";
import * as Http from "../capability/Http.js";
export interface Received {
    readonly method: string;
    readonly url: string;
    readonly headers: Headers.Headers;
    readonly body: Stream.Stream<Uint8Array>;
}
export interface Answer {
    readonly status?: number | undefined;
    readonly headers?: Readonly<Record<string, string>> | undefined;
    readonly body?: string | Uint8Array | Stream.Stream<Uint8Array, unknown> | undefined;
}
export type Server = (request: Received) => Effect.Effect<Answer, unknown>;
export interface Options {
    readonly hosts?: ReadonlyArray<string> | undefined;
    readonly allowPrivate?: boolean | ReadonlyArray<string> | undefined;
    readonly addresses?: Readonly<Record<string, ReadonlyArray<string>>> | undefined;
}
export interface Handle {
    readonly layer: Layer.Layer<Http.Http>;
    readonly open: Effect.Effect<number>;
    readonly received: Effect.Effect<ReadonlyArray<Received>>;
    readonly files: Effect.Effect<ReadonlyMap<string, Uint8Array>>;
    readonly staged: Effect.Effect<number>;
}
export declare const make: (server: Server, options?: Options) => Effect.Effect<Handle>;
