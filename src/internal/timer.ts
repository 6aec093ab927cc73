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
import * as Exit from "effect/Exit"
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
 * The time on the clock of a fiber, in milliseconds, or the host's where that clock throws: a call whose clock is broken
 * must end all the same (L1), and no owner may be left in its parent (L3).
 *
 * @internal
 */
export const nowOf = (origin: Origin): number => {
  try {
    return clockOf(origin).unsafeCurrentTimeMillis()
  } catch {
    return liveClock.unsafeCurrentTimeMillis()
  }
}

const startLiveTimer = (millis: number, task: () => void): (() => void) => {
  // @effect-diagnostics-next-line globalTimers:off
  const handle = setTimeout(task, millis)
  return () => clearTimeout(handle)
}

// A deadline is kept also where the clock of the fiber throws.
const sleepOn = (clock: Clock.Clock, millis: number): Effect.Effect<void> => {
  const duration = Duration.millis(millis)
  return Effect.catchAllCause(
    Effect.suspend(() => clock.sleep(duration)),
    () => liveClock.sleep(duration)
  )
}

/**
 * Calls `task` once after `millis`, unless the returned function is called before.
 *
 * @internal
 */
export const startTimer = (origin: Origin, millis: number, task: () => void): (() => void) => {
  const clock = clockOf(origin)
  if (clock === liveClock) return startLiveTimer(millis, task)
  const sleeper = startFiber(Effect.zipRight(sleepOn(clock, millis), Effect.sync(task)), Context.empty(), origin)
  return () => sleeper.unsafeInterruptAsFork(FiberId.none)
}

/**
 * Calls `task` once the fibers that can go on have done so: when they wait or have ended. The returned function takes
 * it back.
 *
 * On the live clock that is the next turn of the event loop; on the explorer's a sleep of no time ends when nothing else
 * can happen. A test's clock ends such a sleep in the same step, so there it is the event loop, too.
 *
 * @internal
 */
export const whenOthersWait = (origin: Origin, task: () => void): (() => void) => {
  const clock = clockOf(origin)
  if (clock === liveClock) return startLiveTimer(0, task)
  const sleeper = startFiber(
    Effect.suspend(() => clock.sleep(Duration.zero)),
    Context.empty(),
    origin
  )
  if (sleeper.unsafePoll() !== null) return startLiveTimer(0, task)
  sleeper.addObserver((exit) => {
    if (!Exit.isInterrupted(exit)) task()
  })
  return () => sleeper.unsafeInterruptAsFork(FiberId.none)
}
