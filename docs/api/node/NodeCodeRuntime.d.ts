import * as Layer from "effect/Layer";
import * as CodeRuntime from "../capability/CodeRuntime.js";
export declare const layer: Layer.Layer<CodeRuntime.CodeRuntime>;
