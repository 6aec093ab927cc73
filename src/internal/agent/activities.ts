/**
 * What an agent does: the turn that runs, or the maintenance, each under an owner of its own. The machine says when.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Cancellation } from "../../Cancellation.js"
import { parentIn, Cancellation as Tag, toService } from "../../Cancellation.js"
import { Owner } from "../cancellation/owner.js"
import { runOwned } from "../cancellation/runOwned.js"
import { report } from "../report.js"
import { type Origin, originOf, startProtectedFiber } from "../startFiber.js"
import { Machine } from "./machine.js"
import { runTurn, type Settings } from "./turn.js"
import { Turn } from "./turnState.js"

/** @internal */
export class Activities {
  readonly machine: Machine
  private readonly owner: Owner
  private readonly origin: Origin
  private readonly settings: Settings
  private current: Owner | undefined

  constructor(owner: Owner, origin: Origin, settings: Omit<Settings, "machine">) {
    this.owner = owner
    this.origin = origin
    this.machine = new Machine(
      settings.session,
      { startTurn: (turn) => this.startTurn(turn), cancel: (cause) => void this.current?.cancel(cause) },
      origin
    )
    this.settings = { ...settings, machine: this.machine }
  }

  /** Whether what runs in `context` is a part of what the agent does, so that to wait for that is to wait for itself. */
  isPartOfIt(context: Context.Context<never>): boolean {
    const { current } = this
    return current !== undefined && !current.hasEnded && (parentIn(context)?.isWaitedForBy(current) ?? false)
  }

  /** Runs something as the maintenance that the machine has allowed. */
  maintain<A, E, R>(task: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Cancellation>> {
    return Effect.withFiberRuntime((fiber, status) =>
      Effect.uninterruptibleMask((restore) => {
        const owner = this.own()
        const context = Context.add(
          fiber.currentContext as Context.Context<Exclude<R, Cancellation>>,
          Tag,
          toService(owner)
        )
        const origin = originOf(fiber, status)
        const run = runOwned(task, owner, context as Context.Context<R>, fiber.currentContext, origin, restore)
        return Effect.flatten(run)
      })
    )
  }

  /** The owner of what begins now. A cancel that comes from above reaches the machine like any other (L11). */
  private own(): Owner {
    const owner = new Owner(this.owner)
    owner.onCancel = () => {
      const { cause } = owner
      if (cause !== undefined) this.machine.dispatch({ _tag: "Cancelled", cause, keepInbox: true })
    }
    this.current = owner
    return owner
  }

  private startTurn(number: number): void {
    const turn = new Turn(number, this.own(), this.machine, this.origin)
    try {
      turn.append({ _tag: "TurnStarted", turn: number })
    } catch (error) {
      // Nothing has begun, and what waited is parked: it is not lost, and the agent does not hang.
      report(`Turn ${number} of agent "${this.settings.agent}" could not be started`, Cause.die(error), this.origin)
      turn.owner.conclude(() => this.machine.dispatch({ _tag: "TurnEnded", end: "failed" }))
      return
    }
    startProtectedFiber(runTurn(this.settings, turn), Context.empty(), this.origin)
  }
}
