import type * as Layer from "effect/Layer";
import * as Redacted from "effect/Redacted";
import * as Http from "./Http.js";
import * as Model from "./Model.js";
export interface Options extends Model.LayerOptions {
    readonly baseUrl: string;
    readonly apiKey?: Redacted.Redacted | undefined;
    readonly headers?: Readonly<Record<string, string>> | undefined;
    readonly body?: {
        readonly [key: string]: unknown;
    } | undefined;
    readonly maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined;
    readonly reasoningField?: "reasoning_content" | "reasoning" | undefined;
    readonly maxBytes?: number | undefined;
}
export declare const layer: (options: Options) => Layer.Layer<Model.Model, never, Http.Http>;
