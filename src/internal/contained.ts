/**
 * Keeps what foreign code throws from stopping the run loop of its fiber.
 *
 * The loop looks at what was thrown (`"..." in error`) where it catches it. A value that throws when it is looked at, such
 * as a revoked proxy, leaves the loop from there: its fiber never ends, and whoever waits for it waits for ever
 * (docs/effect-traps.md). A tracer is asked to run each operation, one step further in, and there it can be caught.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as FiberRefs from "effect/FiberRefs"
import { hasProperty } from "effect/Predicate"
import * as Tracer from "effect/Tracer"
import type { Origin } from "./startFiber.js"

const canBeLookedAt = (error: unknown): boolean => {
  try {
    hasProperty(error, "_tag")
    return true
  } catch {
    return false
  }
}

/** A tracer that spans as another one does, and contains the operations that it is asked to run. */
class Containing implements Tracer.Tracer {
  readonly [Tracer.TracerTypeId]: Tracer.TracerTypeId = Tracer.TracerTypeId
  readonly base: Tracer.Tracer

  constructor(base: Tracer.Tracer) {
    this.base = base
  }

  span(...args: Parameters<Tracer.Tracer["span"]>): Tracer.Span {
    return this.base.span(...args)
  }

  context<X>(...args: Parameters<Tracer.Tracer["context"]>): X {
    try {
      return this.base.context(...args) as X
    } catch (error) {
      if (canBeLookedAt(error)) throw error
      // What an operation returns is what its fiber runs next. `Effect.die` would look at the error.
      return Effect.failCause(Cause.die(error)) as X
    }
  }
}

/**
 * The tracer of a fiber, without what contains it.
 *
 * @internal
 */
export const tracerOf = (origin: Origin): Tracer.Tracer => {
  const tracer = Context.get(origin.services, Tracer.Tracer)
  return tracer instanceof Containing ? tracer.base : tracer
}

// The services of a fiber are mostly those of the one before it. Its refs never are: they are copied for whoever asks.
const known = new WeakMap<Origin["services"], Origin["services"]>()

const containedServices = (services: Origin["services"], base: Tracer.Tracer): Origin["services"] => {
  let made = known.get(services)
  if (made === undefined) {
    made = Context.add(services, Tracer.Tracer, new Containing(base))
    known.set(services, made)
  }
  return made
}

/**
 * The same origin for fibers that run foreign code: they end, whatever that throws (L1).
 *
 * @internal
 */
export const contained = (origin: Origin): Origin => {
  const { fiberRefs, parentSpan, runtimeFlags, services } = origin
  const base = Context.get(services, Tracer.Tracer)
  if (base instanceof Containing) return origin
  const refs = FiberRefs.updateAs(fiberRefs, {
    fiberId: FiberId.none as FiberId.FiberId as FiberId.Runtime, // of nobody: what is started has none yet
    fiberRef: DefaultServices.currentServices,
    value: containedServices(services, base)
  })
  return { fiberRefs: refs, parentSpan, runtimeFlags, services }
}
