/**
 * One run of a workflow: from the step in which it was handed over until nothing of it is left.
 *
 * Invariants
 *
 * R1. A step that has started has ended exactly once, and its end is told before the run's (L1).
 * R2. Once the run was asked to stop, or its script has ended, no step starts: one that is ready late is refused, and
 *     nothing is told of it (L10).
 * R3. A step that has completed stays completed, whatever comes after it (L5).
 * R4. Compensation begins when the script and everything that it started have ended, runs in the reverse order in which the
 *     steps completed, one after the other, out of reach of cancellation, and is awaited (L3). A failure of one does not
 *     keep the others from running, and is told.
 * R5. What the run came to is fixed when its script has ended: a cancellation that comes later does not rewrite it (L5).
 * R6. A step runs where the script's owner waits for it, so none outlives the script (L3).
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as CancelCause from "../../../CancelCause.js"
import * as Cancellation from "../../../Cancellation.js"
import type * as Handoff from "../../../Handoff.js"
import type { Owner } from "../../cancellation/owner.js"
import { misuse } from "../../invariant.js"
import { report } from "../../report.js"
import type { Origin } from "../../startFiber.js"
import { nowOf } from "../../timer.js"
import { Lane } from "./lane.js"
import { type Outcome, outcomeOf, partOf, Started, type StepEnd, type Told, toldOf } from "./parts.js"
import { apart, type Undo, within } from "./undo.js"

/** @internal */
export interface Settings {
  readonly id: string
  readonly name: string
  readonly attachment: "attached" | "detached"
  readonly concurrency: number
  readonly onEvent: ((event: Told & { readonly workflow: string }) => void) | undefined
  /** What runs in place of the work of a step. */
  readonly replace: (step: string) => Effect.Effect<unknown, unknown> | undefined
}

/** @internal */
export class WorkflowRun {
  readonly settings: Settings
  private readonly origin: Origin
  private readonly lane: Lane
  private readonly startedAt: number
  private readonly steps: Array<Started> = []
  private readonly compensations: Array<Started> = []
  private readonly undoings: Array<{ readonly step: Started; readonly undo: Undo }> = []
  private owner: Owner | undefined
  private scriptOwner: Owner | undefined
  private handedOver: Handoff.HandedOver | undefined
  private exit: Exit.Exit<unknown, unknown> | undefined
  private stoppedBy: CancelCause.CancelCause | undefined
  private endedAt: number | undefined

  constructor(settings: Settings, origin: Origin) {
    this.settings = settings
    this.origin = origin
    this.lane = new Lane(settings.concurrency)
    this.startedAt = nowOf(origin)
  }

  /** The commit point. */
  publish(owner: Owner, handedOver: Handoff.HandedOver, onEnded: () => void): void {
    this.owner = owner
    this.handedOver = handedOver
    this.tell({ _tag: "WorkflowStarted" })
    handedOver.whenEnded(() => {
      this.settle(undefined)
      this.endedAt = nowOf(this.origin)
      this.tell({ _tag: "WorkflowEnded", outcome: this.outcome, ...toldOf(this.exit) }) // R1
      onEnded()
    })
  }

  get outcome(): Outcome {
    if (this.exit === undefined || Exit.isSuccess(this.exit)) return this.exit === undefined ? "cancelled" : "completed"
    return this.stoppedBy !== undefined && Cause.isInterruptedOnly(this.exit.cause) ? "cancelled" : "error"
  }

  get snapshot() {
    const { endedAt, exit, handedOver } = this
    const { attachment, id, name } = this.settings
    const cause = handedOver?.cause()
    const status = this.hasEnded
      ? "ended"
      : this.compensations.length > 0
        ? "compensating"
        : cause === undefined
          ? "running"
          : "stopping"
    return {
      id,
      name,
      attachment,
      status,
      startedAt: this.startedAt,
      ...(endedAt !== undefined ? { endedAt, outcome: this.outcome, ...toldOf(exit) } : {}),
      ...(cause === undefined ? {} : { cause }),
      steps: this.steps.map(partOf),
      compensations: this.compensations.map(partOf),
      escaped: handedOver?.escaped() ?? []
    } as const
  }

  /** What the run came to, once it has ended. */
  get ended() {
    const end = ({ exit, name }: Started): ReadonlyArray<StepEnd> => (exit === undefined ? [] : [{ name, exit }])
    return {
      outcome: this.outcome,
      exit: this.exit,
      cause: this.stoppedBy,
      steps: this.steps.flatMap(end),
      compensations: this.compensations.flatMap(end),
      escaped: this.handedOver?.escaped() ?? []
    }
  }

  get hasEnded(): boolean {
    return this.endedAt !== undefined
  }

  cancel(cause: CancelCause.CancelCause): void {
    this.handedOver?.cancel(cause)
  }

  /** Completes when nothing of it is left. */
  get awaitEnd(): Effect.Effect<void> {
    return this.handedOver?.awaitEnd ?? Effect.void
  }

  /** Whether what runs on this fiber is a part of the run. */
  isAround(context: Context.Context<never>): boolean {
    const { owner } = this
    if (this.hasEnded || owner === undefined) return false
    return Cancellation.parentIn(context)?.isWaitedForBy(owner) ?? false
  }

  /** Runs the script, and undoes what it completed where it did not itself. */
  execute<A, E, R>(script: Effect.Effect<A, E, R | Cancellation.Cancellation>) {
    const owned = Effect.withFiberRuntime<A, E, R | Cancellation.Cancellation>((fiber) => {
      this.scriptOwner = Cancellation.ownerIn(fiber.currentContext)
      return script
    })
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.exit(restore(Cancellation.own(owned))), (exit) => {
        this.settle(exit)
        return Exit.isSuccess(exit) ? Effect.void : this.compensate
      })
    )
  }

  /** Runs one step of the script. */
  step<A, E, R, R2>(
    name: string,
    work: Effect.Effect<A, E, R>,
    compensate: ((value: A) => Effect.Effect<unknown, unknown, R2>) | undefined
  ): Effect.Effect<A, E, R | R2 | Cancellation.Cancellation> {
    return Effect.withFiberRuntime<A, E, R | R2 | Cancellation.Cancellation>((fiber) => {
      this.checkOwner(name, Cancellation.ownerIn(fiber.currentContext))
      const context = fiber.currentContext as Context.Context<R2>
      const place = this.lane.enter()
      return Effect.uninterruptibleMask((restore) =>
        Effect.gen(this, function* () {
          const waited = yield* Effect.exit(restore(place.wait()))
          if (Exit.isFailure(waited) || this.isStopped) {
            this.lane.leave(place)
            return yield* Exit.isFailure(waited) ? Effect.failCause(waited.cause) : Effect.interrupt // R2
          }
          const started = this.begin(this.steps, "Step", this.steps.length + 1, name)
          const replaced = this.settings.replace(name) as Effect.Effect<A, E> | undefined
          const exit = yield* Effect.exit(restore(Cancellation.own(replaced ?? work)))
          this.lane.leave(place)
          if (Exit.isSuccess(exit) && compensate !== undefined) {
            this.undoings.push({ step: started, undo: within(context, compensate, exit.value) })
          }
          this.end(started, "Step", exit) // R1, R3
          return yield* exit
        })
      )
    }).pipe(Cancellation.operation(`step ${name}`)) as Effect.Effect<A, E, R | R2 | Cancellation.Cancellation>
  }

  private get isStopped(): boolean {
    return this.exit !== undefined || this.handedOver?.cause() !== undefined
  }

  private checkOwner(name: string, owner: Owner): void {
    const { scriptOwner } = this
    if (scriptOwner === undefined || scriptOwner.hasEnded || !owner.isWaitedForBy(scriptOwner)) {
      misuse(`step ${name} was started outside of the script that it belongs to`) // R6
    }
  }

  private get compensate(): Effect.Effect<void, never, Cancellation.Cancellation> {
    return Effect.suspend(() => {
      const last = this.undoings.pop() // R4
      if (last === undefined) return Effect.void
      const { name, step } = last.step
      const started = this.begin(this.compensations, "Compensation", step, name)
      return Effect.flatMap(Cancellation.shield(apart(last.undo)), (exit) => {
        this.end(started, "Compensation", exit)
        if (Exit.isFailure(exit)) report(`Step ${name} could not be compensated`, exit.cause, this.origin)
        return this.compensate
      })
    })
  }

  private settle(exit: Exit.Exit<unknown, unknown> | undefined): void {
    if (this.exit !== undefined) return // R5
    this.exit = exit
    this.stoppedBy = this.handedOver?.cause()
  }

  private begin(list: Array<Started>, what: "Step" | "Compensation", step: number, name: string): Started {
    const started = new Started(step, name)
    list.push(started)
    this.tell({ _tag: `${what}Started`, step, name })
    return started
  }

  private end(started: Started, what: "Step" | "Compensation", exit: Exit.Exit<unknown, unknown>): void {
    started.exit = exit
    const { name, step } = started
    this.tell({ _tag: `${what}Ended`, step, name, outcome: outcomeOf(exit), ...toldOf(exit) })
  }

  private tell(told: Told): void {
    try {
      this.settings.onEvent?.({ ...told, workflow: this.settings.id })
    } catch (thrown) {
      report(`What listens to workflow ${this.settings.id} has thrown`, Cause.die(thrown), this.origin)
    }
  }
}
