/**
 * Drives one call through its phases. Read this file first: it is the order of everything.
 *
 * The driver runs in a protected region of the calling fiber (or on a fiber of its own, for `start`) and only ever waits.
 * Being interrupted while it waits cancels the call's owner, nothing else: what is then stopped, and what counts, is the
 * same as for every other way of cancelling. The two roads of laws.md meet in `awaitStage`.
 */
import * as Effect from "effect/Effect"
import type * as CancelCause from "../../CancelCause.js"
import type * as ToolCall from "../../ToolCall.js"
import type * as ToolResult from "../../ToolResult.js"
import { type Owner, ShieldedOwner } from "../cancellation/owner.js"
import { interruptionCause } from "../cancellation/runOwned.js"
import { invariant } from "../invariant.js"
import { Settlement, waitOrStop } from "../settlement.js"
import type { CallState } from "./callState.js"
import { startNext } from "./dispatch.js"
import { gate } from "./gate.js"
import { decode, type Early, gateCancelled, takeIn } from "./intake.js"
import { revise } from "./normalize.js"
import { finalize, startObservers } from "./publish.js"
import { aborted } from "./results.js"
import { startReview } from "./review.js"
import type { Running } from "./stage.js"

/** @internal */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Runs a call to its published result. Must run in a protected region, whose `restore` is given.
 *
 * @internal
 */
export const drive = (
  state: CallState,
  call: ToolCall.ToolCall,
  restore: Restore
): Effect.Effect<ToolResult.ToolResult> => {
  const awaitStage = <A>(running: Running<A>): Effect.Effect<A> =>
    waitOrStop(running.settlement, restore, (interruption) => state.cancel(interruptionCause(interruption)))

  // A pending interrupt is looked for before anything starts (L10): reading the parameters may have raised it.
  const unlessInterrupted = <A>(go: () => Effect.Effect<A>): Effect.Effect<A> =>
    Effect.matchCauseEffect(restore(Effect.void), {
      onSuccess: go,
      onFailure: (interruption) => {
        state.cancel(interruptionCause(interruption))
        return go()
      }
    })

  const dispatch = (): Effect.Effect<ToolResult.ToolResult> => {
    state.enter("gated")
    if (state.owner.cause !== undefined) return settle(state, aborted(state, state.owner.cause))
    return Effect.flatMap(awaitStage(startNext(state, 0, state.owner, state.origin)), (result) => settle(state, result))
  }

  const decided = (): Effect.Effect<ToolResult.ToolResult> =>
    Effect.flatMap(gate(state, awaitStage), (verdict) => {
      switch (verdict._tag) {
        case "Allowed":
          return state.policies.before.length === 0 ? dispatch() : unlessInterrupted(dispatch)
        case "Refused":
          return settle(state, verdict.result)
        case "Cancelled":
          return settle(state, aborted(state, causeOf(state)))
      }
    })

  const conclude = (result: ToolResult.ToolResult, reviewed: boolean): Effect.Effect<ToolResult.ToolResult> =>
    Effect.flatMap(reviewed ? review(state, result, awaitStage) : Effect.succeed(result), (reviewed) =>
      publish(state, reviewed, awaitStage)
    )

  const early = takeIn(state, call)
  if (early !== undefined) return concludeEarly(state, early, conclude)
  return unlessInterrupted(() => {
    const early = gateCancelled(state) ?? decode(state)
    if (early !== undefined) return concludeEarly(state, early, conclude)
    return Effect.flatMap(decided(), (result) => conclude(result, result !== state.unreviewed))
  })
}

const causeOf = (state: CallState): CancelCause.CancelCause => {
  const { cause } = state.owner
  invariant(cause !== undefined, "the gate called a call cancelled that is not")
  return cause
}

const concludeEarly = (
  state: CallState,
  early: Early,
  conclude: (result: ToolResult.ToolResult, reviewed: boolean) => Effect.Effect<ToolResult.ToolResult>
): Effect.Effect<ToolResult.ToolResult> =>
  Effect.flatMap(settle(state, early.result), (result) => conclude(result, early.reviewed))

/** Stops what still runs of the call and waits for it (L3): attempts that a wrapper left, daemons, callbacks. */
const settle = (state: CallState, result: ToolResult.ToolResult): Effect.Effect<ToolResult.ToolResult> => {
  state.nextIsOpen = false // C3
  const quiet = new Settlement<ToolResult.ToolResult>()
  state.owner.quiesce(() => {
    state.enter("settled")
    quiet.settle(orAborted(state, result)) // C4
  })
  return quiet.wait()
}

/** Only a success gives way to a cancellation; whatever failed keeps its failure (L5). */
const orAborted = (state: CallState, result: ToolResult.ToolResult): ToolResult.ToolResult => {
  const { cause } = state.owner
  if (result._tag === "Failure" || cause === undefined) return result
  return withContextsOf(state, result, aborted(state, cause, state.made.get(result)))
}

const withContextsOf = (
  state: CallState,
  result: ToolResult.ToolResult,
  abortedResult: ToolResult.Failure
): ToolResult.ToolResult =>
  result.contexts === abortedResult.contexts
    ? abortedResult
    : revise(state, abortedResult, { contexts: result.contexts })

/** Under an owner that the call's cancellation does not touch and the caller's owner waits for. */
const underReviewOwner = <A>(
  state: CallState,
  start: (owner: Owner) => Running<A>,
  awaitStage: (running: Running<A>) => Effect.Effect<A>
): Effect.Effect<A> => {
  const owner = new ShieldedOwner(state.caller)
  const ended = new Settlement<A>()
  const running = start(owner)
  running.settlement.whenSettled((value) => {
    owner.quiesce(() => {
      for (const what of owner.escaped) state.owner.recordEscape(what)
      owner.end()
      ended.settle(value)
    })
  })
  return awaitStage({ settlement: ended, stop: running.stop })
}

const review = (
  state: CallState,
  result: ToolResult.ToolResult,
  awaitStage: <A>(running: Running<A>) => Effect.Effect<A>
): Effect.Effect<ToolResult.ToolResult> => {
  if (state.policies.after.length === 0) return Effect.succeed(result)
  return Effect.map(
    underReviewOwner(state, (owner) => startReview(state, owner, result), awaitStage),
    (reviewed) => orAborted(state, reviewed)
  )
}

/** Fixes the result, tells the observers, and lets go of the call (L1, C1). */
const publish = (
  state: CallState,
  reviewed: ToolResult.ToolResult,
  awaitStage: <A>(running: Running<A>) => Effect.Effect<A>
): Effect.Effect<ToolResult.ToolResult> => {
  state.enter("reviewed")
  const result = finalize(state, reviewed)
  const release = (): ToolResult.ToolResult => {
    state.result = result
    state.enter("published")
    state.owner.end()
    state.runtime.published(state, result)
    return result
  }
  if (state.policies.observers.length === 0) return Effect.succeed(release())
  return Effect.map(
    underReviewOwner(state, (owner) => startObservers(state, owner, result), awaitStage),
    release
  )
}
