/**
 * What the calls of one runtime share: who is in flight, who waits for that to change, and what is logged of it.
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as CancelCause from "../../CancelCause.js"
import type * as Approval from "../../capability/Approval.js"
import type * as ToolResult from "../../ToolResult.js"
import { report } from "../report.js"
import { Settlement } from "../settlement.js"
import { type Origin, startFiber } from "../startFiber.js"
import type { CallState } from "./callState.js"
import type { Registry } from "./registry.js"
import * as Telemetry from "./telemetry.js"

/** @internal */
export interface RuntimeOptions {
  readonly registry: Registry
  readonly approval: { readonly service: Approval.Service; readonly context: Context.Context<never> } | undefined
  /** How long after its cancel a call that has not ended is warned about. */
  readonly warnAfterMillis: number
  /** Puts into the context of a body what the runtime itself provides. */
  readonly provideTo: (services: Map<string, unknown>) => void
  readonly origin: Origin
}

/** @internal */
export class RuntimeState {
  readonly registry: Registry
  readonly approval: RuntimeOptions["approval"]
  readonly provideTo: RuntimeOptions["provideTo"]
  readonly inFlight = new Set<CallState>()
  private readonly origin: Origin
  private readonly warnAfterMillis: number
  private readonly watchers = new Set<() => void>()
  private readonly stopping = new Set<CallState>()
  private watch: Fiber.RuntimeFiber<void> | undefined
  private idle: Settlement<void> | undefined
  private closed = false

  constructor(options: RuntimeOptions) {
    this.registry = options.registry
    this.approval = options.approval
    this.provideTo = options.provideTo
    this.warnAfterMillis = options.warnAfterMillis
    this.origin = options.origin
  }

  accepted(state: CallState): void {
    this.inFlight.add(state)
    state.caller.callStarted()
    Telemetry.accepted()
    if (this.closed) state.cancel(CancelCause.disposed())
    this.changed()
  }

  published(state: CallState, result: ToolResult.ToolResult): void {
    this.inFlight.delete(state)
    this.stopped(state)
    Telemetry.published(result, state.cancelledAt === undefined ? undefined : state.now() - state.cancelledAt)
    state.caller.callEnded()
    this.changed()
    if (this.inFlight.size === 0) {
      this.idle?.settle()
      this.idle = undefined
    }
  }

  cancelled(state: CallState): void {
    this.stopping.add(state)
    // One fiber watches all calls that are being stopped, and none does when none is.
    this.watch ??= startFiber(this.warnOfStuckCalls(), Context.empty(), this.origin)
  }

  private stopped(state: CallState): void {
    if (!this.stopping.delete(state) || this.stopping.size > 0) return
    this.watch?.unsafeInterruptAsFork(FiberId.none)
    this.watch = undefined
  }

  private warnOfStuckCalls(): Effect.Effect<void> {
    const warned = new Set<CallState>()
    const look = Effect.suspend(() =>
      Effect.forEach(
        [...this.stopping].filter(
          (state) => !warned.has(state) && state.now() - (state.cancelledAt ?? state.now()) >= this.warnAfterMillis
        ),
        (state) => {
          warned.add(state)
          return Effect.logWarning(
            `Call "${state.id}" of tool "${state.name}" was cancelled ${state.now() - (state.cancelledAt ?? 0)}ms ago and is still in phase "${state.phase}": something in it ignores the cancellation`
          )
        },
        { discard: true }
      )
    )
    return Effect.forever(Effect.zipRight(Effect.sleep(Duration.millis(this.warnAfterMillis)), look))
  }

  /** Tells those who watch. Costs nothing when nobody does. */
  changed(): void {
    if (this.watchers.size > 0) for (const watcher of this.watchers) watcher()
  }

  onChange(watcher: () => void): () => void {
    this.watchers.add(watcher)
    return () => this.watchers.delete(watcher)
  }

  awaitIdle(): Effect.Effect<void> {
    if (this.inFlight.size === 0) return Effect.void
    this.idle ??= new Settlement()
    return this.idle.wait()
  }

  /** Cancels what is in flight and waits for it. What comes later ends before it is dispatched. */
  close(): Effect.Effect<void> {
    this.closed = true
    for (const state of this.inFlight) state.cancel(CancelCause.disposed())
    return this.awaitIdle()
  }

  log(state: CallState, message: string, cause: Cause.Cause<unknown>): void {
    report(`${message} (call "${state.id}" of tool "${state.name}")`, cause, state.origin)
  }
}
