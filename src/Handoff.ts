/**
 * Hands work over from the caller that starts it to an owner that outlives the caller.
 *
 * It is the only way in which work may outlive its caller (L9): background jobs and processes, sessions, subagents. Until
 * the commit point the caller's cancellation undoes everything, and is answered when that is done; from the commit point
 * only the new owner stops the work. There is no instant at which both own it, or nobody does.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type * as CancelCause from "./CancelCause.js"
import * as Cancellation from "./Cancellation.js"
import { interruptionCause } from "./internal/cancellation/runOwned.js"
import { Handover } from "./internal/handoff/handover.js"
import { waitOrStop } from "./internal/settlement.js"
import { originOf } from "./internal/startFiber.js"

/**
 * The owner that was to take over the work has been cancelled or has ended. Nothing of the work is left.
 *
 * @since 0.1.0
 * @category errors
 */
export class OwnerEnded extends Schema.TaggedError<OwnerEnded>("quiesce/Handoff/OwnerEnded")("OwnerEnded", {}) {
  /** The code of a call that fails with this. */
  get code(): "OWNER_ENDED" {
    return "OWNER_ENDED"
  }

  override get message(): string {
    return "The owner that was to take over this work has ended, so nothing was started: start it under one that still runs"
  }
}

/**
 * Work that has a new owner.
 *
 * @since 0.1.0
 * @category models
 */
export interface HandedOver {
  /**
   * Asks the work to stop, and says whether this was the first to do so. The first cause stays (L6). The work's scope is
   * closed, and `awaitEnd` tells when nothing is left.
   */
  readonly cancel: (cause: CancelCause.CancelCause) => boolean
  /**
   * Says, in this step, that the work is over by itself. Its scope is closed, and its signal does not abort. For the
   * callback that learns of it; further calls do nothing.
   */
  readonly finish: () => void
  /** Calls `f` when nothing of the work is left: now, if that is so already. */
  readonly whenEnded: (f: () => void) => void
  /** Completes when nothing of the work is left. An interruption ends the wait and nothing else. */
  readonly awaitEnd: Effect.Effect<void>
  /** Why the work was asked to stop, once it was. */
  readonly cause: () => CancelCause.CancelCause | undefined
  /** What could not be stopped or waited for, in words, as far as it is known by now. */
  readonly escaped: () => ReadonlyArray<string>
}

/**
 * What `make` needs to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<A, E, R, B, R2> {
  /**
   * Starts the work. It runs under an owner of the hand-over's own, on a fiber of its own, and with a scope that lives as
   * long as the work: what is to go on belongs in that scope (`Effect.forkScoped`, `Effect.acquireRelease`). A fiber that
   * it forks otherwise is stopped when it ends.
   */
  readonly start: Effect.Effect<A, E, R>
  /**
   * The commit point: makes the work known to the new owner, in one synchronous step. From here on only that owner stops
   * the work. Should it throw, the work is rolled back.
   */
  readonly publish: (work: A, handedOver: HandedOver) => B
  /** Undoes what `start` has done, as far as closing the scope does not. Runs before that, out of reach of interruption. */
  readonly rollback?: ((work: A) => Effect.Effect<void, never, R2>) | undefined
  /** The new owner, such as one that `Cancellation.ownScoped` made for the lifetime of a service. */
  readonly owner: Context.Context<Cancellation.Cancellation>
}

type Given = Cancellation.Cancellation | Scope.Scope

/**
 * Starts work and hands it over to `owner`.
 *
 * Completes with what `publish` returned when the work has been handed over. The commit point is the step in which `start`
 * ends: until it, a cancellation of the caller or of the new owner, an interruption, or a failure stops `start`, runs
 * `rollback`, closes the scope, and this completes when nothing of the work is left. From it on the caller has no part in
 * the work: an interruption that comes now undoes nothing and meets the caller when this has completed.
 *
 * A failure of `start` stays what it is. `OwnerEnded` says that the new owner was cancelled first. Under a caller that is
 * cancelled already nothing is started.
 *
 * Never left behind: work that neither owner knows of. What could not be stopped while it was rolled back is named in the
 * result of the caller's call.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Fiber } from "effect"
 * import { CancelCause, Cancellation, Handoff } from "quiesce"
 *
 * const program = Effect.gen(function* () {
 *   const owner = yield* Cancellation.ownScoped
 *   const jobs = new Map<string, Handoff.HandedOver>()
 *   // The caller ends here, the job goes on.
 *   yield* Cancellation.own(
 *     Handoff.make({
 *       owner,
 *       start: Effect.forkScoped(Effect.never),
 *       publish: (fiber, job) => {
 *         fiber.addObserver(() => job.finish())
 *         jobs.set("job-1", job)
 *       }
 *     })
 *   )
 *   const job = jobs.get("job-1")
 *   assert.ok(job !== undefined)
 *   assert.strictEqual(job.cancel(CancelCause.user()), true)
 *   yield* job.awaitEnd
 * })
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const make = <A, E, R, B, R2 = never>(
  options: Options<A, E, R, B, R2>
): Effect.Effect<B, E | OwnerEnded, Exclude<R | R2, Given> | Cancellation.Cancellation> =>
  Effect.withFiberRuntime<B, E | OwnerEnded, Exclude<R | R2, Given> | Cancellation.Cancellation>((fiber, status) =>
    Effect.uninterruptibleMask((restore) => {
      const caller = Cancellation.ownerIn(fiber.currentContext)
      const owner = Cancellation.ownerIn(options.owner)
      if (owner.isEnding || owner.cause !== undefined) return Effect.fail(new OwnerEnded()) // L10
      const handover = new Handover(caller, owner, originOf(fiber, status), Cancellation.isCleaningUp(caller, status))
      const owned = Context.add(fiber.currentContext, Cancellation.Cancellation, Cancellation.toService(handover))
      const handedOver: HandedOver = {
        cancel: (cause) => handover.cancel(cause),
        finish: () => handover.finish(),
        whenEnded: (f) => handover.ended.whenSettled(f),
        awaitEnd: Effect.suspend(() => handover.ended.waitTidily()),
        cause: () => handover.cause,
        escaped: () => handover.escaped
      }
      const outcome = handover.run<A, E, B>({
        start: (scope) =>
          Effect.provide(options.start, Context.add(owned, Scope.Scope, scope) as unknown as Context.Context<R>),
        publish: (work) => options.publish(work, handedOver),
        rollback: (work) =>
          Effect.provide(options.rollback?.(work) ?? Effect.void, owned as unknown as Context.Context<R2>)
      })
      let interruption: Cause.Cause<never> | undefined
      const settled = waitOrStop(outcome, restore, (cause) => {
        interruption = cause
        if (!handover.isCommitted) handover.cancel(interruptionCause(cause)) // L9
      })
      return Effect.flatMap(settled, (outcome): Effect.Effect<B, E | OwnerEnded> => {
        if (outcome._tag === "Committed") return Effect.succeed(outcome.value)
        const { started } = outcome
        const isItsOwn =
          Exit.isFailure(started) && (handover.cause === undefined || !Cause.isInterruptedOnly(started.cause))
        if (isItsOwn) return Effect.failCause(started.cause) // L5
        if (interruption !== undefined) return Effect.failCause(interruption)
        return caller.cause === undefined ? Effect.fail(new OwnerEnded()) : Effect.interrupt
      })
    })
  ).pipe(Cancellation.operation("hand work over"))
