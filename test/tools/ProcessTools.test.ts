import * as os from "node:os"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CancelCause, Cancellation, ToolRuntime } from "quiesce"
import { NodeProcess } from "quiesce/node"
import { ProcessTools } from "quiesce/tools"
import { waitUntil } from "../support/processes.js"

const layer = Layer.provide(
  ToolRuntime.layer({ toolkit: ProcessTools.make({ cwd: os.tmpdir(), env: (callId) => ({ CALL: callId }) }) }),
  NodeProcess.layer
)

const call = (name: string, parameters: unknown) =>
  Effect.map(Cancellation.own(ToolRuntime.execute({ id: "c1", name, parameters })), (result): any =>
    result._tag === "Success" ? result.value : result
  )

describe("ProcessTools", () => {
  it.live(
    "a command has the environment that the host gives it; its exit code is a result, or a failure on demand",
    () =>
      Effect.gen(function* () {
        const script = ["-c", "echo $CALL; echo no >&2; exit 3"]
        const result = yield* call("run_command", { command: "bash", args: script })
        assert.deepStrictEqual(result, {
          exitCode: 3,
          signal: null,
          stdout: "c1\n",
          stderr: "no\n",
          truncated: false
        })
        const failed = yield* call("run_command", { command: "bash", args: script, mustSucceed: true })
        assert.deepInclude(failed, { code: "TOOL_FAILURE", message: '"bash" exited with 3: no' })
        assert.strictEqual(
          (yield* call("run_command", { command: "no-such-command" })).code,
          "PROCESS_COMMAND_NOT_FOUND"
        )
        // It would make the call one that nobody can stop.
        const deaf = { command: "true", graceMillis: 2_000_000_000 }
        assert.strictEqual((yield* call("run_command", deaf)).code, "INVALID_ARGS")
      }).pipe(Effect.provide(layer))
  )

  it.live("a shell keeps its folder and variables; after it has ended the next call opens another", () =>
    Effect.gen(function* () {
      yield* call("shell", { command: "cd / && MARK=here" })
      assert.deepStrictEqual(yield* call("shell", { command: 'echo "$PWD $MARK"' }), {
        exitCode: 0,
        stdout: "/ here\n",
        stderr: "",
        truncated: false
      })
      assert.strictEqual((yield* call("shell", { command: "exit 4" })).code, "PROCESS_SESSION_ENDED")
      assert.strictEqual((yield* call("shell", { command: 'echo "[$MARK]"' })).stdout, "[]\n")
    }).pipe(Effect.provide(layer))
  )

  it.live("a cancelled call stops its command and leaves the shell", () =>
    Effect.gen(function* () {
      const runtime = yield* ToolRuntime.ToolRuntime
      yield* call("shell", { command: "MARK=here" })
      const result = yield* Cancellation.own(
        Effect.gen(function* () {
          const running = yield* runtime.start({ id: "c2", name: "shell", parameters: { command: "sleep 60" } })
          yield* waitUntil(() => Effect.runSync(running.phase) === "dispatching")
          yield* running.cancel(CancelCause.user())
          return yield* running.result
        })
      )
      assert.strictEqual(result._tag === "Failure" ? result.code : "OK", "ABORTED")
      assert.strictEqual((yield* call("shell", { command: "echo $MARK" })).stdout, "here\n")
    }).pipe(Effect.provide(layer))
  )
})
