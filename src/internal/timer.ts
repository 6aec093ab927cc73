/**
 * One timer on a fiber's clock.
 *
 * With the live clock it is one `setTimeout`, cleared in the same step in which it is cancelled, so that a finished call
 * leaves no handle behind (L3). Any other clock (a test's, the explorer's) only knows `sleep`, which needs a fiber.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import { type Origin, startFiber } from "./startFiber.js"

const liveClock = Context.get(DefaultServices.liveServices, Clock.Clock)

/**
 * The longest delay that a timer of the host can wait: 2^31 - 1 ms.
 *
 * @internal
 */
export const maxTimerMillis = 2_147_483_647

/**
 * The clock of a fiber.
 *
 * @internal
 */
export const clockOf = (origin: Origin): Clock.Clock => Context.get(origin.services, Clock.Clock)

/**
 * Calls `task` once after `millis`, unless the returned function is called before.
 *
 * @internal
 */
export const startTimer = (origin: Origin, millis: number, task: () => void): (() => void) => {
  const clock = clockOf(origin)
  if (clock === liveClock) {
    // @effect-diagnostics-next-line globalTimers:off
    const handle = setTimeout(task, millis)
    return () => clearTimeout(handle)
  }
  const sleeper = startFiber(
    Effect.zipRight(clock.sleep(Duration.millis(millis)), Effect.sync(task)),
    Context.empty(),
    origin
  )
  return () => sleeper.unsafeInterruptAsFork(FiberId.none)
}

/**
 * Calls `task` once the fibers that can go on have done so: when they wait or have ended. The returned function takes
 * it back.
 *
 * On the live clock that is the next turn of the event loop. A test's clock ends a sleep of no time at once, and the
 * explorer's when nothing else can happen; the yields give way to what is ready before the sleep begins.
 *
 * @internal
 */
export const whenOthersWait = (origin: Origin, task: () => void): (() => void) => {
  if (clockOf(origin) === liveClock) return startTimer(origin, 0, task)
  const patience = Effect.repeatN(Effect.yieldNow(), 3)
  const sleeper = startFiber(
    Effect.zipRight(Effect.zipRight(patience, Effect.sleep(Duration.zero)), Effect.sync(task)),
    Context.empty(),
    origin
  )
  return () => sleeper.unsafeInterruptAsFork(FiberId.none)
}
