/**
 * What the calls of one runtime share: who is in flight, who waits for that to change, and what is logged of it.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as CancelCause from "../../CancelCause.js"
import type { Cancellation } from "../../Cancellation.js"
import type * as Approval from "../../capability/Approval.js"
import type * as ToolCall from "../../ToolCall.js"
import type * as ToolResult from "../../ToolResult.js"
import type { Owner } from "../cancellation/owner.js"
import { report } from "../report.js"
import { Settlement } from "../settlement.js"
import type { Origin } from "../startFiber.js"
import { startTimer } from "../timer.js"
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
  /** Runs a call under the owner in context. */
  readonly execute: (call: ToolCall.ToolCall) => Effect.Effect<ToolResult.ToolResult, never, Cancellation>
  readonly origin: Origin
}

/**
 * What a runtime needs to know of a call of its own.
 *
 * @internal
 */
export interface InFlight {
  readonly id: string
  readonly name: string
  readonly phase: string
  readonly caller: Owner
  /** The owner of the body that made the call, where a body did. */
  readonly body: Owner | undefined
  readonly origin: Origin
  readonly cancelledAt: number | undefined
  readonly now: () => number
  readonly cancel: (cause: CancelCause.CancelCause) => boolean
}

/** @internal */
export class RuntimeState<Call extends InFlight> {
  readonly registry: Registry
  readonly approval: RuntimeOptions["approval"]
  readonly provideTo: RuntimeOptions["provideTo"]
  readonly execute: RuntimeOptions["execute"]
  readonly inFlight = new Set<Call>()
  private readonly origin: Origin
  private readonly warnAfterMillis: number
  private readonly watchers = new Set<() => void>()
  private readonly stopping = new Set<Call>()
  private readonly warned = new WeakSet<Call>()
  private disarm: (() => void) | undefined
  private idle: Settlement<void> | undefined
  private closed = false

  constructor(options: RuntimeOptions) {
    this.registry = options.registry
    this.approval = options.approval
    this.provideTo = options.provideTo
    this.execute = options.execute
    this.warnAfterMillis = options.warnAfterMillis
    this.origin = options.origin
  }

  accepted(state: Call): void {
    this.inFlight.add(state)
    state.caller.callStarted(state.body)
    Telemetry.accepted()
    if (state.cancelledAt !== undefined) this.cancelled(state)
    if (this.closed) state.cancel(CancelCause.disposed())
    this.changed()
  }

  published(state: Call, result: ToolResult.ToolResult): void {
    this.inFlight.delete(state)
    this.stopped(state)
    Telemetry.published(result, state.cancelledAt === undefined ? undefined : state.now() - state.cancelledAt)
    state.caller.callEnded(state.body)
    this.changed()
    if (this.inFlight.size === 0) {
      this.idle?.settle()
      this.idle = undefined
    }
  }

  cancelled(state: Call): void {
    this.stopping.add(state)
    // One timer for all calls that are being stopped, and none when none is.
    this.disarm ??= startTimer(this.origin, this.warnAfterMillis, () => this.warnOfStuckCalls())
  }

  private stopped(state: Call): void {
    if (!this.stopping.delete(state) || this.stopping.size > 0) return
    this.disarm?.() // L3: no timer of ours outlives the last call
    this.disarm = undefined
  }

  private warnOfStuckCalls(): void {
    let next = this.warnAfterMillis
    for (const state of this.stopping) {
      const elapsed = state.now() - (state.cancelledAt ?? state.now())
      if (elapsed < this.warnAfterMillis) next = Math.min(next, this.warnAfterMillis - elapsed)
      else if (!this.warned.has(state)) {
        this.warned.add(state)
        this.log(
          state,
          `A call was cancelled ${elapsed}ms ago and is still in phase "${state.phase}": something in it ignores the cancellation`,
          Cause.empty
        )
      }
    }
    this.disarm = startTimer(this.origin, next, () => this.warnOfStuckCalls())
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
    return this.idle.waitTidily()
  }

  /** Cancels what is in flight and waits for it. What comes later ends before it is dispatched. */
  close(): Effect.Effect<void> {
    this.closed = true
    for (const state of this.inFlight) state.cancel(CancelCause.disposed())
    return this.awaitIdle()
  }

  log(state: Call, message: string, cause: Cause.Cause<unknown>): void {
    report(`${message} (call "${state.id}" of tool "${state.name}")`, cause, state.origin)
  }
}
