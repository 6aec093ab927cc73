import * as Effect from "effect/Effect";
import type * as Model from "../capability/Model.js";
export type Provider = "OpenAI" | "Anthropic";
export interface Problem {
    readonly provider: Provider;
    readonly message: number;
    readonly what: string;
}
export declare const problems: (messages: ReadonlyArray<Model.Message>, providers?: ReadonlyArray<Provider>) => ReadonlyArray<Problem>;
declare const MessageRulesFailure_base: new <A extends Record<string, any> = {}>(args: import("effect/Types").VoidIfEmpty<{ readonly [P in keyof A as P extends "_tag" ? never : P]: A[P]; }>) => import("effect/Cause").YieldableError & {
    readonly _tag: "MessageRulesFailure";
} & Readonly<A>;
export declare class MessageRulesFailure extends MessageRulesFailure_base<{
    readonly problems: ReadonlyArray<Problem>;
}> {
    get message(): string;
}
export declare const check: (messages: ReadonlyArray<Model.Message>, providers?: ReadonlyArray<Provider>) => Effect.Effect<void, MessageRulesFailure>;
export {};
