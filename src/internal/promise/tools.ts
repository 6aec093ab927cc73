/**
 * Which tool of the core stands behind one that code without Effect holds.
 */
import type * as Core from "../../Tool.js"
import { misuse } from "../invariant.js"

const cores = new WeakMap<object, Core.Any>()

/** @internal */
export const keepTool = <T extends object>(tool: T, core: Core.Any): T => {
  cores.set(tool, core)
  return tool
}

/** @internal */
export const coreOf = (tool: { readonly name: string }): Core.Any =>
  cores.get(tool) ?? misuse(`"${tool.name}" is no tool: make it with defineTool`)
