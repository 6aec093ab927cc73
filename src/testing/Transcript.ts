/**
 * Says what is wrong with a transcript: whether every tool call of an assistant message has exactly one result, in the
 * order of the calls, before its step ends (L8).
 *
 * A transcript is a list of entries in the order in which they were published or stored. Write one down with `calls`,
 * `result` and `stepEnd`, or read one from a step of the runtime or from the messages of a provider. Ids need not be
 * unique: two calls with one id need two results.
 *
 * What it does not do: it compares ids and places, nothing else. Whether a result is true, and whether the messages have
 * the shape that a provider demands in other ways, is not its business: see `MessageRules`.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { hasProperty, isString } from "effect/Predicate"
import type * as ToolCall from "../ToolCall.js"
import type * as ToolResult from "../ToolResult.js"

/**
 * One thing that a transcript holds.
 *
 * - `Calls`: the tool calls of one assistant message; it begins a step, and ends the one before
 * - `Result`: a result
 * - `StepEnd`: the end of a step, such as the next model request
 *
 * @since 0.1.0
 * @category models
 */
export type Entry =
  | { readonly _tag: "Calls"; readonly ids: ReadonlyArray<string> }
  | { readonly _tag: "Result"; readonly id: string }
  | { readonly _tag: "StepEnd" }

/**
 * Something that is wrong with a transcript.
 *
 * - `Unanswered`: a call has no result
 * - `AnsweredTwice`: a result for a call that has one
 * - `UnknownCall`: a result that belongs to no call
 * - `OutOfOrder`: a result behind that of a later call of its message
 * - `AfterStepEnd`: a result that came when its step had ended
 *
 * @since 0.1.0
 * @category models
 */
export interface Problem {
  readonly _tag: "Unanswered" | "AnsweredTwice" | "UnknownCall" | "OutOfOrder" | "AfterStepEnd"
  readonly callId: string
  /** The entry that shows it: that of the result, or, where there is none, that of the calls. */
  readonly entry: number
}

/**
 * The tool calls of one assistant message.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Transcript } from "quiesce/testing"
 *
 * assert.deepStrictEqual(Transcript.calls("a", "b"), { _tag: "Calls", ids: ["a", "b"] })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const calls = (...ids: ReadonlyArray<string>): Entry => ({ _tag: "Calls", ids })

/**
 * The result of a call.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Transcript } from "quiesce/testing"
 *
 * assert.deepStrictEqual(Transcript.result("a"), { _tag: "Result", id: "a" })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const result = (id: string): Entry => ({ _tag: "Result", id })

/**
 * The end of a step.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Transcript } from "quiesce/testing"
 *
 * const problems = Transcript.problems([Transcript.calls("a"), Transcript.stepEnd, Transcript.result("a")])
 * assert.deepStrictEqual(problems, [{ _tag: "AfterStepEnd", callId: "a", entry: 2 }])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const stepEnd: Entry = { _tag: "StepEnd" }

/**
 * The entries of one step of the runtime: the calls of a message, their results as observers saw them, and its end.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { ToolResult } from "quiesce"
 * import { Transcript } from "quiesce/testing"
 *
 * const call = { id: "call_1", name: "read_file", parameters: {} }
 * const published = [{ ...ToolResult.success("text"), callId: "call_1" }]
 * assert.deepStrictEqual(Transcript.problems(Transcript.step([call], published)), [])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const step = (
  toolCalls: ReadonlyArray<Pick<ToolCall.ToolCall, "id">>,
  results: ReadonlyArray<Pick<ToolResult.ToolResult, "callId">>
): ReadonlyArray<Entry> => [
  calls(...toolCalls.map(({ id }) => id)),
  ...results.map(({ callId }) => result(callId)),
  stepEnd
]

const list = (u: unknown, key: string): ReadonlyArray<unknown> =>
  hasProperty(u, key) && Array.isArray(u[key]) ? (u[key] as ReadonlyArray<unknown>) : []

const is = (u: unknown, key: string, value: string): boolean => hasProperty(u, key) && u[key] === value

// An id that is missing is still a call that somebody has to answer.
const idIn = (u: unknown, key: string): string => (hasProperty(u, key) && isString(u[key]) ? u[key] : "")

/**
 * Reads the messages of an OpenAI chat completion: `tool_calls` of an assistant, answered by messages of the role `tool`.
 *
 * Any other message ends the step.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Transcript } from "quiesce/testing"
 *
 * const messages = [
 *   { role: "user", content: "What is in README.md?" },
 *   { role: "assistant", tool_calls: [{ id: "call_1", type: "function", function: { name: "read_file", arguments: "{}" } }] },
 *   { role: "user", content: "Never mind." }
 * ]
 * assert.deepStrictEqual(Transcript.problems(Transcript.fromOpenAI(messages)), [
 *   { _tag: "Unanswered", callId: "call_1", entry: 1 }
 * ])
 * ```
 *
 * @since 0.1.0
 * @category converting
 */
export const fromOpenAI = (messages: ReadonlyArray<unknown>): ReadonlyArray<Entry> =>
  messages.map((message) => {
    if (is(message, "role", "tool")) return result(idIn(message, "tool_call_id"))
    const toolCalls = is(message, "role", "assistant") ? list(message, "tool_calls") : []
    return toolCalls.length === 0 ? stepEnd : calls(...toolCalls.map((call) => idIn(call, "id")))
  })

/**
 * Reads the messages of the Anthropic API: `tool_use` blocks of an assistant, answered by `tool_result` blocks, which
 * come first in what the user says next.
 *
 * Any other block of the user, and the next message of the assistant, ends the step.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Transcript } from "quiesce/testing"
 *
 * const messages = [
 *   { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "read_file", input: {} }] },
 *   { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "text" }] }
 * ]
 * assert.deepStrictEqual(Transcript.problems(Transcript.fromAnthropic(messages)), [])
 * ```
 *
 * @since 0.1.0
 * @category converting
 */
export const fromAnthropic = (messages: ReadonlyArray<unknown>): ReadonlyArray<Entry> =>
  messages.flatMap((message): ReadonlyArray<Entry> => {
    const blocks = list(message, "content")
    if (is(message, "role", "assistant")) {
      const uses = blocks.filter((block) => is(block, "type", "tool_use"))
      return uses.length === 0 ? [stepEnd] : [calls(...uses.map((use) => idIn(use, "id")))]
    }
    if (blocks.length === 0) return [stepEnd]
    return blocks.map((block) => (is(block, "type", "tool_result") ? result(idIn(block, "tool_use_id")) : stepEnd))
  })

interface OpenCall {
  readonly id: string
  readonly place: number
  readonly step: number
  readonly entry: number
  answered: boolean
}

const isWanting = (call: OpenCall): boolean => !call.answered

/**
 * Says what is wrong with a transcript, in the order in which it shows; calls without a result come last.
 *
 * A transcript that stops in the middle of a step is taken as it is: a call that has no result yet has none.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Transcript } from "quiesce/testing"
 *
 * const { calls, result } = Transcript
 * assert.deepStrictEqual(Transcript.problems([calls("a", "b"), result("b"), result("a")]), [
 *   { _tag: "OutOfOrder", callId: "a", entry: 2 }
 * ])
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const problems = (entries: ReadonlyArray<Entry>): ReadonlyArray<Problem> => {
  const found: Array<Problem> = []
  const known: Array<OpenCall> = []
  let current = 0
  let last = -1
  const answer = (id: string, entry: number): void => {
    const named = known.filter((call) => call.id === id)
    const call = named.find((call) => call.step === current && isWanting(call)) ?? named.find(isWanting)
    const problem = (_tag: Problem["_tag"]) => found.push({ _tag, callId: id, entry })
    if (call === undefined) {
      problem(named.length === 0 ? "UnknownCall" : "AnsweredTwice")
      return
    }
    call.answered = true
    if (call.step !== current) problem("AfterStepEnd")
    else if (call.place < last) problem("OutOfOrder")
    else last = call.place
  }
  for (const [at, entry] of entries.entries()) {
    if (entry._tag === "Result") {
      answer(entry.id, at)
      continue
    }
    current++
    last = -1
    const ids = entry._tag === "Calls" ? entry.ids : []
    for (const [place, id] of ids.entries()) known.push({ id, place, step: current, entry: at, answered: false })
  }
  for (const { id, entry } of known.filter(isWanting)) found.push({ _tag: "Unanswered", callId: id, entry })
  return found
}

const words: { readonly [tag in Problem["_tag"]]: string } = {
  Unanswered: "has no result",
  AnsweredTwice: "has another result",
  UnknownCall: "has a result, but nobody made this call",
  OutOfOrder: "has its result behind that of a later call",
  AfterStepEnd: "has its result behind the end of its step"
}

/**
 * Says in words what is wrong.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Transcript } from "quiesce/testing"
 *
 * const [problem] = Transcript.problems([Transcript.calls("a")])
 * assert.ok(problem !== undefined)
 * assert.strictEqual(Transcript.describe(problem), `"a" has no result`)
 * ```
 *
 * @since 0.1.0
 * @category converting
 */
export const describe = ({ _tag, callId }: Problem): string => `"${callId}" ${words[_tag]}`

/**
 * A transcript that a model must not be shown.
 *
 * @since 0.1.0
 * @category errors
 */
export class TranscriptFailure extends Data.TaggedError("TranscriptFailure")<{
  readonly problems: ReadonlyArray<Problem>
}> {
  override get message(): string {
    const lines = this.problems.map((problem) => `  ${describe(problem)} (entry ${problem.entry})`)
    return `The transcript is not balanced:\n${lines.join("\n")}`
  }
}

/**
 * Fails when something is wrong with a transcript, and names it.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Transcript } from "quiesce/testing"
 *
 * const failure = await Effect.runPromise(Effect.flip(Transcript.check([Transcript.calls("a")])))
 * assert.strictEqual(failure.message, `The transcript is not balanced:\n  "a" has no result (entry 0)`)
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const check = (entries: ReadonlyArray<Entry>): Effect.Effect<void, TranscriptFailure> =>
  Effect.suspend(() => {
    const found = problems(entries)
    return found.length === 0 ? Effect.void : new TranscriptFailure({ problems: found })
  })
