import * as Effect from "effect/Effect";
import type * as ToolCall from "../ToolCall.js";
import type * as ToolResult from "../ToolResult.js";
export type Entry = {
    readonly _tag: "Calls";
    readonly ids: ReadonlyArray<string>;
} | {
    readonly _tag: "Result";
    readonly id: string;
} | {
    readonly _tag: "StepEnd";
};
export interface Problem {
    readonly _tag: "Unanswered" | "AnsweredTwice" | "UnknownCall" | "OutOfOrder" | "AfterStepEnd";
    readonly callId: string;
    readonly entry: number;
}
export declare const calls: (...ids: ReadonlyArray<string>) => Entry;
export declare const result: (id: string) => Entry;
export declare const stepEnd: Entry;
export declare const step: (toolCalls: ReadonlyArray<Pick<ToolCall.ToolCall, "id">>, results: ReadonlyArray<Pick<ToolResult.ToolResult, "callId">>) => ReadonlyArray<Entry>;
export declare const fromOpenAI: (messages: ReadonlyArray<unknown>) => ReadonlyArray<Entry>;
export declare const fromAnthropic: (messages: ReadonlyArray<unknown>) => ReadonlyArray<Entry>;
export declare const problems: (entries: ReadonlyArray<Entry>) => ReadonlyArray<Problem>;
export declare const describe: ({ _tag, callId }: Problem) => string;
declare const TranscriptFailure_base: new <A extends Record<string, any> = {}>(args: import("effect/Types").VoidIfEmpty<{ readonly [P in keyof A as P extends "_tag" ? never : P]: A[P]; }>) => import("effect/Cause").YieldableError & {
    readonly _tag: "TranscriptFailure";
} & Readonly<A>;
export declare class TranscriptFailure extends TranscriptFailure_base<{
    readonly problems: ReadonlyArray<Problem>;
}> {
    get message(): string;
}
export declare const check: (entries: ReadonlyArray<Entry>) => Effect.Effect<void, TranscriptFailure>;
export {};
