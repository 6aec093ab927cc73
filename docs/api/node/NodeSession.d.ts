import * as Effect from "effect/Effect";
import type * as Layer from "effect/Layer";
import type * as Scope from "effect/Scope";
import * as Session from "../Session.js";
export interface Options extends Session.Options {
    readonly file: string;
}
export declare const make: ({ file, ...options }: Options) => Effect.Effect<Session.Service, Session.SessionError, Scope.Scope>;
export declare const layer: ({ file, ...options }: Options) => Layer.Layer<Session.Session, Session.SessionError>;
