/**
 * The calls of one assistant message, and what is known of each.
 *
 * Ids need not be unique: the first event about an id is about the first call that has it, the second about the second.
 */
import type * as AgentEvent from "../../AgentEvent.js"
import type * as Model from "../../capability/Model.js"
import * as ToolResult from "../../ToolResult.js"

interface Call {
  readonly id: string
  readonly tool: string
  isStarted: boolean
  result: ToolResult.ToolResult | undefined
}

const isCall = (block: Model.Block): block is Model.ToolCallBlock => block.type === "tool-call"

const failureOf = (
  call: { readonly id: string; readonly tool: string },
  failure: ToolResult.Failure
): ToolResult.Failure => ({
  ...failure,
  callId: call.id,
  tool: call.tool
})

/**
 * The result of a call that had been started when the program ended: the worst is assumed (L13).
 *
 * @internal
 */
export const outcomeUnknown = (call: { readonly id: string; readonly tool: string }): ToolResult.Failure =>
  failureOf(call, {
    ...ToolResult.failure({
      code: "OUTCOME_UNKNOWN",
      message: "the program ended while the call ran; it may have had effects"
    }),
    dispatched: true,
    body: "interrupted"
  })

// L13: only what was not started may be run again.
const unknownEnd = (call: Call): ToolResult.Failure =>
  call.isStarted
    ? outcomeUnknown(call)
    : failureOf(
        call,
        ToolResult.failure({ code: "TOOL_NOT_STARTED", message: "the program ended before the call was started" })
      )

/** @internal */
export class Calls {
  private readonly calls: ReadonlyArray<Call>

  constructor(message: Pick<typeof AgentEvent.AssistantMessage.Type, "blocks">) {
    this.calls = message.blocks
      .filter(isCall)
      .map(({ id, name }) => ({ id, tool: name, isStarted: false, result: undefined }))
  }

  start(id: string): void {
    const call = this.calls.find((call) => call.id === id && !call.isStarted)
    if (call !== undefined) call.isStarted = true
  }

  /** Whether there was a call that waited for this result. */
  end(result: ToolResult.ToolResult): boolean {
    const call = this.calls.find(({ id, result: known }) => id === result.callId && known === undefined)
    if (call === undefined) return false
    call.result = result
    return true
  }

  get areAllAnswered(): boolean {
    return this.calls.every(({ result }) => result !== undefined)
  }

  /** A result for each call, in the order of the message (L8): where none is known, one that says so. */
  get results(): ReadonlyArray<ToolResult.ToolResult> {
    return this.calls.map((call) => call.result ?? unknownEnd(call))
  }

  /** The results that say that none is known, in the order of the message. */
  get missing(): ReadonlyArray<ToolResult.Failure> {
    return this.calls.flatMap((call) => (call.result === undefined ? [unknownEnd(call)] : []))
  }
}
