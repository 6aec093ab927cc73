/**
 * Turns what a wrapper returned into a result of this call.
 *
 * What came from the call's own `next` is believed as it is. Anything else was authored, perhaps for another call: of a
 * success only the value counts, and it must be one that the tool could have returned; of a failure its error, content
 * and contexts.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Content from "../../Content.js"
import * as ToolResult from "../../ToolResult.js"
import { materialize } from "../json.js"
import type { CallState } from "./callState.js"
import { failure, successFromEncoded } from "./results.js"

const isContent = Schema.is(Schema.Array(Content.Content))

/**
 * Content as frozen JSON, or `undefined` when it is not content.
 *
 * @internal
 */
export const freezeContent = (content: unknown): ReadonlyArray<Content.Content> | undefined => {
  const frozen = materialize(content)
  return Either.isRight(frozen) && isContent(frozen.right) ? frozen.right : undefined
}

/**
 * The same result with other contexts or content, still known as this call's own.
 *
 * @internal
 */
export const revise = <R extends ToolResult.ToolResult>(
  state: CallState,
  result: R,
  changes: Partial<Pick<R, "contexts" | "content" | "escaped">>
): R => {
  const revised: R = { ...result, ...changes }
  Object.freeze(revised)
  state.made.set(revised, state.made.get(result))
  if (state.unreviewed === result) state.unreviewed = revised
  return revised
}

/** @internal */
export const normalize = (state: CallState, result: ToolResult.ToolResult): ToolResult.ToolResult => {
  if (state.made.has(result)) {
    state.attempt = state.made.get(result) ?? state.attempt // the attempt that counts
    return result
  }
  const made =
    result._tag === "Success"
      ? successFromEncoded(state, result.value, state.attempt)
      : failure(state, {
          code: String(result.code),
          name: String(result.name),
          message: String(result.message),
          content: freezeContent(result.content) ?? ToolResult.errorContent(String(result.message)),
          cause: result.cause,
          bodyFailure: result.bodyFailure
        })
  // L12: body's contexts first, then the wrapper's. A revised copy of our own result brings the body's along already.
  const added = (freezeContent(result.contexts) ?? []).filter((context) => !isIn(made.contexts, context))
  return added.length === 0 ? made : revise(state, made, { contexts: Object.freeze([...made.contexts, ...added]) })
}

const isIn = (contexts: ReadonlyArray<Content.Content>, context: Content.Content): boolean => {
  const text = JSON.stringify(context)
  return contexts.some((other) => JSON.stringify(other) === text)
}
