/**
 * What stands behind a runtime that code without Effect holds.
 */
import type * as ToolRuntime from "../../ToolRuntime.js"
import { misuse } from "../invariant.js"
import type { Host } from "./host.js"

/** @internal */
export interface Behind {
  readonly host: Host
  readonly service: ToolRuntime.Service
}

const behind = new WeakMap<object, Behind>()

/** @internal */
export const keepRuntime = <T extends object>(runtime: T, what: Behind): T => {
  behind.set(runtime, what)
  return runtime
}

/** @internal */
export const behindRuntime = (runtime: object): Behind =>
  behind.get(runtime) ?? misuse("this is no runtime: make it with createRuntime")
