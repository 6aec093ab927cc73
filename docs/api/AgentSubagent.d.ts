import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Scope from "effect/Scope";
import * as Agent from "./Agent.js";
import * as Cancellation from "./Cancellation.js";
import type { Model } from "./capability/Model.js";
import * as Subagent from "./capability/Subagent.js";
import * as Session from "./Session.js";
import { type Service as Runtime, ToolRuntime } from "./ToolRuntime.js";
export interface Profile<R = never> extends Omit<Agent.Options<R>, "id"> {
    readonly runtime?: Runtime | undefined;
}
export interface Options<R = never> {
    readonly profiles: {
        readonly [name: string]: Profile<R>;
    };
    readonly session?: ((child: {
        readonly id: string;
        readonly profile: string;
    }) => Effect.Effect<Session.Service, unknown, R | Scope.Scope>) | undefined;
    readonly maxChildren?: number | undefined;
    readonly maxEnded?: number | undefined;
}
export declare const layer: <R = never>(options: Options<R>) => Layer.Layer<Subagent.Subagent, never, Exclude<Exclude<R, Scope.Scope>, Cancellation.Cancellation> | Model | ToolRuntime>;
