/**
 * Runs an effect as the owner of what it starts.
 *
 * The effect runs on a started fiber of its own, because an owner is cancelled without the calling fiber being
 * interrupted, and Effect can only interrupt whole fibers.
 *
 * Two roads (docs/design.md). When the owner is cancelled, calls in flight below it end first, each with its result, which
 * whoever waits for them sees; then the effect is interrupted where it next waits. When the calling fiber is
 * interrupted, the owner is cancelled with that and the effect is interrupted at once.
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as CancelCause from "../../CancelCause.js"
import { Settlement, waitOrStop } from "../settlement.js"
import { type Origin, startFiber, startProtectedFiber } from "../startFiber.js"
import { whenOthersWait } from "../timer.js"
import type { Member, Owner } from "./owner.js"

/**
 * The cause of a cancellation that began as an interruption.
 *
 * @internal
 */
export const interruptionCause = (interruption: Cause.Cause<unknown>): CancelCause.CancelCause =>
  CancelCause.interrupted(
    Option.getOrElse(
      Chunk.head(Chunk.fromIterable(HashSet.values(Cause.interruptors(interruption)))),
      () => FiberId.none
    )
  )

/**
 * The fiber that runs what an owner owns, as a member of that owner.
 */
class OwnedFiber implements Member {
  private readonly owner: Owner
  private readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
  private readonly origin: Origin
  private disarm: (() => void) | undefined

  constructor(owner: Owner, fiber: Fiber.RuntimeFiber<unknown, unknown>, origin: Origin) {
    this.owner = owner
    this.fiber = fiber
    this.origin = origin
  }

  cancelled(): void {
    if (this.owner.calls === 0 && !this.owner.wasAnswered) return this.stop()
    this.owner.whenCallsEnded(() => {
      // Not right now: the fiber may have the result of a call in hand, and may return it.
      this.disarm = whenOthersWait(this.origin, () => this.stop())
    })
  }

  stop(): void {
    this.fiber.unsafeInterruptAsFork(FiberId.none)
  }

  ended(): void {
    this.disarm?.()
    this.owner.leave(this)
  }
}

/**
 * Runs `effect` under `owner` and ends the owner: completes when the effect has ended and nothing that it started under
 * the owner runs any more.
 *
 * Must run in a protected region; `restore` is that region's, `origin` and `outer` the caller's. `context` holds the owner.
 *
 * @internal
 */
export const runOwned = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  owner: Owner,
  context: Context.Context<R>,
  outer: Context.Context<never>,
  origin: Origin,
  restore: <B, E2, R2>(effect: Effect.Effect<B, E2, R2>) => Effect.Effect<B, E2, R2>
): Effect.Effect<Exit.Exit<A, E>> => {
  const ended = new Settlement<Exit.Exit<A, E>>()
  const start = RuntimeFlags.interruptible(origin.runtimeFlags) ? startFiber : startProtectedFiber
  // The owner is put over the caller's context inside the fiber: `inheritAll` would hand on a context it was started with.
  const owned = Effect.mapInputContext(effect, () => context) as Effect.Effect<A, E>
  const fiber = start(owned, outer, origin)
  const member = new OwnedFiber(owner, fiber, origin)
  owner.join(member)
  if (owner.cause !== undefined) member.cancelled() // cancelled by its own first, synchronous steps
  fiber.addObserver((exit) => {
    member.ended()
    owner.conclude(() => ended.settle(exit))
  })
  return waitOrStop(ended, restore, (interruption) => {
    owner.cancel(interruptionCause(interruption))
    member.stop()
  }).pipe(Effect.tap(() => fiber.inheritAll))
}
