import * as Effect from "effect/Effect";
import type * as Layer from "effect/Layer";
import * as Scope from "effect/Scope";
import type { Cancellation } from "../Cancellation.js";
import * as Model from "../capability/Model.js";
import type * as ToolCall from "../ToolCall.js";
export type Step<R = never> = Model.Chunk | Effect.Effect<unknown, never, R>;
export type Script<R = never> = ReadonlyArray<Step<R>>;
export type Answers<R = never> = ReadonlyArray<Script<R>> | ((request: Model.Request, index: number) => Script<R> | undefined);
export interface Gate {
    readonly wait: Effect.Effect<void>;
    readonly reached: Effect.Effect<void>;
    readonly open: Effect.Effect<void>;
}
export interface Scripted<R = never> {
    readonly layer: Layer.Layer<Model.Model, never, Exclude<Exclude<R, Scope.Scope>, Cancellation>>;
    readonly requests: Effect.Effect<ReadonlyArray<Model.Request>>;
    readonly awaitRequest: (count?: number) => Effect.Effect<Model.Request>;
    readonly running: Effect.Effect<number>;
}
export declare const gate: Effect.Effect<Gate>;
export declare const make: <R = never>(answers: Answers<R>, { idleTimeout }?: Model.LayerOptions) => Effect.Effect<Scripted<R>>;
export declare const reply: (text: string) => ReadonlyArray<Model.Chunk>;
export declare const calls: (...toolCalls: ReadonlyArray<ToolCall.ToolCall>) => ReadonlyArray<Model.Chunk>;
