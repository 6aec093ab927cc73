import * as os from "node:os"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CancelCause, Cancellation, ToolRuntime } from "quiesce"
import { Task } from "quiesce/capability"
import { NodeProcess } from "quiesce/node"
import { TaskTools } from "quiesce/tools"
import { alive, waitUntil } from "../support/processes.js"

const capabilities = Layer.mergeAll(Task.layer({ maxRunning: 2 }), NodeProcess.layer)
const layer = Layer.provideMerge(ToolRuntime.layer({ toolkit: TaskTools.make({ cwd: os.tmpdir() }) }), capabilities)

const call = (name: string, parameters: unknown) =>
  Effect.map(Cancellation.own(ToolRuntime.execute({ id: "c1", name, parameters })), (result): any =>
    result._tag === "Success" ? result.value : result
  )

const bash = (script: string) => ({ label: "a script", command: "bash", args: ["-c", script] })

describe("TaskTools", () => {
  it.live("a task goes on behind the call that started it, and is read piece by piece", () =>
    Effect.gen(function* () {
      const { id } = yield* call("start_task", bash("echo one; read -t 0.2 < <(sleep 1); echo two"))
      const first = yield* call("task_output", { id })
      assert.strictEqual(first.task.status, "running")
      const rest = yield* call("task_output", { id, from: first.next, waitMillis: 20_000 })
      assert.strictEqual(rest.task.status, "completed")
      assert.strictEqual(`${first.text}${rest.text}`, "one\ntwo\n")
    }).pipe(Effect.provide(layer))
  )

  it.live("kill_task ends the whole tree before it answers; an exit code says why a task failed", () =>
    Effect.gen(function* () {
      const { id } = yield* call("start_task", bash("sleep 60 & echo $!; wait"))
      const tasks = yield* Task.Task
      yield* waitUntil(() => Effect.runSync(tasks.read(id)).text.endsWith("\n"))
      const output = yield* call("task_output", { id })
      const killed = yield* call("kill_task", { id })
      assert.deepInclude(killed, { id, status: "killed" })
      assert.isFalse(alive(Number(output.text)))
      assert.strictEqual((yield* call("kill_task", { id: "task-9" })).code, "TASK_NOT_FOUND")
      const long = { label: "x".repeat(201), command: "true" }
      assert.strictEqual((yield* call("start_task", long)).code, "INVALID_ARGS")
      const failing = yield* call("start_task", bash("exit 3"))
      const { task } = yield* call("task_output", { id: failing.id, waitMillis: 20_000 })
      assert.deepInclude(task, { status: "failed", error: "exited with 3" })
    }).pipe(Effect.provide(layer))
  )

  it.live("a cancel of the call that waits leaves the task alone", () =>
    Effect.gen(function* () {
      const runtime = yield* ToolRuntime.ToolRuntime
      const { id } = yield* call("start_task", { label: "sleep", command: "sleep", args: ["60"] })
      const result = yield* Cancellation.own(
        Effect.gen(function* () {
          const parameters = { id, waitMillis: 60_000 }
          const running = yield* runtime.start({ id: "c2", name: "task_output", parameters })
          yield* waitUntil(() => Effect.runSync(running.phase) === "dispatching")
          yield* running.cancel(CancelCause.user())
          return yield* running.result
        })
      )
      assert.strictEqual(result._tag === "Failure" ? result.code : "OK", "ABORTED")
      assert.strictEqual((yield* call("task_output", { id })).task.status, "running")
      assert.strictEqual((yield* call("kill_task", { id })).status, "killed")
    }).pipe(Effect.provide(layer))
  )
})
