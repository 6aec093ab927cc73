import type * as Content from "../Content.js";
import type * as CoreResult from "../ToolResult.js";
import type { ToolResult } from "./Result.js";
export interface CallInput {
    readonly callId: string;
    readonly name: string;
    readonly arguments: unknown;
    readonly signal: AbortSignal;
    readonly rootCallId?: string | undefined;
    readonly agent?: string | undefined;
}
interface Identity {
    readonly callId: string;
    readonly rootCallId: string;
    readonly parentId: string | undefined;
    readonly token: symbol;
    readonly name: string;
    readonly arguments: CoreResult.Json | undefined;
    readonly agent: string | undefined;
}
export interface CallView extends Identity {
    readonly signal: AbortSignal;
}
export interface AroundView extends Identity {
    get signal(): AbortSignal;
    set signal(signal: AbortSignal);
}
export interface BodyContext extends Identity {
    readonly signal: AbortSignal;
    readonly attempt: number;
    readonly remaining: number | undefined;
    readonly deferContext: (content: string | Content.Content) => void;
    readonly concludeTurn: () => void;
    readonly progress: (text: string) => void;
    readonly call: (name: string, parameters: unknown) => Promise<ToolResult>;
}
export {};
