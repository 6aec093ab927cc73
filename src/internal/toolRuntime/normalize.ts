/**
 * Turns what a wrapper returned into a result of this call.
 *
 * What came from the call's own `next` is believed as it is. Anything else was authored, perhaps for another call: of a
 * success only the value counts, and it must be one that the tool could have returned; of a failure its error, content
 * and contexts.
 */
import * as Schema from "effect/Schema"
import * as CancelCause from "../../CancelCause.js"
import type * as Content from "../../Content.js"
import * as ToolResult from "../../ToolResult.js"
import type { CallState } from "./callState.js"
import { freezeContent, frozenAs } from "./frozen.js"
import { dispatchedAfterAll, failure, successFromEncoded } from "./results.js"

/**
 * The same result with other contexts or content, still known as this call's own.
 *
 * @internal
 */
export const revise = <R extends ToolResult.ToolResult>(
  state: CallState,
  result: R,
  changes: Partial<Pick<R, "contexts" | "content" | "escaped" | "dispatched" | "body">>
): R => {
  const revised: R = { ...result, ...changes }
  Object.freeze(revised)
  state.made.set(revised, state.made.get(result))
  if (state.unreviewed === result) state.unreviewed = revised
  return revised
}

/**
 * The same result, once nothing of the call runs any more. A wrapper may have made it while its `next` still ran, or have
 * got it before an attempt that it then did not return.
 *
 * @internal
 */
export const upToDate = (state: CallState, result: ToolResult.ToolResult): ToolResult.ToolResult => {
  const attempt = state.made.get(result)
  const body = attempt?.end ?? result.body
  if (result.dispatched === state.dispatched && result.body === body) return result
  // Made before a handler was called after all: it may not say any more that none was (L2).
  const isStale = result._tag === "Failure" && result.code === "ABORTED_BEFORE_DISPATCH" && state.made.has(result)
  return revise(state, isStale ? dispatchedAfterAll(state, result, attempt) : result, {
    contexts: result.contexts,
    dispatched: state.dispatched, // L2
    body
  })
}

/** @internal */
export const normalize = (state: CallState, result: ToolResult.ToolResult): ToolResult.ToolResult => {
  if (state.made.has(result)) {
    state.attempt = state.made.get(result) ?? state.attempt // the attempt that counts
    return result
  }
  const made =
    result._tag === "Success" ? successFromEncoded(state, result.value, state.attempt) : authoredFailure(state, result)
  // L12: body's contexts first, then the wrapper's. A revised copy of our own result brings the body's along already.
  const added = (freezeContent(result.contexts) ?? []).filter((context) => !isIn(made.contexts, context))
  return added.length === 0 ? made : revise(state, made, { contexts: Object.freeze([...made.contexts, ...added]) })
}

// Written by foreign code, perhaps in plain JavaScript: nothing of it is taken on trust.
const authoredFailure = (state: CallState, result: ToolResult.Failure): ToolResult.Failure => {
  const message = textOr(result.message, "a wrapper failed the call without a message")
  return failure(state, {
    code: textOr(result.code, "POLICY_FAILURE"),
    name: textOr(result.name, undefined),
    message,
    content: freezeContent(result.content) ?? ToolResult.errorContent(message),
    cause: frozenAs(isCause, result.cause),
    bodyFailure: frozenAs(isReported, result.bodyFailure)
  })
}

const isCause = Schema.is(Schema.encodedSchema(CancelCause.CancelCause))
const isReported = Schema.is(Schema.Struct({ code: Schema.String, name: Schema.String, message: Schema.String }))

const textOr = <A>(value: unknown, otherwise: A): string | A => (typeof value === "string" ? value : otherwise)

const isIn = (contexts: ReadonlyArray<Content.Content>, context: Content.Content): boolean => {
  const text = JSON.stringify(context)
  return contexts.some((other) => JSON.stringify(other) === text)
}
