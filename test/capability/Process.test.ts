import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Cancellation } from "quiesce"
import * as Process from "quiesce/capability/Process"

describe("Process", () => {
  it.prop("an error survives a round trip through JSON", { error: Process.ProcessError }, ({ error }) => {
    const json = JSON.parse(JSON.stringify(Schema.encodeSync(Process.ProcessError)(error)))
    const back = Schema.decodeUnknownSync(Process.ProcessError)(json)
    assert.strictEqual(back._tag, "ProcessError")
    assert.strictEqual(back.code, error.code)
    assert.strictEqual(back.message, error.message)
  })

  it("each reason has a code made of its name, and a message that names the command and says what to do", () => {
    const advice: Record<Process.Reason, RegExp> = {
      CommandNotFound: /install it, correct the name, or give its full path$/,
      InterpreterNotFound: /install that, or run the file with another one$/,
      NotExecutable: /make it executable with chmod \+x, or run it with its interpreter$/,
      BadWorkingDirectory: /create the folder, or pass another cwd$/,
      InvalidOptions: /correct them$/,
      PlatformNotSupported: /use a POSIX system$/,
      SpawnFailed: /try again later or with less$/
    }
    for (const reason of Process.Reason.literals) {
      const error = new Process.ProcessError({ reason, command: "make", cwd: "/build", detail: "as it is" })
      assert.strictEqual(error.code, `PROCESS_${reason.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase()}`)
      assert.match(error.message, /^"make" /)
      assert.include(error.message, "(as it is)")
      assert.match(error.message, advice[reason])
    }
  })

  it("a message without a detail has no empty brackets", () => {
    for (const reason of Process.Reason.literals) {
      assert.notInclude(new Process.ProcessError({ reason, command: "make" }).message, "(")
    }
  })

  it.effect("run asks the service in context", () => {
    const result: Process.RunResult = {
      pid: 7,
      stdout: "hello",
      stderr: "",
      stdoutTruncated: false,
      stderrTruncated: false,
      exitCode: 0,
      signal: undefined,
      timedOut: false,
      escaped: []
    }
    const fake = Layer.succeed(Process.Process, {
      run: ({ command }) =>
        command === "greet"
          ? Effect.succeed(result)
          : Effect.fail(new Process.ProcessError({ reason: "CommandNotFound", command }))
    })
    return Effect.gen(function* () {
      assert.strictEqual(yield* Process.run({ command: "greet" }), result)
      assert.strictEqual((yield* Effect.flip(Process.run({ command: "gti" }))).command, "gti")
    }).pipe(Cancellation.own, Effect.provide(fake))
  })
})
