/**
 * Writes a request in the words of OpenAI's chat completions.
 *
 * https://platform.openai.com/docs/api-reference/chat/create
 */

import * as Content from "../../../Content.js"
import type { Assistant, Block, Message, Request } from "../../../capability/Model.js"

/** @internal */
export interface Dialect {
  /** What the limit of an answer is called. */
  readonly maxTokensField: string
  /** What a model's own reasoning is called when it is sent back, if it is. */
  readonly reasoningField: string | undefined
  /** More of the body, over what is there. */
  readonly body: { readonly [key: string]: unknown }
}

type Json = { readonly [key: string]: unknown }

const userContent = (content: ReadonlyArray<Content.Content>): string | ReadonlyArray<Json> =>
  content.every(({ type }) => type === "text")
    ? Content.toText(content)
    : content.map((block) =>
        block.type === "image"
          ? { type: "image_url", image_url: { url: `data:${block.mediaType};base64,${block.data}` } }
          : { type: "text", text: block.text }
      )

// Servers read the arguments again, and some refuse the whole request where they are no object: what a model wrote instead
// stays visible to it under a name that says so.
const argumentsOf = (text: string): string => {
  if (text.trim() === "") return "{}"
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return text
  } catch {
    // Said below.
  }
  return JSON.stringify({ INVALID_JSON: text })
}

const textOf = (blocks: ReadonlyArray<Block>, type: "text" | "reasoning"): string =>
  blocks.flatMap((block) => (block.type === type ? [block.text] : [])).join("\n")

const assistant = ({ content }: typeof Assistant.Type, { reasoningField }: Dialect): ReadonlyArray<Json> => {
  const calls = content.flatMap((block) =>
    block.type === "tool-call"
      ? [{ id: block.id, type: "function", function: { name: block.name, arguments: argumentsOf(block.arguments) } }]
      : []
  )
  const text = textOf(content, "text")
  const reasoning = reasoningField === undefined ? "" : textOf(content, "reasoning")
  // A message with nothing to say is refused.
  if (text === "" && calls.length === 0 && reasoning === "") return []
  return [
    {
      role: "assistant",
      content: text === "" && calls.length > 0 ? null : text,
      ...(reasoning === "" ? {} : { [reasoningField as string]: reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls })
    }
  ]
}

const messageOf = (message: Message, dialect: Dialect): ReadonlyArray<Json> => {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: Content.toText(message.content) }]
    case "user":
      return [{ role: "user", content: userContent(message.content) }]
    case "assistant":
      return assistant(message, dialect)
    case "tool":
      // Only text is taken here. That something is an error is said by its text.
      return [{ role: "tool", tool_call_id: message.toolCallId, content: Content.toText(message.content) }]
  }
}

/**
 * The body of a request, as a value. What is undefined in it is left out by `JSON.stringify`.
 *
 * @internal
 */
export const bodyOf = ({ messages, model, options = {}, tools = [] }: Request, dialect: Dialect): Json => ({
  model,
  messages: messages.flatMap((message) => messageOf(message, dialect)),
  // An empty list of tools is refused, and a choice without tools, too.
  ...(tools.length === 0
    ? {}
    : { tools: tools.map((tool) => ({ type: "function", function: tool })), tool_choice: options.toolChoice }),
  temperature: options.temperature,
  top_p: options.topP,
  stop: options.stop,
  [dialect.maxTokensField]: options.maxTokens,
  stream: true,
  stream_options: { include_usage: true },
  ...dialect.body
})
