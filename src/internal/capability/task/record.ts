/**
 * One task: from the step in which it was handed over until it has settled.
 *
 * Invariants
 *
 * K1. It settles once, when its body has ended and nothing of it is left (L3), with what the body came to: a body that
 *     finished is never called killed, and a failure of its own stays one although it was being killed (L5).
 * K2. Who waits is told after the status has changed, and a wait that is given up leaves no waiter behind.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as CancelCause from "../../../CancelCause.js"
import type * as Handoff from "../../../Handoff.js"
import { Settlement } from "../../settlement.js"
import { originOf } from "../../startFiber.js"
import { describeThrown } from "../../thrown.js"
import { maxTimerMillis, startTimer } from "../../timer.js"
import type { OutputLog } from "./outputLog.js"

/**
 * Why an operation on tasks failed.
 *
 * @internal
 */
export interface Problem {
  readonly reason: "NotFound" | "TooMany" | "InvalidOptions" | "OwnerEnded"
  readonly detail?: string
}

/** @internal */
export type Status = "running" | "stopping" | "completed" | "failed" | "killed"

/** @internal */
export class TaskRecord {
  readonly id: string
  readonly label: string
  readonly startedAt: number
  readonly output: OutputLog
  endedAt: number | undefined
  private readonly handedOver: Handoff.HandedOver
  private readonly now: () => number
  private exit: Exit.Exit<unknown, unknown> | undefined
  private readonly waiters = new Set<() => void>()
  private settled: "completed" | "failed" | "killed" | undefined
  error: string | undefined

  constructor(
    id: string,
    label: string,
    output: OutputLog,
    handedOver: Handoff.HandedOver,
    now: () => number,
    onSettled: () => void
  ) {
    this.id = id
    this.label = label
    this.output = output
    this.handedOver = handedOver
    this.now = now
    this.startedAt = now()
    handedOver.whenEnded(() => {
      this.settle()
      onSettled()
    })
  }

  get status(): Status {
    return this.settled ?? (this.cause === undefined ? "running" : "stopping")
  }

  get cause(): CancelCause.CancelCause | undefined {
    return this.handedOver.cause()
  }

  get escaped(): ReadonlyArray<string> {
    return this.handedOver.escaped()
  }

  get isSettled(): boolean {
    return this.settled !== undefined
  }

  /** The body has ended. */
  ended(exit: Exit.Exit<unknown, unknown>): void {
    this.exit = exit
    this.handedOver.finish()
  }

  /** Asks it to stop. Whether it had not settled yet. */
  kill(cause: CancelCause.CancelCause): boolean {
    if (this.isSettled) return false
    this.handedOver.cancel(cause)
    return true
  }

  /** Waits until this has settled, or the time is over. An interruption ends the wait and nothing else. */
  awaitSettled(timeout: Duration.DurationInput): Effect.Effect<void, Problem> {
    return Effect.withFiberRuntime((fiber, status) =>
      Effect.uninterruptibleMask((restore) => {
        const millis = Duration.toMillis(timeout)
        if (millis > maxTimerMillis && Number.isFinite(millis)) {
          const detail = `the timeout must be at most ${maxTimerMillis} milliseconds, or infinite, not ${millis}`
          return Effect.fail<Problem>({ reason: "InvalidOptions", detail })
        }
        if (this.isSettled || millis <= 0) return Effect.void
        const woken = new Settlement<void>()
        const wake = () => void woken.settle()
        this.waiters.add(wake)
        const disarm = Number.isFinite(millis) ? startTimer(originOf(fiber, status), millis, wake) : undefined
        const tidy = Effect.sync(() => {
          this.waiters.delete(wake) // K2
          disarm?.() // L3
        })
        return Effect.ensuring(restore(woken.wait()), tidy)
      })
    )
  }

  private settle(): void {
    const { exit } = this
    this.endedAt = this.now()
    if (exit === undefined || (Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))) {
      this.settled = this.cause === undefined ? "failed" : "killed"
      if (this.cause === undefined) this.error = "the task interrupted itself"
    } else if (Exit.isFailure(exit)) {
      this.settled = "failed" // K1
      this.error = describeThrown(Cause.squash(exit.cause)).message
    } else this.settled = "completed"
    const waiters = [...this.waiters]
    this.waiters.clear()
    for (const waiter of waiters) waiter()
  }
}
