/**
 * What a fault does to a fiber, and how a scenario waits for what is outside.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import { Settlement } from "../settlement.js"

/** @internal */
export const interruptWith = (fiber: Fiber.RuntimeFiber<unknown, unknown>): void =>
  fiber.unsafeInterruptAsFork(FiberId.none)

/**
 * Withdraws a fault when the fiber that it concerns has ended: it would only be run again and again where it does nothing.
 *
 * @internal
 */
export const untilEnd = (fiber: Fiber.RuntimeFiber<unknown, unknown>, withdraw: () => void): void =>
  fiber.addObserver(withdraw)

/**
 * Waits for what `register` is told; an interruption withdraws it.
 *
 * @internal
 */
export const waitFor = <A>(register: (done: (value: A) => void) => () => void): Effect.Effect<A> =>
  Effect.suspend(() => {
    let withdraw = (): void => {}
    const wait = Effect.suspend(() => {
      const settlement = new Settlement<A>()
      withdraw = register((value) => settlement.settle(value))
      return settlement.wait()
    })
    return Effect.onInterrupt(wait, () => Effect.sync(() => withdraw()))
  })
