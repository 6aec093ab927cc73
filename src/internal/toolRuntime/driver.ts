/**
 * Drives one call through its phases. Read this file first: it is the order of everything.
 *
 * The driver runs in a protected region of the calling fiber (or on a fiber of its own, for `start`) and only ever waits.
 * Being interrupted while it waits cancels the call's owner, nothing else: what is then stopped, and what counts, is the
 * same as for every other way of cancelling. The two roads of docs/design.md meet in `awaitStage`.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type * as ToolCall from "../../ToolCall.js"
import type * as ToolResult from "../../ToolResult.js"
import { type Owner, ShieldedOwner } from "../cancellation/owner.js"
import { interruptionCause } from "../cancellation/runOwned.js"
import { invariant } from "../invariant.js"
import { Settlement, waitOrStop } from "../settlement.js"
import type { CallState } from "./callState.js"
import { startNext } from "./dispatch.js"
import { gate, type Verdict } from "./gate.js"
import { decode, type Early, gateCancelled, takeIn } from "./intake.js"
import { revise, upToDate } from "./normalize.js"
import { finalize, startObservers } from "./publish.js"
import { cancelledResult, failure } from "./results.js"
import { startReview } from "./review.js"
import type { Running } from "./stage.js"

/** @internal */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

type Result = Effect.Effect<ToolResult.ToolResult>

/**
 * Runs a call to its published result. Must run in a protected region, whose `restore` is given.
 *
 * @internal
 */
export const drive = (state: CallState, call: ToolCall.ToolCall, restore: Restore): Result =>
  new Driver(state, restore).run(call)

/** As `flatMap`. What is there already needs no interpreter: most calls wait for nothing but their body. */
const andThen = <A, B>(effect: Effect.Effect<A>, f: (value: A) => Effect.Effect<B>): Effect.Effect<B> => {
  const known = effect as Effect.Effect<A> | Exit.Exit<A>
  return "_tag" in known && known._tag === "Success" ? f(known.value) : Effect.flatMap(effect, f)
}

class Driver {
  private readonly state: CallState
  private readonly restore: Restore

  constructor(state: CallState, restore: Restore) {
    this.state = state
    this.restore = restore
  }

  /** A defect of ours must not leave a call without a result, or its owner without an end (L1). */
  run(call: ToolCall.ToolCall): Result {
    return Effect.catchAllCause(
      Effect.suspend(() => this.drive(call)),
      (cause) => {
        const { state } = this
        state.runtime.log(
          state,
          "A call could not be driven to its end; this is a bug in quiesce, please report it",
          cause
        )
        const message = "the outcome of the call is not known, because of a bug in quiesce"
        const result = failure(state, { code: "OUTCOME_UNKNOWN", message })
        return andThen(this.settle(result), (settled) => {
          state.enter("reviewed")
          return this.tell(settled)
        })
      }
    )
  }

  private drive(call: ToolCall.ToolCall): Result {
    const { state } = this
    const early = takeIn(state, call)
    state.noteStart()
    if (early !== undefined) return this.finish(early)
    return this.unlessInterrupted(() => {
      const early = gateCancelled(state) ?? decode(state)
      if (early !== undefined) return this.finish(early)
      return andThen(gate(state, this.awaitStage), (verdict) => this.decided(verdict))
    })
  }

  private decided(verdict: Verdict): Result {
    switch (verdict._tag) {
      case "Allowed":
        // Without a policy that was asked nothing has run since the last look.
        return this.state.policies.before.length + this.state.policies.guards.length === 0
          ? this.dispatch()
          : this.unlessInterrupted(() => this.dispatch())
      case "Refused":
        return this.finish({ result: verdict.result, reviewed: verdict.result !== this.state.unreviewed })
      case "Cancelled":
        return this.finishCancelled()
    }
  }

  private dispatch(): Result {
    const { state } = this
    state.enter("gated")
    const running = startNext(state, 0, state.owner, state.origin)
    state.lane?.gated()
    return andThen(this.awaitStage(running), (result) => this.finish({ result, reviewed: result !== state.unreviewed }))
  }

  private finishCancelled(): Result {
    const { cause } = this.state.owner
    invariant(cause !== undefined, "a call that nobody cancelled was to end as cancelled")
    return this.finish({ result: cancelledResult(this.state, cause), reviewed: true })
  }

  private finish({ result, reviewed }: Early): Result {
    return andThen(this.settle(result), (settled) =>
      andThen(this.awaitTurn(settled), () =>
        andThen(reviewed ? this.review(settled) : Effect.succeed(settled), (final) => this.publish(final))
      )
    )
  }

  /** In a batch, waits until those before it have their results. */
  private awaitTurn(settled: ToolResult.ToolResult): Effect.Effect<void> {
    const { lane } = this.state
    if (lane === undefined) return Effect.void
    this.state.isKept = lane.keepsFinished && settled._tag === "Success" // L8: it had settled before any cancel
    lane.settled()
    return this.awaitStage({ settlement: lane.turn, stop: () => {} })
  }

  /** Stops what still runs of the call and waits for it (L3): attempts that a wrapper left, daemons, callbacks. */
  private settle(result: ToolResult.ToolResult): Result {
    const { state } = this
    return andThen(this.quiet(), () => {
      state.enter("settled") // C4
      return Effect.succeed(this.orCancelled(upToDate(state, result)))
    })
  }

  private review(result: ToolResult.ToolResult): Result {
    if (this.state.policies.after.length === 0) return Effect.succeed(result)
    return andThen(
      this.underReviewOwner((owner) => startReview(this.state, owner, result)),
      (reviewed) => Effect.succeed(this.orCancelled(reviewed))
    )
  }

  /** Fixes the result. While it was reviewed, a daemon may have started something new: that ends first (C4). */
  private publish(reviewed: ToolResult.ToolResult): Result {
    return andThen(this.quiet(), () => {
      const result = this.orCancelled(reviewed) // a cancel may have come while that ended
      this.state.enter("reviewed")
      return this.tell(finalize(this.state, result))
    })
  }

  /** Tells the observers, and lets go of the call (L1, C1). */
  private tell(result: ToolResult.ToolResult): Result {
    const { state } = this
    const release = (): Result =>
      andThen(this.quiet(), () => {
        state.enter("published")
        for (const error of state.owner.lateFailures) {
          if (error === state.namedFailure) continue
          state.runtime.log(state, "An operation failed while it was being cancelled", Cause.fail(error)) // L5
        }
        // The body that made this call is not quiet as long as what escaped from here runs (L4).
        if (state.body !== undefined) for (const what of state.owner.escaped) state.caller.recordEscape(what)
        state.owner.end()
        state.noteEnd(result)
        state.forget()
        state.runtime.published(state, result)
        return Effect.succeed(result)
      })
    if (state.policies.observers.length === 0) return release()
    return andThen(
      this.underReviewOwner((owner) => startObservers(state, owner, result)),
      release
    )
  }

  /** Stops what still runs under the call's owner, and waits for it. */
  private quiet(): Effect.Effect<void> {
    const quiet = new Settlement<void>()
    this.state.owner.quiesce(() => quiet.settle())
    return quiet.isSettled ? Effect.void : this.awaitStage({ settlement: quiet, stop: () => {} })
  }

  /** Waits for a stage. An interruption of the wait is one more way to cancel the call. */
  private readonly awaitStage = <A>(running: Running<A>): Effect.Effect<A> =>
    waitOrStop(running.settlement, this.restore, (interruption) => this.interrupted(interruption))

  /**
   * A pending interrupt is looked for before anything starts (L10): reading the parameters may have raised it. It counts
   * if the caller's region is interruptible.
   */
  private unlessInterrupted(go: () => Result): Result {
    return Effect.withFiberRuntime((fiber) => {
      // Read, not run into by restoring that region: this is one operation for every call, and that is five.
      const interruption = fiber.getFiberRef(FiberRef.interruptedCause)
      const counts = RuntimeFlags.interruptible(this.state.origin.runtimeFlags)
      if (counts && !Cause.isEmpty(interruption)) this.interrupted(interruption)
      return go()
    })
  }

  private interrupted(interruption: Cause.Cause<never>): void {
    this.state.owner.cancel(interruptionCause(interruption))
  }

  /** Only a success gives way to a cancellation; whatever failed keeps its failure (L5). */
  private orCancelled(result: ToolResult.ToolResult): ToolResult.ToolResult {
    const { state } = this
    const { cause } = state.owner
    if (result._tag === "Failure" || cause === undefined || state.isKept) return result
    return revise(state, cancelledResult(state, cause, state.made.get(result)), { contexts: result.contexts }) // L12
  }

  /** Runs a stage that the call's cancellation does not touch, and that the caller's owner waits for. */
  private underReviewOwner<A>(start: (owner: Owner) => Running<A>): Effect.Effect<A> {
    const owner = new ShieldedOwner(this.state.caller)
    const ended = new Settlement<A>()
    const running = start(owner)
    running.settlement.whenSettled((value) => {
      owner.conclude(() => {
        for (const what of owner.escaped) this.state.owner.recordEscape(what)
        ended.settle(value)
      })
    })
    return this.awaitStage({ settlement: ended, stop: running.stop })
  }
}
