import type * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Schema from "effect/Schema";
import type * as Cancellation from "../Cancellation.js";
import { type Leftover } from "../internal/testing/leftovers.js";
import * as Tool from "../Tool.js";
export interface Options<Name extends string> {
    readonly name?: Name | undefined;
    readonly timeout?: Duration.DurationInput | undefined;
    readonly concurrency?: Tool.Concurrency | undefined;
}
export interface Handle {
    readonly entered: Effect.Effect<number>;
    readonly running: Effect.Effect<number>;
    readonly awaitStarted: (times?: number) => Effect.Effect<void>;
    readonly release: Effect.Effect<void>;
}
export interface Controlled<Name extends string, E = never, R = never> extends Handle {
    readonly tool: Tool.Tool<Name, {
        readonly text: string;
    }, string, E, R>;
}
export interface Any extends Handle {
    readonly tool: Tool.Any;
}
export interface Leaky<Name extends string> extends Controlled<Name, never, Cancellation.Cancellation> {
    readonly left: Effect.Effect<number>;
}
declare const ControlledFailure_base: Schema.TaggedErrorClass<ControlledFailure, "ControlledFailure", {
    readonly _tag: Schema.tag<"ControlledFailure">;
} & {
    message: typeof Schema.String;
}>;
export declare class ControlledFailure extends ControlledFailure_base {
}
export declare const echo: <const Name extends string = "echo">(options?: Options<Name>) => Effect.Effect<Controlled<Name>>;
export declare const gated: <const Name extends string = "gated">(options?: Options<Name>) => Effect.Effect<Controlled<Name>>;
export declare const stubborn: <const Name extends string = "stubborn">(options?: Options<Name>) => Effect.Effect<Controlled<Name>>;
export declare const cooperative: <const Name extends string = "cooperative">(options?: Options<Name>) => Effect.Effect<Controlled<Name, never, Cancellation.Cancellation>>;
export declare const late: <const Name extends string = "late">(options?: Options<Name> & {
    readonly message?: string | undefined;
}) => Effect.Effect<Controlled<Name, ControlledFailure, Cancellation.Cancellation>>;
export declare const failing: <const Name extends string = "failing">(options?: Options<Name> & {
    readonly message?: string | undefined;
    readonly as?: "failure" | "defect" | undefined;
}) => Effect.Effect<Controlled<Name, ControlledFailure>>;
export interface LeakyOptions<Name extends string> extends Options<Name> {
    readonly leaves?: Leftover | undefined;
}
export declare const leaky: <const Name extends string = "leaky">(options?: LeakyOptions<Name>) => Effect.Effect<Leaky<Name>>;
export {};
