import type * as Content from "../Content.js";
import type * as CoreResult from "../ToolResult.js";
import type { AroundView, CallView } from "./Call.js";
import type { Answer, ToolResult } from "./Result.js";
export type Decision = {
    readonly kind: "allow";
} | {
    readonly kind: "deny";
    readonly reason: string;
} | {
    readonly kind: "ask";
    readonly reason?: string | undefined;
};
export type Review = {
    readonly kind: "accept";
    readonly content?: ReadonlyArray<Content.Content> | undefined;
    readonly value?: CoreResult.Json | undefined;
    readonly additionalContexts?: ReadonlyArray<Content.Content> | undefined;
} | {
    readonly kind: "block";
    readonly content: ReadonlyArray<Content.Content>;
    readonly additionalContexts?: ReadonlyArray<Content.Content> | undefined;
};
export type Next = () => Promise<ToolResult>;
export interface Policy {
    readonly name: string;
    readonly before?: ((call: CallView) => Decision | Promise<Decision>) | undefined;
    readonly guard?: ((call: CallView) => string | undefined) | undefined;
    readonly around?: ((call: AroundView, next: Next) => Answer | Promise<Answer>) | undefined;
    readonly after?: ((call: CallView, result: ToolResult) => Review | Promise<Review>) | undefined;
    readonly observe?: ((call: CallView, result: ToolResult) => void | Promise<void>) | undefined;
}
