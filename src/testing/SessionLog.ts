/**
 * Says what is wrong with the events of a session: whether everything that began has ended, every call has exactly one
 * result (L8), numbers only rise, and no input was lost (L11).
 *
 * A log is taken as it is: a turn that is still open when it ends has not ended. So look at the log of an agent that is
 * idle, or of a session that was closed or reopened.
 *
 * What it does not do: it compares numbers, ids and places. Whether a result is true, and what the events do to a model's
 * messages, is not its business; for those there is `Transcript`.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as AgentEvent from "../AgentEvent.js"
import { type Rule, SessionRules } from "../internal/testing/sessionRules.js"
import * as Transcript from "./Transcript.js"

/**
 * Something that is wrong with a log.
 *
 * - `NumberNotRising`: the number of an event, a turn, a step or an attempt
 * - `Misplaced`: an event where it cannot be, such as of a turn that is not open, or behind the end of the session
 * - `NotEnded`: a turn or a step that the log leaves open
 * - `Unanswered`, `AnsweredTwice`, `UnknownCall`, `OutOfOrder`, `AfterStepEnd`: of a call, as `Transcript` has them
 * - `StartedTwice`, `StartedOutOfOrder`: a call that was started again, behind a later one, or that nobody had asked for
 * - `RanUnstarted`: a result says that the call ran, and no `CallStarted` comes before it (L13)
 * - `EndedBeforeItsCalls`: a call of a body that has no result when the call whose body made it has one
 * - `ContextTooEarly`: the context of a call, before all results of its step are there (L12)
 * - `InterruptedWithCalls`: an answer that was stopped and has tool calls
 * - `WrongChunks`: an answer that does not name the chunks of its attempt
 * - `UnknownInput`: a message that was not queued, not claimed, or queued twice
 * - `LostInput`: a message that a turn claimed, and neither showed to the model, nor discarded, nor returned
 *
 * @since 0.1.0
 * @category models
 */
export interface Problem {
  readonly _tag: Rule | Transcript.Problem["_tag"]
  /** What it is about, in words. */
  readonly about: string
  /** The event that shows it. */
  readonly seq: number
}

const entryOf = ({ event }: AgentEvent.Envelope): Transcript.Entry | undefined => {
  switch (event._tag) {
    case "AssistantMessage":
      return Transcript.calls(...event.blocks.flatMap((block) => (block.type === "tool-call" ? [block.id] : [])))
    case "CallEnded":
      return Transcript.result(event.result.callId)
    case "StepEnded":
    case "TurnEnded":
      return Transcript.stepEnd
    default:
      return undefined
  }
}

/**
 * Says what is wrong with a log, in the order of its events.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { AgentEvent } from "quiesce"
 * import { SessionLog } from "quiesce/testing"
 *
 * const events = [
 *   AgentEvent.SessionStarted.make({ version: AgentEvent.version, agent: "clerk" }),
 *   AgentEvent.TurnStarted.make({ turn: 1 }),
 *   AgentEvent.StepStarted.make({ turn: 1, step: 1 }),
 *   AgentEvent.TurnEnded.make({ turn: 1, outcome: { _tag: "Completed" } })
 * ]
 * const log = events.map((event, i) => ({ seq: i + 1, at: 0, event }))
 * assert.deepStrictEqual(SessionLog.problems(log), [{ _tag: "Misplaced", about: "TurnEnded", seq: 4 }])
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const problems = (log: Iterable<AgentEvent.Envelope>): ReadonlyArray<Problem> => {
  const found: Array<Problem> = []
  const entries: Array<Transcript.Entry> = []
  const seqs: Array<number> = []
  const rules = new SessionRules((_tag, about, seq) => found.push({ _tag, about, seq }))
  for (const envelope of log) {
    rules.add(envelope)
    const entry = entryOf(envelope)
    if (entry === undefined) continue
    entries.push(entry)
    seqs.push(envelope.seq)
  }
  rules.end()
  for (const { _tag, callId, entry } of Transcript.problems(entries)) {
    found.push({ _tag, about: `call "${callId}"`, seq: seqs[entry] ?? 0 })
  }
  return found.sort((a, b) => a.seq - b.seq)
}

const words: { readonly [tag in Problem["_tag"]]: string } = {
  NumberNotRising: "has a number that does not rise",
  Misplaced: "cannot be in this place",
  NotEnded: "has not ended",
  Unanswered: "has no result",
  AnsweredTwice: "has another result",
  UnknownCall: "has a result, but nobody made this call",
  OutOfOrder: "has its result behind that of a later call",
  AfterStepEnd: "has its result behind the end of its step",
  StartedTwice: "was started before",
  StartedOutOfOrder: "was started out of order, or nobody made it",
  RanUnstarted: "ran, but was never started",
  EndedBeforeItsCalls: "has no result yet, when the call whose body made it has one",
  ContextTooEarly: "comes before all calls of the step have their results",
  InterruptedWithCalls: "was stopped, and has tool calls",
  WrongChunks: "does not name the chunks that it is made of",
  UnknownInput: "was not queued, or not claimed, or is there twice",
  LostInput: "was claimed, and then neither shown to the model, nor discarded, nor returned"
}

/**
 * A log that is not in order.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionLogFailure extends Data.TaggedError("SessionLogFailure")<{
  readonly problems: ReadonlyArray<Problem>
}> {
  override get message(): string {
    const lines = this.problems.map(({ _tag, about, seq }) => `  ${about} ${words[_tag]} (event ${seq})`)
    return `The session is not in order:\n${lines.join("\n")}`
  }
}

/**
 * Fails when something is wrong with a log, and names it.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { AgentEvent, Session } from "quiesce"
 * import { SessionLog } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const session = yield* Session.make()
 *   session.append(AgentEvent.TurnStarted.make({ turn: 1 }))
 *   return yield* Effect.flip(SessionLog.check(session.events()))
 * })
 * const failure = await Effect.runPromise(Effect.scoped(program))
 * assert.strictEqual(failure.message, "The session is not in order:\n  turn 1 has not ended (event 2)")
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const check = (log: Iterable<AgentEvent.Envelope>): Effect.Effect<void, SessionLogFailure> =>
  Effect.suspend(() => {
    const found = problems(log)
    return found.length === 0 ? Effect.void : new SessionLogFailure({ problems: found })
  })
