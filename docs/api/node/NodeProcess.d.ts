import * as Layer from "effect/Layer";
import * as Process from "../capability/Process.js";
export declare const layer: Layer.Layer<Process.Process>;
export declare const killAll: () => number;
