/**
 * One child: from the step in which it was published until nothing of it is left, and what is known of it afterwards.
 *
 * Invariants
 *
 * S1. It ends once, and what it came to is fixed only then: a child that had completed is never called aborted (L5).
 * S2. Whether it rests, and that it is disposed of because it does, is one step: no message comes in between (L11).
 * S3. A wait that is given up leaves no fiber and no timer behind (L3).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as CancelCause from "../../../CancelCause.js"
import { parentIn } from "../../../Cancellation.js"
import type { Attachment, Result, Snapshot, StartOptions, Status } from "../../../capability/Subagent.js"
import type * as Handoff from "../../../Handoff.js"
import type { Owner } from "../../cancellation/owner.js"
import { Settlement } from "../../settlement.js"
import { originOf, startFiber } from "../../startFiber.js"
import { maxTimerMillis, startTimer } from "../../timer.js"
import type { Child, Problem } from "./child.js"

/**
 * What is known of a child from the start.
 *
 * @internal
 */
export interface Origins {
  readonly id: string
  readonly profile: string
  readonly attachment: Attachment
  readonly disposeAtRest: boolean
  readonly now: () => number
}

/** @internal */
export class SubagentRecord {
  /** What went wrong when it was disposed of. */
  disposal: string | undefined
  private readonly origins: Origins
  private readonly startedAt: number
  private readonly handedOver: Handoff.HandedOver
  /** The owner of whatever the child does. */
  private readonly owner: Owner
  private child: Child | undefined
  private isOver = false
  private ended: { readonly at: number; readonly result: Result } | undefined

  constructor(origins: Origins, child: Child, owner: Owner, handedOver: Handoff.HandedOver, onEnded: () => void) {
    this.origins = origins
    this.child = child
    this.owner = owner
    this.handedOver = handedOver
    this.startedAt = origins.now()
    handedOver.whenEnded(() => {
      this.ended = { at: origins.now(), result: child.result() } // S1
      this.child = undefined
      onEnded()
    })
  }

  get id(): string {
    return this.origins.id
  }

  get status(): Status {
    if (this.child === undefined) return "disposed"
    if (this.isEnding) return "stopping"
    return this.child.isRunning() ? "running" : "idle"
  }

  get snapshot(): Snapshot {
    const { child, disposal, ended, status } = this
    const { attachment, id, profile } = this.origins
    const result = ended?.result ?? (child === undefined || child.isRunning() ? undefined : child.result())
    const cause = this.handedOver.cause()
    return {
      id,
      profile,
      attachment,
      status,
      startedAt: this.startedAt,
      ...(ended === undefined ? {} : { endedAt: ended.at }),
      ...(result === undefined ? {} : { result }),
      ...(cause === undefined ? {} : { cause }),
      ...(disposal === undefined ? {} : { disposal }),
      escaped: this.handedOver.escaped()
    }
  }

  /** Takes a message. */
  accept(message: StartOptions["task"]): Effect.Effect<string, Problem> {
    return Effect.suspend(() => {
      const { child } = this
      return child === undefined || this.isEnding ? Effect.fail<Problem>({ reason: "Disposed" }) : child.accept(message)
    })
  }

  /** Stops the turn that runs. Whether one did. */
  interrupt(cause: CancelCause.CancelCause): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      const { child } = this
      return child === undefined || !child.isRunning() ? Effect.succeed(false) : Effect.as(child.interrupt(cause), true)
    })
  }

  /** What is known of it in the step in which it rests: when nothing of it is left, where it is being, or to be, disposed of. */
  private get atRest(): Effect.Effect<Snapshot> {
    return Effect.suspend(() => {
      const { child } = this
      if (child === undefined) return Effect.succeed(this.snapshot)
      if (this.isEnding || this.origins.disposeAtRest) return Effect.zipRight(this.handedOver.awaitEnd, this.atRest) // L3
      return child.isRunning() ? Effect.zipRight(child.awaitRest, this.atRest) : Effect.succeed(this.snapshot)
    })
  }

  /** Ends it, by itself, as soon as it rests. */
  get endAtRest(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { child } = this
      if (child === undefined || this.isEnding) return Effect.void
      if (child.isRunning()) return Effect.zipRight(child.awaitRest, this.endAtRest) // S2
      this.isOver = true
      this.handedOver.finish()
      return Effect.void
    })
  }

  /** Waits until it rests, or the time is over, and gives what is known of it then. */
  wait(timeout: Duration.DurationInput): Effect.Effect<Snapshot, Problem> {
    return Effect.withFiberRuntime((fiber, status) =>
      Effect.uninterruptibleMask((restore) => {
        const millis = Duration.toMillis(timeout)
        if (millis > maxTimerMillis && Number.isFinite(millis)) {
          const detail = `the timeout must be at most ${maxTimerMillis} milliseconds, or infinite, not ${millis}`
          return Effect.fail<Problem>({ reason: "InvalidOptions", detail })
        }
        if (millis <= 0) return Effect.succeed(this.snapshot)
        if (this.child !== undefined && this.isAround(fiber)) return Effect.fail<Problem>({ reason: "WaitsForItself" })
        if (!Number.isFinite(millis)) return restore(this.atRest)
        const woken = new Settlement<Snapshot | undefined>()
        const origin = originOf(fiber, status)
        const resting = startFiber(this.atRest, fiber.currentContext, origin)
        resting.addObserver((exit) => woken.settle(Exit.isSuccess(exit) ? exit.value : undefined))
        const disarm = startTimer(origin, millis, () => void woken.settle(undefined))
        const tidy = Effect.suspend(() => {
          disarm()
          return Fiber.interrupt(resting)
        })
        return Effect.map(Effect.ensuring(restore(woken.wait()), tidy), (seen) => seen ?? this.snapshot) // S3
      })
    )
  }

  /** Stops it for good, and waits until nothing of it is left, unless this is a part of it. */
  get dispose(): Effect.Effect<void, Problem> {
    return Effect.withFiberRuntime((fiber) => {
      if (!this.isEnding) this.handedOver.cancel(CancelCause.disposed())
      if (this.isAround(fiber)) return Effect.void
      return Effect.flatMap(this.handedOver.awaitEnd, () =>
        this.disposal === undefined
          ? Effect.void
          : Effect.fail<Problem>({ reason: "DisposalFailed", detail: this.disposal })
      )
    })
  }

  private get isEnding(): boolean {
    return this.isOver || this.handedOver.cause() !== undefined
  }

  /** Whether what runs on this fiber is a part of the child. */
  private isAround(fiber: Fiber.RuntimeFiber<unknown, unknown>): boolean {
    return parentIn(fiber.currentContext)?.isWaitedForBy(this.owner) ?? false
  }
}
