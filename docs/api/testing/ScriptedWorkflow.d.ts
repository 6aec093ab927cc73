import * as Effect from "effect/Effect";
import type * as Exit from "effect/Exit";
import * as Layer from "effect/Layer";
import type * as Scope from "effect/Scope";
import * as Workflow from "../capability/Workflow.js";
export interface RunningStep {
    readonly workflow: string;
    readonly step: string;
}
export interface Options extends Workflow.LayerOptions {
    readonly whenStep?: ((step: RunningStep) => Effect.Effect<unknown, unknown> | undefined) | undefined;
}
export interface Handle {
    readonly workflow: Workflow.Service;
    readonly end: (step: string, exit: Exit.Exit<unknown, unknown>) => Effect.Effect<boolean>;
    readonly running: Effect.Effect<ReadonlyArray<RunningStep>>;
}
export declare const make: (options?: Options) => Effect.Effect<Handle, never, Scope.Scope>;
export declare const layer: (options?: Options) => Layer.Layer<Workflow.Workflow>;
