/**
 * The compensation of a step that has completed.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Cancellation from "../../../Cancellation.js"
import { contained } from "../../contained.js"
import { Settlement } from "../../settlement.js"
import { originOf, startFiber } from "../../startFiber.js"

/**
 * Runs what undoes a step, on an interruptible fiber of its own: what limits its own time must be able to.
 *
 * @internal
 */
export const apart = <R>(
  effect: Effect.Effect<unknown, unknown, R>
): Effect.Effect<Exit.Exit<unknown, unknown>, never, R> =>
  Effect.withFiberRuntime((fiber, status) => {
    const ended = new Settlement<Exit.Exit<unknown, unknown>>()
    const context = fiber.currentContext as Context.Context<R>
    startFiber(effect, context, contained(originOf(fiber, status))).addObserver((exit) => void ended.settle(exit))
    return ended.wait()
  })

/** @internal */
export type Undo = Effect.Effect<unknown, unknown, Cancellation.Cancellation>

/**
 * The compensation of a value, with what its step had in context, under whatever owner it runs under.
 *
 * @internal
 */
export const within = <A, R>(
  context: Context.Context<R>,
  compensate: (value: A) => Effect.Effect<unknown, unknown, R>,
  value: A
): Undo =>
  Effect.mapInputContext(
    Effect.suspend(() => compensate(value)),
    (current: Context.Context<Cancellation.Cancellation>) =>
      Context.add(context, Cancellation.Cancellation, Context.get(current, Cancellation.Cancellation))
  ) as Undo
