/**
 * A part of a call that runs on fibers of its own and ends in one value.
 *
 * Stages are the reason why a call can be stopped and still be answered: the calling fiber only waits. They begin in the
 * same step in which they are made, and a stage that has ended by then costs no wait at all.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Tracer from "effect/Tracer"
import * as Cancellation from "../../Cancellation.js"
import type { Member, Owner } from "../cancellation/owner.js"
import { Settlement } from "../settlement.js"
import { type Origin, startFiber } from "../startFiber.js"

/**
 * Something that runs, will end in a value, and can be asked to stop.
 *
 * @internal
 */
export interface Running<A> {
  readonly settlement: Settlement<A>
  readonly stop: () => void
}

/**
 * What has ended already.
 *
 * @internal
 */
export const settledStage = <A>(value: A): Running<A> => {
  const settlement = new Settlement<A>()
  settlement.settle(value)
  return { settlement, stop: () => {} }
}

/**
 * The captured context of a handler or policy with the call's owner laid over it, never the other way round.
 *
 * @internal
 */
export const ownedContext = (captured: Context.Context<never>, owner: Owner, origin: Origin): Map<string, unknown> => {
  const services = new Map<string, unknown>()
  // Not `new Map(captured.unsafeMap)`: that makes an array for each entry on its way, for every call.
  captured.unsafeMap.forEach((service, key) => {
    services.set(key, service)
  })
  services.set(Cancellation.Cancellation.key, owner)
  // Without a span of the caller there is none: what was captured may hold the span in which the runtime was built.
  if (origin.parentSpan === undefined) services.delete(Tracer.ParentSpan.key)
  else services.set(Tracer.ParentSpan.key, origin.parentSpan)
  return services
}

/**
 * Runs the effect of one policy on a fiber that was started with the context of another: with its own captured services,
 * and the owner and span of the fiber. Policies that were registered together share a context, and pay nothing.
 *
 * @internal
 */
export const inContext = <A, E>(
  effect: Effect.Effect<A, E>,
  captured: Context.Context<never>,
  current: Context.Context<never>
): Effect.Effect<A, E> =>
  captured === current
    ? effect
    : Effect.mapInputContext(effect, (outer: Context.Context<never>) => {
        const services = new Map<string, unknown>(captured.unsafeMap)
        for (const key of [Cancellation.Cancellation.key, Tracer.ParentSpan.key]) {
          if (outer.unsafeMap.has(key)) services.set(key, outer.unsafeMap.get(key))
          else services.delete(key)
        }
        return Context.unsafeMake(services)
      })

/**
 * What a foreign function returns, or the defect that it is. Effect cannot even run, or catch, some of what may come.
 *
 * @internal
 */
export const called = <A, E, R>(f: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  try {
    const effect = f()
    return Effect.isEffect(effect) ? effect : Effect.die(new Error("what it returned is not an Effect"))
  } catch (error) {
    return Effect.failCause(Cause.die(error)) // `Effect.die` would look at it
  }
}

/**
 * The value of an effect that has succeeded already: an `Exit` is its own result, and needs no fiber.
 *
 * @internal
 */
export const readyValue = <A, E>(effect: Effect.Effect<A, E>): A | undefined => {
  const exit = effect as Effect.Effect<A, E> | Exit.Exit<A, E>
  return Exit.isExit(exit) && Exit.isSuccess(exit as Exit.Exit<A, E>) ? (exit as Exit.Success<A, E>).value : undefined
}

/**
 * A fiber as a member of its owner.
 *
 * @internal
 */
export class FiberMember implements Member {
  fiber: Fiber.RuntimeFiber<unknown, unknown> | undefined
  private readonly followsCancel: boolean
  private wasStopped = false

  /** With `followsCancel` false the fiber runs on when its owner is cancelled, and stops only when that ends. */
  constructor(followsCancel: boolean) {
    this.followsCancel = followsCancel
  }

  cancelled(): void {
    if (this.followsCancel) this.stop()
  }

  stop = (): void => {
    this.wasStopped = true
    this.fiber?.unsafeInterruptAsFork(FiberId.none)
  }

  /** Takes the fiber once it has been started, which may be after its first steps asked for its own stop. */
  started(fiber: Fiber.RuntimeFiber<unknown, unknown>): void {
    this.fiber = fiber
    if (this.wasStopped) this.stop()
  }
}

/**
 * Starts `effect` as a stage of `owner`. `interpret` turns its exit into the value of the stage.
 *
 * @internal
 */
export const startStage = <A, E, R, B>(options: {
  readonly effect: Effect.Effect<A, E, R>
  readonly owner: Owner
  readonly context: Context.Context<R>
  readonly origin: Origin
  readonly followsCancel: boolean
  readonly interpret: (exit: Exit.Exit<A, E>) => B
}): Running<B> => {
  const settlement = new Settlement<B>()
  const member = new FiberMember(options.followsCancel)
  options.owner.join(member)
  const fiber = startFiber(options.effect, options.context, options.origin)
  member.started(fiber)
  fiber.addObserver((exit) => {
    options.owner.leave(member)
    settlement.settle(options.interpret(exit))
  })
  return { settlement, stop: member.stop }
}

/**
 * A stage that has ended when its own owner has, too.
 *
 * @internal
 */
export const concluding = <A>(owner: Owner, stage: Running<A>): Running<A> => {
  const settlement = new Settlement<A>()
  stage.settlement.whenSettled((value) => owner.conclude(() => settlement.settle(value)))
  return { settlement, stop: stage.stop }
}
