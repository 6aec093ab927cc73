import type * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import type * as Schedule from "effect/Schedule";
import type { Cancellation } from "./Cancellation.js";
import type * as Content from "./Content.js";
import type * as ToolResult from "./ToolResult.js";
declare const TypeId = "~quiesce/Policy";
export interface Call {
    readonly id: string;
    readonly rootId: string;
    readonly parentId: string | undefined;
    readonly tool: string;
    readonly parameters: ToolResult.Json | undefined;
    readonly agent: string | undefined;
}
export type OnCancel = "interrupt" | "finish";
export type Decision = {
    readonly _tag: "Allow";
} | {
    readonly _tag: "Deny";
    readonly reason: string;
} | {
    readonly _tag: "Ask";
    readonly reason: string | undefined;
};
export type Review = {
    readonly _tag: "Accept";
    readonly content: ReadonlyArray<Content.Content> | undefined;
    readonly value: ToolResult.Json | undefined;
    readonly contexts: ReadonlyArray<Content.Content>;
} | {
    readonly _tag: "Block";
    readonly content: ReadonlyArray<Content.Content>;
    readonly contexts: ReadonlyArray<Content.Content>;
};
interface Named {
    readonly [TypeId]: typeof TypeId;
    readonly name: string;
}
export interface Before<out R = never> extends Named {
    readonly _tag: "Before";
    readonly onCancel: OnCancel;
    readonly decide: (call: Call) => Effect.Effect<Decision, unknown, R>;
}
export interface Guard extends Named {
    readonly _tag: "Guard";
    readonly check: (call: Call) => string | undefined;
}
export interface Around<out R = never> extends Named {
    readonly _tag: "Around";
    readonly onCancel: OnCancel;
    readonly wrap: (call: Call, next: Next) => Effect.Effect<ToolResult.ToolResult, unknown, R>;
}
export type Next = Effect.Effect<ToolResult.ToolResult, never, Cancellation>;
export interface After<out R = never> extends Named {
    readonly _tag: "After";
    readonly review: (call: Call, result: ToolResult.ToolResult) => Effect.Effect<Review, unknown, R>;
}
export interface Observe<out R = never> extends Named {
    readonly _tag: "Observe";
    readonly tell: (call: Call, result: ToolResult.ToolResult) => Effect.Effect<void, unknown, R>;
}
export interface Timeout extends Named {
    readonly _tag: "Timeout";
    readonly durationOf?: ((call: Call) => Duration.DurationInput | undefined) | undefined;
}
export type Policy<R = never> = Before<R> | Guard | Around<R> | After<R> | Observe<R> | Timeout;
export type Any = Policy<any>;
export type Requirements<P extends Any> = P extends Before<infer R> | Around<infer R> | After<infer R> | Observe<infer R> ? R : never;
export declare const isPolicy: (u: unknown) => u is Any;
export declare const allow: Decision;
export declare const deny: (reason: string) => Decision;
export declare const ask: (reason?: string) => Decision;
export declare const accept: (options?: {
    readonly content?: ReadonlyArray<Content.Content> | undefined;
    readonly value?: ToolResult.Json | undefined;
    readonly contexts?: ReadonlyArray<Content.Content> | undefined;
}) => Review;
export declare const block: (content: ReadonlyArray<Content.Content>, options?: {
    readonly contexts?: ReadonlyArray<Content.Content> | undefined;
}) => Review;
export declare const before: <R = never>(name: string, decide: (call: Call) => Effect.Effect<Decision, unknown, R>, options?: {
    readonly onCancel?: OnCancel | undefined;
}) => Before<R>;
export declare const guard: (name: string, check: (call: Call) => string | undefined) => Guard;
export declare const around: <R = never>(name: string, wrap: (call: Call, next: Next) => Effect.Effect<ToolResult.ToolResult, unknown, R>, options?: {
    readonly onCancel?: OnCancel | undefined;
}) => Around<R>;
export declare const after: <R = never>(name: string, review: (call: Call, result: ToolResult.ToolResult) => Effect.Effect<Review, unknown, R>) => After<R>;
export declare const observe: <R = never>(name: string, tell: (call: Call, result: ToolResult.ToolResult) => Effect.Effect<void, unknown, R>) => Observe<R>;
export declare const timeout: Timeout;
export declare const timeoutOf: (durationOf: (call: Call) => Duration.DurationInput | undefined) => Timeout;
export declare const retry: <R = never>(options: {
    readonly schedule: Schedule.Schedule<unknown, ToolResult.Failure, R>;
    readonly while?: ((failure: ToolResult.Failure) => boolean) | undefined;
}) => Around<R | Cancellation>;
export {};
