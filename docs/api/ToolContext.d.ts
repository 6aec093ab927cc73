import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import type { Cancellation } from "./Cancellation.js";
import type * as Content from "./Content.js";
import type * as ToolResult from "./ToolResult.js";
export interface Service {
    readonly callId: string;
    readonly rootId: string;
    readonly tool: string;
    readonly attempt: number;
    readonly deferContext: (content: Content.Content) => Effect.Effect<void>;
    readonly concludeTurn: Effect.Effect<void>;
    readonly progress: (text: string) => Effect.Effect<void>;
    readonly call: (name: string, parameters: unknown) => Effect.Effect<ToolResult.ToolResult, never, Cancellation>;
}
declare const ToolContext_base: Context.TagClass<ToolContext, "quiesce/ToolContext", Service>;
export declare class ToolContext extends ToolContext_base {
}
export declare const deferContext: (content: Content.Content) => Effect.Effect<void, never, ToolContext>;
export declare const concludeTurn: Effect.Effect<void, never, ToolContext>;
export declare const progress: (text: string) => Effect.Effect<void, never, ToolContext>;
export declare const call: (name: string, parameters: unknown) => Effect.Effect<ToolResult.ToolResult, never, ToolContext | Cancellation>;
export {};
