import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import type * as Scope from "effect/Scope";
import * as Task from "../capability/Task.js";
export interface Options extends Task.LayerOptions {
    readonly whenStopped?: ((id: string) => Effect.Effect<void>) | undefined;
}
export interface Handle {
    readonly task: Task.Service;
    readonly write: (id: string, text: string) => Effect.Effect<void>;
    readonly complete: (id: string) => Effect.Effect<boolean>;
    readonly fail: (id: string, message: string) => Effect.Effect<boolean>;
    readonly running: Effect.Effect<ReadonlyArray<string>>;
}
export declare const make: (options?: Options) => Effect.Effect<Handle, never, Scope.Scope>;
export declare const layer: (options?: Options) => Layer.Layer<Task.Task>;
