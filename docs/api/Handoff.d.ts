import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Schema from "effect/Schema";
import * as Scope from "effect/Scope";
import type * as CancelCause from "./CancelCause.js";
import * as Cancellation from "./Cancellation.js";
declare const OwnerEnded_base: Schema.TaggedErrorClass<OwnerEnded, "OwnerEnded", {
    readonly _tag: Schema.tag<"OwnerEnded">;
}>;
export declare class OwnerEnded extends OwnerEnded_base {
    get code(): "OWNER_ENDED";
    get message(): string;
}
export interface HandedOver {
    readonly cancel: (cause: CancelCause.CancelCause) => boolean;
    readonly finish: () => void;
    readonly whenEnded: (f: () => void) => void;
    readonly awaitEnd: Effect.Effect<void>;
    readonly cause: () => CancelCause.CancelCause | undefined;
    readonly escaped: () => ReadonlyArray<string>;
}
export interface Options<A, E, R, B, R2> {
    readonly start: Effect.Effect<A, E, R>;
    readonly publish: (work: A, handedOver: HandedOver) => B;
    readonly rollback?: ((work: A) => Effect.Effect<void, never, R2>) | undefined;
    readonly owner: Context.Context<Cancellation.Cancellation>;
}
type Given = Cancellation.Cancellation | Scope.Scope;
export declare const make: <A, E, R, B, R2 = never>(options: Options<A, E, R, B, R2>) => Effect.Effect<B, E | OwnerEnded, Exclude<R | R2, Given> | Cancellation.Cancellation>;
export {};
