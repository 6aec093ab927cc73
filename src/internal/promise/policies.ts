/**
 * Policies of code without Effect as those that the runtime knows.
 *
 * Invariants
 *
 * P1. Each stage is awaited whatever becomes of the call, and no promise of it is left without a handler (L4, L10).
 * P2. Each `next` runs under an owner of its own, which is cancelled by what the wrapper had put into its view when it
 *     called it, and by whatever stops the call. The two never reach each other (L6).
 * P3. What a wrapper put into its view is gone when the wrapper has settled, however it did.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Cancellation, ownerIn, toService } from "../../Cancellation.js"
import * as Core from "../../Policy.js"
import type { Policy, Review } from "../../promise/Policy.js"
import type { ToolResult } from "../../promise/Result.js"
import type * as CoreResult from "../../ToolResult.js"
import { Owner, ShieldedOwner } from "../cancellation/owner.js"
import { type Origin, originOf, startProtectedFiber } from "../startFiber.js"
import { calling } from "./calling.js"
import { lastingView, Replaceable, stoppableView } from "./callView.js"
import { fromAnswer, toFacade } from "./results.js"

const decisionOf = (decision: unknown): Core.Decision => {
  const { kind, reason } = (decision ?? {}) as { readonly kind?: unknown; readonly reason?: string }
  if (kind === "allow") return Core.allow
  if (kind === "deny") return Core.deny(reason as string)
  return kind === "ask" ? Core.ask(reason) : (undefined as unknown as Core.Decision) // none: the core says so
}

const reviewOf = (review: Review | undefined): Core.Review => {
  const contexts = review?.additionalContexts
  if (review?.kind === "block") return Core.block(review.content, { contexts })
  if (review?.kind === "accept") return Core.accept({ content: review.content, value: review.value, contexts })
  return undefined as unknown as Core.Review // none: the core says so
}

type Owned = Cancellation

/** One run of a wrapper: what it needs to run its `next`. */
interface Run {
  readonly next: Core.Next
  readonly replaceable: Replaceable
  /** What the wrapper, and all that it starts, is waited for by. */
  readonly given: Owner
  readonly context: Context.Context<never>
  readonly origin: Origin
}

/** Runs `next` on a fiber that nobody interrupts: it is stopped through its owner, and answers. */
const runNext = ({ context, given, next, origin, replaceable }: Run): Promise<ToolResult> => {
  const promise = new Promise<ToolResult>((resolve, reject) => {
    const { added } = replaceable
    const owner = added === undefined ? given : new Owner(given)
    // Joined before it is followed: a signal that has aborted already is the first cause (P2).
    if (added !== undefined) owner.follow(added)
    const member = { cancelled: () => {}, stop: () => {} }
    given.join(member)
    const fiber = startProtectedFiber(
      next,
      Context.add(context, Cancellation, toService(owner)) as Context.Context<Owned>,
      origin
    )
    fiber.addObserver((exit: Exit.Exit<CoreResult.ToolResult>) => {
      const tell = () => {
        given.leave(member)
        if (Exit.isSuccess(exit)) resolve(toFacade(exit.value))
        else reject(Cause.squash(exit.cause)) // run after its wrapper had settled
      }
      if (owner === given) tell()
      else owner.conclude(tell)
    })
  })
  promise.catch(() => {}) // P1
  return promise
}

const wrap =
  (around: NonNullable<Policy["around"]>) =>
  (call: Core.Call, next: Core.Next): Effect.Effect<CoreResult.ToolResult, unknown, Owned> =>
    Effect.withFiberRuntime((fiber, status) => {
      const given = ownerIn(fiber.currentContext)
      const replaceable = new Replaceable(call, given instanceof ShieldedOwner ? given.shieldedIn : given)
      const run = { next, replaceable, given, context: fiber.currentContext, origin: originOf(fiber, status) }
      return Effect.ensuring(
        calling(() => around(replaceable.view, () => runNext(run)), fromAnswer),
        Effect.sync(() => replaceable.restore()) // P3
      )
    })

/**
 * The policies that one of code without Effect stands for, in its own order.
 *
 * @internal
 */
export const policiesOf = (policy: Policy): ReadonlyArray<Core.Policy<Owned>> => {
  const { after, around, before, guard, name, observe } = policy
  const finish = { onCancel: "finish" } as const
  const all: Array<Core.Policy<Owned>> = []
  if (before)
    all.push(Core.before(name, (call) => calling(() => before.call(policy, stoppableView(call)), decisionOf), finish))
  if (guard) all.push(Core.guard(name, (call) => guard.call(policy, stoppableView(call))))
  if (around) all.push(Core.around(name, wrap(around.bind(policy)), finish))
  if (after) {
    all.push(
      Core.after(name, (call, result) =>
        calling(() => after.call(policy, lastingView(call), toFacade(result)), reviewOf)
      )
    )
  }
  if (observe) {
    all.push(
      Core.observe(name, (call, result) =>
        calling(
          () => observe.call(policy, lastingView(call), toFacade(result)),
          () => {}
        )
      )
    )
  }
  return all
}
