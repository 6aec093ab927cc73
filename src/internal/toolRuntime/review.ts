/**
 * Has `after` policies review a result, under an owner that the call's cancellation does not touch.
 *
 * They run on one fiber of their own, so that a timeout inside one works also when the caller is in a protected region,
 * and they always run to their end: also after a cancel. Those that answer with an `Exit` have nothing to run.
 */

import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Content from "../../Content.js"
import type * as Policy from "../../Policy.js"
import type * as ToolResult from "../../ToolResult.js"
import type { Specific } from "../cancellation/classify.js"
import type { Owner } from "../cancellation/owner.js"
import type { CallState } from "./callState.js"
import { freezeContent } from "./frozen.js"
import { revise } from "./normalize.js"
import { failure, reported, saying, successFromEncoded } from "./results.js"
import { called, inContext, ownedContext, type Running, readyValue, settledStage, startStage } from "./stage.js"

/**
 * Starts the review of `result`.
 *
 * @internal
 */
export const startReview = (
  state: CallState,
  owner: Owner,
  result: ToolResult.ToolResult
): Running<ToolResult.ToolResult> => {
  const captured = state.policies.after[0]?.context ?? Context.empty()
  const review = (i: number, current: ToolResult.ToolResult): Effect.Effect<ToolResult.ToolResult> => {
    const entry = state.policies.after[i]
    if (entry === undefined) return Effect.succeed(current)
    const onward = (decision: Policy.Review): Effect.Effect<ToolResult.ToolResult> => {
      const next = reviewed(state, current, decision)
      return next._tag === "Broken" ? Effect.succeed(next.result) : review(i + 1, next.result)
    }
    const answer = called(() => entry.policy.review(state.view, current))
    const ready = readyValue(answer)
    if (ready !== undefined) return onward(ready)
    return Effect.matchCauseEffect(inContext(answer, entry.context, captured), {
      onSuccess: onward,
      // What a policy fails with is the result, and ends the review. Contexts survive it (L12).
      onFailure: (cause) => Effect.succeed(broken(state, current, errorOf(cause)))
    })
  }
  const rest = review(0, result)
  const ready = readyValue(rest)
  if (ready !== undefined) return settledStage(ready)
  return startStage({
    effect: rest,
    owner,
    context: Context.unsafeMake<never>(ownedContext(captured, owner, state.origin)),
    origin: state.origin,
    followsCancel: false,
    interpret: (exit) => (Exit.isSuccess(exit) ? exit.value : broken(state, result, errorOf(exit.cause)))
  })
}

const errorOf = (cause: Cause.Cause<unknown>): Specific =>
  Cause.isInterruptedOnly(cause)
    ? saying("a policy interrupted itself")
    : { error: Cause.squash(cause), isDefect: Option.isNone(Cause.failureOption(cause)) }

const broken = (state: CallState, current: ToolResult.ToolResult, what: Specific): ToolResult.ToolResult =>
  keepContexts(state, current, failure(state, reported(what, "POLICY_FAILURE"), state.made.get(current)), [])

const keepContexts = (
  state: CallState,
  current: ToolResult.ToolResult,
  next: ToolResult.ToolResult,
  added: ReadonlyArray<Content.Content>
): ToolResult.ToolResult => {
  if (current.contexts.length + added.length === next.contexts.length) return next
  return revise(state, next, { contexts: Object.freeze([...current.contexts, ...added]) })
}

interface Reviewed {
  readonly _tag: "Reviewed" | "Broken"
  readonly result: ToolResult.ToolResult
}

/** What a review makes of a result. What was answered may be anything, and throw when it is looked at. */
const reviewed = (state: CallState, current: ToolResult.ToolResult, decision: Policy.Review): Reviewed => {
  try {
    if (decision._tag === "Accept" || decision._tag === "Block") return apply(state, current, decision)
  } catch {}
  const what = saying("an after policy answered with something that is not a Review")
  return { _tag: "Broken", result: broken(state, current, what) }
}

const apply = (state: CallState, current: ToolResult.ToolResult, decision: Policy.Review): Reviewed => {
  const no = (message: string) => ({ _tag: "Broken" as const, result: broken(state, current, saying(message)) })
  const contexts = freezeContent(decision.contexts)
  if (contexts === undefined) return no("an after policy added contexts that are not content")
  if (decision._tag === "Block") {
    const content = freezeContent(decision.content)
    if (content === undefined) return no("an after policy blocked with something that is not content")
    const message = Content.toText(content) || "tool result blocked by post-execute policy"
    const blocked = failure(state, { code: "BLOCKED", message, content }, state.made.get(current))
    return { _tag: "Reviewed", result: revise(state, blocked, { contexts }) } // L12: only a block drops contexts
  }
  if (decision.content !== undefined && decision.value !== undefined) {
    return no("tools/post-execute accept decision cannot replace both value and content")
  }
  if (decision.value !== undefined) {
    if (current._tag === "Failure") return no("tools/post-execute cannot replace the value of a failed result")
    const replaced = successFromEncoded(state, decision.value, state.made.get(current))
    return { _tag: "Reviewed", result: keepContexts(state, current, replaced, contexts) }
  }
  if (decision.content === undefined)
    return { _tag: "Reviewed", result: keepContexts(state, current, current, contexts) }
  const content = freezeContent(decision.content)
  if (content === undefined) return no("an after policy accepted with something that is not content")
  return { _tag: "Reviewed", result: keepContexts(state, current, revise(state, current, { content }), contexts) }
}
