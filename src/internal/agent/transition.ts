/**
 * The state machine of an agent: what each event makes of its state, and what is to be done then.
 *
 * Pure. Each event is one step, so between a look at the state and what follows from it nothing else can happen: no wake
 * falls into a gap (L11).
 *
 * Invariants
 *
 * T1. A waking message that was accepted is in the inbox, claimed by the turn that runs, read, discarded with a
 *     record that says why (a cancel, a policy, whoever withdrew it), or parked with one.
 * T2. At most one turn or maintenance is under way, and each ends before the next begins. Turn numbers go up by one.
 * T3. An activity has one cause, the first (L6). A wake that comes after it is latched and replayed when the activity has
 *     ended, unless the agent is being disposed of.
 * T4. After `Disposed` nothing starts: a message is refused, a latched wake is dropped.
 * T5. `Rest` is told exactly when nothing runs any more.
 */
import type * as AgentEvent from "../../AgentEvent.js"
import type * as CancelCause from "../../CancelCause.js"
import * as Inbox from "../../Inbox.js"

/** @internal */
export type Phase =
  | { readonly _tag: "Idle" }
  | {
      readonly _tag: "Running"
      readonly turn: number
      readonly cause: CancelCause.CancelCause | undefined
      /** Claimed for a step that has not been entered yet. */
      readonly claimed: ReadonlyArray<Inbox.Item>
    }
  | { readonly _tag: "Maintenance"; readonly cause: CancelCause.CancelCause | undefined }
  | { readonly _tag: "Closed" }

/** @internal */
export interface State {
  readonly phase: Phase
  readonly inbox: Inbox.Inbox
  /** The number of the last turn that was started. */
  readonly turns: number
  /** A wake that came when the activity had been cancelled, or during maintenance. */
  readonly isLatched: boolean
  readonly isDisposed: boolean
}

/**
 * How a turn ended, as far as it matters for what comes next.
 *
 * @internal
 */
export type TurnEnd = "completed" | "cancelled" | "blocked" | "failed" | "empty"

/** @internal */
export type Event =
  | { readonly _tag: "Sent"; readonly item: Inbox.Item }
  | { readonly _tag: "Cancelled"; readonly cause: CancelCause.CancelCause; readonly keepInbox: boolean }
  /** The turn asks for what its next step is to read. */
  | { readonly _tag: "Claimed"; readonly isFirstStep: boolean }
  /** Messages that were claimed have become a part of the conversation. */
  | { readonly _tag: "Read"; readonly ids: ReadonlySet<string> }
  /** The step is entered. What was claimed for it and not read was kept out. */
  | { readonly _tag: "Entered" }
  | { readonly _tag: "Withdrawn"; readonly id: string }
  /** Without an outcome where not even its start could be logged. */
  | { readonly _tag: "TurnEnded"; readonly end: TurnEnd; readonly outcome?: AgentEvent.Outcome }
  | { readonly _tag: "MaintenanceStarted" }
  | { readonly _tag: "MaintenanceEnded" }
  | { readonly _tag: "Disposed"; readonly cause: CancelCause.CancelCause }

/**
 * Why nothing came of an event. `gone`: a message to be withdrawn that does not wait.
 *
 * @internal
 */
export type Refusal = "busy" | "closed" | "gone"

/** @internal */
export type Command =
  | { readonly _tag: "Queue"; readonly item: Inbox.Item }
  /** The event came at a time when it cannot be: nothing has changed. */
  | { readonly _tag: "Refuse"; readonly because: Refusal }
  | { readonly _tag: "Cancel"; readonly cause: CancelCause.CancelCause }
  | { readonly _tag: "StartTurn"; readonly turn: number }
  | { readonly _tag: "Claim"; readonly turn: number; readonly items: ReadonlyArray<Inbox.Item> }
  | {
      readonly _tag: "Discard"
      readonly items: ReadonlyArray<Inbox.Item>
      readonly because: "cancelled" | "blocked" | "kept out"
    }
  /** As `Discard`, for somebody who relies on it. */
  | { readonly _tag: "Withdraw"; readonly items: ReadonlyArray<Inbox.Item> }
  | { readonly _tag: "PutBack"; readonly items: ReadonlyArray<Inbox.Item> }
  | {
      readonly _tag: "Park"
      readonly items: ReadonlyArray<Inbox.Item>
      readonly because: Exclude<TurnEnd, "completed">
    }
  | { readonly _tag: "End"; readonly turn: number; readonly outcome: AgentEvent.Outcome }
  /** Nothing runs any more: for whoever waits for that. */
  | { readonly _tag: "Rest" }
  | { readonly _tag: "Close" }

/** @internal */
export type Next = readonly [State, ReadonlyArray<Command>]

/** @internal */
export const initial: State = {
  phase: { _tag: "Idle" },
  inbox: Inbox.empty,
  turns: 0,
  isLatched: false,
  isDisposed: false
}

type WithItems = Extract<Command, { readonly items: ReadonlyArray<Inbox.Item> }>

const some = (command: WithItems): ReadonlyArray<Command> => (command.items.length === 0 ? [] : [command])

const startTurn = (state: State): Next => {
  const turn = state.turns + 1
  return [
    { ...state, turns: turn, isLatched: false, phase: { _tag: "Running", turn, cause: undefined, claimed: [] } },
    [{ _tag: "StartTurn", turn }]
  ]
}

/** An activity has ended: another turn begins in the same step, or the agent rests. */
const onward = (state: State, isWanted: boolean): Next => {
  if (state.isDisposed) return [{ ...state, phase: { _tag: "Closed" } }, [{ _tag: "Rest" }, { _tag: "Close" }]] // T4
  return isWanted ? startTurn(state) : [{ ...state, isLatched: false, phase: { _tag: "Idle" } }, [{ _tag: "Rest" }]] // T5
}

const sent = (state: State, item: Inbox.Item): Next => {
  const { phase } = state
  if (state.isDisposed) return [state, [{ _tag: "Refuse", because: "closed" }]] // T4
  const isActive = phase._tag === "Running" || phase._tag === "Maintenance"
  const isCancelled = phase._tag === "Running" && phase.cause !== undefined
  // The turn that it steers is over: it opens the next one.
  const queued: Inbox.Item = isCancelled && item.wakes ? { ...item, target: "turn" } : item
  const isLatched = state.isLatched || (item.wakes && (isCancelled || phase._tag === "Maintenance")) // T3
  const next = { ...state, inbox: Inbox.add(state.inbox, queued), isLatched }
  const queue: Command = { _tag: "Queue", item: queued }
  if (isActive || !item.wakes) return [next, [queue]]
  const [started, commands] = startTurn(next)
  return [started, [queue, ...commands]]
}

const cancelled = (state: State, cause: CancelCause.CancelCause, keepInbox: boolean): Next => {
  const { phase } = state
  if (phase._tag === "Idle" || phase._tag === "Closed") return [state, []] // what is parked stays
  const cancel: ReadonlyArray<Command> = phase.cause === undefined ? [{ _tag: "Cancel", cause }] : [] // T3
  const claimed = phase._tag === "Running" ? phase.claimed : []
  const stopped: Phase =
    phase._tag === "Running"
      ? { ...phase, cause: phase.cause ?? cause, claimed: [] }
      : { ...phase, cause: phase.cause ?? cause }
  if (keepInbox) {
    const next = { ...state, phase: stopped, inbox: Inbox.putBack(state.inbox, claimed) }
    return [next, [...cancel, ...some({ _tag: "PutBack", items: claimed })]]
  }
  const items = [...claimed, ...Inbox.items(state.inbox)]
  return [
    { ...state, phase: stopped, inbox: Inbox.empty, isLatched: false },
    // First the cancel: clearing may fail, and must not keep the turn running.
    [...cancel, ...some({ _tag: "Discard", items, because: "cancelled" })]
  ]
}

const claimed = (state: State, isFirstStep: boolean): Next => {
  const { phase } = state
  if (phase._tag !== "Running" || phase.cause !== undefined) return [state, []]
  const [items, inbox] = Inbox.claim(state.inbox, { isFirstStep })
  const next: State = { ...state, inbox, phase: { ...phase, claimed: [...phase.claimed, ...items] } }
  return [next, some({ _tag: "Claim", turn: phase.turn, items })]
}

const read = (state: State, ids: ReadonlySet<string>): Next => {
  const { phase } = state
  if (phase._tag !== "Running") return [state, []]
  return [{ ...state, phase: { ...phase, claimed: phase.claimed.filter(({ message }) => !ids.has(message.id)) } }, []]
}

const entered = (state: State): Next => {
  const { phase } = state
  if (phase._tag !== "Running") return [state, []]
  const keptOut = some({ _tag: "Discard", items: phase.claimed, because: "kept out" }) // T1
  return [{ ...state, phase: { ...phase, claimed: [] } }, keptOut]
}

/** What a turn has claimed is out of reach. A wake that has nothing left to run is not replayed: see `turnEnded`. */
const withdrawn = (state: State, id: string): Next => {
  if (state.isDisposed) return [state, [{ _tag: "Refuse", because: "closed" }]] // T4
  const [item, inbox] = Inbox.remove(state.inbox, id)
  return item === undefined
    ? [state, [{ _tag: "Refuse", because: "gone" }]]
    : [{ ...state, inbox }, [{ _tag: "Withdraw", items: [item] }]]
}

const turnEnded = (state: State, end: TurnEnd, outcome: AgentEvent.Outcome | undefined): Next => {
  const { phase } = state
  if (phase._tag !== "Running") return [state, []]
  // A step that was blocked has refused what it claimed; one that broke has not read it.
  const refused: ReadonlyArray<Command> =
    end === "blocked" ? some({ _tag: "Discard", items: phase.claimed, because: "blocked" }) : []
  const unread = end === "blocked" ? [] : phase.claimed
  const inbox = Inbox.putBack(state.inbox, unread)
  const waking = Inbox.items(inbox).filter(({ wakes }) => wakes)
  const isWanted =
    phase.cause !== undefined ? state.isLatched && waking.length > 0 : end === "completed" && waking.length > 0
  const [next, commands] = onward({ ...state, inbox }, isWanted)
  const because = phase.cause !== undefined || end === "completed" ? "cancelled" : end
  const parked = next.phase._tag === "Idle" ? some({ _tag: "Park", items: waking, because }) : [] // T1
  const ended: ReadonlyArray<Command> = outcome === undefined ? [] : [{ _tag: "End", turn: phase.turn, outcome }]
  return [next, [...refused, ...some({ _tag: "PutBack", items: unread }), ...parked, ...ended, ...commands]]
}

const maintenanceEnded = (state: State): Next =>
  state.phase._tag === "Maintenance"
    ? onward(state, state.isLatched && Inbox.items(state.inbox).some(({ wakes }) => wakes))
    : [state, []]

const disposed = (state: State, cause: CancelCause.CancelCause): Next => {
  if (state.isDisposed) return [state, []]
  const next = { ...state, isDisposed: true, isLatched: false } // T4
  const { phase } = state
  if (phase._tag === "Idle" || phase._tag === "Closed") return onward(next, false)
  const stopped = { ...next, phase: { ...phase, cause: phase.cause ?? cause } }
  return [stopped, phase.cause === undefined ? [{ _tag: "Cancel", cause }] : []]
}

/**
 * What an event makes of a state, and what is to be done then, in this order.
 *
 * @internal
 */
export const transition = (state: State, event: Event): Next => {
  switch (event._tag) {
    case "Sent":
      return sent(state, event.item)
    case "Cancelled":
      return cancelled(state, event.cause, event.keepInbox)
    case "Claimed":
      return claimed(state, event.isFirstStep)
    case "Read":
      return read(state, event.ids)
    case "Entered":
      return entered(state)
    case "Withdrawn":
      return withdrawn(state, event.id)
    case "TurnEnded":
      return turnEnded(state, event.end, event.outcome)
    case "MaintenanceStarted":
      return state.isDisposed || state.phase._tag !== "Idle"
        ? [state, [{ _tag: "Refuse", because: state.isDisposed ? "closed" : "busy" }]]
        : [{ ...state, phase: { _tag: "Maintenance", cause: undefined } }, []]
    case "MaintenanceEnded":
      return maintenanceEnded(state)
    case "Disposed":
      return disposed(state, event.cause)
  }
}
