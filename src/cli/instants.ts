/**
 * When the calls of a plan are cancelled, and which are denied: the policies of a plan.
 *
 * A call that is to be cancelled at a certain phase is held there by a policy until its cancel has been delivered, so that
 * the plan means the same on a slow and on a fast machine. Two phases need no hold: the body that has been called goes on
 * by itself, and after a call there is nothing to hold.
 *
 * Every cancel goes through `RunningCall.cancel`, as that of a person would. When the whole plan is cancelled, calls that
 * have not begun are held before anything is decided of them and then cancelled: the runtime itself gives their result.
 * (One that could not have run at all, for want of a tool or of parameters, says that instead: L5.)
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as CancelCause from "../CancelCause.js"
import * as Policy from "../Policy.js"
import type * as ToolRuntime from "../ToolRuntime.js"
import type * as Plan from "./plan.js"

/** One call of a plan, and what is known of its cancel. */
class Instant {
  readonly call: Plan.Call
  /** The call is at the phase at which it is to be cancelled. */
  readonly reached = Deferred.unsafeMake<void>(FiberId.none)
  /** The cancel has been delivered: the call may go on. */
  readonly delivered = Deferred.unsafeMake<void>(FiberId.none)
  running: ToolRuntime.RunningCall | undefined
  cancelledAt: number | undefined

  constructor(call: Plan.Call) {
    this.call = call
  }

  isAt(phase: Plan.CancelPhase): boolean {
    const { cancel } = this.call
    return cancel !== undefined && "phase" in cancel && cancel.phase === phase
  }

  /** Waits at `phase` until the cancel has been delivered, if it is to come there. */
  hold(phase: Plan.CancelPhase): Effect.Effect<void> {
    return this.isAt(phase)
      ? Effect.zipRight(Deferred.succeed(this.reached, undefined), Deferred.await(this.delivered))
      : Effect.void
  }

  cancel(cause: CancelCause.CancelCause): Effect.Effect<void> {
    const { running } = this
    if (running === undefined) return Effect.void
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.map(running.cancel(cause), (isFirst) => {
        if (isFirst) this.cancelledAt = now
      })
    )
  }

  /** Cancels the running call when its instant comes, which may be never. */
  get await(): Effect.Effect<void> {
    const { cancel } = this.call
    if (cancel === undefined) return Effect.void
    const come = "phase" in cancel ? Deferred.await(this.reached) : Effect.sleep(cancel.afterMillis)
    return come.pipe(
      Effect.zipRight(this.cancel(CancelCause.user("the plan says so"))),
      Effect.zipRight(Deferred.succeed(this.delivered, undefined))
    )
  }
}

/** The instants of one run of a plan. */
export class Instants {
  private readonly byId: ReadonlyMap<string, Instant>
  private stopped: CancelCause.CancelCause | undefined

  constructor(plan: Plan.Plan) {
    this.byId = new Map(plan.steps.flatMap(({ calls }) => calls.map((call) => [call.id, new Instant(call)] as const)))
  }

  /** Runs a call that `start` starts, with the cancel that the plan has for it, until `use` has its result. */
  cancelling<A, E, R>(
    call: Plan.Call,
    start: Effect.Effect<ToolRuntime.RunningCall, E, R>,
    use: (running: ToolRuntime.RunningCall) => Effect.Effect<A, E, R>
  ): Effect.Effect<{ readonly value: A; readonly cancelledAt: number | undefined }, E, R> {
    const instant = this.of(call.id)
    return Effect.scoped(
      Effect.gen(this, function* () {
        const running = yield* start
        instant.running = running
        if (this.stopped !== undefined) yield* instant.cancel(this.stopped)
        yield* Effect.forkScoped(instant.await)
        const value = yield* use(running)
        if (instant.isAt("after")) yield* instant.cancel(CancelCause.user("the plan says so"))
        return { value, cancelledAt: instant.cancelledAt }
      })
    )
  }

  /** Cancels the plan: what runs, at once, and each call that has not begun when its turn comes. The first cause stays. */
  stop(cause: CancelCause.CancelCause): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.stopped ??= cause
      return Effect.forEach(this.byId.values(), (instant) => instant.cancel(cause), { discard: true })
    })
  }

  /** Must be told of each phase that is seen from outside. */
  saw(callId: string, phase: ToolRuntime.Phase): Effect.Effect<void> {
    const instant = this.of(callId)
    return phase === "dispatching" && instant.isAt("dispatching")
      ? Effect.asVoid(Deferred.succeed(instant.reached, undefined))
      : Effect.void
  }

  /** Policies that hold and deny. They go before all others. */
  get policies() {
    return [
      Policy.before("plan", ({ id }) => {
        const instant = this.of(id)
        if (this.stopped !== undefined) return Effect.never // `cancelling` is about to cancel it
        const { deny } = instant.call
        return Effect.as(instant.hold("before"), deny === undefined ? Policy.allow : Policy.deny(deny))
      }),
      Policy.around("plan", ({ id }, next) => Effect.zipRight(this.of(id).hold("gated"), next)),
      Policy.after("plan", ({ id }) => Effect.as(this.of(id).hold("settled"), Policy.accept())),
      Policy.observe("plan", ({ id }) => this.of(id).hold("reviewed"))
    ]
  }

  private of(callId: string): Instant {
    return this.byId.get(callId) as Instant // only calls of the plan are run
  }
}
