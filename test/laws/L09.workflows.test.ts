import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { Cancellation } from "quiesce"
import { Subagent, Workflow } from "quiesce/capability"
import { ScriptedSubagent, Sim } from "quiesce/testing"
import { Teller } from "../support/contracts/workflow.js"
import { law, reason } from "../support/laws.js"

/** A service that is closed by the scenario, and what is alive of its steps. */
const workshop = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const owner = yield* Scope.extend(Cancellation.ownScoped, scope)
  return { workflow: Workflow.makeUnder(owner, {}), scope }
})

/** Work of a step that is alive for some steps, its release included. */
class Bench {
  alive = 0
  readonly done: Array<string> = []

  work(name: string): Effect.Effect<string> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.alive++),
      () => Effect.as(Effect.yieldNow(), name),
      () =>
        Effect.zipRight(
          Effect.yieldNow(),
          Effect.sync(() => this.alive--)
        )
    )
  }

  step(name: string) {
    return Workflow.step(name, this.work(name), {
      compensate: () =>
        Effect.zipRight(
          Effect.yieldNow(),
          Effect.sync(() => this.done.push(`-${name}`))
        )
    })
  }
}

describe("L9 workflows", () => {
  law(
    "L9",
    "the starter of a detached workflow is cancelled around its publication: its script never began, or it is the layer's and goes on",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const { scope, workflow } = yield* workshop
      const teller = new Teller()
      let began = false
      const script = Effect.suspend(() => {
        began = true
        return Effect.never
      })
      const controller = new AbortController()
      const start = workflow.start({ name: "work", script, attachment: "detached", onEvent: teller.onEvent })
      const fiber = yield* Sim.fork("starter")(Cancellation.ownSignal(start, controller.signal))
      fiber.addObserver(sim.addFault("interrupt", () => fiber.unsafeInterruptAsFork(fiber.id())))
      sim.addFault("signal", () => controller.abort(reason))
      const exit = yield* Fiber.await(fiber)
      yield* Effect.yieldNow()
      const listed = yield* workflow.list
      assert.strictEqual(teller.told.length, listed.length, "L9: both owners, or neither")
      assert.strictEqual(began, listed.length > 0, "L9: what runs is known")
      for (const { status } of listed) assert.strictEqual(status, "running", "L9: the starter's cancel has reached it")
      yield* Scope.close(scope, Exit.void)
      teller.check()
      return `${listed.length > 0 ? "published" : "nothing"}, ${Exit.isSuccess(exit) ? "answered" : "interrupted"}`
    }),
    { cut: "suspension", expect: ["published, answered", "published, interrupted", "nothing, interrupted"] }
  )

  law(
    "L3, L5",
    "a workflow is cancelled at any time, also as it completes: one end for each start, what completed stays, or all is undone",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const { scope, workflow } = yield* workshop
      const bench = new Bench()
      const teller = new Teller()
      const script = Effect.zipRight(bench.step("a"), bench.step("b"))
      const run = yield* Cancellation.own(
        workflow.start({ name: "work", script, attachment: "detached", onEvent: teller.onEvent })
      )
      let struck = false
      sim.addFault("cancel", () => {
        struck = true
        Effect.runSync(run.cancel())
      })
      const result = yield* Cancellation.own(run.result)
      assert.strictEqual(bench.alive, 0, "L3: told before it was quiet")
      teller.check()
      const completed = result.steps.flatMap(({ exit, name }) => (Exit.isSuccess(exit) ? [name] : []))
      const undone = completed.map((name) => `-${name}`).reverse()
      assert.deepStrictEqual(bench.done, result.outcome === "completed" ? [] : undone, "all of it, in reverse")
      if (!struck) assert.strictEqual(result.outcome, "completed")
      assert.notStrictEqual(result.outcome, "error")
      yield* Scope.close(scope, Exit.void)
      return `${result.outcome}, ${completed.join("")} of ${result.steps.length}`
    }),
    {
      cut: "op",
      preemptions: 0,
      expect: [
        "completed, ab of 2",
        "cancelled,  of 0",
        "cancelled,  of 1",
        "cancelled, a of 1",
        "cancelled, a of 2",
        "cancelled, ab of 2"
      ]
    }
  )

  law(
    "L3, L10",
    "children of a workflow that has one place are cancelled: who waits is refused, and of each that began the end is told",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const { scope, workflow } = yield* workshop
      const bench = new Bench()
      const teller = new Teller()
      const script = Workflow.parallel(["a", "b"], (name) => Workflow.step(name, bench.work(name)))
      const run = yield* Cancellation.own(
        workflow.start({ name: "work", script, attachment: "detached", concurrency: 1, onEvent: teller.onEvent })
      )
      let cancelledAt: number | undefined
      sim.addFault("cancel", () => {
        cancelledAt = teller.told.length
        Effect.runSync(run.cancel())
      })
      const { outcome, steps } = yield* Cancellation.own(run.result)
      assert.strictEqual(bench.alive, 0, "L3: told before it was quiet")
      teller.check()
      const late = teller.told.slice(cancelledAt ?? teller.told.length).filter(({ _tag }) => _tag === "StepStarted")
      assert.deepStrictEqual(late, [], "L10: a step began after the cancel")
      yield* Scope.close(scope, Exit.void)
      return `${outcome}, ${steps.length} began`
    }),
    {
      cut: "op",
      preemptions: 0,
      expect: ["completed, 2 began", "cancelled, 0 began", "cancelled, 1 began", "cancelled, 2 began"]
    }
  )

  law(
    "L3, L9",
    "a step starts a subagent, and the workflow is cancelled: a child that is ready late is refused, and none outlives its step",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const { scope, workflow } = yield* workshop
      let alive = 0
      const { subagent } = yield* Scope.extend(
        ScriptedSubagent.make({
          whenAsked: () => ({ outcome: "completed", output: "Done." }),
          whenStarted: () =>
            Effect.zipRight(
              Effect.sync(() => alive++),
              Effect.yieldNow()
            ),
          whenDisposed: () =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => alive--)
            )
        }),
        scope
      )
      let aliveAtEnd: number | undefined
      const ask = Effect.provideService(Subagent.run({ profile: "worker", task: "Work." }), Subagent.Subagent, subagent)
      const run = yield* Cancellation.own(
        workflow.start({
          name: "work",
          script: Workflow.step("ask", ask),
          attachment: "detached",
          onEvent: ({ _tag }) => {
            if (_tag === "StepEnded") aliveAtEnd = alive
          }
        })
      )
      sim.addFault("cancel", () => void Effect.runSync(run.cancel()))
      const { outcome, steps } = yield* Cancellation.own(run.result)
      assert.strictEqual(alive, 0, "L3: the workflow has ended, and its child has not")
      if (steps.length > 0) assert.strictEqual(aliveAtEnd, 0, "L3: the step has ended, and its child has not")
      const [child] = yield* subagent.list
      yield* Scope.close(scope, Exit.void)
      return `${outcome}, ${child?.result?.outcome ?? (steps.length > 0 ? "taken back" : "not begun")}`
    }),
    {
      cut: "op",
      preemptions: 0,
      expect: [
        "completed, completed",
        "cancelled, completed",
        "cancelled, aborted",
        "cancelled, taken back",
        "cancelled, not begun"
      ]
    }
  )
})
