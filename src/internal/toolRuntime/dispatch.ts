/**
 * Runs the body under its wrappers.
 *
 * Invariants
 *
 * D1. Each wrapper that waits runs on a fiber of its own, except that wrappers which are interrupted together share one.
 * D2. A deadline is an owner derived for what it bounds; whether it, or something else, stopped the body is asked of
 *     that owner's first cause (L6, L7).
 * D3. What a wrapper returns and did not get from `next` is checked like the output of the tool.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as CancelCause from "../../CancelCause.js"
import * as Cancellation from "../../Cancellation.js"
import type * as Policy from "../../Policy.js"
import type * as ToolResult from "../../ToolResult.js"
import { specificFailure } from "../cancellation/classify.js"
import { Owner, ShieldedOwner } from "../cancellation/owner.js"
import { Settlement, waitOrStop } from "../settlement.js"
import { type Origin, originOf } from "../startFiber.js"
import { startTimer } from "../timer.js"
import { startAttempt } from "./attempt.js"
import type { Attempt } from "./attemptState.js"
import type { CallState } from "./callState.js"
import { normalize } from "./normalize.js"
import type { Registered } from "./registry.js"
import { aborted, policyFailure, timedOut } from "./results.js"
import { called, concluding, inContext, ownedContext, type Running, startStage } from "./stage.js"

type Around = Registered<Policy.Around<never>>

const isAround = (entry: Registered<Policy.Around<never> | Policy.Timeout> | undefined): entry is Around =>
  entry?.policy._tag === "Around"

/**
 * Starts the policies from the `index`th on and, innermost, the body.
 *
 * @internal
 */
export const startNext = (
  state: CallState,
  index: number,
  owner: Owner,
  origin: Origin
): Running<ToolResult.ToolResult> => {
  const entry = state.policies.around[index]
  if (entry === undefined) return startAttempt(state, owner, origin)
  if (isAround(entry)) return startWrapper(state, index, entry, owner, origin)
  const millis = state.tool?.tool.timeoutMillis
  return millis === undefined
    ? startNext(state, index + 1, owner, origin)
    : startBounded(state, index, millis, owner, origin)
}

/** The attempt that a deadline bounds, if one has begun. */
const attemptUnder = (state: CallState, owner: Owner): Attempt | undefined =>
  state.attempt?.owner.isUnder(owner) === true ? state.attempt : undefined

/** Whether the body has succeeded, and no other attempt runs. */
const isOnlyWrapperSlow = (state: CallState, owner: Owner): boolean => {
  for (let attempt = state.latest; attempt !== undefined; attempt = attempt.previous)
    if (attempt.outcome === undefined && attempt.owner.isUnder(owner)) return false
  return attemptUnder(state, owner)?.outcome?._tag === "Success"
}

const startBounded = (
  state: CallState,
  index: number,
  millis: number,
  owner: Owner,
  origin: Origin
): Running<ToolResult.ToolResult> => {
  const bounded = new Owner(owner) // D2
  const expiry = CancelCause.deadline("TOOL_TIMEOUT", millis)
  bounded.deadlineAt = Math.min(bounded.deadlineAt ?? Number.POSITIVE_INFINITY, state.now() + millis)
  const inner = startNext(state, index + 1, bounded, origin)
  // A body that ended at once needs no timer: none could have fired.
  const disarm = inner.settlement.isSettled
    ? undefined
    : startTimer(origin, millis, () => {
        if (isOnlyWrapperSlow(state, bounded))
          state.overdue = { owner: bounded, cause: expiry } // L7
        else bounded.cancel(expiry)
      })
  const settlement = new Settlement<ToolResult.ToolResult>()
  inner.settlement.whenSettled((result) => {
    disarm?.()
    bounded.conclude(() => settlement.settle(bounded.cause === expiry ? expired(state, bounded, expiry) : result))
  })
  return { settlement, stop: inner.stop }
}

const expired = (state: CallState, bounded: Owner, expiry: CancelCause.CancelCause): ToolResult.ToolResult => {
  const attempt = attemptUnder(state, bounded)
  // L7: a body that had failed by itself in time, and was only waiting to be tried again, keeps that failure.
  return attempt?.outcome !== undefined && attempt.settledInTime
    ? attempt.outcome
    : timedOut(state, expiry as Extract<CancelCause.CancelCause, { readonly _tag: "Deadline" }>, attempt)
}

/** `next` as a wrapper gets it. */
const nextOf = (state: CallState, index: number, owner: Owner, given: Owner): Policy.Next =>
  Effect.withFiberRuntime((fiber, status) =>
    Effect.uninterruptibleMask((restore) => {
      if (!state.nextIsOpen) {
        return Effect.dieMessage(`"next" of call "${state.id}" was run after its wrapper had returned`) // C3
      }
      const inContext = Cancellation.ownerIn(fiber.currentContext)
      const derived = inContext !== given && inContext.isUnder(given)
      const running = startNext(
        state,
        index,
        derived ? followBoth(inContext, owner, given) : owner,
        originOf(fiber, status)
      )
      const waiting = waitOrStop(running.settlement, restore, running.stop)
      if (!derived) return waiting
      return Effect.map(waiting, (result) => {
        // Stopped by the wrapper's own owner, which interrupts the wrapper next: nobody else may see this result.
        if (inContext.cause !== undefined && owner.cause === undefined) state.stoppedNext = result
        return result
      })
    })
  ) as Policy.Next

/** The owner for a `next` that a wrapper runs under one of its own, such as a deadline. */
const followBoth = (derived: Owner, owner: Owner, given: Owner): Owner => {
  // A wrapper that is to finish works under an owner which the cancel does not reach; its `next` must be reached.
  if (given !== owner) owner.lend(derived)
  return derived
}

// Wrappers next to each other that are interrupted together run as one effect on one fiber (D1).
const wrapperEffect = (
  state: CallState,
  index: number,
  entry: Around,
  owner: Owner,
  given: Owner
): Effect.Effect<ToolResult.ToolResult, unknown> => {
  const following = state.policies.around[index + 1]
  const inner =
    entry.policy.onCancel === "interrupt" && isAround(following) && following.policy.onCancel === "interrupt"
      ? Effect.map(
          Effect.exit(
            inContext(wrapperEffect(state, index + 1, following, owner, given), following.context, entry.context)
          ),
          (exit) => resultOf(state, owner, exit)
        )
      : nextOf(state, index + 1, owner, given)
  return Effect.suspend(() => called(() => entry.policy.wrap(state.view, inner)))
}

const startWrapper = (
  state: CallState,
  index: number,
  entry: Around,
  owner: Owner,
  origin: Origin
): Running<ToolResult.ToolResult> => {
  const finishes = entry.policy.onCancel === "finish"
  const given = finishes ? new ShieldedOwner(owner) : owner
  const stage = startStage({
    effect: wrapperEffect(state, index, entry, owner, given),
    owner,
    context: Context.unsafeMake<never>(ownedContext(entry.context, given, origin)),
    origin,
    followsCancel: !finishes,
    interpret: (exit) => resultOf(state, owner, exit)
  })
  if (given === owner) return stage
  // An outer wrapper that the cancel interrupts interrupts its `next` with it. This one is to finish all the same.
  const stop = () => {
    if (owner.cause === undefined) stage.stop()
  }
  return concluding(given, { settlement: stage.settlement, stop })
}

/** What a wrapper returned, as a result of this call (D3). It may be anything, and throw when it is looked at. */
const returned = (state: CallState, value: ToolResult.ToolResult): ToolResult.ToolResult => {
  try {
    if (value._tag === "Success" || value._tag === "Failure") return normalize(state, value)
  } catch {}
  return policyFailure(state, new Error("a wrapper returned something that is not a ToolResult"))
}

/** What became of a wrapper, as the result that it stands for. */
const resultOf = (
  state: CallState,
  owner: Owner,
  exit: Exit.Exit<ToolResult.ToolResult, unknown>
): ToolResult.ToolResult => {
  if (Exit.isSuccess(exit)) return returned(state, exit.value)
  const specific = specificFailure(exit.cause, owner)
  if (specific !== undefined) return policyFailure(state, specific.error) // L5
  if (owner.cause === undefined) {
    return state.stoppedNext ?? policyFailure(state, new Error("a wrapper interrupted itself"))
  }
  // The wrapper was stopped before it could answer. What failed by itself meanwhile must not be hidden by that.
  if (state.lateFailure !== undefined) return state.lateFailure
  const late = state.attempt
  return late?.outcome !== undefined && !late.settledInTime && late.ownFailure !== undefined
    ? late.outcome
    : aborted(state, owner.cause)
}
