/**
 * Asks everybody who may say no: `before` policies in order, then a person where one of them wants that, then guards.
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { isString } from "effect/Predicate"
import type { Cancellation } from "../../Cancellation.js"
import type { Answer } from "../../capability/Approval.js"
import type * as Policy from "../../Policy.js"
import type * as ToolResult from "../../ToolResult.js"
import { type Specific, specificFailure } from "../cancellation/classify.js"
import { ShieldedOwner } from "../cancellation/owner.js"
import type { CallState } from "./callState.js"
import type { Registered } from "./registry.js"
import { failure, policyFailure, saying } from "./results.js"
import { called, concluding, inContext, ownedContext, type Running, readyValue, startStage } from "./stage.js"

/**
 * What the gate says. `Cancelled` leaves the result to whoever knows the cause.
 *
 * @internal
 */
export type Verdict =
  | { readonly _tag: "Allowed" }
  | { readonly _tag: "Refused"; readonly result: ToolResult.ToolResult }
  | { readonly _tag: "Cancelled" }

const allowed: Verdict = { _tag: "Allowed" }
const cancelled: Verdict = { _tag: "Cancelled" }

const denied = (state: CallState, reason: string): Verdict => ({
  _tag: "Refused",
  result: failure(state, { code: "DENIED", message: reason })
})

const broken = (state: CallState, specific: Specific): Verdict => ({
  _tag: "Refused",
  result: policyFailure(state, specific)
})

type Before = Registered<Policy.Before<never>>
type Await = <A>(running: Running<A>) => Effect.Effect<A>

/** Whether a policy has decided. What is no decision allows nothing, however it came about. */
const isDecision = (u: unknown): u is Policy.Decision => {
  try {
    const { _tag, reason } = u as { readonly _tag: unknown; readonly reason: unknown }
    return (
      _tag === "Allow" ||
      (_tag === "Deny" && isString(reason)) ||
      (_tag === "Ask" && (reason === undefined || isString(reason)))
    )
  } catch {
    return false // there was nothing to look at, or looking at it threw
  }
}

/**
 * Runs the gate. `awaitStage` waits for a stage on the calling fiber.
 *
 * @internal
 */
export const gate = (state: CallState, awaitStage: Await): Effect.Effect<Verdict> =>
  askPolicies(state, awaitStage, 0, undefined)

const askPolicies = (
  state: CallState,
  awaitStage: Await,
  from: number,
  asked: Extract<Policy.Decision, { readonly _tag: "Ask" }> | undefined
): Effect.Effect<Verdict> => {
  const policies = state.policies.before
  let ask = asked
  for (let i = from; i < policies.length; i++) {
    if (state.isCancelled) return Effect.succeed(cancelled) // C3: nobody else is asked
    const entry = policies[i] as Before
    const decision = called(() => entry.policy.decide(state.view))
    const ready = readyValue(decision)
    if (ready !== undefined && isDecision(ready)) {
      if (ready._tag === "Deny") return Effect.succeed(denied(state, ready.reason))
      if (ready._tag === "Ask") ask ??= ready
      continue
    }
    let end = i + 1
    while (policies[end]?.policy.onCancel === entry.policy.onCancel) end++
    const group = startGroup(state, policies.slice(i, end), decision)
    return Effect.flatMap(awaitStage(group), (outcome) => {
      if (outcome._tag !== "Deciding") return Effect.succeed(outcome)
      return askPolicies(state, awaitStage, end, ask ?? outcome.ask)
    })
  }
  return ask === undefined ? Effect.succeed(guarded(state)) : askPerson(state, awaitStage, ask)
}

interface Deciding {
  readonly _tag: "Deciding"
  readonly ask: Extract<Policy.Decision, { readonly _tag: "Ask" }> | undefined
}

// Policies that meet a cancel alike share a fiber. `first` is the decision of the first, called already.
const startGroup = (
  state: CallState,
  group: ReadonlyArray<Before>,
  first: Effect.Effect<Policy.Decision, unknown>
): Running<Verdict | Deciding> => {
  const finishes = group[0]?.policy.onCancel === "finish"
  const owner = finishes ? new ShieldedOwner(state.owner) : state.owner
  const captured = group[0]?.context ?? Context.empty()
  const decide = (i: number, ask: Deciding["ask"]): Effect.Effect<Verdict | Deciding, unknown> => {
    const entry = group[i]
    if (entry === undefined) return Effect.succeed({ _tag: "Deciding", ask })
    const decision = i === 0 ? first : Effect.suspend(() => called(() => entry.policy.decide(state.view)))
    return Effect.flatMap(inContext(decision, entry.context, captured), (decision) => {
      if (!isDecision(decision))
        // @effect-diagnostics-next-line globalErrorInEffectFailure:off
        return Effect.fail(new Error("a policy answered with something that is not a Decision"))
      if (decision._tag === "Deny") return Effect.succeed(denied(state, decision.reason))
      return decide(i + 1, ask ?? (decision._tag === "Ask" ? decision : undefined))
    })
  }
  const stage = startStage({
    effect: decide(0, undefined),
    owner: state.owner,
    context: Context.unsafeMake<never>(ownedContext(captured, owner, state.origin)),
    origin: state.origin,
    followsCancel: !finishes,
    interpret: (exit): Verdict | Deciding => (Exit.isSuccess(exit) ? exit.value : failed(state, exit.cause))
  })
  return owner instanceof ShieldedOwner ? concluding(owner, stage) : stage
}

const failed = (state: CallState, cause: Cause.Cause<unknown>): Verdict => {
  const specific = specificFailure(cause, state.owner)
  if (specific !== undefined) return broken(state, specific) // L5
  return state.isCancelled ? cancelled : broken(state, saying("a policy interrupted itself"))
}

const askPerson = (
  state: CallState,
  awaitStage: Await,
  ask: Extract<Policy.Decision, { readonly _tag: "Ask" }>
): Effect.Effect<Verdict> => {
  if (state.isCancelled) return Effect.succeed(cancelled) // C3
  const approval = state.runtime.approval
  if (approval === undefined) {
    return Effect.succeed(denied(state, ask.reason ?? `tool "${state.name}" requires approval (not yet supported)`))
  }
  const question = called(() =>
    approval.service.request({
      callId: state.id,
      tool: state.name,
      parameters: state.json ?? null,
      reason: ask.reason,
      agent: state.agent
    })
  )
  const stage = startStage({
    effect: question,
    owner: state.owner,
    context: Context.unsafeMake<Cancellation>(ownedContext(approval.context, state.owner, state.origin)),
    origin: state.origin,
    followsCancel: true,
    interpret: (exit): Verdict => (Exit.isSuccess(exit) ? answered(state, exit.value) : failed(state, exit.cause))
  })
  return awaitStage(stage)
}

const answered = (state: CallState, answer: Answer): Verdict => {
  switch (answer) {
    case "allowed-once":
      return guarded(state)
    case "rejected":
      return denied(state, `the user rejected tool "${state.name}"`)
    case "cancelled":
      return state.isCancelled ? cancelled : denied(state, `approval for tool "${state.name}" was cancelled`)
    case "unavailable":
      return denied(state, `tool "${state.name}" requires approval, but no approval channel is available`)
    default:
      return broken(state, saying(`unreachable: the approver answered ${String(answer)}`))
  }
}

const guarded = (state: CallState): Verdict => {
  for (const { policy } of state.policies.guards) {
    let reason: string | undefined
    try {
      reason = policy.check(state.view)
    } catch (error) {
      return broken(state, { error, isDefect: true })
    }
    if (isString(reason)) return denied(state, reason)
    if (reason !== undefined) return broken(state, saying("a guard returned something that is not a reason"))
  }
  return allowed
}
