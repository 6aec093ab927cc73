import type * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import type * as Scope from "effect/Scope";
import * as Process from "../capability/Process.js";
export interface Script {
    readonly stdout?: string | undefined;
    readonly stderr?: string | undefined;
    readonly exitCode?: number | undefined;
    readonly lasts?: Duration.DurationInput | "forever" | undefined;
    readonly echoes?: boolean | undefined;
    readonly whenAsked?: "ends" | "ignores" | "survives" | undefined;
    readonly escaped?: ReadonlyArray<string> | undefined;
}
export interface Commands {
    readonly [command: string]: Script | ((args: ReadonlyArray<string>) => Script);
}
export interface Started {
    readonly pid: number;
    readonly command: string;
    readonly args: ReadonlyArray<string>;
    readonly input: string;
    readonly isRunning: boolean;
}
export interface Handle {
    readonly process: Process.Service;
    readonly started: Effect.Effect<ReadonlyArray<Started>>;
}
export declare const make: (commands: Commands) => Effect.Effect<Handle, never, Scope.Scope>;
export declare const layer: (commands: Commands) => Layer.Layer<Process.Process>;
