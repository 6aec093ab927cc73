/**
 * What a tool leaves behind on purpose, so that a test sees whether somebody stops it.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Cancellation from "../../Cancellation.js"
import { originOf, startFiber } from "../startFiber.js"
import type { Control } from "./control.js"

/** @internal */
export type Leftover = "operation" | "stubborn operation" | "fiber" | "timer"

const anHour = 3_600_000

const leaveTimer = (control: Control, gone: () => void): void => {
  // @effect-diagnostics-next-line globalTimers:off
  const timer = setTimeout(gone, anHour)
  control.released.whenSettled(() => {
    clearTimeout(timer)
    gone()
  })
}

const workOf = (what: Leftover, { released }: Control): Effect.Effect<void, never, Cancellation.Cancellation> => {
  if (what === "fiber") return released.wait()
  const work = what === "stubborn operation" ? Effect.uninterruptible(released.wait()) : released.wait()
  return Cancellation.operation(work, "leaky")
}

/**
 * Starts something that is counted in `control.left` until it has ended, and does not wait for it.
 *
 * @internal
 */
export const leaveBehind = (what: Leftover, control: Control): Effect.Effect<void, never, Cancellation.Cancellation> =>
  Effect.withFiberRuntime((fiber, status) => {
    control.left++
    const gone = () => {
      control.left--
    }
    if (what === "timer") leaveTimer(control, gone)
    else {
      const work = Effect.ensuring(workOf(what, control), Effect.sync(gone))
      startFiber(work, fiber.currentContext as Context.Context<Cancellation.Cancellation>, originOf(fiber, status))
    }
    return Effect.void
  })
