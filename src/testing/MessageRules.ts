/**
 * Says what is wrong with the messages of a request: why OpenAI's chat completions, or Anthropic's messages, would refuse
 * them.
 *
 * Whatever becomes of a turn, the next request must be valid (L8). `Transcript` judges calls and results alone; this adds
 * what the two providers demand of messages beside that.
 *
 * What it does not do: it judges messages as `Model` has them, not what a provider's layer writes on the wire, and it knows
 * no limits of size.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Model from "../capability/Model.js"
import * as Transcript from "./Transcript.js"

/**
 * Whose rules: those of `POST /v1/chat/completions`, or those of `POST /v1/messages`.
 *
 * @since 0.1.0
 * @category models
 */
export type Provider = "OpenAI" | "Anthropic"

/**
 * A rule that a message breaks.
 *
 * @since 0.1.0
 * @category models
 */
export interface Problem {
  readonly provider: Provider
  /** The message that breaks it: its place in the list. */
  readonly message: number
  /** What is wrong, in words. */
  readonly what: string
}

type Find = (message: number, what: string) => void

const callsOf = (message: Model.Message): ReadonlyArray<Model.ToolCallBlock> =>
  message.role === "assistant" ? message.content.filter((block) => block.type === "tool-call") : []

const entryOf = (message: Model.Message): Transcript.Entry => {
  if (message.role === "tool") return Transcript.result(message.toolCallId)
  const calls = callsOf(message)
  return calls.length === 0 ? Transcript.stepEnd : Transcript.calls(...calls.map(({ id }) => id))
}

const isBlank = (text: string): boolean => text.trim() === ""

const isJsonObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value)
  } catch {
    return isBlank(text) // a call without arguments
  }
}

// Both: every call is answered, in order, by the messages right behind it.
const balance = (messages: ReadonlyArray<Model.Message>, find: Find): void => {
  if (messages.length === 0) find(0, "there is no message at all")
  for (const problem of Transcript.problems(messages.map(entryOf))) find(problem.entry, Transcript.describe(problem))
}

const nameOf = (longest: number) => new RegExp(`^[a-zA-Z0-9_-]{1,${longest}}$`)

const openAI = (messages: ReadonlyArray<Model.Message>, find: Find): void => {
  balance(messages, find)
  messages.forEach((message, i) => {
    if (message.role === "assistant" && message.content.length === 0) find(i, "the assistant says nothing")
    for (const { id, name } of callsOf(message)) {
      if (id === "") find(i, `the call of "${name}" has no id`)
      if (!nameOf(64).test(name)) find(i, `"${name}" is no name of a tool: it has 1 to 64 letters, digits, _ and -`)
    }
  })
}

const anthropicCalls = (calls: ReadonlyArray<Model.ToolCallBlock>, i: number, seen: Set<string>, find: Find): void => {
  for (const { arguments: text, id, name } of calls) {
    if (!/^[a-zA-Z0-9_-]+$/.test(id)) find(i, `"${id}" is no id of a call: it has letters, digits, _ and -`)
    if (seen.has(id)) find(i, `"${id}" is the id of an earlier call, too`)
    seen.add(id)
    if (!nameOf(128).test(name)) find(i, `"${name}" is no name of a tool: it has 1 to 128 letters, digits, _ and -`)
    if (!isJsonObject(text)) find(i, `the arguments of "${id}" are no JSON object`)
  }
}

const anthropic = (messages: ReadonlyArray<Model.Message>, find: Find): void => {
  balance(messages, find)
  const first = messages.findIndex(({ role }) => role !== "system")
  if (first === -1 && messages.length > 0) find(0, "there is nothing but what the system says")
  const seen = new Set<string>()
  messages.forEach((message, i) => {
    if (message.role === "system" && first !== -1 && i > first) find(i, "the system speaks first, or not at all")
    if (i === first && message.role !== "user") find(i, "the first to speak is the user")
    if (message.content.length === 0 && message.role !== "tool") find(i, `the ${message.role} says nothing`)
    // The content of a result may be anything.
    if (message.role !== "tool" && message.content.some((block) => block.type === "text" && isBlank(block.text))) {
      find(i, "a block of text is blank")
    }
    anthropicCalls(callsOf(message), i, seen, find)
  })
  if (messages.at(-1)?.role === "assistant") find(messages.length - 1, "the last to speak is the assistant")
}

const rules = { OpenAI: openAI, Anthropic: anthropic }

/**
 * The rules that messages break, by provider, as they are to be sent now: the last one is what the model answers.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Content } from "quiesce"
 * import { MessageRules } from "quiesce/testing"
 *
 * const problems = MessageRules.problems([
 *   { role: "user", content: [Content.text("What is in a.txt?")] },
 *   { role: "assistant", content: [{ type: "tool-call", id: "call_1", name: "read_file", arguments: "{}" }] },
 *   { role: "user", content: [Content.text("Never mind.")] }
 * ])
 * assert.deepStrictEqual(problems, [
 *   { provider: "OpenAI", message: 1, what: `"call_1" has no result` },
 *   { provider: "Anthropic", message: 1, what: `"call_1" has no result` }
 * ])
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const problems = (
  messages: ReadonlyArray<Model.Message>,
  providers: ReadonlyArray<Provider> = ["OpenAI", "Anthropic"]
): ReadonlyArray<Problem> =>
  providers.flatMap((provider) => {
    const found: Array<Problem> = []
    rules[provider](messages, (message, what) => found.push({ provider, message, what }))
    return found
  })

/**
 * Messages that a provider would refuse.
 *
 * @since 0.1.0
 * @category errors
 */
export class MessageRulesFailure extends Data.TaggedError("MessageRulesFailure")<{
  readonly problems: ReadonlyArray<Problem>
}> {
  override get message(): string {
    const lines = this.problems.map(({ message, provider, what }) => `  ${provider}, message ${message}: ${what}`)
    return `The messages would be refused:\n${lines.join("\n")}`
  }
}

/**
 * Fails when messages break a rule, and names each.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { MessageRules } from "quiesce/testing"
 *
 * const failure = await Effect.runPromise(Effect.flip(MessageRules.check([], ["OpenAI"])))
 * assert.strictEqual(failure.message, "The messages would be refused:\n  OpenAI, message 0: there is no message at all")
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const check = (
  messages: ReadonlyArray<Model.Message>,
  providers?: ReadonlyArray<Provider>
): Effect.Effect<void, MessageRulesFailure> =>
  Effect.suspend(() => {
    const found = problems(messages, providers)
    return found.length === 0 ? Effect.void : new MessageRulesFailure({ problems: found })
  })
