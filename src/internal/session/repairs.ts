/**
 * Says which events close what a program that ended in the middle has left open.
 *
 * Invariants
 *
 * R1. Behind them every call of the open step has exactly one result, in the order of the calls, before the step ends (L8),
 *     and a result tells a call that was not started from one that may have had effects (L13).
 * R2. No input is lost: what the open turn had claimed, and the model was never shown, waits again (L11).
 * R3. They may themselves be cut off after any of them: what is left to do is then found again.
 */
import type * as AgentEvent from "../../AgentEvent.js"
import * as Model from "../../capability/Model.js"
import type * as ToolResult from "../../ToolResult.js"
import { Calls, outcomeUnknown } from "./calls.js"
import { Inbox } from "./position.js"

interface Answer {
  readonly attempt: number
  readonly chunks: Array<Model.Chunk>
  readonly seqs: Array<number>
}

/** A step that has not ended. */
class OpenStep {
  readonly turn: number
  readonly step: number
  answer: Answer | undefined
  calls: Calls | undefined
  /** The calls of bodies that have no result, in the order of their start. */
  private readonly nested = new Map<string, typeof AgentEvent.NestedCallStarted.Type>()
  /** The results whose contexts were not added yet. */
  readonly withContexts: Array<ToolResult.ToolResult> = []

  constructor({ step, turn }: typeof AgentEvent.StepStarted.Type) {
    this.turn = turn
    this.step = step
  }

  add({ event, seq }: AgentEvent.Envelope): void {
    switch (event._tag) {
      case "ModelRequested":
        this.answer = { attempt: event.attempt, chunks: [], seqs: [] }
        break
      case "ModelChunk":
        if (this.answer?.attempt !== event.attempt) break
        this.answer.chunks.push(event.chunk)
        this.answer.seqs.push(seq)
        break
      case "RequestFailed":
        this.answer = undefined
        break
      case "AssistantMessage":
        this.answer = undefined
        this.calls = new Calls(event)
        break
      case "CallStarted":
        this.calls?.start(event.callId)
        break
      case "CallEnded":
        if (this.calls?.end(event.result) && event.result.contexts.length > 0) this.withContexts.push(event.result)
        break
      case "NestedCallStarted":
        this.nested.set(event.callId, event)
        break
      case "NestedCallEnded":
        this.nested.delete(event.result.callId)
        break
      case "ContextAdded":
        this.forget(event.callId)
        break
    }
  }

  private forget(callId: string): void {
    const at = this.withContexts.findIndex((result) => result.callId === callId)
    if (at >= 0) this.withContexts.splice(at, 1)
  }

  get closing(): ReadonlyArray<AgentEvent.AgentEvent> {
    const { step, turn } = this
    return [
      ...this.begunAnswer,
      // What was started last is a part of what was started before it.
      ...[...this.nested.values()].reverse().map(({ callId, parentId, rootId, tool }) => {
        const result = outcomeUnknown({ id: callId, tool })
        return { _tag: "NestedCallEnded", turn, step, parentId, rootId, result } as const // R1
      }),
      ...(this.calls?.missing ?? []).map((result) => ({ _tag: "CallEnded", turn, step, result }) as const), // R1
      ...this.withContexts.map(
        ({ callId, contexts }) => ({ _tag: "ContextAdded", turn, step, callId, content: contexts }) as const
      ),
      { _tag: "StepEnded", turn, step }
    ]
  }

  // What had come of an answer is kept as if it had been cancelled: people have read it.
  private get begunAnswer(): ReadonlyArray<AgentEvent.AgentEvent> {
    if (this.answer === undefined) return []
    const draft = Model.assemble(this.answer.chunks)
    const blocks = Model.prefix(draft).filter((block) => block.type !== "image")
    const hasFailed = draft.finish?.reason === "error" || draft.finish?.reason === "aborted"
    if (hasFailed || blocks.length === 0) return []
    const usage = draft.usage === undefined ? {} : { usage: draft.usage }
    const { step, turn } = this
    const chunkSeqs = this.answer.seqs
    return [{ _tag: "AssistantMessage", turn, step, blocks, interrupted: true, ...usage, chunkSeqs }]
  }
}

const wordsFor = (event: AgentEvent.AgentEvent): ReadonlyArray<string> => {
  switch (event._tag) {
    case "AssistantMessage":
      return [`kept what had come of the answer in turn ${event.turn}, step ${event.step}`]
    case "CallEnded":
    case "NestedCallEnded":
      return event.result._tag === "Failure"
        ? [`call "${event.result.callId}" got the result ${event.result.code}`]
        : []
    case "InputReturned":
      return [`queued again: ${event.ids.map((id) => `"${id}"`).join(", ")}`]
    case "TurnEnded":
      return [`ended turn ${event.turn}, which had been interrupted`]
    default:
      return []
  }
}

/**
 * The events that close what is open, behind a `Repaired` that says so, and says `found`. Empty where nothing is wrong.
 *
 * @internal
 */
export const repairsOf = (
  envelopes: Iterable<AgentEvent.Envelope>,
  found: ReadonlyArray<string>
): ReadonlyArray<AgentEvent.AgentEvent> => {
  const inbox = new Inbox()
  let turn: number | undefined
  let step: OpenStep | undefined
  for (const envelope of envelopes) {
    const { event } = envelope
    inbox.add(event)
    step?.add(envelope)
    if (event._tag === "TurnStarted") turn = event.turn
    if (event._tag === "TurnEnded") turn = undefined
    if (event._tag === "StepStarted") step = new OpenStep(event)
    if (event._tag === "StepEnded" || event._tag === "TurnEnded") step = undefined
  }
  const ids = inbox.claimedIds
  const closing: ReadonlyArray<AgentEvent.AgentEvent> = [
    ...(step?.closing ?? []),
    ...(ids.length === 0 ? [] : [{ _tag: "InputReturned", ids } as const]), // R2
    ...(turn === undefined ? [] : [{ _tag: "TurnEnded", turn, outcome: { _tag: "Interrupted" } } as const])
  ]
  const what = [...found, ...closing.flatMap(wordsFor)]
  return what.length === 0 ? [] : [{ _tag: "Repaired", what }, ...closing]
}
