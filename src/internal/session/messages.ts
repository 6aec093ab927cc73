/**
 * Derives what a model is shown from what has happened.
 *
 * Invariants
 *
 * F1. Each call of an assistant message is followed by its result, in the order of the calls, before anything else (L8):
 *     also where the log knows no result, or knows them in another order.
 * F2. What calls want the model to be told comes behind all results of their step (L12).
 * F3. Only what a turn let in is shown: no input that waits, was discarded or went back, no answer that failed.
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

const userMessage = (content: ReadonlyArray<Content.Content>): Model.Message => ({ role: "user", content })

/** @internal */
export const messagesOf = (envelopes: Iterable<AgentEvent.Envelope>): ReadonlyArray<Model.Message> => {
  const messages: Array<Model.Message> = []
  let open: Open | undefined
  const close = (): void => {
    if (open === undefined) return
    messages.push(...open.calls.results.map(ToolResult.toMessage)) // F1
    messages.push(...open.contexts.map(userMessage)) // F2
    open = undefined
  }
  for (const { event } of envelopes) {
    switch (event._tag) {
      case "UserMessage":
        close()
        messages.push(userMessage(event.content))
        break
      case "AssistantMessage":
        close()
        if (event.blocks.length === 0) break // a model said nothing, and no provider takes that back
        messages.push({ role: "assistant", content: event.blocks })
        open = { calls: new Calls(event), contexts: [] }
        break
      case "CallStarted":
        open?.calls.start(event.callId)
        break
      case "CallEnded":
        open?.calls.end(event.result)
        break
      case "ContextAdded":
        if (open === undefined) messages.push(userMessage(event.content))
        else open.contexts.push(event.content)
        break
      case "StepEnded":
      case "TurnEnded":
        close()
        break
    }
  }
  close()
  return messages
}
