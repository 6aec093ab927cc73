/**
 * Runs the body under its wrappers.
 *
 * Invariants
 *
 * D1. Each wrapper runs on a fiber of its own, and what it runs as `next` is owned by it: when it returns, what still
 *     runs of that is stopped and awaited.
 * D2. A deadline is an owner derived for what it bounds; whether it, or something else, stopped the body is asked of
 *     that owner's first cause (L6, L7).
 * D3. What a wrapper returns and did not get from `next` is checked like the output of the tool.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as HashSet from "effect/HashSet"
import * as CancelCause from "../../CancelCause.js"
import * as Cancellation from "../../Cancellation.js"
import type * as Policy from "../../Policy.js"
import type * as ToolResult from "../../ToolResult.js"
import { failureIn } from "../cancellation/classify.js"
import { Owner, ShieldedOwner } from "../cancellation/owner.js"
import { Settlement, waitOrStop } from "../settlement.js"
import { type Origin, originOf } from "../startFiber.js"
import { startTimer } from "../timer.js"
import { startAttempt } from "./attempt.js"
import type { Attempt } from "./attemptState.js"
import type { CallState } from "./callState.js"
import { normalize } from "./normalize.js"
import type { Registered } from "./registry.js"
import { cancelledResult, policyFailure, saying, timedOut } from "./results.js"
import { called, ownedContext, type Running, settledStage, startStage } from "./stage.js"

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
  if (owner.cause !== undefined && isAround(entry))
    return settledStage<ToolResult.ToolResult>(cancelledResult(state, owner.cause)) // C3
  if (entry === undefined) return startAttempt(state, owner, origin)
  if (isAround(entry)) return startWrapper(state, index, entry, owner, origin)
  let given: number | undefined
  try {
    given = timeGiven(state, entry.policy as Policy.Timeout)
  } catch (error) {
    return settledStage<ToolResult.ToolResult>(policyFailure(state, { error, isDefect: true }))
  }
  const millis = given ?? state.tool?.tool.timeoutMillis
  return millis === undefined
    ? startNext(state, index + 1, owner, origin)
    : startBounded(state, index, millis, owner, origin)
}

/** The time that a policy has for the call. Throws where that does, or has no time that can be measured. */
const timeGiven = (state: CallState, { durationOf }: Policy.Timeout): number | undefined => {
  const own = durationOf?.(state.view)
  return own === undefined ? undefined : Cancellation.timerMillis(own, "The timeout of a call")
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

/** One run of a wrapper. */
interface Wrapping {
  /** The owner that its own operations have. */
  readonly given: Owner
  /** The owner of what it runs as `next`. The same, unless the wrapper is to finish although the call is cancelled. */
  readonly next: Owner
  /** Whether it may still run its `next`. */
  isOpen: boolean
  /** What came last of its `next`: its answer, where it is stopped before it can give one. */
  last: ToolResult.ToolResult | undefined
}

/** `next` as a wrapper gets it. */
const nextOf = (state: CallState, index: number, wrapping: Wrapping): Policy.Next =>
  Effect.withFiberRuntime((fiber, status) =>
    Effect.uninterruptibleMask((restore) => {
      if (!wrapping.isOpen) {
        return Effect.dieMessage(`"next" of call "${state.id}" was run after its wrapper had returned`) // C3
      }
      const running = startNext(
        state,
        index,
        ownerOfNext(wrapping, Cancellation.ownerIn(fiber.currentContext)),
        originOf(fiber, status)
      )
      running.settlement.whenSettled((result) => {
        wrapping.last = result
      })
      return waitOrStop(running.settlement, restore, running.stop)
    })
  ) as Policy.Next

/** The owner for a `next`: the wrapper's, or one that the wrapper derived from its own, such as a deadline. */
const ownerOfNext = ({ given, next }: Wrapping, owner: Owner): Owner => {
  if (owner === given || !owner.isUnder(given)) return next
  // A wrapper that is to finish works under an owner which the cancel does not reach; its `next` must be reached.
  if (given !== next) next.lend(owner)
  return owner
}

const startWrapper = (
  state: CallState,
  index: number,
  entry: Around,
  owner: Owner,
  origin: Origin
): Running<ToolResult.ToolResult> => {
  const finishes = entry.policy.onCancel === "finish"
  const next = new Owner(owner)
  const given = finishes ? new ShieldedOwner(owner) : next
  const wrapping: Wrapping = { given, next, isOpen: true, last: undefined }
  const stage = startStage({
    effect: Effect.suspend(() => called(() => entry.policy.wrap(state.view, nextOf(state, index + 1, wrapping)))),
    owner,
    context: Context.unsafeMake<never>(ownedContext(entry.context, given, origin)),
    origin,
    followsCancel: !finishes,
    interpret: (exit) => {
      wrapping.isOpen = false // C3
      return exit
    }
  })
  const settlement = new Settlement<ToolResult.ToolResult>()
  stage.settlement.whenSettled((exit) =>
    // What it left running of its `next` may be what it is stopped before it can answer with, so that ends first (D1).
    next.conclude(() => {
      const result = resultOf(state, owner, exit, wrapping)
      if (given === next) settlement.settle(result)
      else given.conclude(() => settlement.settle(result))
    })
  )
  // An outer wrapper that the cancel interrupts interrupts its `next` with it. One that is to finish does all the same.
  const stop = () => {
    if (!finishes || owner.cause === undefined) stage.stop()
  }
  return { settlement, stop }
}

/** What a wrapper returned, as a result of this call (D3). It may be anything, and throw when it is looked at. */
const returned = (state: CallState, value: ToolResult.ToolResult): ToolResult.ToolResult => {
  try {
    if (value._tag === "Success" || value._tag === "Failure") return normalize(state, value)
  } catch {}
  return policyFailure(state, saying("a wrapper returned something that is not a ToolResult"))
}

/** What became of a wrapper, as the result that it stands for. */
const resultOf = (
  state: CallState,
  owner: Owner,
  exit: Exit.Exit<ToolResult.ToolResult, unknown>,
  { given, last }: Wrapping
): ToolResult.ToolResult => {
  if (Exit.isSuccess(exit)) return returned(state, exit.value)
  const own = failureIn(exit.cause, owner)
  if (own !== undefined) return policyFailure(state, own) // L5
  // It was stopped before it could answer. What its `next` failed with by itself must not be hidden by that (L5).
  if (last?._tag === "Failure" && !isCancelled(last)) return last
  if (owner.cause !== undefined) return cancelledResult(state, owner.cause)
  if (last?._tag === "Failure") return last // stopped with its `next`, by an owner of its own such as a deadline
  // Owners interrupt as nobody: this one it had derived, and it was stopped before its `next` ran, or after that.
  const stoppedByItsOwn = HashSet.has(Cause.interruptors(exit.cause), FiberId.none)
  return stoppedByItsOwn && given.stoppedBelow !== undefined
    ? cancelledResult(state, given.stoppedBelow)
    : policyFailure(state, saying("a wrapper interrupted itself"))
}

const isCancelled = (result: ToolResult.Failure): boolean =>
  result.code === "ABORTED" || result.code === "ABORTED_BEFORE_DISPATCH"
