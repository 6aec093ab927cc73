/**
 * The services that a scenario finds in place of the live ones: virtual time, the same random numbers in each run, and a
 * log that goes into the timeline instead of, thousands of times, onto a console.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Equal from "effect/Equal"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as Hash from "effect/Hash"
import * as HashSet from "effect/HashSet"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"

/**
 * Fiber refs with the services of one run.
 *
 * @internal
 */
export const withServices = (
  refs: FiberRefs.FiberRefs,
  clock: Clock.Clock,
  log: (message: string) => void
): FiberRefs.FiberRefs => {
  const services = DefaultServices.liveServices.pipe(
    Context.add(Clock.Clock, clock),
    Context.add(Random.Random, Random.make("quiesce"))
  )
  // Objects have a hash by chance, and loggers run in its order: this one comes first whatever loggers are added, since a
  // line that it never saw because another logger threw would make two runs of one schedule differ.
  const logger: Logger.Logger<unknown, void> = Object.assign(
    Logger.make<unknown, void>(({ message }) => log(`log: ${String(message)}`)),
    { [Hash.symbol]: () => 0, [Equal.symbol]: (that: unknown) => that === logger }
  )
  const id = FiberId.unsafeMake()
  return FiberRefs.updateManyAs(refs, {
    forkAs: id,
    entries: [
      [DefaultServices.currentServices, [[id, services]]],
      [FiberRef.currentLoggers, [[id, HashSet.make(logger)]]]
    ]
  })
}
