/**
 * One at a time, first come first served: for what has no more than one user at once, such as an input or a shell.
 *
 * Who waits and is interrupted leaves the queue in the same step. Whoever has the slot gives it back when all that it did
 * in it has ended, and not before. (A semaphore of Effect lets newcomers pass: see `fileSystem/targetQueue.ts`, whose queue
 * is for many targets.)
 */
import * as Effect from "effect/Effect"
import { Settlement } from "../../settlement.js"

/** @internal */
export class Slot {
  private isTaken = false
  private readonly waiting: Array<Settlement<void>> = []

  /** Runs `use` in the slot. */
  use<A, E, R>(use: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        if (!this.isTaken) {
          this.isTaken = true
          return this.holding(restore(use))
        }
        const turn = new Settlement<void>()
        this.waiting.push(turn)
        return Effect.matchCauseEffect(restore(turn.wait()), {
          onFailure: (interruption) => {
            this.leave(turn)
            return Effect.failCause(interruption)
          },
          onSuccess: () => this.holding(restore(use))
        })
      })
    )
  }

  private holding<A, E, R>(use: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.onExit(use, () => Effect.sync(() => this.pass()))
  }

  private leave(turn: Settlement<void>): void {
    // It may have been given the slot in the moment of the interruption.
    if (turn.isSettled) this.pass()
    else this.waiting.splice(this.waiting.indexOf(turn), 1)
  }

  private pass(): void {
    const next = this.waiting.shift()
    if (next === undefined) this.isTaken = false
    else next.settle()
  }
}
