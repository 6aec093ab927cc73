/**
 * The runs of one layer of workflows.
 *
 * Invariants
 *
 * T1. A run is listed and has its owner in one step, the commit point, and its script begins after that (L9).
 * T2. Of those that have ended the newest `maxEnded` are remembered.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { type Cancellation, ownerIn } from "../../../Cancellation.js"
import * as Handoff from "../../../Handoff.js"
import { Settlement } from "../../settlement.js"
import { originOf } from "../../startFiber.js"
import { type Settings, WorkflowRun } from "./run.js"

/** @internal */
export class WorkflowTable {
  private readonly owner: Context.Context<Cancellation>
  private readonly maxEnded: number
  private readonly runs = new Map<string, WorkflowRun>()
  private readonly ended: Array<string> = []
  private started = 0

  constructor(owner: Context.Context<Cancellation>, maxEnded: number) {
    this.owner = owner
    this.maxEnded = maxEnded
  }

  get all(): ReadonlyArray<WorkflowRun> {
    return [...this.runs.values()]
  }

  start<A, E, R>(
    settings: Omit<Settings, "id">,
    script: (run: WorkflowRun) => Effect.Effect<A, E, R>
  ): Effect.Effect<WorkflowRun, Handoff.OwnerEnded, Exclude<R, Cancellation> | Cancellation> {
    return Effect.withFiberRuntime((fiber, status) => {
      const run = new WorkflowRun({ ...settings, id: `${settings.name}-${++this.started}` }, originOf(fiber, status))
      const callers = fiber.currentContext as Context.Context<Cancellation>
      const published = new Settlement<Handoff.HandedOver>()
      const body = Effect.flatMap(published.wait(), (handedOver) =>
        Effect.ensuring(
          run.execute(script(run)),
          Effect.sync(() => handedOver.finish())
        )
      )
      const start = Effect.zipRight(
        Effect.forkScoped(body),
        Effect.map(Effect.context<Cancellation>(), (context) => ownerIn(context))
      )
      return Handoff.make({
        owner: settings.attachment === "detached" ? this.owner : callers, // L9
        start,
        publish: (owner, handedOver) => {
          this.runs.set(run.settings.id, run) // T1
          run.publish(owner, handedOver, () => this.left(run.settings.id))
          published.settle(handedOver)
          return run
        }
      }) as Effect.Effect<WorkflowRun, Handoff.OwnerEnded, Exclude<R, Cancellation> | Cancellation>
    })
  }

  private left(id: string): void {
    this.ended.push(id)
    for (const old of this.ended.splice(0, Math.max(0, this.ended.length - this.maxEnded))) this.runs.delete(old) // T2
  }
}
