/**
 * Reads the options of a request: what is sent, and within which limits. What can never work is found here, before
 * anything is opened.
 */
import * as Headers from "@effect/platform/Headers"
import * as HttpMethod from "@effect/platform/HttpMethod"
import * as Duration from "effect/Duration"
import type * as Schedule from "effect/Schedule"
import type * as Stream from "effect/Stream"
import type { Cancellation } from "../../../Cancellation.js"
import * as Http from "../../../capability/Http.js"
import { quoted } from "../../quoted.js"
import { maxTimerMillis } from "../../timer.js"
import type { Outgoing, Problem } from "./transport.js"

/** @internal */
export interface Plan {
  readonly outgoing: Outgoing
  /** The body, where that is a stream. */
  readonly source: Stream.Stream<Uint8Array, unknown, Cancellation> | undefined
  readonly timeoutMillis: number | undefined
  readonly maxBytes: number
  readonly redirects: number
  readonly retry: Schedule.Schedule<unknown, Http.HttpError> | undefined
  readonly maxRetryAfterMillis: number
  readonly retryWhen: (error: Http.HttpError) => boolean
}

/**
 * The URL as it may be shown: queries hold secrets.
 *
 * @internal
 */
export const shown = (url: URL | string): string => {
  if (typeof url !== "string") return `${url.protocol}//${url.host}${url.pathname}`
  return URL.canParse(url) ? shown(new URL(url)) : (/^[^?#@]*/.exec(url)?.[0] ?? "")
}

/** @internal */
export const errorOf = (method: string, url: URL | string, problem: Problem): Http.HttpError =>
  new Http.HttpError({ method, url: shown(url), ...problem })

const defaultTimeout = Duration.minutes(1)
const defaultMaxRetryAfter = Duration.minutes(1)
const defaultMaxBytes = 10 * 1024 * 1024
const defaultRedirects = 5

const invalid = (detail: string): Problem => ({ reason: "InvalidRequest", detail })

/** Those that say how a message travels, or to whom: with them a request could be smuggled past a policy. */
const reserved = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
])

const findingsOf = ([name, value]: readonly [string, string]): ReadonlyArray<string> => {
  // Not the value: it may be a secret.
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) return ["a header has a name that HTTP does not allow"]
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    return [`the header ${quoted(name)} has a value that HTTP does not allow`]
  return reserved.has(name.toLowerCase()) ? [`the header ${quoted(name)} cannot be set`] : []
}

/**
 * Why a URL cannot be asked for, whatever the policy is.
 *
 * @internal
 */
export const refuseUrl = (url: URL): string | undefined => {
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return `its scheme is ${quoted(url.protocol)}, not http: or https:`
  if (url.username !== "" || url.password !== "") {
    return "its URL holds credentials, which belong in the `authorization` header"
  }
  return undefined
}

const timeoutOf = (timeout: Duration.DurationInput = defaultTimeout): number | undefined | string => {
  const millis = Duration.toMillis(timeout)
  if (millis === Number.POSITIVE_INFINITY) return undefined
  return millis > 0 && millis <= maxTimerMillis
    ? millis
    : `timeout must be more than nothing and at most ${maxTimerMillis} milliseconds, or infinite`
}

const bytesOf = (body: Http.RequestOptions["body"]): Outgoing["body"] => {
  if (body === undefined || body instanceof Uint8Array) return body
  return typeof body === "string" ? new TextEncoder().encode(body) : "streamed"
}

/**
 * What the options ask for, or why they cannot work.
 *
 * @internal
 */
export const plan = (options: Http.RequestOptions): Plan | Problem => {
  const { body, maxBytes = defaultMaxBytes, method = "GET", redirects = defaultRedirects } = options
  if (!URL.canParse(options.url)) return invalid("its URL is not an absolute URL")
  const url = new URL(options.url)
  url.hash = ""
  const refused = refuseUrl(url) ?? Object.entries(options.headers ?? {}).flatMap(findingsOf)[0]
  if (refused !== undefined) return invalid(refused)
  if (!HttpMethod.isHttpMethod(method)) return invalid("its method is not one that can be sent")
  if (body !== undefined && (method === "GET" || method === "HEAD")) return invalid(`a ${method} request has no body`)
  if (!(maxBytes >= 0)) return invalid(`maxBytes must be 0 or more, not ${maxBytes}`)
  if (!(redirects >= 0)) return invalid(`redirects must be 0 or more, not ${redirects}`)
  const timeoutMillis = timeoutOf(options.timeout)
  if (typeof timeoutMillis === "string") return invalid(timeoutMillis)
  const bytes = bytesOf(body)
  return {
    outgoing: { url, method, headers: Headers.fromInput(options.headers), body: bytes },
    source: bytes === "streamed" ? (body as NonNullable<Plan["source"]>) : undefined,
    timeoutMillis,
    maxBytes,
    redirects,
    retry: options.retry,
    maxRetryAfterMillis: Duration.toMillis(options.maxRetryAfter ?? defaultMaxRetryAfter),
    retryWhen: options.retryWhen ?? Http.isRetryable
  }
}
