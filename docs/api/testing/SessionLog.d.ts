import * as Effect from "effect/Effect";
import type * as AgentEvent from "../AgentEvent.js";
import { type Rule } from "../internal/testing/sessionRules.js";
import * as Transcript from "./Transcript.js";
export interface Problem {
    readonly _tag: Rule | Transcript.Problem["_tag"];
    readonly about: string;
    readonly seq: number;
}
export declare const problems: (log: Iterable<AgentEvent.Envelope>) => ReadonlyArray<Problem>;
declare const SessionLogFailure_base: new <A extends Record<string, any> = {}>(args: import("effect/Types").VoidIfEmpty<{ readonly [P in keyof A as P extends "_tag" ? never : P]: A[P]; }>) => import("effect/Cause").YieldableError & {
    readonly _tag: "SessionLogFailure";
} & Readonly<A>;
export declare class SessionLogFailure extends SessionLogFailure_base<{
    readonly problems: ReadonlyArray<Problem>;
}> {
    get message(): string;
}
export declare const check: (log: Iterable<AgentEvent.Envelope>) => Effect.Effect<void, SessionLogFailure>;
export {};
