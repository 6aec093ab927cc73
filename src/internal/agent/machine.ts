/**
 * Runs the state machine of an agent: applies events, logs what they come to, and does what is to be done.
 *
 * Invariants
 *
 * M1. An event is applied, logged and answered in one synchronous step.
 * M2. What a caller is told of is logged first: a message that could not be logged was not accepted, and nothing changed.
 * M3. Whatever stops something is done before it is logged, and a log that fails does not keep it from being done.
 * M4. Whoever waits for rest is told when nothing runs, and never while something does.
 * M5. A cancel that is asked for from within an append, such as by a session that tells others of it, comes behind the
 *     step that appends: no step is cut in two.
 * M6. What has happened and could not be logged is owed: it is logged before anything else is, so that a log that failed
 *     for a time is in order behind it (L8).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as AgentEvent from "../../AgentEvent.js"
import type * as CancelCause from "../../CancelCause.js"
import * as Inbox from "../../Inbox.js"
import * as Session from "../../Session.js"
import { report } from "../report.js"
import { Settlement } from "../settlement.js"
import type { Origin } from "../startFiber.js"
import { type Command, type Event, initial, type Refusal, type State, type TurnEnd, transition } from "./transition.js"

/**
 * What a machine can start and stop.
 *
 * @internal
 */
export interface Activity {
  readonly startTurn: (turn: number) => void
  readonly cancel: (cause: CancelCause.CancelCause) => void
}

const reasons: { readonly [E in Exclude<TurnEnd, "completed">]: string } = {
  cancelled: "the turn was cancelled",
  blocked: "the turn was blocked",
  failed: "the turn failed",
  empty: "there was nothing to do in the turn"
}

const ids = (items: ReadonlyArray<Inbox.Item>): ReadonlyArray<string> => items.map(({ message }) => message.id)

/** Whether it will be refused however often it is tried. */
const isHopeless = (error: unknown): boolean => error instanceof Session.SessionError && error.reason === "InvalidEvent"

/** @internal */
export class Machine {
  private readonly session: Session.Service
  private readonly activity: Activity
  private readonly origin: Origin
  private current: State
  private resting = new Settlement<void>()
  private depth = 0
  private isAppending = false
  private readonly postponed: Array<Event> = []
  private owed: ReadonlyArray<AgentEvent.AgentEvent> = []

  /** Goes on where the session stands. What waits there is parked. */
  constructor(session: Session.Service, activity: Activity, origin: Origin) {
    this.session = session
    this.activity = activity
    this.origin = origin
    const { queued, turn } = session.position()
    const inbox = queued.reduce<Inbox.Inbox>(
      (inbox, { message, target, wakes }) => Inbox.add(inbox, { message, target, wakes }),
      Inbox.empty
    )
    this.current = { ...initial, inbox, turns: turn }
  }

  get state(): State {
    return this.current
  }

  get isAtRest(): boolean {
    const { _tag } = this.current.phase
    return _tag === "Idle" || _tag === "Closed"
  }

  /** Applies an event. Gives why it was refused, if it was; throws what a log throws for an event that depends on it. */
  dispatch(event: Event): Refusal | undefined {
    if (this.isAppending) {
      this.postponed.push(event) // M5
      return undefined
    }
    return this.step(() => this.apply(event))
  }

  /** Runs something as one step. */
  step<A>(run: () => A): A {
    this.depth++
    try {
      return run()
    } finally {
      if (--this.depth === 0) for (const event of this.postponed.splice(0)) this.dispatch(event) // M5
    }
  }

  /** For what has to be answered, and so cannot come behind a step: waits until no event is being appended. */
  readonly untilFree: Effect.Effect<void> = Effect.suspend(() =>
    this.isAppending ? Effect.zipRight(Effect.yieldNow(), this.untilFree) : Effect.void
  )

  /** Appends an event, behind those that are owed. Throws when it has not happened. */
  append(event: AgentEvent.AgentEvent): AgentEvent.Envelope {
    return this.step(() => {
      this.isAppending = true
      try {
        this.payBack()
        return this.session.append(event)
      } finally {
        this.isAppending = false
      }
    })
  }

  /** Appends what holds whether it can be logged or not. Gives what went wrong. */
  note(event: AgentEvent.AgentEvent): { readonly error: unknown } | undefined {
    try {
      this.append(event)
      return undefined
    } catch (error) {
      if (!isHopeless(error)) this.owed = [...this.owed, event] // M6
      report(`What has become of something could not be logged (${event._tag})`, Cause.die(error), this.origin)
      return { error }
    }
  }

  /** Waits until nothing runs. */
  awaitRest(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.isAtRest ? Effect.void : Effect.flatMap(this.resting.waitTidily(), () => this.awaitRest())
    )
  }

  private apply(event: Event): Refusal | undefined {
    const [next, commands] = transition(this.current, event)
    for (const command of commands) {
      if (command._tag === "Refuse") return command.because
      const record = recordOf(command)
      if (isAsked(command) && record !== undefined) this.append(record) // M2
    }
    this.current = next // M1
    for (const command of commands) {
      this.carryOut(command) // M3
      const record = recordOf(command)
      if (!isAsked(command) && record !== undefined) this.note(record)
    }
    return undefined
  }

  private carryOut(command: Command): void {
    switch (command._tag) {
      case "StartTurn":
        return this.activity.startTurn(command.turn)
      case "Cancel":
        return this.activity.cancel(command.cause)
      case "Rest": {
        const { resting } = this
        this.resting = new Settlement()
        resting.settle() // M4
      }
    }
  }

  private payBack(): void {
    for (let [first] = this.owed; first !== undefined; [first] = this.owed) {
      this.session.append(first) // M6
      this.owed = this.owed.slice(1)
    }
  }
}

/** Whether somebody relies on the record: then it comes before the change. */
const isAsked = ({ _tag }: Command): boolean => _tag === "Queue" || _tag === "Claim" || _tag === "Withdraw"

const recordOf = (command: Command): AgentEvent.AgentEvent | undefined => {
  switch (command._tag) {
    case "Queue":
      return { _tag: "InputQueued", ...command.item }
    case "Claim":
      return { _tag: "InputClaimed", turn: command.turn, ids: ids(command.items) }
    case "Discard":
      return { _tag: "InputDiscarded", ids: ids(command.items), reason: command.because }
    case "Withdraw":
      return { _tag: "InputDiscarded", ids: ids(command.items), reason: "withdrawn" }
    case "PutBack":
      return { _tag: "InputReturned", ids: ids(command.items) }
    case "Park":
      return { _tag: "InputParked", ids: ids(command.items), reason: reasons[command.because] }
    case "End":
      return { _tag: "TurnEnded", turn: command.turn, outcome: command.outcome }
    default:
      return undefined
  }
}
