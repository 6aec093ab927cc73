import type { LookupFunction } from "node:net";
import * as Layer from "effect/Layer";
import * as Http from "../capability/Http.js";
export interface Options {
    readonly hosts?: ReadonlyArray<string> | undefined;
    readonly allowPrivate?: boolean | ReadonlyArray<string> | undefined;
    readonly root?: string | undefined;
    readonly lookup?: LookupFunction | undefined;
    readonly ca?: string | ReadonlyArray<string> | undefined;
}
export declare const layer: (options?: Options) => Layer.Layer<Http.Http>;
