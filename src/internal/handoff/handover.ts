/**
 * One hand-over: from the step in which its work is started until nothing of that work is left.
 *
 * Invariants
 *
 * H1. Until the commit the work follows two owners, its caller and the one it is meant for. From the commit on it follows
 *     the latter alone (L9).
 * H2. The commit is one synchronous step, the one in which `start` ends. It is taken only while nobody has cancelled the
 *     work: the caller is let go and the work is published.
 * H3. Work that was not committed is rolled back, and whoever waits for the hand-over hears of it only after that (L3).
 * H4. However the work ends, its scope is closed first, then what still runs under it is stopped and awaited, and then it
 *     leaves its owner. Once.
 * H5. Work that ended by itself has no cause: its signal is never aborted by success (L10).
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Scope from "effect/Scope"
import type * as CancelCause from "../../CancelCause.js"
import { type Member, Owner } from "../cancellation/owner.js"
import { report } from "../report.js"
import { Settlement } from "../settlement.js"
import { type Origin, startFiber, startProtectedFiber } from "../startFiber.js"

/** What became of a hand-over. */
type Outcome<B, E> =
  | { readonly _tag: "Committed"; readonly value: B }
  | { readonly _tag: "RolledBack"; readonly started: Exit.Exit<unknown, E> }

interface Steps<A, E, B> {
  readonly start: (scope: Scope.Scope) => Effect.Effect<A, E>
  readonly publish: (work: A) => B
  readonly rollback: (work: A) => Effect.Effect<void>
}

/** @internal */
export class Handover extends Owner {
  /** Settles when nothing of the work is left. */
  readonly ended = new Settlement<void>()
  private readonly caller: Owner
  private readonly origin: Origin
  private readonly follower: Member
  private phase: "starting" | "committed" | "ending" = "starting"
  private wasCommitted = false
  private scope: Scope.CloseableScope | undefined

  /** `isCleaningUp`: the caller has been cancelled, and what it does now is clean-up that its cause must not reach. */
  constructor(caller: Owner, owner: Owner, origin: Origin, isCleaningUp: boolean) {
    super(owner)
    this.caller = caller
    this.origin = origin
    this.follower = {
      cancelled: (cause) => void (isCleaningUp || this.cancel(cause)),
      stop: () => isCleaningUp || this.stop()
    }
    caller.join(this.follower) // H1
  }

  get isCommitted(): boolean {
    return this.wasCommitted
  }

  override cancel(cause: CancelCause.CancelCause): boolean {
    const isFirst = super.cancel(cause)
    if (this.phase === "committed") this.finish()
    return isFirst
  }

  /** Runs `start`, and settles once the work is committed, or rolled back and gone. */
  run<A, E, B>(steps: Steps<A, E, B>): Settlement<Outcome<B, E>> {
    const outcome = new Settlement<Outcome<B, E>>()
    const start = Effect.flatMap(Scope.make(), (scope) => {
      this.scope = scope
      return steps.start(scope)
    })
    const fiber = startFiber(start, Context.empty(), this.origin)
    const interrupt = () => fiber.unsafeInterruptAsFork(FiberId.none)
    const starting: Member = { cancelled: interrupt, stop: interrupt }
    this.join(starting)
    const rollBack = (started: Exit.Exit<unknown, E>, undo: Effect.Effect<void> = Effect.void) => {
      this.finish(undo)
      this.ended.whenSettled(() => outcome.settle({ _tag: "RolledBack", started })) // H3
    }
    fiber.addObserver((exit) => {
      this.leave(starting)
      if (Exit.isFailure(exit)) return rollBack(exit)
      if (this.cause !== undefined) return rollBack(exit, steps.rollback(exit.value)) // H2
      this.caller.leave(this.follower) // H1: the commit point is this step
      this.wasCommitted = true
      let value: B
      try {
        value = steps.publish(exit.value)
      } catch (defect) {
        this.wasCommitted = false
        return rollBack(Exit.die(defect), steps.rollback(exit.value))
      }
      // Whoever cancels it while it is being published, or says that it is over, speaks to the new owner's work.
      if (this.phase === "starting") this.phase = "committed"
      if (this.cause !== undefined) this.finish()
      outcome.settle({ _tag: "Committed", value })
    })
    return outcome
  }

  /** Ends the work, after `undo`. Again and again it is the same as once. */
  finish(undo: Effect.Effect<void> = Effect.void): void {
    if (this.phase === "ending") return // H4
    this.phase = "ending"
    const close = Effect.suspend(() => (this.scope === undefined ? Effect.void : Scope.close(this.scope, Exit.void)))
    startProtectedFiber(Effect.ensuring(undo, close), Context.empty(), this.origin).addObserver((exit) => {
      if (Exit.isFailure(exit)) this.recordDefect(Cause.squash(exit.cause)) // it has no typed failure
      this.conclude(() => this.tell())
    })
  }

  // What nobody has seen goes to the caller as long as that waits, and never up to the new owner, where it would pile up.
  protected override bequeath(): void {
    if (this.wasCommitted) return
    this.bequeathTo(this.caller)
    this.caller.leave(this.follower)
  }

  private tell(): void {
    if (this.wasCommitted) {
      for (const error of this.lateFailures) {
        const cause = this.lateDefects.includes(error) ? Cause.die(error) : Cause.fail(error)
        report("Work that was handed over failed while it was being ended", cause, this.origin)
      }
    }
    this.ended.settle()
  }
}
