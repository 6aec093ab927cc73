/**
 * One attempt of a body: the handler on a started fiber of its own.
 *
 * Why a fiber for each attempt: on the calling fiber, what a body forks would outlive the call, a cancel could not stop
 * the body without losing the answer, and a body could not be timed out while its caller is in a protected region.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as ToolContext from "../../ToolContext.js"
import type * as ToolResult from "../../ToolResult.js"
import type { Bridge } from "../abort/bridge.js"
import { specificFailure } from "../cancellation/classify.js"
import type { Owner } from "../cancellation/owner.js"
import { interruptionCause } from "../cancellation/runOwned.js"
import { Settlement } from "../settlement.js"
import { type Origin, startProtectedFiber } from "../startFiber.js"
import { Attempt } from "./attemptState.js"
import type { CallState } from "./callState.js"
import type { RegisteredTool } from "./registry.js"
import { cancelledResult, failure, reported, success, unknownTool } from "./results.js"
import { called, FiberMember, ownedContext, type Running, settledStage } from "./stage.js"
import { traced } from "./telemetry.js"

/** What is known of a body until it settles. */
const unsettled: Exit.Exit<unknown, unknown> = Exit.die("the body never settled")

/** What became of a body, once it and what it forked have ended. */
const outcomeOf = (
  state: CallState,
  attempt: Attempt,
  registered: RegisteredTool,
  exit: Exit.Exit<unknown, unknown>
): ToolResult.ToolResult => {
  const { owner } = attempt
  if (Exit.isSuccess(exit)) {
    attempt.end = "completed"
    const result = success(state, registered, exit.value, attempt)
    // L7: stopped after the body had succeeded, while the fibers that it had forked were ending, it is a success.
    if (result._tag === "Failure" || owner.cause === undefined || attempt.settledInTime) return result
    return cancelledResult(state, owner.cause, attempt)
  }
  const specific = specificFailure(exit.cause, owner)
  if (specific !== undefined) {
    attempt.end = "failed"
    attempt.ownFailure = reported(specific, "TOOL_FAILURE")
    state.namedFailure = specific.error
    return failure(state, attempt.ownFailure, attempt) // L5
  }
  if (owner.cause !== undefined) return cancelledResult(state, owner.cause, attempt)
  const message = "the tool was interrupted, and nobody had cancelled it"
  return failure(state, { code: "INTERRUPTED", message }, attempt)
}

/**
 * What became of a promise that the handler had started, when its fiber has stopped waiting: it is told, and awaited
 * (L3, L4). One that had settled before it was told has what it settled with (W4).
 */
const promiseEnd = (
  attempt: Attempt,
  promise: Bridge<unknown>,
  cause: Cause.Cause<unknown>
): Effect.Effect<Exit.Exit<unknown, unknown>> => {
  promise.interrupted(interruptionCause(cause))
  return Effect.map(promise.settlement.wait(), (settled) => {
    if (settled._tag === "Resolved") return attempt.settledInTime ? Exit.succeed(settled.value) : Exit.failCause(cause)
    return promise.isCancellation(settled.error) || !Cause.isInterruptedOnly(cause)
      ? Exit.failCause(cause)
      : Exit.failCause(Cause.sequential(cause, Cause.fail(settled.error))) // L5
  })
}

/**
 * Starts the body under `owner`, unless that has been cancelled: then nothing of it runs (L10).
 *
 * @internal
 */
export const startAttempt = (state: CallState, owner: Owner, origin: Origin): Running<ToolResult.ToolResult> => {
  const { overdue } = state
  if (overdue !== undefined && owner.isUnder(overdue.owner)) overdue.owner.cancel(overdue.cause) // L7
  if (owner.cause !== undefined) return settledStage<ToolResult.ToolResult>(cancelledResult(state, owner.cause)) // C3
  const registered = state.tool
  if (registered === undefined || state.runtime.registry.tools.get(state.name) !== registered) {
    return settledStage<ToolResult.ToolResult>(unknownTool(state)) // a wrapper has taken the tool away
  }
  const attempt = new Attempt(state, owner)
  state.attempt = attempt
  state.enter("dispatching")

  const services = ownedContext(registered.context, owner, origin)
  services.set(ToolContext.ToolContext.key, attempt)
  state.runtime.provideTo(services)

  const body = Effect.suspend(() => {
    if (owner.cause !== undefined) return Effect.interrupt // C3: a tracer of the host may have cancelled it, for one
    state.dispatched = true // L2, C2: in the step of the call itself
    attempt.end = "interrupted"
    return called(() => registered.tool.handler(state.parameters))
  })
  const settlement = new Settlement<ToolResult.ToolResult>()
  const member = new FiberMember(true)
  owner.join(member)
  let exit = unsettled
  const record = (end: Exit.Exit<unknown, unknown>): Effect.Effect<void> => {
    exit = end
    attempt.close()
    attempt.promise?.leave()
    return Effect.void
  }
  // In a protected region, with an interruptible body inside: the record is made whatever happens to the fiber, and a
  // fiber that is interrupted after the last step of its body does not lose what that returned.
  const fiber = startProtectedFiber(
    Effect.matchCauseEffect(Effect.interruptible(traced(body, state, origin)), {
      onFailure: (cause) =>
        attempt.promise === undefined
          ? record(Exit.failCause(cause))
          : Effect.flatMap(promiseEnd(attempt, attempt.promise, cause), record),
      onSuccess: (value) => record(Exit.succeed(value))
    }),
    Context.unsafeMake(services),
    origin
  )
  member.started(fiber)
  // Told when the fibers that the body forked have ended too (L3).
  fiber.addObserver(() => {
    owner.leave(member)
    attempt.outcome = outcomeOf(state, attempt, registered, exit)
    settlement.settle(attempt.outcome)
  })
  return { settlement, stop: member.stop }
}
