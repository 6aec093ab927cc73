/**
 * Fixes a result and tells everybody of it: the tool's last word on the content, then the observers.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as ToolResult from "../../ToolResult.js"
import type { Owner } from "../cancellation/owner.js"
import type { CallState } from "./callState.js"
import { freezeContent } from "./frozen.js"
import { revise } from "./normalize.js"
import { failure, reported } from "./results.js"
import { called, inContext, ownedContext, type Running, startStage } from "./stage.js"

/**
 * Asks the tool for its last word on the content, once, and adds what could not be stopped.
 *
 * @internal
 */
export const finalize = (state: CallState, result: ToolResult.ToolResult): ToolResult.ToolResult => {
  const escaped = state.owner.escaped
  const named = escaped.length === 0 ? result : revise(state, result, { escaped: Object.freeze([...escaped]) }) // L4
  const transform = state.tool?.tool.finalContent
  if (transform === undefined) return named
  try {
    const content = transform(named)
    if (content === undefined) return named
    const frozen = freezeContent(content)
    if (frozen !== undefined) return revise(state, named, { content: frozen })
    return brokenTransform(state, named, new Error("finalContent returned something that is not content"))
  } catch (error) {
    return brokenTransform(state, named, error)
  }
}

const brokenTransform = (state: CallState, result: ToolResult.ToolResult, error: unknown): ToolResult.ToolResult => {
  // A failure stays the failure it is (L5), and contexts stay (L12): only a success becomes one.
  state.runtime.log(state, "The final content of a tool result could not be made", Cause.die(error))
  if (result._tag === "Failure") return result
  const made = failure(state, reported({ error, isDefect: true }, "TOOL_FAILURE"), state.made.get(result))
  return revise(state, made, { contexts: result.contexts, escaped: result.escaped })
}

/**
 * Tells the observers in order, on a fiber of its own, under an owner that the call's cancellation does not touch.
 *
 * @internal
 */
export const startObservers = (state: CallState, owner: Owner, result: ToolResult.ToolResult): Running<void> => {
  const { observers } = state.policies
  const captured = observers[0]?.context ?? Context.empty()
  const tell = (i: number): Effect.Effect<void> => {
    const entry = observers[i]
    if (entry === undefined) return Effect.void
    return Effect.matchCauseEffect(
      inContext(
        Effect.suspend(() => called(() => entry.policy.tell(state.view, result))),
        entry.context,
        captured
      ),
      {
        onSuccess: () => tell(i + 1),
        onFailure: (cause) =>
          Effect.zipRight(
            // A logger may throw too, and the others are to be told all the same.
            Effect.exit(Effect.logWarning(`Observer "${entry.policy.name}" failed on call "${state.id}"`, cause)),
            tell(i + 1)
          )
      }
    )
  }
  return startStage({
    effect: tell(0),
    owner,
    context: Context.unsafeMake<never>(ownedContext(captured, owner, state.origin)),
    origin: state.origin,
    followsCancel: false,
    interpret: (exit) => {
      if (Exit.isFailure(exit)) state.runtime.log(state, "The observers of a call were stopped", exit.cause)
    }
  })
}
