import * as Context from "effect/Context";
import type * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import type * as Scope from "effect/Scope";
import type { Cancellation } from "../Cancellation.js";
import * as internal from "../internal/node/shutdown.js";
export declare const exitCodes: typeof internal.exitCodes;
export type SignalName = internal.SignalName;
export declare const echoMillis: number;
export type Request = internal.Request;
export interface Service extends internal.Shutdown {
    readonly requested: Effect.Effect<Request>;
    readonly shutdown: (exitCode: number) => Effect.Effect<void>;
    readonly interrupt: (exitCode: number) => Effect.Effect<void>;
}
declare const NodeShutdown_base: Context.TagClass<NodeShutdown, "quiesce/node/NodeShutdown", Service>;
export declare class NodeShutdown extends NodeShutdown_base {
}
export interface Options {
    readonly grace?: Duration.DurationInput | undefined;
}
export declare const make: (options?: Options) => Effect.Effect<Context.Context<NodeShutdown | Cancellation>, never, Scope.Scope>;
export declare const layer: (options?: Options) => Layer.Layer<NodeShutdown | Cancellation>;
export {};
