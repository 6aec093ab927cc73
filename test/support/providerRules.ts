// What the providers of models demand of the messages of a request, as far as a session decides it.
import type { Model } from "quiesce/capability"
import { Transcript } from "quiesce/testing"

type Message = Model.Message
interface Plain {
  readonly role: string
  readonly content: unknown
  readonly tool_call_id?: string
  readonly tool_calls?: ReadonlyArray<{ readonly id: string }>
}

const toOpenAI = (message: Message): Plain => {
  switch (message.role) {
    case "tool":
      return { role: "tool", tool_call_id: message.toolCallId, content: message.content }
    case "assistant": {
      const calls = message.content.filter((block) => block.type === "tool-call")
      const content = message.content.filter((block) => block.type !== "tool-call")
      if (calls.length === 0) return { role: "assistant", content }
      const asked = calls.map(({ arguments: args, id, name }) => ({
        ...{ id, type: "function", function: { name, arguments: args } }
      }))
      return { role: "assistant", content, tool_calls: asked }
    }
    default:
      return { role: message.role, content: message.content }
  }
}

const toAnthropic = (messages: ReadonlyArray<Message>): ReadonlyArray<{ role: string; content: Array<unknown> }> => {
  const merged: Array<{ role: string; content: Array<unknown> }> = []
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user"
    const content: ReadonlyArray<unknown> =
      message.role === "tool"
        ? [{ type: "tool_result", tool_use_id: message.toolCallId, content: message.content }]
        : message.content.map((block) =>
            block.type === "tool-call" ? { type: "tool_use", id: block.id, name: block.name } : block
          )
    const last = merged.at(-1)
    if (last?.role === role) last.content.push(...content)
    else merged.push({ role, content: [...content] })
  }
  return merged
}

const typesOf = (content: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  content.map((block) => (block as { readonly type: unknown }).type)

/** What a provider would refuse, in words. */
export const refusals = (messages: ReadonlyArray<Message>): ReadonlyArray<string> => {
  const found: Array<string> = []
  const openAI = messages.map(toOpenAI)
  for (const problem of Transcript.problems(Transcript.fromOpenAI(openAI))) {
    found.push(`OpenAI: ${problem._tag} ${problem.callId}`)
  }
  let wanted: Array<unknown> = []
  for (const message of openAI) {
    // "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    if (message.role !== "tool") {
      if (wanted.length > 0) found.push(`OpenAI: ${message.role} before the result of ${wanted.join(", ")}`)
      wanted = (message.tool_calls ?? []).map(({ id }) => id)
    } else if (wanted[0] === message.tool_call_id) wanted.shift()
    else found.push(`OpenAI: a tool message for ${message.tool_call_id}, wanted ${wanted.join(", ") || "nothing"}`)
  }
  if (wanted.length > 0) found.push(`OpenAI: no result of ${wanted.join(", ")}`)

  const anthropic = toAnthropic(messages)
  for (const problem of Transcript.problems(Transcript.fromAnthropic(anthropic))) {
    found.push(`Anthropic: ${problem._tag} ${problem.callId}`)
  }
  if (anthropic[0] !== undefined && anthropic[0].role !== "user") found.push("Anthropic: the first is not the user's")
  for (const { content, role } of anthropic) {
    if (content.length === 0) found.push(`Anthropic: an empty message of the ${role}`)
    const types = typesOf(content)
    const results = types.filter((type) => type === "tool_result").length
    if (types.slice(0, results).some((type) => type !== "tool_result")) {
      found.push("Anthropic: a result behind something else")
    }
  }
  return found
}
