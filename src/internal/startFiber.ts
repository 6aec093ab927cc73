/**
 * Starts fibers that belong to nobody but the one who starts them.
 *
 * `Effect.fork` schedules: its child may be interrupted before its first operation, and lives as long as the fiber that
 * forked it. A fiber started here has run up to its first suspension when `startFiber` returns (if it has ended by
 * then, nothing asynchronous happens at all), ends only by itself or when its starter stops it, and takes the fibers
 * that it forks with it.
 */
import type * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberRefs from "effect/FiberRefs"
import type * as FiberStatus from "effect/FiberStatus"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type * as Tracer from "effect/Tracer"

/**
 * Where a started fiber takes its clock, tracer, log annotations and supervision from.
 *
 * @internal
 */
export interface Origin {
  readonly fiberRefs: FiberRefs.FiberRefs
  readonly runtimeFlags: RuntimeFlags.RuntimeFlags
  /** Clock, tracer and random: in the fiber refs, too, but nearer at hand. */
  readonly services: Context.Context<DefaultServices.DefaultServices>
  /** The span to continue: it lives in the context, which a started fiber brings of its own. */
  readonly parentSpan: Tracer.AnySpan | undefined
}

/**
 * The origin that a running fiber offers.
 *
 * @internal
 */
export const originOf = (fiber: Fiber.RuntimeFiber<unknown, unknown>, status: FiberStatus.Running): Origin => ({
  fiberRefs: fiber.getFiberRefs(),
  runtimeFlags: status.runtimeFlags,
  services: fiber.currentDefaultServices,
  parentSpan: fiber.currentSpan
})

/**
 * Where there is no fiber to ask.
 *
 * @internal
 */
export const defaultOrigin: Origin = {
  fiberRefs: Runtime.defaultRuntime.fiberRefs,
  runtimeFlags: Runtime.defaultRuntime.runtimeFlags,
  services: DefaultServices.liveServices,
  parentSpan: undefined
}

/**
 * The origin that a runtime offers.
 *
 * @internal
 */
export const originOfRuntime = (runtime: Runtime.Runtime<never>): Origin => ({
  fiberRefs: runtime.fiberRefs,
  runtimeFlags: runtime.runtimeFlags,
  services: FiberRefs.getOrDefault(runtime.fiberRefs, DefaultServices.currentServices),
  parentSpan: undefined
})

const start = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  context: Context.Context<R>,
  fiberRefs: FiberRefs.FiberRefs,
  runtimeFlags: RuntimeFlags.RuntimeFlags
): Fiber.RuntimeFiber<A, E> => Runtime.runFork(Runtime.make({ context, runtimeFlags, fiberRefs }), effect)

/**
 * Starts `effect`, interruptible whatever its origin is.
 *
 * @internal
 */
export const startFiber = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  context: Context.Context<R>,
  origin: Origin
): Fiber.RuntimeFiber<A, E> =>
  start(effect, context, origin.fiberRefs, RuntimeFlags.enable(origin.runtimeFlags, RuntimeFlags.Interruption))

/**
 * Starts `effect` in a protected region: it always runs its first operation, and what it computed is never replaced by
 * an interrupt. Its interruptible parts are marked with `Effect.interruptible`.
 *
 * @internal
 */
export const startProtectedFiber = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  context: Context.Context<R>,
  origin: Origin
): Fiber.RuntimeFiber<A, E> =>
  start(effect, context, origin.fiberRefs, RuntimeFlags.disable(origin.runtimeFlags, RuntimeFlags.Interruption))
