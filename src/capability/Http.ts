/**
 * Requests over HTTP.
 *
 * Each request has a connection of its own, and an operation completes, in whatever way, only when the connections that
 * it opened are closed (L3). A stop closes the socket first and is answered after its close. What the caller's cancel
 * does is an interruption; what the operation's own time limit does is a failure, `TimedOut`. The first of the two
 * counts, and the other does not change it (L6, L7).
 *
 * @since 0.1.0
 */
import type * as Headers from "@effect/platform/Headers"
import type * as HttpMethod from "@effect/platform/HttpMethod"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Cancellation } from "../Cancellation.js"
import { oneLine } from "../internal/quoted.js"

/**
 * Schema for why a request failed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal(
  "InvalidRequest",
  "HostNotAllowed",
  "AddressNotAllowed",
  "LookupFailed",
  "ConnectFailed",
  "CertificateRejected",
  "ConnectionLost",
  "InvalidResponse",
  "InvalidRedirect",
  "TooManyRedirects",
  "BadStatus",
  "TooLarge",
  "UnknownCharset",
  "TimedOut",
  "UploadFailed",
  "WriteFailed"
)

/**
 * Why a request failed.
 *
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

// For each reason what happened, and what to do about it.
const texts: { readonly [R in Reason]: readonly [what: string, advice: string] } = {
  InvalidRequest: ["its options cannot work", "Correct them"],
  HostNotAllowed: ["its host is not among those that may be reached", "Use another host, or have this one allowed"],
  AddressNotAllowed: ["its host has an address that is private or reserved", "Use a host of the public internet"],
  LookupFailed: ["the name of its host could not be resolved", "Check the spelling, or try again later"],
  ConnectFailed: ["no connection could be made", "Check host and port, or try again later"],
  CertificateRejected: [
    "the certificate of the server cannot be trusted",
    "Check the host; if it is right, have its certificate added to the trusted ones"
  ],
  ConnectionLost: ["the connection ended before the response was complete", "Try again"],
  InvalidResponse: ["the server's answer is not valid HTTP", "Check the port; trying again will hardly help"],
  InvalidRedirect: ["it was redirected to where it cannot be sent", "Send it to the final URL"],
  TooManyRedirects: ["it was redirected too often", "Send it to the final URL, or allow more `redirects`"],
  BadStatus: ["the server answered with a status that is no success", "Use `request` to look at such answers"],
  TooLarge: ["the response is too large", "Ask for a part of it, or raise `maxBytes`"],
  UnknownCharset: ["the response is text in a charset that is not known", "Read it as bytes"],
  TimedOut: ["it took too long", "Give it a longer `timeout`, or try again later"],
  UploadFailed: ["the body to be sent failed", "Look at the cause"],
  WriteFailed: ["the file could not be written", "Check the path and its folder"]
}

/**
 * A request failed. Whatever was opened for it is closed.
 *
 * Cancellation is an interruption and never one of these. `url` is without its query, and no header or body is ever
 * part of an error: they may hold secrets.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Http } from "quiesce/capability"
 *
 * const error = new Http.HttpError({ method: "GET", url: "https://example.com/", reason: "TimedOut" })
 * assert.strictEqual(error.code, "HTTP_TIMED_OUT")
 * assert.strictEqual(
 *   error.message,
 *   "GET https://example.com/ failed: it took too long. Give it a longer `timeout`, or try again later."
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class HttpError extends Schema.TaggedError<HttpError>("quiesce/capability/Http/HttpError")("HttpError", {
  method: Schema.String,
  /** The URL that failed, which may be one that the request was redirected to, without its query. */
  url: Schema.String,
  reason: Reason,
  /** The status of the response, where one came. */
  status: Schema.optional(Schema.Int),
  /** How long the server asks to wait before the next attempt (`Retry-After`), in milliseconds. */
  retryAfterMillis: Schema.optional(Schema.NonNegativeInt),
  /** What happened, where that can be said better than by the reason alone. */
  detail: Schema.optional(Schema.String),
  cause: Schema.optional(Schema.Defect)
}) {
  /** The reason as the code of a failed call, such as `HTTP_TIMED_OUT`. */
  get code(): string {
    return `HTTP_${this.reason.replace(/(?<!^)(?=[A-Z])/g, "_").toUpperCase()}`
  }

  override get message(): string {
    const [what, advice] = texts[this.reason]
    return `${this.method} ${oneLine(this.url)} failed: ${this.detail ?? what}. ${advice}.`
  }
}

const transientStatuses: ReadonlySet<number | undefined> = new Set([408, 429, 502, 503, 504])
const repeatable: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])

/**
 * Whether the same request may be sent again after `error`, and may then succeed.
 *
 * Where nothing was sent (`LookupFailed`, `ConnectFailed`) any request may. Where the server may have acted
 * (`ConnectionLost`, `BadStatus` with 408, 429, 502, 503 or 504) only a method that is idempotent by RFC 9110, section
 * 9.2.2, may: GET, HEAD, OPTIONS, PUT, DELETE. Nothing else may, `TimedOut` least: the time is that of all attempts.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Http } from "quiesce/capability"
 *
 * const lost = (method: string) => new Http.HttpError({ method, url: "https://example.com/", reason: "ConnectionLost" })
 * assert.strictEqual(Http.isRetryable(lost("GET")), true)
 * assert.strictEqual(Http.isRetryable(lost("POST")), false)
 * ```
 *
 * @since 0.1.0
 * @category guards
 */
export const isRetryable = ({ method, reason, status }: HttpError): boolean => {
  if (reason === "LookupFailed" || reason === "ConnectFailed") return true
  return (
    repeatable.has(method) && (reason === "ConnectionLost" || (reason === "BadStatus" && transientStatuses.has(status)))
  )
}

/**
 * What to ask for, and within which limits.
 *
 * @since 0.1.0
 * @category models
 */
export interface RequestOptions {
  /** Absolute, `http:` or `https:`, without credentials: those belong in the `authorization` header. */
  readonly url: string
  /** Default: `GET`. */
  readonly method?: HttpMethod.HttpMethod | undefined
  /**
   * Not those that say how the message travels (`host`, `connection`, `transfer-encoding`, ...). `authorization`,
   * `cookie` and `proxy-authorization` do not follow a redirect to another origin.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * What is sent. A stream is run once and sent as it comes: a request with one is never retried, nor redirected with
   * its body. Its finalizers have run when the operation completes. Its failure is `UploadFailed`.
   */
  readonly body?: string | Uint8Array | Stream.Stream<Uint8Array, unknown, Cancellation> | undefined
  /**
   * How long it may take in all, from the start to the last byte of the response, redirects and retries and waits in
   * between included. Default: 1 minute. `Infinity` for no limit.
   */
  readonly timeout?: Duration.DurationInput | undefined
  /** The most bytes that the body of the response may have, counted after it is unpacked. Default: 10 MiB. */
  readonly maxBytes?: number | undefined
  /** How many redirects are followed. With 0 the first redirect is the response. Default: 5. */
  readonly redirects?: number | undefined
  /**
   * When to try again after a failure that `retryWhen` admits. Default: never.
   *
   * A server may ask for more time than the schedule (`Retry-After`, in seconds or as a date): then that much is waited,
   * and a stop ends that wait like any other. Where it asks for more than `maxRetryAfter`, or than is left of `timeout`,
   * the request is not tried again, and what the server answered is the failure.
   */
  readonly retry?: Schedule.Schedule<unknown, HttpError> | undefined
  /** The longest wait that a server may ask for. Default: 1 minute. */
  readonly maxRetryAfter?: Duration.DurationInput | undefined
  /** Which failures are retried. Default: `isRetryable`. */
  readonly retryWhen?: ((error: HttpError) => boolean) | undefined
}

/**
 * What to ask for, and where it goes.
 *
 * @since 0.1.0
 * @category models
 */
export interface DownloadOptions extends RequestOptions {
  /** The file. Its folder must exist. */
  readonly path: string
}

/**
 * The first part of a response, and the way to the rest. As long as its scope.
 *
 * @since 0.1.0
 * @category models
 */
export interface Response {
  /** Where it came from: behind all redirects. */
  readonly url: string
  readonly status: number
  /** As they were sent: `content-encoding` and `content-length` tell of the body before it was unpacked. */
  readonly headers: Headers.Headers
  /** The body, unpacked. It can be read once. An interruption of the reader closes the connection and waits for that. */
  readonly body: Stream.Stream<Uint8Array, HttpError, Cancellation>
  /** The whole body as text (see `Service.text`), in the place of `body`. */
  readonly text: Effect.Effect<string, HttpError, Cancellation>
  /** Closes the connection now, whatever was read, and waits for that. */
  readonly drop: Effect.Effect<void, never, Cancellation>
}

/**
 * What came of a download.
 *
 * @since 0.1.0
 * @category models
 */
export interface Downloaded {
  readonly url: string
  readonly status: number
  readonly headers: Headers.Headers
  /** How many bytes the file has. */
  readonly bytes: number
}

/**
 * What an implementation of `Http` provides.
 *
 * Every operation goes through `Cancellation.operation`: it opens nothing under a cancelled owner (L10), and its owner
 * does not end before its connections are closed (L3, L14). An interruption, in whatever phase (name look-up, connect,
 * upload, headers, body, redirect, back-off), closes the connection and completes when it is closed; a name that the
 * system is looking up cannot be taken back, so its answer is waited for. Never left behind, on any path: a socket, a
 * timer, a listener, a fiber that uploads.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /**
   * Sends a request, and completes when the headers of the response are there. Any status is a response.
   *
   * The connection lives as long as the scope at most, whether the body was read or not: closing the scope closes it
   * and waits for that, and so does the end of the owner. Until the body has been read the `timeout` runs on. Retries
   * end with the headers.
   */
  readonly request: (options: RequestOptions) => Effect.Effect<Response, HttpError, Cancellation | Scope.Scope>
  /**
   * Reads a response as text. A status outside of 200 to 299 is a failure, `BadStatus`.
   *
   * The charset is that of a byte order mark, else of the `content-type`, else UTF-8. Bytes that are not valid in it
   * become U+FFFD, the mark is left out, and a charset that is not known is a failure. Retries include the body.
   */
  readonly text: (options: RequestOptions) => Effect.Effect<string, HttpError, Cancellation>
  /**
   * The body of a response as it comes, unpacked. A status outside of 200 to 299 is a failure, `BadStatus`.
   *
   * Nothing is read that nobody asks for. The connection is closed, and its close awaited, when the stream ends, fails,
   * is interrupted or is not read any further. Retries end with the headers.
   */
  readonly stream: (options: RequestOptions) => Stream.Stream<Uint8Array, HttpError, Cancellation>
  /**
   * Writes the body of a response to a file, as a whole or not at all. A status outside of 200 to 299 is a failure.
   *
   * It is staged in a private folder next to where it belongs, forced to the disk and then moved there. That move is
   * the commit point: until it a file that was there is untouched; from it on the download has succeeded, and an
   * interruption that comes now undoes nothing. An interruption before it completes when what was staged is removed.
   * The `timeout` is that of the network: it does not count the move. Retries include the body.
   *
   * It takes no turn with the changes of a `FileSystem`, whose line is that layer's own: of two that write one file the
   * later move wins, as a whole, and a write there that expects a version does not see a download that comes between its
   * last look and its move. Where that matters, read with `text` or `stream`, and write with `FileSystem`.
   */
  readonly download: (options: DownloadOptions) => Effect.Effect<Downloaded, HttpError, Cancellation>
}

/**
 * Service that sends requests over HTTP.
 *
 * @since 0.1.0
 * @category services
 */
export class Http extends Context.Tag("quiesce/capability/Http")<Http, Service>() {}

/**
 * Sends a request, and completes when the headers of the response are there (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const request = (
  options: RequestOptions
): Effect.Effect<Response, HttpError, Http | Cancellation | Scope.Scope> =>
  Effect.flatMap(Http, (http) => http.request(options))

/**
 * Reads a response as text (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const text = (options: RequestOptions): Effect.Effect<string, HttpError, Http | Cancellation> =>
  Effect.flatMap(Http, (http) => http.text(options))

/**
 * The body of a response as it comes (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const stream = (options: RequestOptions): Stream.Stream<Uint8Array, HttpError, Http | Cancellation> =>
  Stream.unwrap(Effect.map(Http, (http) => http.stream(options)))

/**
 * Writes the body of a response to a file, as a whole or not at all (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const download = (options: DownloadOptions): Effect.Effect<Downloaded, HttpError, Http | Cancellation> =>
  Effect.flatMap(Http, (http) => http.download(options))
