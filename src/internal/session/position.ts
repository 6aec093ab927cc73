/**
 * Derives where a session stands: how many turns there were, and which input waits.
 */
import type * as AgentEvent from "../../AgentEvent.js"

/** @internal */
export interface QueuedInput {
  readonly message: AgentEvent.InputMessage
  readonly target: "step" | "turn"
  readonly wakes: boolean
  /** Why it waits until something else wakes the agent, where it does. */
  readonly parked: string | undefined
}

/** @internal */
export interface Position {
  /** The number of the last turn that began. 0: there was none. */
  readonly turn: number
  /** What waits, in the order in which it came; what went back comes first. */
  readonly queued: ReadonlyArray<QueuedInput>
}

/** In their order, by id. */
type Line = ReadonlyMap<string, QueuedInput>

/** @internal */
export class Inbox {
  private waiting = new Map<string, QueuedInput>()
  /** What the turn that is open has claimed and the model has not been shown. */
  private claimed = new Map<string, QueuedInput>()

  get queued(): ReadonlyArray<QueuedInput> {
    return [...this.waiting.values()]
  }

  get claimedIds(): ReadonlyArray<string> {
    return [...this.claimed.keys()]
  }

  add(event: AgentEvent.AgentEvent): void {
    switch (event._tag) {
      case "InputQueued": {
        const { message, target, wakes } = event
        this.waiting.set(message.id, { message, target, wakes, parked: undefined })
        break
      }
      case "InputClaimed":
        for (const [id, input] of take(this.waiting, event.ids)) this.claimed.set(id, { ...input, parked: undefined })
        break
      case "InputReturned":
        this.waiting = new Map([...take(this.claimed, event.ids), ...this.waiting])
        break
      case "InputDiscarded":
        take(this.waiting, event.ids)
        take(this.claimed, event.ids)
        break
      case "InputParked":
        for (const id of event.ids) {
          const input = this.waiting.get(id)
          if (input !== undefined) this.waiting.set(id, { ...input, parked: event.reason })
        }
        break
      case "UserMessage":
        if (event.id !== undefined) this.claimed.delete(event.id)
        break
      case "TurnEnded":
        this.claimed.clear() // a turn that was blocked let nothing in, and had its reasons
        break
    }
  }
}

/** In the order in which they are there. */
const take = (line: Map<string, QueuedInput>, ids: ReadonlyArray<string>): Line => {
  const wanted = new Set(ids)
  const taken = new Map([...line].filter(([id]) => wanted.has(id)))
  for (const id of taken.keys()) line.delete(id)
  return taken
}

/**
 * The position of a log that grows.
 *
 * @internal
 */
export class Place {
  private readonly inbox = new Inbox()
  private turn = 0

  add({ event }: AgentEvent.Envelope): void {
    if (event._tag === "TurnStarted") this.turn = event.turn
    this.inbox.add(event)
  }

  get value(): Position {
    return { turn: this.turn, queued: this.inbox.queued }
  }
}
