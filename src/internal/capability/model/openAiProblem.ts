/**
 * Says in our words why a provider that speaks OpenAI's chat completions did not answer.
 *
 * https://platform.openai.com/docs/guides/error-codes, and what servers that imitate it send.
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import { hasProperty, isNumber, isString } from "effect/Predicate"
import type { HttpError, Reason } from "../../../capability/Http.js"
import type { ErrorCode, Problem } from "../../../capability/Model.js"

const retryable: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "RATE_LIMITED",
  "OVERLOADED",
  "SERVER_ERROR",
  "CONNECTION_FAILED",
  "CONNECTION_LOST",
  "INVALID_RESPONSE"
])

const advice: { readonly [code in ErrorCode]?: string } = {
  INVALID_REQUEST: "Change the request, or the options of the model",
  CONTEXT_TOO_LONG: "Shorten the conversation",
  UNAUTHORIZED: "Check the key",
  FORBIDDEN: "Check what the key may do",
  NOT_FOUND: "Check the name of the model, and the base URL, which mostly ends in /v1",
  QUOTA_EXCEEDED: "Check the account's plan and billing",
  RATE_LIMITED: "Try again later",
  OVERLOADED: "Try again later",
  SERVER_ERROR: "Try again later",
  CONNECTION_LOST: "Try again"
}

/**
 * A problem, with what to do about it.
 *
 * @internal
 */
export const problem = (code: ErrorCode, what: string, more?: Partial<Problem>): Problem => {
  const then = advice[code]
  const message = `${what.replace(/[.\s]+$/, "")}${then === undefined ? "" : `. ${then}`}`
  return { code, message, isRetryable: retryable.has(code), ...more }
}

const longestQuote = 500

/**
 * What a server said, cut to what people read.
 *
 * @internal
 */
export const quote = (text: string): string => {
  const flat = text.replace(/\s+/g, " ").trim()
  return flat.length <= longestQuote ? flat : `${flat.slice(0, longestQuote)} ...`
}

const field = (u: unknown, ...keys: ReadonlyArray<string>): string | undefined => {
  for (const key of keys) {
    const value = hasProperty(u, key) ? u[key] : undefined
    if (isString(value) && value !== "") return value
    if (isNumber(value)) return String(value)
  }
  return undefined
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isHtml = (text: string): boolean => /^\s*<(?:!doctype|html|head|body)/i.test(text)

/** What a body that is no answer says, in a sentence. */
const said = (body: string): string => {
  if (isHtml(body)) {
    const title = /<title[^>]*>([^<]*)<\/title>/i.exec(body)?.[1]?.trim()
    return title ? `a page of HTML, "${quote(title)}"` : "a page of HTML"
  }
  const json = parsed(body)
  const error = hasProperty(json, "error") ? json.error : json
  const text = isString(error) ? error : field(error, "message", "detail", "error")
  return quote(text ?? body)
}

const codeOfStatus = (status: number): ErrorCode => {
  switch (status) {
    case 401:
      return "UNAUTHORIZED"
    case 402:
      return "QUOTA_EXCEEDED"
    case 403:
      return "FORBIDDEN"
    case 404:
      return "NOT_FOUND"
    case 429:
      return "RATE_LIMITED"
    case 503:
    case 529:
      return "OVERLOADED"
    default:
      return status >= 500 || status === 408 ? "SERVER_ERROR" : "INVALID_REQUEST"
  }
}

// The status tells most; an error's own code or type tells these two apart from what else has the status.
const codeOf = (status: number, error: unknown, text: string): ErrorCode => {
  const own = [field(error, "code"), field(error, "type")]
  if (own.includes("insufficient_quota")) return "QUOTA_EXCEEDED"
  if (own.includes("context_length_exceeded")) return "CONTEXT_TOO_LONG"
  const code = codeOfStatus(status)
  const isTooLong = /maximum context length|context (?:length|size|window)|prompt is too long/i.test(text)
  return code === "INVALID_REQUEST" && isTooLong ? "CONTEXT_TOO_LONG" : code
}

/**
 * How long a response asks to be left alone: `retry-after-ms`, or `retry-after` in seconds or as a date.
 *
 * @internal
 */
export const retryAfterMillis = (headers: { readonly [name: string]: string | undefined }, now: number) => {
  const precise = Number(headers["retry-after-ms"] || Number.NaN)
  if (Number.isFinite(precise) && precise >= 0) return Math.ceil(precise)
  const after = headers["retry-after"]?.trim() ?? ""
  if (/^\d+(?:\.\d+)?$/.test(after)) return Math.ceil(Number(after) * 1000)
  // `DateTime` takes the offset of a date that ends in GMT for missing, and adds one.
  const date = DateTime.make(after.replace(/ GMT$/, "Z"))
  return Option.getOrUndefined(Option.map(date, (date) => Math.max(0, DateTime.toEpochMillis(date) - now)))
}

/** @internal */
export interface Answered {
  readonly status: number
  readonly headers: { readonly [name: string]: string | undefined }
  /** As much of it as was read. */
  readonly body: string
}

/**
 * A response whose status says that there is no answer.
 *
 * @internal
 */
export const problemOfStatus = ({ body, headers, status }: Answered, now: number): Problem => {
  if (status >= 300 && status < 400) {
    const { location: to } = headers
    const where = to === undefined ? "elsewhere" : `to ${quote(to.replace(/[?#].*$/, ""))}`
    return problem("NOT_FOUND", `the provider sends the request ${where} (status ${status}), and the key stays here`)
  }
  const json = parsed(body)
  const error = hasProperty(json, "error") ? json.error : json
  const text = said(body)
  const after = retryAfterMillis(headers, now)
  const what = `the provider refused the request with status ${status}${text === "" ? "" : `: ${text}`}`
  return problem(codeOf(status, error, text), what, after === undefined ? undefined : { retryAfterMillis: after })
}

/**
 * A response that is not the stream that was asked for.
 *
 * @internal
 */
export const problemOfType = (contentType: string, body: string): Problem => {
  const json = parsed(body)
  if (hasProperty(json, "error") && json.error !== null) return problemOfError(json.error)
  const what = `the provider answered with "${quote(contentType)}" where "text/event-stream" was expected: ${said(body)}`
  const then = "Check the base URL, which mostly ends in /v1, and whether the server can stream"
  return { code: "INVALID_RESPONSE", message: `${what}. ${then}`, isRetryable: false }
}

/**
 * An error that came in the place of a frame.
 *
 * @internal
 */
export const problemOfError = (error: unknown): Problem => {
  const text = quote((isString(error) ? error : field(error, "message", "detail")) ?? JSON.stringify(error) ?? "")
  const status = Number(field(error, "status", "code") ?? Number.NaN)
  const isStatus = Number.isInteger(status) && status >= 400 && status < 600
  return problem(codeOf(isStatus ? status : 500, error, text), `the provider broke the answer off: ${text}`)
}

/**
 * A frame that cannot be read.
 *
 * @internal
 */
export const problemOfFrame = (data: string): Problem =>
  problem("INVALID_RESPONSE", `the provider sent a frame that is no chunk of a chat completion: ${quote(data)}`)

const codesOfReasons: { readonly [R in Reason]?: ErrorCode } = {
  InvalidRequest: "INVALID_REQUEST",
  HostNotAllowed: "INVALID_REQUEST",
  AddressNotAllowed: "INVALID_REQUEST",
  LookupFailed: "CONNECTION_FAILED",
  ConnectFailed: "CONNECTION_FAILED",
  CertificateRejected: "CONNECTION_FAILED",
  ConnectionLost: "CONNECTION_LOST",
  TimedOut: "TIMEOUT"
}

/**
 * A request that failed below the protocol.
 *
 * @internal
 */
export const problemOfHttp = (error: HttpError): Problem => ({
  code: codesOfReasons[error.reason] ?? "INVALID_RESPONSE",
  message: error.message,
  isRetryable: error.reason === "LookupFailed" || error.reason === "ConnectFailed" || error.reason === "ConnectionLost"
})
