import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { CancelCause, Cancellation, Handoff } from "quiesce"
import { Sim } from "quiesce/testing"
import { law, reason } from "../support/laws.js"

/** Work with two steps before its commit point, and a release that takes one. */
class Work {
  alive = false
  undone = false
  published: Handoff.HandedOver | undefined
  publications = 0

  readonly start = Effect.zipRight(
    Effect.acquireRelease(
      Effect.sync(() => {
        this.alive = true
      }),
      () =>
        Effect.zipRight(
          Effect.yieldNow(),
          Effect.sync(() => {
            this.alive = false
          })
        )
    ),
    Effect.yieldNow()
  )

  readonly handOver = (owner: Handoff.Options<void, never, never, string, never>["owner"]) =>
    Handoff.make({
      owner,
      start: this.start,
      publish: (_work, handedOver) => {
        this.publications++
        this.published = handedOver
        return "job"
      },
      rollback: () =>
        Effect.sync(() => {
          this.undone = true
        })
    })
}

describe("L9 hand-over", () => {
  law(
    "L9",
    "the caller is cancelled around the commit point: rolled back and quiet before it is answered, or the new owner's and alive",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const work = new Work()
      const scope = yield* Scope.make()
      const owner = yield* Scope.extend(Cancellation.ownScoped, scope)
      const controller = new AbortController()
      let aliveAtAnswer: boolean | undefined
      const answered = Effect.onExit(work.handOver(owner), () =>
        Effect.sync(() => {
          aliveAtAnswer = work.alive
        })
      )
      const fiber = yield* Sim.fork("caller")(Cancellation.ownSignal(answered, controller.signal))
      let struck = false
      sim.addFault("interrupt", () => {
        struck = true
        fiber.unsafeInterruptAsFork(fiber.id())
      })
      sim.addFault("signal", () => {
        struck = true
        controller.abort(reason)
      })
      const exit = yield* Fiber.await(fiber)
      const isCommitted = work.published !== undefined
      assert.isAtMost(work.publications, 1, "L9: published twice")
      assert.strictEqual(work.alive, isCommitted, "L9: both owners, or neither")
      if (aliveAtAnswer !== undefined)
        assert.strictEqual(aliveAtAnswer, isCommitted, "L3: answered before it was quiet")
      assert.isUndefined(work.published?.cause(), "L9: the caller has cancelled what is not its own any more")
      if (!struck) assert.deepStrictEqual(exit, Exit.succeed("job"))
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(work.alive, "L3: the new owner has ended, its work has not")
      return `${isCommitted ? "committed" : "rolled back"}, ${Exit.isSuccess(exit) ? "answered" : "interrupted"}`
    }),
    { expect: ["committed, answered", "committed, interrupted", "rolled back, interrupted"] }
  )

  law(
    "L9",
    "the new owner ends around the commit point: the work is never left without an owner, and ends once",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const work = new Work()
      const scope = yield* Scope.make()
      const owner = yield* Scope.extend(Cancellation.ownScoped, scope)
      const fiber = yield* Sim.fork("caller")(Cancellation.own(Effect.either(work.handOver(owner))))
      let closing: Fiber.RuntimeFiber<void> | undefined
      sim.addFault("close", () => {
        closing = Effect.runFork(Scope.close(scope, Exit.void))
      })
      const answer = yield* Effect.flatten(Fiber.await(fiber))
      if (closing !== undefined) yield* Fiber.await(closing)
      const ended = closing !== undefined
      if (answer._tag === "Left") assert.isUndefined(work.published, "L9: rolled back, and published")
      if (ended) assert.isFalse(work.alive, "L3: the owner has ended, its work has not")
      else assert.isTrue(work.alive, "L9: nobody has stopped it")
      const outcome = answer._tag === "Left" ? answer.left._tag : "committed"
      yield* Scope.close(scope, Exit.void)
      return `${outcome}${ended ? ", ended" : ""}`
    }),
    { expect: ["committed", "committed, ended", "OwnerEnded, ended"] }
  )

  law(
    "L9, L6",
    "committed work is cancelled while it ends by itself: it ends once, with the first cause or with none",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const work = new Work()
      const scope = yield* Scope.make()
      const owner = yield* Scope.extend(Cancellation.ownScoped, scope)
      yield* Cancellation.own(work.handOver(owner))
      const job = work.published
      assert.isDefined(job)
      let won: boolean | undefined
      sim.addFault("cancel", () => {
        won = job?.cancel(CancelCause.user())
      })
      yield* Effect.yieldNow()
      yield* Effect.sync(() => job?.finish())
      yield* job?.awaitEnd ?? Effect.void
      assert.isFalse(work.alive, "L3: ended, and alive")
      assert.strictEqual(job?.cause()?._tag, won === true ? "User" : undefined)
      yield* Scope.close(scope, Exit.void)
      return won === undefined ? "by itself" : won ? "cancelled" : "too late"
    }),
    { cut: "op", expect: ["by itself", "cancelled", "too late"] }
  )
})
