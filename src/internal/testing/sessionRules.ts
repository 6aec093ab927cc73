/**
 * The rules that hold from one event of a session to the next, read once from its first to its last.
 *
 * Whether calls and results are in balance is the business of `Transcript`.
 */
import type * as AgentEvent from "../../AgentEvent.js"
import type * as Model from "../../capability/Model.js"

/** @internal */
export type Rule =
  | "NumberNotRising"
  | "Misplaced"
  | "NotEnded"
  | "StartedTwice"
  | "StartedOutOfOrder"
  | "RanUnstarted"
  | "EndedBeforeItsCalls"
  | "ContextTooEarly"
  | "InterruptedWithCalls"
  | "WrongChunks"
  | "UnknownInput"
  | "LostInput"

/** @internal */
export type Found = (rule: Rule, about: string, seq: number) => void

type Event = AgentEvent.AgentEvent
type OfStep = Extract<Event, { readonly step: number }>

const isOfStep = (event: Event): event is OfStep => "step" in event
const isCall = (block: Model.Block): block is Model.ToolCallBlock => block.type === "tool-call"

class Step {
  readonly number: number
  readonly seq: number
  attempt = 0
  /** The chunks of the attempt. */
  chunks: Array<number> = []
  isAnswered = false
  calls: ReadonlyArray<string> = []
  started: Array<string> = []
  ended = 0
  /** Those that run, those of bodies among them, each with the one whose body made it. */
  readonly open = new Map<string, string | undefined>()
  /** How far the calls have been started, in the order of the message. */
  reached = 0

  constructor(number: number, seq: number) {
    this.number = number
    this.seq = seq
  }
}

interface Turn {
  readonly number: number
  readonly seq: number
  lastStep: number
  step: Step | undefined
}

/** @internal */
export class SessionRules {
  private readonly found: Found
  private seq = 0
  private lastTurn = 0
  private turn: Turn | undefined
  private where: "before" | "open" | "closed" = "before"
  private readonly known = new Set<string>()
  private readonly waiting = new Set<string>()
  private readonly claimed = new Map<string, number>()

  constructor(found: Found) {
    this.found = found
  }

  add({ event, seq }: AgentEvent.Envelope): void {
    if (seq !== this.seq + 1) this.found("NumberNotRising", `event ${seq}`, seq)
    this.seq = seq
    if (!this.isInPlace(event)) this.found("Misplaced", event._tag, seq)
    if (isOfStep(event)) this.addToStep(event, seq)
    else this.addToSession(event, seq)
  }

  end(): void {
    const { turn } = this
    if (turn?.step !== undefined)
      this.found("NotEnded", `step ${turn.step.number} of turn ${turn.number}`, turn.step.seq)
    if (turn !== undefined) this.found("NotEnded", `turn ${turn.number}`, turn.seq)
  }

  private isInPlace(event: Event): boolean {
    if (event._tag === "SessionStarted") return this.where === "before"
    if (event._tag === "SessionReopened") return this.where !== "before"
    if (this.where !== "open") return false
    if (!("turn" in event)) return true
    if (event._tag === "TurnStarted") return this.turn === undefined
    if (this.turn?.number !== event.turn) return false
    if (!isOfStep(event) || event._tag === "StepStarted") return this.turn.step === undefined
    return this.turn.step?.number === event.step
  }

  private addToSession(event: Exclude<Event, OfStep>, seq: number): void {
    switch (event._tag) {
      case "SessionStarted":
      case "SessionReopened":
        this.where = "open"
        break
      case "SessionClosed":
        this.where = "closed"
        break
      case "TurnStarted":
        if (event.turn <= this.lastTurn) this.found("NumberNotRising", `turn ${event.turn}`, seq)
        this.lastTurn = Math.max(this.lastTurn, event.turn)
        this.turn = { number: event.turn, seq, lastStep: 0, step: undefined }
        break
      case "TurnEnded":
        // What a policy kept out had its reasons; everything else has to be somewhere.
        if (event.outcome._tag !== "Blocked") {
          for (const [id, at] of this.claimed) this.found("LostInput", `input "${id}"`, at)
        }
        this.claimed.clear()
        this.turn = undefined
        break
      case "InputQueued":
        if (this.known.has(event.message.id)) this.unknownInput(event.message.id, seq)
        this.known.add(event.message.id)
        this.waiting.add(event.message.id)
        break
      case "InputClaimed":
        for (const id of event.ids) {
          if (!this.waiting.delete(id)) this.unknownInput(id, seq)
          this.claimed.set(id, seq)
        }
        break
      case "InputReturned":
        for (const id of event.ids) {
          if (!this.claimed.delete(id)) this.unknownInput(id, seq)
          this.waiting.add(id)
        }
        break
      case "InputDiscarded":
        for (const id of event.ids) if (!this.waiting.delete(id) && !this.claimed.delete(id)) this.unknownInput(id, seq)
        break
      case "InputParked":
        for (const id of event.ids) if (!this.waiting.has(id)) this.unknownInput(id, seq)
        break
      case "Repaired":
        break
    }
  }

  private unknownInput(id: string, seq: number): void {
    this.found("UnknownInput", `input "${id}"`, seq)
  }

  private addToStep(event: OfStep, seq: number): void {
    const { turn } = this
    if (event._tag === "StepStarted") {
      if (event.step <= (turn?.lastStep ?? 0)) this.found("NumberNotRising", `step ${event.step}`, seq)
      if (turn === undefined) return
      turn.lastStep = event.step
      turn.step = new Step(event.step, seq)
      return
    }
    const step = turn?.step
    if (step === undefined) return
    switch (event._tag) {
      case "UserMessage":
        if (event.id !== undefined && !this.claimed.delete(event.id)) this.unknownInput(event.id, seq)
        break
      case "ModelRequested":
        if (event.attempt <= step.attempt) this.found("NumberNotRising", `attempt ${event.attempt}`, seq)
        step.attempt = event.attempt
        step.chunks = []
        break
      case "ModelChunk":
        if (event.attempt !== step.attempt || step.isAnswered) this.found("Misplaced", event._tag, seq)
        step.chunks.push(seq)
        break
      case "RequestFailed":
        if (event.attempt !== step.attempt || step.isAnswered) this.found("Misplaced", event._tag, seq)
        step.chunks = []
        break
      case "AssistantMessage":
        this.addAnswer(step, event, seq)
        break
      case "CallStarted":
        this.addStart(step, event.callId, seq)
        break
      case "CallEnded": {
        const { callId, dispatched } = event.result
        if (dispatched && !step.started.includes(callId)) this.found("RanUnstarted", `call "${callId}"`, seq)
        step.ended++
        this.addEnd(step, callId, seq)
        break
      }
      case "NestedCallStarted":
        if (!step.open.has(event.parentId)) this.found("Misplaced", `${event._tag} of "${event.callId}"`, seq)
        step.open.set(event.callId, event.parentId)
        break
      case "NestedCallEnded": {
        const { callId } = event.result
        if (step.open.get(callId) === undefined) this.found("RanUnstarted", `call "${callId}"`, seq)
        this.addEnd(step, callId, seq)
        break
      }
      case "ContextAdded":
        if (step.ended < step.calls.length) this.found("ContextTooEarly", `the context of call "${event.callId}"`, seq)
        break
      case "StepEnded":
        if (turn !== undefined) turn.step = undefined
        break
    }
  }

  private addAnswer(step: Step, event: Extract<Event, { readonly _tag: "AssistantMessage" }>, seq: number): void {
    if (step.isAnswered) this.found("Misplaced", event._tag, seq)
    step.isAnswered = true
    step.calls = event.blocks.filter(isCall).map(({ id }) => id)
    if (event.interrupted && step.calls.length > 0) this.found("InterruptedWithCalls", "the answer", seq)
    const isSame =
      event.chunkSeqs.length === step.chunks.length && event.chunkSeqs.every((at, i) => at === step.chunks[i])
    if (!isSame) this.found("WrongChunks", "the answer", seq)
  }

  private addStart(step: Step, callId: string, seq: number): void {
    const at = step.calls.indexOf(callId, step.reached)
    if (at >= 0) step.reached = at + 1
    else this.found(step.started.includes(callId) ? "StartedTwice" : "StartedOutOfOrder", `call "${callId}"`, seq)
    step.started.push(callId)
    step.open.set(callId, undefined)
  }

  private addEnd(step: Step, callId: string, seq: number): void {
    step.open.delete(callId)
    for (const [id, parent] of step.open) {
      if (parent === callId) this.found("EndedBeforeItsCalls", `call "${id}" of "${callId}"`, seq)
    }
  }
}
