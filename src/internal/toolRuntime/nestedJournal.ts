/**
 * The log of the calls that bodies make.
 */
import type * as ToolResult from "../../ToolResult.js"
import type { Json } from "../json.js"

/**
 * A call that a body makes, as it is logged.
 *
 * @internal
 */
export interface NestedCall {
  readonly id: string
  readonly parentId: string
  readonly rootId: string
  readonly name: string
  /** As the body sent them; `null` where they are no JSON. */
  readonly parameters: Json
}

/**
 * Who keeps a log of the calls that bodies make. What `started` throws keeps the call from running.
 *
 * @internal
 */
export interface NestedJournal {
  readonly started: (call: NestedCall) => void
  readonly ended: (result: ToolResult.ToolResult, call: NestedCall) => void
}
