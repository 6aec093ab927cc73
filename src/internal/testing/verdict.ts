/**
 * What is wrong with a run, before any invariant of the scenario's own is asked.
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { divergence, type RunResult } from "./run.js"

/**
 * Something that keeps a run from being a verdict on the program: the explorer does not control all of it.
 *
 * @internal
 */
export const outOfReach = (run: RunResult<unknown, unknown>): string | undefined =>
  run.deadlock !== undefined && run.outside.length > 0
    ? `nothing can happen any more, but the run left native handles behind (${run.outside.join(", ")}): the scenario waits for a real timer, promise or I/O that the explorer cannot control. Use Sim.external, Sim.promise or Effect.sleep instead, and leave out TestClock and TestContext: time is virtual already. (Effect.never holds a handle, too; if that is what is waited for, this is a deadlock: ${run.deadlock.join("; ")})`
    : undefined

/** @internal */
export const problemOf = (run: RunResult<unknown, unknown>, maxSteps: number): string | undefined => {
  const diverged = divergence(run)
  if (diverged !== undefined) return diverged
  if (run.thrown !== undefined) return run.thrown
  if (run.livelock) {
    return `livelock: the run took more than ${maxSteps} steps (if it only has much to do, raise maxSteps)`
  }
  const outside = outOfReach(run)
  if (outside !== undefined) return outside
  if (run.deadlock !== undefined) return [`deadlock: ${run.deadlock.join("; ")}`, ...run.flaws].join(". Note: ")
  if (run.exit !== undefined && Exit.isFailure(run.exit)) return `the scenario failed: ${Cause.pretty(run.exit.cause)}`
  if (run.leaked.length > 0) return `fibers are left running: ${run.leaked.join(", ")}`
  return undefined
}
