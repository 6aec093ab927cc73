import type * as Duration from "effect/Duration";
import * as Http from "../capability/Http.js";
import * as Tool from "../Tool.js";
import * as Toolkit from "../Toolkit.js";
export interface Options {
    readonly timeout?: Duration.DurationInput | undefined;
    readonly networkTimeout?: Duration.DurationInput | undefined;
    readonly maxBytes?: number | undefined;
}
export declare const fetchUrl: ({ maxBytes, networkTimeout, timeout }?: Options) => Tool.Tool<"fetch_url", {
    readonly url: string;
}, {
    readonly text: string;
    readonly url: string;
}, Http.HttpError, import("../Cancellation.js").Cancellation | Http.Http>;
export declare const make: (options?: Options) => Toolkit.Toolkit<Tool.Tool<"fetch_url", {
    readonly url: string;
}, {
    readonly text: string;
    readonly url: string;
}, Http.HttpError, import("../Cancellation.js").Cancellation | Http.Http>>;
