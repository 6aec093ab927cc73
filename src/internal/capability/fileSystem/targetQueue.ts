/**
 * First come, first served, for each target.
 *
 * A semaphore for each key would not do. `Effect.makeSemaphore` lets a newcomer pass a waiter that has been woken and has
 * not run yet, who then goes to the end of the line; a permit is lost when the interrupt lands between taking it and the
 * frame that gives it back; and somebody has to remove it from a map at an instant at which nobody waits. `RcMap` answers
 * the last of these only. Here a turn is a ticket: who holds it is decided when it is drawn.
 *
 * Invariants
 *
 * Q1. A ticket waits for those before it that conflict with it, and for no other. So no set of tickets can wait in a
 *     circle, and a turn is never taken from somebody who came first.
 * Q2. Who is interrupted while waiting gives the ticket back in that same step, and holds up nobody from then on.
 * Q3. A ticket that was given back is not referred to: the queue holds the tickets of operations that run or wait.
 * Q4. A turn ends when what ran in it has ended, however it has (L3).
 */
import * as Effect from "effect/Effect"
import { Settlement } from "../../settlement.js"

/** Whether two targets are one, or one holds the other. */
export type Conflict = (one: string, other: string) => boolean

/** @internal */
export class Ticket {
  /** How many tickets before this one conflict with it. */
  ahead = 0
  readonly turn = new Settlement<void>()
  readonly number: number
  readonly targets: ReadonlyArray<string>

  constructor(number: number, targets: ReadonlyArray<string>) {
    this.number = number
    this.targets = targets
  }
}

/** @internal */
export class TargetQueue {
  private readonly tickets = new Set<Ticket>()
  private readonly conflict: Conflict
  private drawn = 0

  /** Without `conflict`, targets conflict when they are the same. */
  constructor(conflict: Conflict = (one, other) => one === other) {
    this.conflict = conflict
  }

  /** How many operations have their turn or wait for it. */
  get size(): number {
    return this.tickets.size
  }

  /** Draws a ticket, which must be used. */
  draw(targets: ReadonlyArray<string>): Ticket {
    const ticket = new Ticket(this.drawn++, targets)
    for (const other of this.tickets) if (this.areInConflict(other, ticket)) ticket.ahead++
    this.tickets.add(ticket)
    return ticket
  }

  /**
   * Runs `use` when it is the turn of a ticket, and tells it whether it had to wait for that.
   *
   * Must run in a protected region; `restore` is that region's, and only the wait is restored: an interruption ends it at
   * once.
   */
  useTicket<A, E, R>(
    restore: (wait: Effect.Effect<void>) => Effect.Effect<void>,
    ticket: Ticket,
    use: (hasWaited: boolean) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    const run =
      ticket.ahead === 0
        ? Effect.suspend(() => use(false))
        : Effect.flatMap(restore(ticket.turn.wait()), () => use(true)) // Q1
    return Effect.onExit(run, () => Effect.sync(() => this.giveBack(ticket))) // Q2, Q4
  }

  /** As `useTicket`, with a ticket that is drawn in the step in which this begins to run. */
  inTurn<A, E, R>(
    restore: (wait: Effect.Effect<void>) => Effect.Effect<void>,
    targets: ReadonlyArray<string>,
    use: (hasWaited: boolean) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => this.useTicket(restore, this.draw(targets), use))
  }

  private giveBack(ticket: Ticket): void {
    this.tickets.delete(ticket) // Q3
    for (const other of this.tickets) {
      if (other.number < ticket.number || !this.areInConflict(other, ticket)) continue
      if (--other.ahead === 0) other.turn.settle()
    }
  }

  private areInConflict(one: Ticket, other: Ticket): boolean {
    return one.targets.some((target) => other.targets.some((theirs) => this.conflict(target, theirs)))
  }
}
