/**
 * Reads what a session has stored, and trusts no byte of it.
 *
 * The last line may be torn: its program, or the machine, ended while it was being written, and nobody has acted on it.
 * It is cut off. Everything else that does not fit is somebody's data, is left as it is, and refused by line.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import { hasProperty } from "effect/Predicate"
import * as AgentEvent from "../../AgentEvent.js"
import { materialize } from "../json.js"
import type { Problem } from "./storage.js"

/** @internal */
export interface Read {
  readonly envelopes: ReadonlyArray<AgentEvent.Envelope>
  /** How many bytes are good. */
  readonly length: number
  /** What follows them, where something does. */
  readonly torn: { readonly line: number; readonly bytes: number } | undefined
  /** Whether all that is missing of the last line is its end. */
  readonly lacksNewline: boolean
}

const newline = 0x0a
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const decodeEnvelope = ParseResult.decodeUnknownEither(AgentEvent.Envelope)

const notJson = Symbol()

/** What stands in a line, frozen. */
const parse = (bytes: Uint8Array): unknown => {
  try {
    return Either.getOrElse(materialize(JSON.parse(decoder.decode(bytes))), () => notJson)
  } catch {
    return notJson
  }
}

const otherVersion = (value: unknown): number | undefined => {
  const event = hasProperty(value, "event") ? value.event : undefined
  if (!hasProperty(event, "_tag") || event._tag !== "SessionStarted" || !hasProperty(event, "version")) return undefined
  return typeof event.version === "number" && event.version !== AgentEvent.version ? event.version : undefined
}

// Every line of ours begins so. What is not the beginning of one is somebody else's, and not ours to cut.
const beginning = new TextEncoder().encode(`{"seq":1,"at":`)
const isBegunByUs = (bytes: Uint8Array): boolean => beginning.every((byte, i) => i >= bytes.length || bytes[i] === byte)

const notASession: Problem = { reason: "NotASession", line: 1 }

const broken = (line: number, detail: string): Problem => ({ reason: "BrokenLine", line, detail })

const check = (value: unknown, line: number): AgentEvent.Envelope | Problem => {
  if (AgentEvent.isEnvelope(value)) {
    if (value.seq !== line) return broken(line, `it has the number ${value.seq} instead of ${line}`)
    if ((line === 1) !== (value.event._tag === "SessionStarted")) {
      return line === 1 ? notASession : broken(line, "it begins the session a second time")
    }
    return value
  }
  const error = decodeEnvelope(value)
  const issue = Either.isLeft(error) ? ParseResult.ArrayFormatter.formatIssueSync(error.left)[0] : undefined
  const at = issue === undefined ? "" : ` (${issue.path.join(".")}: ${issue.message.split("\n")[0]})`
  return broken(line, `it is no event that this version of the library knows${at}`)
}

/** @internal */
export const isProblem = (u: object): u is Problem => "reason" in u

/** @internal */
export const readLog = (bytes: Uint8Array): Read | Problem => {
  const envelopes: Array<AgentEvent.Envelope> = []
  let start = 0
  while (start < bytes.length) {
    const line = envelopes.length + 1
    const found = bytes.indexOf(newline, start)
    const end = found < 0 ? bytes.length : found
    const value = parse(bytes.subarray(start, end))
    if (value === notJson) {
      const isLast = end >= bytes.length - 1
      if (line === 1 && !(isLast && isBegunByUs(bytes))) return notASession
      if (!isLast) return broken(line, "it is not JSON")
      return { envelopes, length: start, torn: { line, bytes: bytes.length - start }, lacksNewline: false }
    }
    const version = line === 1 ? otherVersion(value) : undefined
    if (version !== undefined) {
      return {
        reason: "OtherVersion",
        line,
        detail: `it was written in version ${version}, this library writes version ${AgentEvent.version}`
      }
    }
    const envelope = check(value, line)
    if (isProblem(envelope)) return line === 1 ? notASession : envelope
    envelopes.push(envelope)
    start = end + 1
  }
  const lacksNewline = start > bytes.length
  return { envelopes, length: Math.min(start, bytes.length), torn: undefined, lacksNewline }
}
