import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Schema from "effect/Schema";
import type * as Scope from "effect/Scope";
import * as Stream from "effect/Stream";
import type * as AgentEvent from "./AgentEvent.js";
import type * as Model from "./capability/Model.js";
import { type Position as AnyPosition, type QueuedInput as AnyQueuedInput } from "./internal/session/position.js";
import type { Storage as AnyStorage } from "./internal/session/storage.js";
export declare const Reason: Schema.Literal<["NotFound", "NotAFile", "PermissionDenied", "NoSpace", "Locked", "NotASession", "OtherVersion", "BrokenLine", "InvalidEvent", "Closed", "NotDurable", "Unknown"]>;
export type Reason = typeof Reason.Type;
declare const SessionError_base: Schema.TaggedErrorClass<SessionError, "SessionError", {
    readonly _tag: Schema.tag<"SessionError">;
} & {
    operation: Schema.Literal<["open", "append", "sync", "close"]>;
    session: typeof Schema.String;
    reason: Schema.Literal<["NotFound", "NotAFile", "PermissionDenied", "NoSpace", "Locked", "NotASession", "OtherVersion", "BrokenLine", "InvalidEvent", "Closed", "NotDurable", "Unknown"]>;
    line: Schema.optional<typeof Schema.Int>;
    detail: Schema.optional<typeof Schema.String>;
    advice: Schema.optional<typeof Schema.String>;
    cause: Schema.optional<typeof Schema.Defect>;
}>;
export declare class SessionError extends SessionError_base {
    get code(): string;
    get message(): string;
}
export type Storage = AnyStorage;
export type QueuedInput = AnyQueuedInput;
export type Position = AnyPosition;
export type SyncPolicy = "always" | "turn" | "never";
export interface Options {
    readonly agent?: string | undefined;
    readonly sync?: SyncPolicy | undefined;
}
export interface Service {
    readonly append: (event: AgentEvent.AgentEvent) => AgentEvent.Envelope;
    readonly sync: () => void;
    readonly events: () => ReadonlyArray<AgentEvent.Envelope>;
    readonly follow: (from?: number) => Stream.Stream<AgentEvent.Envelope>;
    readonly messages: () => ReadonlyArray<Model.Message>;
    readonly position: () => Position;
    readonly close: () => void;
}
declare const Session_base: Context.TagClass<Session, "quiesce/Session", Service>;
export declare class Session extends Session_base {
}
export declare const make: (options?: Options & {
    readonly storage?: Storage | undefined;
}) => Effect.Effect<Service, SessionError, Scope.Scope>;
export declare const layerMemory: (options?: Pick<Options, "agent">) => Layer.Layer<Session>;
export declare const layerStorage: <E>(storage: Effect.Effect<Storage, E, Scope.Scope>, options?: Options) => Layer.Layer<Session, E | SessionError>;
export declare const append: (event: AgentEvent.AgentEvent) => Effect.Effect<AgentEvent.Envelope, SessionError, Session>;
export declare const follow: (from?: number) => Stream.Stream<AgentEvent.Envelope, never, Session>;
export declare const toMessages: (events: Iterable<AgentEvent.Envelope>) => ReadonlyArray<Model.Message>;
export {};
