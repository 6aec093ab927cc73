import { assert, describe } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { CancelCause, Cancellation, Handoff } from "quiesce"
import { Task } from "quiesce/capability"
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
      const withdraw = sim.addFault("interrupt", () => {
        struck = true
        fiber.unsafeInterruptAsFork(fiber.id())
      })
      fiber.addObserver(withdraw)
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

  law(
    "L9",
    "a task is cancelled around its start: nothing of it has run, or it is listed and runs on",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Task.layer({ maxRunning: 1 }), scope)
      let ran = false
      const start = Task.start({
        label: "work",
        run: () =>
          Effect.zipRight(
            Effect.sync(() => {
              ran = true
            }),
            Effect.never
          )
      })
      const fiber = yield* Sim.fork("caller")(Cancellation.own(Effect.provide(start, context)))
      fiber.addObserver(sim.addFault("interrupt", () => fiber.unsafeInterruptAsFork(fiber.id())))
      const exit = yield* Fiber.await(fiber)
      const tasks = Context.get(context, Task.Task)
      const listed = yield* tasks.list
      yield* Effect.yieldNow()
      if (listed.length === 0) assert.isFalse(ran, "L9: it ran, and nobody knows of it")
      else
        assert.deepStrictEqual(
          listed.map(({ status }) => status),
          ["running"],
          "L9: the caller's cancel reached it"
        )
      // The one place is free again, or the task has it.
      const again = yield* Effect.either(Cancellation.own(Effect.provide(start, context)))
      assert.strictEqual(again._tag, listed.length === 0 ? "Right" : "Left", "a place is lost, or given twice")
      yield* Scope.close(scope, Exit.void)
      const statuses = (yield* tasks.list).map(({ status }) => status)
      assert.deepStrictEqual(statuses, ["killed"], "L3: the owner has ended, its task has not")
      return `${listed.length === 0 ? "never ran" : "listed"}, ${Exit.isSuccess(exit) ? "answered" : "interrupted"}`
    }),
    { expect: ["listed, answered", "listed, interrupted", "never ran, interrupted"] }
  )

  law(
    "L9, L6",
    "a task is killed while it ends, and a wait for it is given up: it settles once, after it is quiet, and keeps no waiter",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Task.layer(), scope)
      const tasks = Context.get(context, Task.Task)
      let alive = false
      const run = () =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            alive = true
          }),
          () => Effect.yieldNow(),
          () =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => {
                alive = false
              })
            )
        )
      const id = yield* Cancellation.own(tasks.start({ label: "work", run }))
      let aliveAtAnswer = false
      const wait = Effect.tap(tasks.wait(id), () =>
        Effect.sync(() => {
          aliveAtAnswer = alive
        })
      )
      const fiber = yield* Sim.fork("waiter")(Cancellation.own(wait))
      let killed: string | undefined
      sim.addFault("kill", () => {
        killed = Effect.runSync(tasks.kill(id))
      })
      fiber.addObserver(sim.addFault("give up", () => fiber.unsafeInterruptAsFork(fiber.id())))
      const exit = yield* Fiber.await(fiber)
      assert.isFalse(aliveAtAnswer, "L3: settled before it was quiet")
      const last = yield* Cancellation.own(tasks.wait(id))
      assert.isFalse(alive, "L3: settled before it was quiet")
      if (killed === undefined) assert.strictEqual(last.status, "completed")
      if (killed === "already-finished") assert.isUndefined(last.cause)
      if (Exit.isSuccess(exit)) assert.deepStrictEqual(exit.value, last, "it settled twice")
      yield* Scope.close(scope, Exit.void)
      return `${last.status}${killed === undefined ? "" : `, ${killed}`}${Exit.isSuccess(exit) ? "" : ", given up"}`
    }),
    {
      cut: "suspension",
      expect: [
        "completed",
        "completed, requested",
        "completed, already-finished",
        "killed, requested",
        "completed, given up"
      ]
    }
  )
})
