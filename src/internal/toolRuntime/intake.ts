/**
 * Takes a call in: what can be said of it before anybody is asked.
 *
 * The order is the law's (L5): parameters that are not lossless JSON, then a call cancelled already, then an unknown
 * tool, then parameters that do not decode. All of it is one synchronous step.
 */
import * as Either from "effect/Either"
import type * as ToolCall from "../../ToolCall.js"
import type * as ToolResult from "../../ToolResult.js"
import { materialize, type NotJson } from "../json.js"
import { describeThrown } from "../thrown.js"
import type { CallState } from "./callState.js"
import { cancelledResult, failure, invalidArguments, unknownTool } from "./results.js"

/**
 * How a call ends that does not get as far as its policies.
 *
 * @internal
 */
export interface Early {
  readonly result: ToolResult.ToolResult
  /** Whether `after` policies see it. */
  readonly reviewed: boolean
}

/**
 * Finds the tool and reads the parameters of the call, once.
 *
 * @internal
 */
export const takeIn = (state: CallState, call: ToolCall.ToolCall): Early | undefined => {
  // Found before the parameters are read: the tool has its last word on every result of a call of it.
  state.tool = state.runtime.registry.tools.get(state.name)
  let read: unknown
  try {
    read = call.parameters // may be a getter of the host's
  } catch (error) {
    return { result: notJson(state, { _tag: "Threw", error }), reviewed: false }
  }
  const parameters = materialize(read)
  if (Either.isLeft(parameters)) return { result: notJson(state, parameters.left), reviewed: false }
  state.json = parameters.right
  state.enter("materialized")
  return undefined
}

/**
 * Whether the call was cancelled before it began, also by a getter among its own parameters (L10).
 *
 * @internal
 */
export const gateCancelled = (state: CallState): Early | undefined => {
  const cause = state.owner.cause
  return cause === undefined ? undefined : { result: cancelledResult(state, cause), reviewed: false }
}

/**
 * Decodes the parameters for the tool. Nobody is asked to approve a call that cannot run (W31).
 *
 * @internal
 */
export const decode = (state: CallState): Early | undefined => {
  if (state.tool === undefined) return { result: unknownTool(state), reviewed: true }
  const decoded = state.tool.decode(state.json)
  if (Either.isLeft(decoded)) return { result: invalidArguments(state, decoded.left), reviewed: true }
  state.parameters = decoded.right
  state.enter("decoded")
  return undefined
}

const notJson = (state: CallState, problem: NotJson): ToolResult.Failure =>
  failure(state, {
    code: "NOT_JSON",
    message:
      problem._tag === "Threw"
        ? describeThrown(problem.error).message
        : "tool execution arguments must be losslessly JSON-serializable"
  })
