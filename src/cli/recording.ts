/**
 * What is known of each call of a session, from two sides: the log says what happened, and the runtime shows the phases
 * that it went through.
 */
import type * as AgentEvent from "../AgentEvent.js"
import type * as ToolResult from "../ToolResult.js"
import type * as ToolRuntime from "../ToolRuntime.js"
import * as StillAlive from "./stillAlive.js"

/** A phase, and when it was seen. */
export interface PhaseAt {
  readonly phase: ToolRuntime.Phase
  readonly at: number
}

/** What became of one call. */
export interface Outcome {
  readonly turn: number
  readonly step: number
  /** The call whose body made this one, where a body did. */
  readonly parentId: string | undefined
  readonly result: ToolResult.ToolResult
  /** From its start until nothing of it ran. */
  readonly millis: number
  /** From its cancel until nothing of it ran, where it was cancelled before that. */
  readonly quietMillis: number | undefined
  /** What of it is still alive, seen from outside, right after its result. */
  readonly stillAlive: ReadonlyArray<string>
}

/** One call, as far as it is known. */
export interface CallRecord {
  readonly callId: string
  readonly tool: string
  readonly turn: number
  readonly step: number
  readonly parentId: string | undefined
  readonly phases: ReadonlyArray<PhaseAt>
  readonly cancelledAt: number | undefined
  /** When its result was in the log. */
  readonly endedAt: number | undefined
  readonly outcome: Outcome | undefined
}

type Known = { -readonly [K in keyof CallRecord]: CallRecord[K] } & {
  phases: Array<PhaseAt>
  /** The calls that its body made. */
  readonly parts: Array<Known>
}

/** Collects what is known of the calls, in the order in which they were made. */
export class Recording {
  /** The calls that no body made. */
  private readonly whole: Array<Known> = []
  /** The latest call of each id: models use ids again. */
  private readonly latest = new Map<string, Known>()
  private place = { turn: 0, step: 0 }

  /** Each call in front of those that its body made. */
  get calls(): ReadonlyArray<CallRecord> {
    const withParts = (known: Known): ReadonlyArray<Known> => [known, ...known.parts.flatMap(withParts)]
    return this.whole.flatMap(withParts)
  }

  get outcomes(): ReadonlyArray<Outcome> {
    return this.calls.flatMap(({ outcome }) => outcome ?? [])
  }

  /** Takes note of where a call stands, and says whether that is news. */
  saw({ callId, cancelledAt, parentId, phase, startedAt, tool }: ToolRuntime.CallStatus, at: number): boolean {
    const before = this.latest.get(callId)
    // What is seen of a call may come behind its result.
    if (before?.endedAt !== undefined && startedAt <= before.endedAt) return false
    const known = this.open(callId, tool, parentId)
    known.cancelledAt ??= cancelledAt
    if (known.phases.at(-1)?.phase === phase) return false
    known.phases.push({ phase, at })
    return true
  }

  /** Takes note of what was logged, and gives what became of the call that has ended with it. */
  logged({ at, event }: AgentEvent.Envelope): Outcome | undefined {
    if (event._tag === "StepStarted") this.place = { turn: event.turn, step: event.step }
    if (event._tag !== "CallEnded" && event._tag !== "NestedCallEnded") return undefined
    const { result, step, turn } = event
    const parentId = event._tag === "CallEnded" ? undefined : event.parentId
    const known = this.open(result.callId, result.tool, parentId)
    const { cancelledAt, phases } = known
    const startedAt = phases[0]?.at ?? at
    const quietAt = phases.find(({ phase }) => isQuiet(phase))?.at ?? at
    known.endedAt = at
    known.outcome = {
      turn,
      step,
      parentId,
      result,
      millis: Math.max(0, quietAt - startedAt),
      quietMillis: isStopped(result) && cancelledAt !== undefined ? Math.max(0, quietAt - cancelledAt) : undefined,
      stillAlive: StillAlive.ofCall(result)
    }
    return known.outcome
  }

  /** The call of this id that has not ended, or else a new one. */
  private open(callId: string, tool: string, parentId: string | undefined): Known {
    const before = this.latest.get(callId)
    if (before !== undefined && before.endedAt === undefined) return before
    const known: Known = {
      ...this.place,
      callId,
      tool,
      parentId,
      parts: [],
      phases: [],
      cancelledAt: undefined,
      endedAt: undefined,
      outcome: undefined
    }
    const siblings = parentId === undefined ? undefined : this.latest.get(parentId)?.parts
    this.latest.set(callId, known)
    ;(siblings ?? this.whole).push(known)
    return known
  }
}

/** Whether a cancel shows in a result: it may have come when the body had succeeded already. */
const isStopped = (result: ToolResult.ToolResult): boolean => result._tag === "Failure" && result.cause !== undefined

/** Whether a phase comes only when nothing of the body runs any more. */
const isQuiet = (phase: ToolRuntime.Phase): boolean =>
  phase === "settled" || phase === "reviewed" || phase === "published"
