import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as CodeRuntime from "../capability/CodeRuntime.js";
export interface Thrown {
    readonly message: string;
    readonly name?: string;
    readonly code?: string;
}
export interface Inside {
    readonly log: (text: string, level?: CodeRuntime.Log["level"]) => Effect.Effect<void>;
    readonly call: (name: string, argument?: unknown) => Effect.Effect<unknown, Thrown>;
}
export type Script = (inside: Inside) => Effect.Effect<unknown, unknown>;
export interface Handle {
    readonly code: CodeRuntime.Service;
    readonly started: Effect.Effect<ReadonlyArray<string>>;
    readonly running: Effect.Effect<number>;
}
export declare const ends: (reason: CodeRuntime.Reason, detail?: string) => Effect.Effect<never, unknown>;
export declare const make: (scripts: {
    readonly [code: string]: Script;
}) => Handle;
export declare const layer: (scripts: {
    readonly [code: string]: Script;
}) => Layer.Layer<CodeRuntime.CodeRuntime>;
