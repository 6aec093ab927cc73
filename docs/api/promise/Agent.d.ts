import type * as Duration from "effect/Duration";
import * as Core from "../Agent.js";
import type * as AgentEvent from "../AgentEvent.js";
import type * as Content from "../Content.js";
import * as Model from "../capability/Model.js";
import type * as Inbox from "../Inbox.js";
import * as Session from "../Session.js";
import type { Runtime } from "./Runtime.js";
export interface Asked {
    readonly signal: AbortSignal;
}
export type AskModel = (request: Model.Request, given: Asked) => AsyncIterable<Model.Chunk>;
export type StepEntry = {
    readonly kind: "enter";
    readonly messages: ReadonlyArray<Inbox.Message>;
} | {
    readonly kind: "reject";
    readonly reason: string;
};
export type RequestRetry = {
    readonly kind: "retry";
    readonly afterMillis: number;
} | {
    readonly kind: "fail";
};
export interface AgentOptions {
    readonly id: string;
    readonly model: AskModel;
    readonly runtime: Runtime;
    readonly modelName?: string | undefined;
    readonly modelOptions?: Model.Options | undefined;
    readonly idleTimeout?: Duration.DurationInput | undefined;
    readonly instructions?: string | ((step: Core.StepInfo, given: Asked) => string | Promise<string>) | undefined;
    readonly beforeStep?: ((step: Core.StepInfo, messages: ReadonlyArray<Inbox.Message>, given: Asked) => StepEntry | Promise<StepEntry>) | undefined;
    readonly beforeStop?: ((turn: number, given: Asked) => void | Promise<void>) | undefined;
    readonly onRequestFailed?: ((problem: Model.Problem, attempt: number, given: Asked) => RequestRetry | Promise<RequestRetry>) | undefined;
    readonly maxParallelCalls?: number | undefined;
    readonly finishedSiblings?: "keep" | "abort" | undefined;
    readonly session?: Session.Service | undefined;
}
type Said = string | ReadonlyArray<Content.Content>;
export interface Agent extends AsyncDisposable {
    readonly id: string;
    readonly session: Session.Service;
    readonly status: () => Core.Status;
    readonly send: (said: Said, options?: Core.SendOptions) => Promise<string>;
    readonly followup: (said: Said) => Promise<string>;
    readonly steer: (said: Said) => Promise<string>;
    readonly inject: (said: Said) => Promise<string>;
    readonly withdraw: (id: string) => Promise<boolean>;
    readonly cancel: (options?: {
        readonly reason?: unknown;
        readonly keepInbox?: boolean | undefined;
    }) => void;
    readonly whenIdle: () => Promise<void>;
    readonly runMaintenance: <A>(task: (given: Asked) => A | Promise<A>) => Promise<A>;
    readonly events: (options: {
        readonly signal: AbortSignal;
        readonly from?: number | undefined;
    }) => AsyncIterable<AgentEvent.Envelope>;
    readonly messages: () => ReadonlyArray<Model.Message>;
    readonly dispose: () => Promise<void>;
}
export declare const createAgent: (options: AgentOptions) => Promise<Agent>;
export {};
