import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import type * as Scope from "effect/Scope";
import * as Subagent from "../capability/Subagent.js";
export interface Asked {
    readonly id: string;
    readonly profile: string;
    readonly message: string;
}
export interface Options {
    readonly maxChildren?: number | undefined;
    readonly maxEnded?: number | undefined;
    readonly profiles?: ReadonlyArray<string> | undefined;
    readonly whenAsked?: ((message: string, child: Asked) => Subagent.Result | undefined) | undefined;
    readonly whenStarted?: ((id: string) => Effect.Effect<void>) | undefined;
    readonly whenStopped?: ((id: string) => Effect.Effect<void>) | undefined;
    readonly whenDisposed?: ((id: string) => Effect.Effect<void>) | undefined;
}
export interface Handle {
    readonly subagent: Subagent.Service;
    readonly end: (id: string, result: Subagent.Result) => Effect.Effect<boolean>;
    readonly asked: Effect.Effect<ReadonlyArray<Asked>>;
    readonly running: Effect.Effect<ReadonlyArray<Asked>>;
}
export declare const make: (options?: Options) => Effect.Effect<Handle, never, Scope.Scope>;
export declare const layer: (options?: Options) => Layer.Layer<Subagent.Subagent>;
