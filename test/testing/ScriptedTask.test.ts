import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer } from "effect"
import { Cancellation } from "quiesce"
import { Task } from "quiesce/capability"
import { ScriptedTask } from "quiesce/testing"
import { itKeepsTheContract } from "../support/contracts/task.js"

const notRun = () => Effect.dieMessage("the work of a scripted task was run")

describe("ScriptedTask", () => {
  itKeepsTheContract((limits, whenStopped) => {
    let handle: ScriptedTask.Handle | undefined
    const layer = Layer.scoped(
      Task.Task,
      Effect.map(ScriptedTask.make({ ...limits, whenStopped: () => whenStopped }), (made) => {
        handle = made
        return made.task
      })
    )
    const told = (tell: (handle: ScriptedTask.Handle) => Effect.Effect<unknown>) =>
      Effect.suspend(() => (handle === undefined ? Effect.dieMessage("not built yet") : tell(handle)))
    return {
      layer,
      work: notRun,
      write: (id, text) => told(({ write }) => write(id, text)),
      complete: (id) => told(({ complete }) => complete(id)),
      fail: (id, message) => told(({ fail }) => fail(id, message)),
      running: () => (handle === undefined ? [] : Effect.runSync(handle.running))
    }
  })

  it.scoped("does what it was told before it had its first turn", () =>
    Effect.gen(function* () {
      const { complete, running, task, write } = yield* ScriptedTask.make()
      const id = yield* Cancellation.own(task.start({ label: "build", run: notRun }))
      yield* write(id, "built ")
      assert.isTrue(yield* complete(id))
      yield* write(id, "all")
      assert.strictEqual((yield* Cancellation.own(task.wait(id))).status, "completed")
      assert.strictEqual((yield* task.read(id)).text, "built all")
      assert.deepStrictEqual(yield* running, [])
    })
  )

  it.scoped("what it was told first counts, and a task that was asked to stop will not complete", () =>
    Effect.gen(function* () {
      const { complete, fail, task } = yield* ScriptedTask.make()
      const start = Cancellation.own(task.start({ label: "build", run: notRun }))
      const failing = yield* start
      assert.isTrue(yield* fail(failing, "no disk"))
      assert.isFalse(yield* complete(failing))
      assert.deepInclude(yield* Cancellation.own(task.wait(failing)), { status: "failed", error: "no disk" })
      const killed = yield* start
      yield* task.kill(killed)
      assert.isFalse(yield* complete(killed))
      assert.strictEqual((yield* Cancellation.own(task.wait(killed))).status, "killed")
      assert.isFalse(yield* fail(killed, "too late"))
    })
  )

  it.scoped("a task that there is not cannot be told anything", () =>
    Effect.gen(function* () {
      const { complete } = yield* ScriptedTask.make()
      const exit = yield* Effect.exit(complete("task-7"))
      assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /there is no task "task-7"/)
    })
  )
})
