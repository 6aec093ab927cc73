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

/** @internal */
export class Inbox {
  private waiting: Array<QueuedInput> = []
  /** What the turn that is open has claimed and the model has not been shown. */
  private claimed: Array<QueuedInput> = []

  get queued(): ReadonlyArray<QueuedInput> {
    return this.waiting
  }

  get claimedIds(): ReadonlyArray<string> {
    return this.claimed.map(({ message }) => message.id)
  }

  add(event: AgentEvent.AgentEvent): void {
    switch (event._tag) {
      case "InputQueued": {
        const { message, target, wakes } = event
        this.waiting.push({ message, target, wakes, parked: undefined })
        break
      }
      case "InputClaimed":
        this.claimed.push(...this.take("waiting", event.ids).map((input) => ({ ...input, parked: undefined })))
        break
      case "InputReturned":
        this.waiting.unshift(...this.take("claimed", event.ids))
        break
      case "InputDiscarded":
        this.take("waiting", event.ids)
        this.take("claimed", event.ids)
        break
      case "InputParked":
        this.waiting = this.waiting.map((input) =>
          event.ids.includes(input.message.id) ? { ...input, parked: event.reason } : input
        )
        break
      case "UserMessage":
        if (event.id !== undefined) this.take("claimed", [event.id])
        break
      case "TurnEnded":
        this.claimed = [] // a turn that was blocked let nothing in, and had its reasons
        break
    }
  }

  private take(list: "waiting" | "claimed", ids: ReadonlyArray<string>): ReadonlyArray<QueuedInput> {
    const isTaken = ({ message }: QueuedInput): boolean => ids.includes(message.id)
    const taken = this[list].filter(isTaken)
    this[list] = this[list].filter((input) => !isTaken(input))
    return taken
  }
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
    return { turn: this.turn, queued: [...this.inbox.queued] }
  }
}
