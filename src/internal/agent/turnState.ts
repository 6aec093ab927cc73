/**
 * One turn under way: its owner, its log, and how it runs what it waits for.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import type * as AgentEvent from "../../AgentEvent.js"
import type * as CancelCause from "../../CancelCause.js"
import * as Cancellation from "../../Cancellation.js"
import { Owner } from "../cancellation/owner.js"
import { runOwned } from "../cancellation/runOwned.js"
import { Settlement } from "../settlement.js"
import type { Origin } from "../startFiber.js"
import { codeOfTag, describeThrown } from "../thrown.js"
import type { Machine } from "./machine.js"

/**
 * What an outcome says of a failure.
 *
 * @internal
 */
export const describeFailure = (cause: Cause.Cause<unknown>): { readonly code: string; readonly message: string } => {
  if (Cause.isInterruptedOnly(cause)) return { code: "INTERRUPTED", message: "it interrupted itself" }
  const { code, message, name } = describeThrown(Cause.squash(cause))
  const isTyped = Option.isSome(Cause.failureOption(cause))
  return { code: code ?? (isTyped && name !== undefined ? codeOfTag(name) : "UNKNOWN"), message }
}

/** Where a turn writes: the machine knows what is owed (M6). */
type Log = Pick<Machine, "append" | "note">

/** @internal */
export class Turn {
  readonly number: number
  /** One for the whole turn: its signal is the same object for whoever looks. */
  readonly owner: Owner
  private readonly log: Log
  private readonly origin: Origin

  constructor(number: number, owner: Owner, log: Log, origin: Origin) {
    this.number = number
    this.owner = owner
    this.log = log
    this.origin = origin
  }

  get cause(): CancelCause.CancelCause | undefined {
    return this.owner.cause
  }

  append(event: AgentEvent.AgentEvent): AgentEvent.Envelope {
    return this.log.append(event)
  }

  /** Appends what holds whether it can be logged or not, such as the end of something. Gives what went wrong. */
  note(event: AgentEvent.AgentEvent): { readonly error: unknown } | undefined {
    return this.log.note(event)
  }

  /** Gives something the turn's owner, which it must not outlive. For what answers by itself when that is cancelled. */
  provide<A, E>(effect: Effect.Effect<A, E, Cancellation.Cancellation>): Effect.Effect<A, E> {
    return Effect.provideService(effect, Cancellation.Cancellation, Cancellation.toService(this.owner))
  }

  /** Ends the turn's owner, and completes when nothing that was started under it runs any more. */
  awaitQuiet(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const quiet = new Settlement<void>()
      this.owner.conclude(() => quiet.settle())
      return quiet.wait()
    })
  }

  /**
   * Runs something under the turn's owner, and completes when nothing of it runs any more. It is stopped when the turn is
   * cancelled; whoever runs it looks at `cause` then.
   */
  run<A, E>(effect: Effect.Effect<A, E, Cancellation.Cancellation>): Effect.Effect<Exit.Exit<A, E>> {
    const owner = new Owner(this.owner)
    const context = Context.make(Cancellation.Cancellation, Cancellation.toService(owner))
    return runOwned(effect, owner, context, Context.empty(), this.origin, identity)
  }
}
