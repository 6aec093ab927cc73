/**
 * One turn, from its first step to its end. Read this file for the order of everything; it is that of the log.
 *
 * The turn runs on a fiber that nobody interrupts: a cancel stops what it waits for, and it looks whether it was cancelled
 * behind each wait. So what was begun is always closed (L8): a step that was started ends, and every call has a result.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as AgentEvent from "../../AgentEvent.js"
import * as CancelCause from "../../CancelCause.js"
import type * as Cancellation from "../../Cancellation.js"
import type * as Content from "../../Content.js"
import * as Model from "../../capability/Model.js"
import type * as Inbox from "../../Inbox.js"
import type * as Session from "../../Session.js"
import type * as ToolCall from "../../ToolCall.js"
import type * as ToolRuntime from "../../ToolRuntime.js"
import type { CallIds } from "./callIds.js"
import type { Machine } from "./machine.js"
import { ask, type Retry } from "./request.js"
import type { TurnEnd } from "./transition.js"
import { describeFailure, type Turn } from "./turnState.js"

/** What a step may do with what it was told. */
export type Entry =
  | { readonly _tag: "Enter"; readonly messages: ReadonlyArray<Inbox.Message> }
  | { readonly _tag: "Reject"; readonly reason: string }

/** What every step is told of itself. */
export interface StepInfo {
  readonly turn: number
  readonly step: number
}

type Staged<A> = Effect.Effect<A, unknown, Cancellation.Cancellation>

/**
 * What the turns of one agent have in common.
 *
 * @internal
 */
export interface Settings {
  readonly agent: string
  readonly model: Model.Service
  readonly runtime: ToolRuntime.Service
  readonly session: Session.Service
  readonly machine: Machine
  readonly callIds: CallIds
  readonly assemble: (step: StepInfo) => Staged<{
    readonly model: string
    readonly instructions: ReadonlyArray<Content.Content>
    readonly options: Model.Options | undefined
  }>
  readonly beforeStep: (step: StepInfo, messages: ReadonlyArray<Inbox.Message>) => Staged<Entry>
  readonly onStopping: (turn: number) => Staged<void>
  readonly onFailure: (problem: Model.Problem, attempt: number) => Staged<Retry>
  readonly batch: ToolRuntime.BatchOptions
}

type Ended = { readonly outcome: AgentEvent.Outcome; readonly end: TurnEnd }

/** A cancel that comes when the turn's owner has ended already reaches the machine alone. */
const causeOf = ({ machine }: Settings, turn: Turn): CancelCause.CancelCause | undefined => {
  const { phase } = machine.state
  return turn.cause ?? (phase._tag === "Running" ? phase.cause : undefined)
}

const cancelled = (settings: Settings, turn: Turn): Ended => ({
  outcome: { _tag: "Cancelled", cause: CancelCause.encode(causeOf(settings, turn) ?? CancelCause.parent()) },
  end: "cancelled"
})

const failed = (cause: Cause.Cause<unknown>): Ended => ({
  outcome: { _tag: "Error", ...describeFailure(cause) },
  end: "failed"
})

/** What becomes of the turn behind a step. */
type After =
  | { readonly _tag: "GoOn" }
  | { readonly _tag: "Rest"; readonly isCutShort: boolean }
  | { readonly _tag: "End"; readonly ended: Ended }

const goOn: After = { _tag: "GoOn" }
const rest: After = { _tag: "Rest", isCutShort: false }
const endWith = (ended: Ended): After => ({ _tag: "End", ended })

/**
 * Runs a turn to its end, which is logged and told to the machine in one step.
 *
 * @internal
 */
export const runTurn = (settings: Settings, turn: Turn): Effect.Effect<void> =>
  // The log itself may be what has failed: the turn ends all the same.
  Effect.catchAllCause(steps(settings, turn), (cause) => Effect.succeed(failed(cause))).pipe(
    Effect.zipLeft(turn.awaitQuiet()), // L3
    Effect.flatMap((ended) =>
      Effect.sync(() => {
        const isCancelled = ended.end !== "failed" && causeOf(settings, turn) !== undefined // L5
        const { end, outcome } = isCancelled ? cancelled(settings, turn) : ended
        settings.machine.dispatch({ _tag: "TurnEnded", end, outcome })
      })
    )
  )

const steps = (settings: Settings, turn: Turn): Effect.Effect<Ended, unknown> =>
  Effect.gen(function* () {
    let isCutShort = false
    let needsInput = true
    for (let step = 1; ; step++) {
      const after: After = yield* runStep(settings, turn, step, needsInput)
      if (after._tag === "End") return after.ended
      needsInput = after._tag === "Rest"
      if (after._tag === "GoOn") continue
      isCutShort ||= after.isCutShort
      if (settings.machine.state.inbox.step.length > 0) continue // what steers the turn continues it
      const stopping = yield* turn.run(settings.onStopping(turn.number))
      if (turn.cause !== undefined) return cancelled(settings, turn)
      if (Exit.isFailure(stopping)) return failed(stopping.cause)
      return { outcome: { _tag: isCutShort ? "MaxTokens" : "Completed" }, end: "completed" }
    }
  })

const runStep = (settings: Settings, turn: Turn, step: number, needsInput: boolean): Effect.Effect<After, unknown> =>
  Effect.gen(function* () {
    const { machine } = settings
    const info = { turn: turn.number, step }
    machine.dispatch({ _tag: "Claimed", isFirstStep: step === 1 })
    // Whoever woke the agent goes on first: a cancel in the same step finds a turn that has not read anything.
    if (step === 1) yield* Effect.yieldNow()
    if (turn.cause !== undefined) return endWith(cancelled(settings, turn))
    const assembled = yield* turn.run(settings.assemble(info))
    if (turn.cause !== undefined) return endWith(cancelled(settings, turn))
    if (Exit.isFailure(assembled)) return endWith(failed(assembled.cause))
    const { phase } = machine.state
    const claimed = phase._tag === "Running" ? phase.claimed.map(({ message }) => message) : []
    const entry = yield* turn.run(settings.beforeStep(info, claimed))
    if (turn.cause !== undefined) return endWith(cancelled(settings, turn))
    if (Exit.isFailure(entry)) return endWith(failed(entry.cause))
    if (entry.value._tag === "Reject") {
      const { reason } = entry.value
      return endWith({ outcome: { _tag: "Blocked", reason }, end: "blocked" })
    }
    const { messages } = entry.value
    if (needsInput && messages.length === 0) {
      machine.dispatch({ _tag: "Entered" })
      return step > 1 ? rest : endWith({ outcome: { _tag: "Completed" }, end: "empty" })
    }
    // All in the step in which nobody had cancelled: what is read cannot come back to the inbox (T1, M5).
    const inside = machine.step(() => {
      turn.append({ _tag: "StepStarted", ...info })
      return called(() => {
        show(settings, turn, info, messages)
        machine.dispatch({ _tag: "Entered" })
        return askAndCall(settings, turn, info, assembled.value)
      })
    })
    // Whatever happens inside, the step is closed.
    return yield* Effect.onExit(inside, () => Effect.sync(() => turn.note({ _tag: "StepEnded", ...info })))
  })

/** Logs what the model is told. A message of a policy's own is nobody's input, and has no id in the log. */
const show = ({ machine }: Settings, turn: Turn, info: StepInfo, messages: ReadonlyArray<Inbox.Message>): void => {
  const { phase } = machine.state
  const claimed = new Set(phase._tag === "Running" ? phase.claimed.map(({ message }) => message.id) : [])
  const read = new Set<string>()
  try {
    for (const { content, id } of messages) {
      turn.append({ _tag: "UserMessage", ...info, ...(claimed.delete(id) ? { id } : {}), content })
      read.add(id)
    }
  } finally {
    machine.dispatch({ _tag: "Read", ids: read }) // T1: of those, none comes back
  }
}

/** What throws while it is called is a defect of the effect, not of its caller. */
const called = <A, E>(f: () => Effect.Effect<A, E>): Effect.Effect<A, E> => {
  try {
    return f()
  } catch (error) {
    return Effect.failCause(Cause.die(error))
  }
}

const askAndCall = (
  settings: Settings,
  turn: Turn,
  info: StepInfo,
  {
    instructions,
    model,
    options
  }: { readonly model: string } & {
    readonly instructions: ReadonlyArray<Content.Content>
    readonly options: Model.Options | undefined
  }
): Effect.Effect<After, unknown> =>
  Effect.gen(function* () {
    const system: ReadonlyArray<Model.Message> =
      instructions.length === 0 ? [] : [{ role: "system", content: instructions }]
    const answer = yield* ask(turn, info.step, {
      model: settings.model,
      request: {
        model,
        messages: [...system, ...settings.session.messages()],
        tools: yield* settings.runtime.schemas,
        ...(options === undefined ? {} : { options })
      },
      callIds: settings.callIds,
      onFailure: settings.onFailure
    })
    if (answer._tag === "Cancelled") return endWith(cancelled(settings, turn))
    if (answer._tag === "Failed") {
      const { code, message } = answer
      return endWith({ outcome: { _tag: "Error", code, message }, end: "failed" })
    }
    const calls = answer.blocks.flatMap((block) => (block.type === "tool-call" ? [Model.toToolCall(block)] : []))
    if (calls.length === 0) return { _tag: "Rest", isCutShort: answer.finish === "length" }
    return yield* callTools(settings, turn, info, calls)
  })

const callTools = (
  settings: Settings,
  turn: Turn,
  info: StepInfo,
  calls: ReadonlyArray<ToolCall.ToolCall>
): Effect.Effect<After, unknown> =>
  Effect.gen(function* () {
    const { broken, results } = yield* turn.provide(
      settings.runtime.executeBatch(
        calls.map((call) => ({ ...call, agent: settings.agent })),
        {
          ...settings.batch,
          onStart: ({ id, name, parameters }) =>
            turn.append({ _tag: "CallStarted", ...info, callId: id, tool: name, parameters }),
          onResult: (result) => {
            const problem = turn.note({ _tag: "CallEnded", ...info, result }) // L8: it is owed
            if (problem !== undefined) throw problem.error
          },
          nested: {
            started: ({ id, name, parameters, parentId, rootId }) =>
              turn.append({ _tag: "NestedCallStarted", ...info, parentId, rootId, callId: id, tool: name, parameters }),
            ended: (result, { parentId, rootId }) => {
              const problem = turn.note({ _tag: "NestedCallEnded", ...info, parentId, rootId, result }) // L8: it is owed
              if (problem !== undefined) throw problem.error
            }
          }
        }
      )
    )
    if (broken !== undefined) return endWith(failed(Cause.die(broken.error)))
    for (const { callId, contexts } of results) {
      if (contexts.length > 0) turn.append({ _tag: "ContextAdded", ...info, callId, content: contexts })
    }
    if (turn.cause !== undefined) return endWith(cancelled(settings, turn))
    const isConcluded = results.some((result) => result._tag === "Success" && result.concludesTurn)
    return isConcluded ? rest : goOn
  })
