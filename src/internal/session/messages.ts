/**
 * Derives what a model is shown from what has happened.
 *
 * Invariants
 *
 * F1. Each call of an assistant message is followed by its result, in the order of the calls, before anything else (L8):
 *     also where the log knows no result, or knows them in another order.
 * F2. What calls want the model to be told comes behind all results of their step (L12).
 * F3. Only what a turn let in is shown: no input that waits, was discarded or went back, no answer that failed.
 * F4. An answer is shown such that a provider takes it back: without blank text, the arguments of its calls as JSON objects
 *     (what was none, as the text that it was), their names as a tool could be named. In the log it stands as it came.
 */
import type * as AgentEvent from "../../AgentEvent.js"
import type * as Content from "../../Content.js"
import type * as Model from "../../capability/Model.js"
import * as ToolResult from "../../ToolResult.js"
import { Calls } from "./calls.js"

/** An answer whose calls are not answered yet, and what is held back until they are. */
interface Open {
  readonly calls: Calls
  readonly contexts: Array<ReadonlyArray<Content.Content>>
}

const isObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

// F4
const shown = (block: Model.Block): ReadonlyArray<Model.Block> => {
  if (block.type === "text") return block.text.trim() === "" ? [] : [block]
  if (block.type !== "tool-call") return [block]
  const name = block.name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "_"
  const args = block.arguments.trim() === "" ? {} : { invalid: block.arguments }
  return [{ ...block, name, arguments: isObject(block.arguments) ? block.arguments : JSON.stringify(args) }]
}

const userMessage = (content: ReadonlyArray<Content.Content>): Model.Message => ({ role: "user", content })

const closing = ({ calls, contexts }: Open): ReadonlyArray<Model.Message> => [
  ...calls.results.map(ToolResult.toMessage), // F1
  ...contexts.map(userMessage) // F2
]

/**
 * The messages of a log that grows.
 *
 * @internal
 */
export class Messages {
  private readonly messages: Array<Model.Message> = []
  private open: Open | undefined

  add({ event }: AgentEvent.Envelope): void {
    switch (event._tag) {
      case "UserMessage":
        this.close()
        this.messages.push(userMessage(event.content))
        break
      case "AssistantMessage":
        this.close()
        this.answer(event)
        break
      case "CallStarted":
        this.open?.calls.start(event.callId)
        break
      case "CallEnded":
        this.open?.calls.end(event.result)
        break
      case "ContextAdded":
        if (this.open === undefined) this.messages.push(userMessage(event.content))
        else this.open.contexts.push(event.content)
        break
      case "StepEnded":
      case "TurnEnded":
        this.close()
        break
    }
  }

  /** As they are now: also in the middle of a step. */
  get value(): ReadonlyArray<Model.Message> {
    return this.open === undefined ? [...this.messages] : [...this.messages, ...closing(this.open)]
  }

  private answer(message: typeof AgentEvent.AssistantMessage.Type): void {
    const content = message.blocks.flatMap(shown)
    if (content.length === 0) return // a model said nothing, and no provider takes that back
    this.messages.push({ role: "assistant", content })
    this.open = { calls: new Calls(message), contexts: [] }
  }

  private close(): void {
    if (this.open !== undefined) for (const message of closing(this.open)) this.messages.push(message)
    this.open = undefined
  }
}

/** @internal */
export const messagesOf = (envelopes: Iterable<AgentEvent.Envelope>): ReadonlyArray<Model.Message> => {
  const messages = new Messages()
  for (const envelope of envelopes) messages.add(envelope)
  return messages.value
}
