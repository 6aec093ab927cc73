/**
 * The tasks of one owner.
 *
 * Invariants
 *
 * J1. A place is taken before anything is started and given back when the task has settled, or was not committed: never
 *     more than `maxRunning` tasks are alive, those that are stopping included.
 * J2. Nothing of the work is evaluated before its commit point, the step in which it appears in this table (L9).
 * J3. Of those that have ended the newest `maxEnded` are remembered, so that a long life does not fill the memory.
 */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import type { Cancellation } from "../../../Cancellation.js"
import * as Handoff from "../../../Handoff.js"
import { originOf } from "../../startFiber.js"
import { clockOf } from "../../timer.js"
import { OutputLog } from "./outputLog.js"
import { type Problem, TaskRecord } from "./record.js"

/** @internal */
export interface Limits {
  readonly maxRunning: number
  readonly maxEnded: number
  readonly maxOutput: number
}

/** The work of a task: what it is given is its id, and where it writes. */
type Work = (task: {
  readonly id: string
  readonly write: (text: string) => void
}) => Effect.Effect<unknown, unknown, Cancellation>

/** @internal */
export class TaskTable {
  private readonly owner: Context.Context<Cancellation>
  private readonly limits: Limits
  private readonly records = new Map<string, TaskRecord>()
  private readonly ended: Array<string> = []
  private started = 0
  private taken = 0

  constructor(owner: Context.Context<Cancellation>, limits: Limits) {
    this.owner = owner
    this.limits = limits
  }

  get(id: string): TaskRecord | undefined {
    return this.records.get(id)
  }

  get all(): ReadonlyArray<TaskRecord> {
    return [...this.records.values()]
  }

  /** Starts a task and succeeds with its id. */
  start(label: string, work: Work): Effect.Effect<string, Problem, Cancellation> {
    return Effect.withFiberRuntime((fiber, status) =>
      Effect.uninterruptibleMask((restore) => {
        if (label.trim() === "") {
          const detail = "the label is empty: say in a few words what the task does"
          return Effect.fail<Problem>({ reason: "InvalidOptions", detail })
        }
        if (this.taken >= this.limits.maxRunning) return Effect.fail<Problem>({ reason: "TooMany" })
        this.taken++ // J1: here, so that two starts at once do not both find the last place
        const clock = clockOf(originOf(fiber, status))
        let isCommitted = false
        const commit = () => {
          isCommitted = true
        }
        const handOver = this.handOver(label, work, () => clock.unsafeCurrentTimeMillis(), commit)
        return Effect.onError(restore(handOver), () =>
          Effect.sync(() => {
            if (!isCommitted) this.taken-- // J1
          })
        ).pipe(Effect.mapError((): Problem => ({ reason: "OwnerEnded" })))
      })
    )
  }

  private handOver(label: string, work: Work, now: () => number, onCommit: () => void) {
    const output = new OutputLog(this.limits.maxOutput)
    const begin = Deferred.unsafeMake<string>(FiberId.none)
    const body = Effect.flatMap(Deferred.await(begin), (id) => work({ id, write: (text) => output.write(text) }))
    return Handoff.make({
      owner: this.owner,
      start: Effect.forkScoped(body),
      publish: (fiber, handedOver) => {
        onCommit()
        const id = `task-${++this.started}`
        const record = new TaskRecord(id, label, output, handedOver, now, () => this.settled(record))
        this.records.set(id, record)
        fiber.addObserver((exit) => record.ended(exit))
        Deferred.unsafeDone(begin, Effect.succeed(id)) // J2
        return id
      }
    })
  }

  private settled({ id }: TaskRecord): void {
    this.taken-- // J1
    this.ended.push(id)
    const forgotten = this.ended.splice(0, Math.max(0, this.ended.length - this.limits.maxEnded))
    for (const old of forgotten) this.records.delete(old) // J3
  }
}
