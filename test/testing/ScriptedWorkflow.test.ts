import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, type Layer } from "effect"
import { Cancellation } from "quiesce"
import { Workflow } from "quiesce/capability"
import { ScriptedWorkflow } from "quiesce/testing"
import { settle } from "../support/agents.js"
import { itKeepsTheContract, Works } from "../support/contracts/workflow.js"

describe("ScriptedWorkflow", () => {
  itKeepsTheContract((setup) => {
    const works = new Works(setup)
    return {
      layer: ScriptedWorkflow.layer({ ...setup, whenStep: ({ step }) => works.of(step) }),
      work: () => Effect.dieMessage("the work of a step was done"),
      end: (step, exit) => works.end(step, exit),
      running: () => works.running
    }
  })

  it.scoped("a step goes on until it is ended, by its name, the one that has run longest first", () =>
    Effect.gen(function* () {
      const { end, running, workflow } = yield* ScriptedWorkflow.make()
      const ask = Workflow.step("ask", Effect.dieMessage("asked") as Effect.Effect<string>)
      const script = Workflow.parallel([ask, ask], (step) => step)
      const run = yield* workflow.start({ name: "work", script })
      yield* settle
      assert.deepStrictEqual(yield* running, [
        { workflow: "work", step: "ask" },
        { workflow: "work", step: "ask" }
      ])
      assert.isTrue(yield* end("ask", Exit.succeed("first")))
      assert.isTrue(yield* end("ask", Exit.succeed("second")))
      assert.isFalse(yield* end("ask", Exit.succeed("third")))
      assert.isFalse(yield* end("other", Exit.void))
      assert.deepInclude(yield* run.result, { outcome: "completed", value: ["first", "second"] })
      assert.deepStrictEqual(yield* running, [])
    }).pipe(Cancellation.own)
  )

  it.effect("a layer of it does what `whenStep` says", () => {
    const script = Workflow.step("ask", Effect.dieMessage("asked"))
    const layer: Layer.Layer<Workflow.Workflow> = ScriptedWorkflow.layer({
      whenStep: ({ step, workflow }) => Effect.fail(`${workflow}/${step} is down`)
    })
    return Effect.gen(function* () {
      const exit = yield* Effect.exit(Cancellation.own(Workflow.run({ name: "work", script })))
      assert.deepStrictEqual(exit, Exit.fail("work/ask is down" as never))
    }).pipe(Effect.provide(layer))
  })
})
