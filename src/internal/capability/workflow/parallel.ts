/**
 * Runs children side by side, so that they can be cancelled at any time.
 *
 * A concurrent combinator of Effect that is interrupted between making its fibers and their start never ends
 * (docs/effect-traps.md, 13). Here a child has begun, and is known, in the step in which it is made.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { Settlement, waitOrStop } from "../../settlement.js"
import { originOf, startFiber } from "../../startFiber.js"

/**
 * Completes when every child has ended. The first failure stops the other children, and those that have not begun do not.
 *
 * @internal
 */
export const parallel = <A, B, E, R>(
  items: Iterable<A>,
  f: (item: A, index: number) => Effect.Effect<B, E, R>
): Effect.Effect<ReadonlyArray<B>, E, R> =>
  Effect.withFiberRuntime<ReadonlyArray<B>, E, R>((fiber, status) =>
    Effect.uninterruptibleMask((restore) => {
      const origin = originOf(fiber, status)
      const children: Array<Fiber.RuntimeFiber<B, E>> = []
      const values: Array<B> = []
      const ended = new Settlement<void>()
      let failure: Cause.Cause<E> | undefined
      let interruption: Cause.Cause<never> | undefined
      let running = 1 // the loop below
      const stop = () => {
        for (const child of children) child.unsafeInterruptAsFork(fiber.id())
      }
      const left = () => {
        if (--running === 0) ended.settle()
      }
      for (const [index, item] of Array.from(items).entries()) {
        if (failure !== undefined) break
        running++
        const child = startFiber(
          Effect.suspend(() => f(item, index)),
          fiber.currentContext as Context.Context<R>,
          origin
        )
        children.push(child)
        child.addObserver((exit) => {
          if (Exit.isSuccess(exit)) values[index] = exit.value
          else if (failure === undefined) {
            failure = exit.cause
            stop()
          } else if (!Cause.isInterruptedOnly(exit.cause)) failure = Cause.parallel(failure, exit.cause)
          left()
        })
      }
      left()
      const settled = waitOrStop(ended, restore, (cause) => {
        interruption = cause
        stop()
      })
      return Effect.flatMap(settled, () => {
        if (failure === undefined) return Effect.succeed(values)
        return Effect.failCause(interruption !== undefined && Cause.isInterruptedOnly(failure) ? interruption : failure)
      })
    })
  )
