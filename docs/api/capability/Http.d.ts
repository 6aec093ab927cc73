import type * as Headers from "@effect/platform/Headers";
import type * as HttpMethod from "@effect/platform/HttpMethod";
import * as Context from "effect/Context";
import type * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import type * as Schedule from "effect/Schedule";
import * as Schema from "effect/Schema";
import type * as Scope from "effect/Scope";
import * as Stream from "effect/Stream";
import type { Cancellation } from "../Cancellation.js";
export declare const Reason: Schema.Literal<["InvalidRequest", "HostNotAllowed", "AddressNotAllowed", "LookupFailed", "ConnectFailed", "CertificateRejected", "ConnectionLost", "InvalidResponse", "InvalidRedirect", "TooManyRedirects", "BadStatus", "TooLarge", "UnknownCharset", "TimedOut", "UploadFailed", "WriteFailed"]>;
export type Reason = typeof Reason.Type;
declare const HttpError_base: Schema.TaggedErrorClass<HttpError, "HttpError", {
    readonly _tag: Schema.tag<"HttpError">;
} & {
    method: typeof Schema.String;
    url: typeof Schema.String;
    reason: Schema.Literal<["InvalidRequest", "HostNotAllowed", "AddressNotAllowed", "LookupFailed", "ConnectFailed", "CertificateRejected", "ConnectionLost", "InvalidResponse", "InvalidRedirect", "TooManyRedirects", "BadStatus", "TooLarge", "UnknownCharset", "TimedOut", "UploadFailed", "WriteFailed"]>;
    status: Schema.optional<typeof Schema.Int>;
    retryAfterMillis: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
    detail: Schema.optional<typeof Schema.String>;
    cause: Schema.optional<typeof Schema.Defect>;
}>;
export declare class HttpError extends HttpError_base {
    get code(): string;
    get message(): string;
}
export declare const isRetryable: ({ method, reason, status }: HttpError) => boolean;
export interface RequestOptions {
    readonly url: string;
    readonly method?: HttpMethod.HttpMethod | undefined;
    readonly headers?: Readonly<Record<string, string>> | undefined;
    readonly body?: string | Uint8Array | Stream.Stream<Uint8Array, unknown, Cancellation> | undefined;
    readonly timeout?: Duration.DurationInput | undefined;
    readonly maxBytes?: number | undefined;
    readonly redirects?: number | undefined;
    readonly retry?: Schedule.Schedule<unknown, HttpError> | undefined;
    readonly maxRetryAfter?: Duration.DurationInput | undefined;
    readonly retryWhen?: ((error: HttpError) => boolean) | undefined;
}
export interface DownloadOptions extends RequestOptions {
    readonly path: string;
}
export interface Response {
    readonly url: string;
    readonly status: number;
    readonly headers: Headers.Headers;
    readonly body: Stream.Stream<Uint8Array, HttpError, Cancellation>;
    readonly text: Effect.Effect<string, HttpError, Cancellation>;
    readonly drop: Effect.Effect<void, never, Cancellation>;
}
export interface Downloaded {
    readonly url: string;
    readonly status: number;
    readonly headers: Headers.Headers;
    readonly bytes: number;
}
export interface Service {
    readonly request: (options: RequestOptions) => Effect.Effect<Response, HttpError, Cancellation | Scope.Scope>;
    readonly text: (options: RequestOptions) => Effect.Effect<string, HttpError, Cancellation>;
    readonly stream: (options: RequestOptions) => Stream.Stream<Uint8Array, HttpError, Cancellation>;
    readonly download: (options: DownloadOptions) => Effect.Effect<Downloaded, HttpError, Cancellation>;
}
declare const Http_base: Context.TagClass<Http, "quiesce/capability/Http", Service>;
export declare class Http extends Http_base {
}
export declare const request: (options: RequestOptions) => Effect.Effect<Response, HttpError, Http | Cancellation | Scope.Scope>;
export declare const text: (options: RequestOptions) => Effect.Effect<string, HttpError, Http | Cancellation>;
export declare const stream: (options: RequestOptions) => Stream.Stream<Uint8Array, HttpError, Http | Cancellation>;
export declare const download: (options: DownloadOptions) => Effect.Effect<Downloaded, HttpError, Http | Cancellation>;
export {};
