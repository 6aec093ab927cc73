/**
 * Whether a call may run beside others.
 */
import * as Either from "effect/Either"
import type * as ToolCall from "../../ToolCall.js"
import type { Registry } from "./registry.js"
import type { Mode } from "./schedule.js"

/**
 * The mode of a call, as its tool says. What cannot be asked runs alone: a tool that is not there, parameters that do not
 * decode, a mode that throws.
 *
 * @internal
 */
export const modeOf = (registry: Registry, { name, parameters }: ToolCall.ToolCall): Mode => {
  try {
    const tool = registry.tools.get(name)
    if (tool === undefined) return "exclusive"
    const decoded = tool.decode(parameters)
    return Either.isRight(decoded) && tool.tool.concurrency(decoded.right) === "parallel" ? "parallel" : "exclusive"
  } catch {
    return "exclusive"
  }
}
