/**
 * Shows how far the calls are while an agent works: a line for each change, or, on a terminal, lines that are drawn again in
 * place, or, in a conversation, what is said and what became of each call.
 */
import type * as AgentEvent from "../AgentEvent.js"
import * as CancelCause from "../CancelCause.js"
import type { Output } from "./output.js"
import type { Outcome } from "./recording.js"
import type { Event } from "./runAgent.js"
import { codeOf } from "./table.js"
import { oneLine, pad, widthOf } from "./text.js"

/** Shows the events of an agent. */
export interface Display {
  readonly show: (event: Event) => void
  /** Shows how the time passes. */
  readonly tick: (now: number) => void
}

/** Shows nothing. */
export const silent: Display = { show: () => {}, tick: () => {} }

/** Begins a line for a call: its name and its tool, as wide as any before. */
const nameIn = (): ((callId: string, tool: string) => string) => {
  let ids = 0
  let tools = 0
  return (callId, tool) => {
    ids = Math.max(ids, widthOf(callId))
    tools = Math.max(tools, widthOf(tool))
    return `${pad(callId, ids)}  ${pad(tool, tools)}`
  }
}

const alive = ({ stillAlive }: Outcome): string =>
  stillAlive.length === 0 ? "" : `  still alive: ${stillAlive.join("; ")}`

const seconds = (millis: number): string => `${(millis / 1000).toFixed(1)} s`

/** Hands on the text of a model, line by line, as it comes. */
const lines = (write: (line: string) => void): ((event: AgentEvent.AgentEvent) => void) => {
  let open = ""
  return (event) => {
    if (event._tag === "ModelChunk" && event.chunk._tag === "Text") {
      const [last = "", ...whole] = `${open}${event.chunk.text}`.split("\n").reverse()
      for (const line of whole.reverse()) write(line)
      open = last
    }
    if (event._tag !== "AssistantMessage" && event._tag !== "RequestFailed") return
    if (open !== "") write(open)
    open = ""
  }
}

/** What there is to say of the end of a turn, where it did not just end. */
const endOf = (outcome: AgentEvent.Outcome): string | undefined => {
  switch (outcome._tag) {
    case "Completed":
      return undefined
    case "MaxTokens":
      return "The answer was cut off: it had as many tokens as it may have."
    case "Blocked":
      return `The turn was refused: ${outcome.reason}`
    case "Cancelled":
      return `The turn was ${CancelCause.describe(outcome.cause as CancelCause.CancelCause)}. All of it is quiet.`
    case "Error":
      return `The turn failed: ${outcome.message} (${outcome.code})`
    default:
      return "The turn was cut off."
  }
}

const troubles = (event: AgentEvent.AgentEvent): string | undefined => {
  if (event._tag === "TurnEnded") return endOf(event.outcome)
  if (event._tag !== "RequestFailed" || !event.retried) return undefined
  return `The model could not be asked, and is asked again: ${event.message} (${event.code})`
}

/** One line for each change. Phases that follow each other at once share a line. */
export const plain = (output: Output, startedAt: number): Display => {
  const name = nameIn()
  const ended = new Set<string>()
  const unseen = new Map<string, ReadonlyArray<string>>()
  const write = (at: number, text: string): void => output.write(`${String(at - startedAt).padStart(6)}ms  ${text}`)
  let now = startedAt
  const say = lines((line) => write(now, line))
  return {
    tick: () => {},
    show: (event) => {
      now = event.at
      if (event._tag === "Phases") {
        const { callId, tool } = event.status
        if (event.phases.length === 0) return
        if (event.phases[0] === "received") ended.delete(callId)
        if (ended.has(callId)) return
        // The last phase is shown with the code, which comes with the result.
        if (event.phases.at(-1) === "published") unseen.set(callId, event.phases.slice(0, -1))
        else write(event.at, `${name(callId, tool)}  ${event.phases.join(" > ")}`)
      } else if (event._tag === "Outcome") {
        const { result } = event.outcome
        const phases = [...(unseen.get(result.callId) ?? []), "published"]
        ended.add(result.callId)
        write(
          event.at,
          `${name(result.callId, result.tool)}  ${phases.join(" > ")}  ${codeOf(result)}${alive(event.outcome)}`
        )
      } else {
        say(event.event)
        const trouble = troubles(event.event)
        if (trouble !== undefined) write(event.at, trouble)
      }
    }
  }
}

/** A line for each call, those of a body below its own. */
class Tree {
  private readonly all = new Map<string, { readonly parentId: string | undefined; line: (now: number) => string }>()

  set(callId: string, parentId: string | undefined, line: (now: number) => string): void {
    const known = this.all.get(callId)
    if (known === undefined) this.all.set(callId, { parentId, line })
    else known.line = line
  }

  lines(now: number, parentId?: string, indent = "  "): ReadonlyArray<string> {
    return [...this.all].flatMap(([callId, { line, parentId: parent }]) =>
      parent === parentId ? [`${indent}${line(now)}`, ...this.lines(now, callId, `${indent}  `)] : []
    )
  }
}

/** The calls of the step that runs, drawn in place. */
export const live = (output: Output): Display => {
  const name = nameIn()
  let title = ""
  let calls = new Tree()
  const say = lines((line) => output.write(line))
  const tick = (now: number): void => output.draw([title, ...calls.lines(now)])
  return {
    tick,
    show: (event) => {
      if (event._tag === "Phases") {
        const { callId, cancelledAt, parentId, phase, progress, startedAt, tool } = event.status
        if (phase === "published") return
        const doing = progress === undefined ? "" : `, ${oneLine(progress)}`
        calls.set(callId, parentId, (now) => {
          const since = cancelledAt === undefined ? "" : `, cancelled ${seconds(now - cancelledAt)} ago`
          return `${name(callId, tool)}  ${phase}  ${seconds(now - startedAt)}${since}${doing}`
        })
      } else if (event._tag === "Outcome") {
        const { millis, parentId, result } = event.outcome
        const text = `${name(result.callId, result.tool)}  ${codeOf(result)}  ${seconds(millis)}${alive(event.outcome)}`
        calls.set(result.callId, parentId, () => text)
      } else {
        say(event.event)
        const trouble = troubles(event.event)
        if (trouble !== undefined) output.complain(trouble)
        if (event.event._tag === "StepStarted") title = `Step ${event.event.step}`
        if (event.event._tag === "AssistantMessage") {
          // All of them first: each line is as wide as the widest.
          for (const block of event.event.blocks) if (block.type === "tool-call") name(block.id, block.name)
          calls = new Tree()
          for (const block of event.event.blocks) {
            if (block.type === "tool-call")
              calls.set(block.id, undefined, () => `${name(block.id, block.name)}  waiting`)
          }
        }
      }
      tick(event.at)
    }
  }
}

/** What is said, and a line for each call that has ended. The prompt says what runs. */
export const chat = (output: Output): Display => {
  const say = lines((line) => output.write(line))
  return {
    tick: () => {},
    show: (event) => {
      if (event._tag === "Outcome") {
        const { millis, result } = event.outcome
        const why = result._tag === "Failure" ? `: ${result.message}` : ""
        output.write(
          `  ${result.tool} (${result.callId})  ${codeOf(result)}${why}  ${seconds(millis)}${alive(event.outcome)}`
        )
      } else if (event._tag === "Logged") {
        say(event.event)
        const trouble = troubles(event.event)
        if (trouble !== undefined) output.complain(trouble)
      }
    }
  }
}
