import type * as CancelCause from "../CancelCause.js";
import type * as Content from "../Content.js";
import type * as CoreResult from "../ToolResult.js";
export interface Report {
    readonly callId: string;
    readonly tool: string;
    readonly dispatched: boolean;
    readonly body: CoreResult.BodyEnd;
    readonly escaped: ReadonlyArray<string>;
    readonly code?: string;
    readonly cause?: CancelCause.Encoded;
    readonly bodyFailure?: CoreResult.Reported;
}
interface Common {
    readonly content: ReadonlyArray<Content.Content>;
    readonly meta?: CoreResult.Json;
    readonly additionalContexts?: ReadonlyArray<Content.Content>;
    readonly report: Report;
}
export interface ToolSuccess extends Common {
    readonly isError: false;
    readonly value: CoreResult.Json;
    readonly concludesTurn?: true;
}
export interface ToolFailure extends Common {
    readonly isError: true;
    readonly error: {
        readonly message: string;
        readonly info?: {
            readonly name: string;
            readonly code: string;
        };
    };
}
export type ToolResult = ToolSuccess | ToolFailure;
export type Answer = ToolResult | {
    readonly isError: false;
    readonly value: CoreResult.Json;
    readonly additionalContexts?: ReadonlyArray<Content.Content> | undefined;
} | {
    readonly isError: true;
    readonly error: ToolFailure["error"];
    readonly content?: ReadonlyArray<Content.Content> | undefined;
    readonly additionalContexts?: ReadonlyArray<Content.Content> | undefined;
};
export declare class CodedError extends Error {
    readonly name: string;
    readonly code: string;
    constructor(message: string, code: string, options?: ErrorOptions & {
        readonly name?: string | undefined;
    });
    get _tag(): string;
}
export {};
