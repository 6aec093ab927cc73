import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import { Subagent, Workflow } from "quiesce/capability"
import { ScriptedSubagent } from "quiesce/testing"
import { settle } from "../support/agents.js"
import { itKeepsTheContract, Works } from "../support/contracts/workflow.js"

const textOf = (exit: Exit.Exit<unknown, unknown>): string => (Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "")

describe("Workflow.layer", () => {
  itKeepsTheContract((setup) => {
    const works = new Works(setup)
    return {
      layer: Workflow.layer(setup),
      work: (step) => works.of(step),
      end: (step, exit) => works.end(step, exit),
      running: () => works.running
    }
  })
})

describe("Workflow", () => {
  it("a snapshot and an event are plain JSON", () => {
    const snapshot: Workflow.Snapshot = {
      id: "a-1",
      name: "a",
      attachment: "attached",
      status: "ended",
      startedAt: 1,
      endedAt: 2,
      outcome: "cancelled",
      cause: CancelCause.user("enough"),
      steps: [{ name: "s", status: "error", error: "no disk" }],
      compensations: [],
      escaped: []
    }
    const encoded = Schema.encodeSync(Workflow.Snapshot)(snapshot)
    assert.deepStrictEqual(Schema.decodeUnknownSync(Workflow.Snapshot)(JSON.parse(JSON.stringify(encoded))), snapshot)
    const event: Workflow.Event = { _tag: "StepEnded", workflow: "a-1", step: 1, name: "s", outcome: "completed" }
    assert.deepStrictEqual(Schema.decodeUnknownSync(Workflow.Event)(JSON.parse(JSON.stringify(event))), event)
  })

  it("what cannot work is a defect", () => {
    assert.throws(() => Effect.runSync(Effect.scoped(Effect.provide(Effect.void, Workflow.layer({ maxEnded: -1 })))))
    const run = Workflow.run({ name: "work", script: Effect.void, concurrency: 0 })
    const exit = Effect.runSyncExit(Effect.provide(Cancellation.own(run), Workflow.layer()))
    assert.match(textOf(exit), /concurrency of workflow work must be an integer of 1 or more, not 0/)
  })

  it.effect("under an owner that has ended, nothing is started", () =>
    Effect.gen(function* () {
      const service = yield* Effect.scoped(Effect.map(Effect.flatMap(Workflow.Workflow, Effect.succeed), (w) => w))
      const context = yield* Effect.scoped(
        Effect.map(Effect.provide(Effect.context<Workflow.Workflow>(), Workflow.layer()), (c) => c)
      )
      const closed = Context.get(context, Workflow.Workflow)
      const start = closed.start({ name: "late", script: Effect.void, attachment: "detached" })
      assert.strictEqual((yield* Effect.flip(Cancellation.own(start))).code, "WORKFLOW_OWNER_ENDED")
      assert.isDefined(service)
    }).pipe(Effect.provide(Workflow.layer()))
  )

  it.effect("a step in a step is a defect, and a workflow in a step is none", () =>
    Effect.gen(function* () {
      const inner = Workflow.step("inner", Effect.succeed(1))
      const nested = Cancellation.own(Workflow.run({ name: "outer", script: Workflow.step("step", inner) }))
      assert.match(textOf(yield* Effect.exit(nested)), /step inner was started in a step/)
      // With one place, which the outer step holds: the inner workflow has places of its own.
      const workflow = Workflow.step("step", Workflow.run({ name: "inner", script: inner, concurrency: 1 }))
      const run = Workflow.run({ name: "outer", script: workflow, concurrency: 1 })
      assert.strictEqual(yield* Cancellation.own(run), 1)
    }).pipe(Effect.provide(Workflow.layer()))
  )

  it.effect("a step ends when nothing is left of what was started under it, by whatever fiber", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      const cleanUp = Effect.zipRight(
        Effect.yieldNow(),
        Effect.sync(() => order.push("child"))
      )
      const child = Cancellation.operation(Effect.ensuring(Effect.never, cleanUp), "child")
      const onEvent = ({ _tag }: Workflow.Event) => void order.push(_tag)
      const script = Workflow.step("a", Effect.zipRight(Effect.forkDaemon(child), settle))
      yield* Cancellation.own(Workflow.run({ name: "work", script: Effect.zipLeft(script, settle), onEvent }))
      assert.deepStrictEqual(order, ["WorkflowStarted", "StepStarted", "child", "StepEnded", "WorkflowEnded"])
    }).pipe(Effect.provide(Workflow.layer()))
  )

  it.effect("what a script acquires is released when it ends, before it is undone", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      const note = (what: string) => Effect.sync(() => void order.push(what))
      const script = Effect.gen(function* () {
        yield* Effect.acquireRelease(note("acquired"), () => note("released"))
        yield* Workflow.step("a", note("done"), { compensate: () => note("undone") })
        return yield* Effect.fail("no disk")
      })
      const exit = yield* Effect.exit(Cancellation.own(Workflow.run({ name: "work", script })))
      assert.deepStrictEqual(exit, Exit.failCause(Cause.fail("no disk")))
      assert.deepStrictEqual(order, ["acquired", "done", "released", "undone"])
    }).pipe(Effect.provide(Workflow.layer()))
  )

  it.effect("what a step and its compensation need comes from where the workflow was started", () => {
    class Disk extends Context.Tag("quiesce/test/capability/Workflow.test/Disk")<Disk, { used: number }>() {}
    const disk = { used: 0 }
    const use = (by: number) => Effect.map(Disk, (disk) => (disk.used += by))
    const script = Effect.zipRight(Workflow.step("use", use(2), { compensate: () => use(-2) }), Effect.fail("full"))
    return Effect.gen(function* () {
      yield* Effect.exit(Effect.provideService(Cancellation.own(Workflow.run({ name: "w", script })), Disk, disk))
      assert.strictEqual(disk.used, 0)
    }).pipe(Effect.provide(Workflow.layer()))
  })

  it.effect("the capabilities of a compensation work, although the run was cancelled", () =>
    Effect.gen(function* () {
      const undone: Array<unknown> = []
      const undo = Cancellation.operation(
        Effect.sync(() => undone.push("undone")),
        "undo"
      )
      const script = Effect.zipRight(Workflow.step("a", Effect.void, { compensate: () => undo }), Effect.never)
      const fiber = yield* Effect.fork(Cancellation.own(Workflow.run({ name: "work", script })))
      yield* settle
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(undone, ["undone"])
    }).pipe(Effect.provide(Workflow.layer()))
  )

  it.effect("235. a subagent that a step starts, and that is ready late, is refused and disposed of", () => {
    const disposed: Array<string> = []
    return Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const events: Array<Workflow.Event> = []
      const subagents = ScriptedSubagent.layer({
        whenStarted: () => Effect.uninterruptible(Deferred.await(gate)),
        whenDisposed: (id) => Effect.sync(() => void disposed.push(id))
      })
      yield* Effect.gen(function* () {
        const script = Workflow.step("ask", Subagent.run({ profile: "reviewer", task: "Review." }))
        const onEvent = (event: Workflow.Event) => void events.push(event)
        const run = yield* Workflow.start({ name: "work", script, onEvent })
        yield* settle
        yield* run.cancel()
        yield* settle
        assert.strictEqual((yield* run.snapshot).status, "stopping")
        yield* Deferred.succeed(gate, undefined)
        assert.strictEqual((yield* run.result).outcome, "cancelled")
        assert.deepStrictEqual(yield* Subagent.list, [])
        assert.deepStrictEqual(disposed, ["reviewer-1"])
        const ends = events.map((event) => ("outcome" in event ? `${event._tag} ${event.outcome}` : event._tag))
        assert.deepStrictEqual(ends, [
          "WorkflowStarted",
          "StepStarted",
          "StepEnded cancelled",
          "WorkflowEnded cancelled"
        ])
      }).pipe(Cancellation.own, Effect.provide(subagents))
    }).pipe(Effect.provide(Workflow.layer()))
  })
})
