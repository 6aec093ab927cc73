/**
 * A child of a scripted `Subagent`: takes messages, runs a turn for each, and rests. What a turn comes to is told to it.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"
import type * as CancelCause from "../../CancelCause.js"
import * as Cancellation from "../../Cancellation.js"
import type * as Subagent from "../../capability/Subagent.js"
import { Owner } from "../cancellation/owner.js"
import { Settlement } from "../settlement.js"
import { type Origin, originOf, startFiber } from "../startFiber.js"

interface Script {
  readonly whenStopped: Effect.Effect<void>
  /** A turn begins. Gives what it comes to at once, if that is known, and is told when it has ended. */
  readonly turn: (message: string) => { readonly result: Subagent.Result | undefined; readonly ended: () => void }
}

const stopped: Subagent.Result = { outcome: "aborted", output: "" }

/** @internal */
export class ScriptedChild {
  result: Subagent.Result = stopped
  private readonly script: Script
  private readonly owner: Owner
  private readonly origin: Origin
  private readonly waiting: Array<string> = []
  private taken = 0
  private current: { readonly end: Deferred.Deferred<Subagent.Result>; readonly owner: Owner } | undefined
  private resting = new Settlement<void>()

  private constructor(script: Script, owner: Owner, origin: Origin) {
    this.script = script
    this.owner = owner
    this.origin = origin
  }

  /** A child under the owner in context. Closing the scope stops it and waits for it. */
  static make(script: Script): Effect.Effect<ScriptedChild, never, Scope.Scope> {
    return Effect.flatMap(Cancellation.ownScoped, (owner) =>
      Effect.withFiberRuntime((fiber, status) =>
        Effect.succeed(new ScriptedChild(script, Cancellation.ownerIn(owner), originOf(fiber, status)))
      )
    )
  }

  get isRunning(): boolean {
    return this.current !== undefined
  }

  get awaitRest(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.isRunning ? Effect.flatMap(this.resting.waitTidily(), () => this.awaitRest) : Effect.void
    )
  }

  accept(message: string): string {
    this.waiting.push(message)
    if (this.current === undefined) this.begin()
    return `message-${++this.taken}`
  }

  interrupt(cause: CancelCause.CancelCause): void {
    this.current?.owner.cancel(cause)
  }

  /** Ends the turn that runs. Whether it will. */
  end(result: Subagent.Result): boolean {
    const { current } = this
    if (current === undefined || current.owner.cause !== undefined) return false
    return Effect.runSync(Deferred.succeed(current.end, result))
  }

  private begin(): void {
    const message = this.waiting.shift()
    if (message === undefined) return
    const owner = new Owner(this.owner)
    const end = Deferred.unsafeMake<Subagent.Result>(FiberId.none)
    this.current = { owner, end }
    const { ended, result } = this.script.turn(message)
    if (result !== undefined) Deferred.unsafeDone(end, Exit.succeed(result))
    // A real turn does not end in the step in which it begins either.
    const work = Effect.zipRight(Effect.yieldNow(), Deferred.await(end)).pipe(
      Effect.onInterrupt(() => this.script.whenStopped),
      Cancellation.operation("a scripted turn")
    )
    const context = Context.make(Cancellation.Cancellation, Cancellation.toService(owner))
    startFiber(work, context, this.origin).addObserver((exit) => {
      this.result = Exit.isSuccess(exit) ? exit.value : stopped
      owner.conclude(() => {
        ended()
        this.current = undefined
        if (owner.cause === undefined) this.begin() // what waits behind a stopped turn is parked
        if (this.current !== undefined) return
        const { resting } = this
        this.resting = new Settlement()
        resting.settle()
      })
    })
  }
}
