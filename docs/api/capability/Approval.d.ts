import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Schema from "effect/Schema";
import * as Cancellation from "../Cancellation.js";
import type { Json } from "../internal/json.js";
export interface Request {
    readonly callId: string;
    readonly tool: string;
    readonly parameters: Json;
    readonly reason?: string | undefined;
    readonly agent?: string | undefined;
}
export declare const Answer: Schema.Literal<["allowed-once", "rejected", "cancelled", "unavailable"]>;
export type Answer = typeof Answer.Type;
export interface Service {
    readonly request: (request: Request) => Effect.Effect<Answer, never, Cancellation.Cancellation>;
}
declare const Approval_base: Context.TagClass<Approval, "quiesce/capability/Approval", Service>;
export declare class Approval extends Approval_base {
}
export declare const request: (request: Request) => Effect.Effect<Answer, never, Approval | Cancellation.Cancellation>;
export declare const layer: <R = never>(ask: (request: Request) => Effect.Effect<Answer, never, R>) => Layer.Layer<Approval, never, Exclude<R, Cancellation.Cancellation>>;
export declare const layerConst: (answer: Answer) => Layer.Layer<Approval>;
export {};
