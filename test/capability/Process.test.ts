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
      PlatformNotSupported: /use Linux$/,
      SpawnFailed: /try again later or with less$/,
      ServiceClosed: /start it while that lives$/,
      InputClosed: /start it with keepStdinOpen, and write while it runs$/,
      SessionEnded: /open another one, and expect nothing of what this one knew$/
    }
    for (const reason of Process.Reason.literals) {
      const error = new Process.ProcessError({ reason, command: "make", cwd: "/build", detail: "as it is" })
      assert.strictEqual(error.code, `PROCESS_${reason.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase()}`)
      assert.match(error.message, /^(The session of )?"make" /)
      assert.include(error.message, "(as it is)")
      assert.match(error.message, advice[reason])
    }
  })

  it("a message without a detail has no empty brackets", () => {
    for (const reason of Process.Reason.literals) {
      assert.notInclude(new Process.ProcessError({ reason, command: "make" }).message, "(")
    }
  })

  it.effect("every operation asks the service in context", () => {
    const asked: Array<unknown> = []
    const note = (what: string) => (options: unknown) => {
      asked.push([what, options])
      return Effect.fail(new Process.ProcessError({ reason: "CommandNotFound", command: what }))
    }
    const fake = Layer.succeed(Process.Process, {
      run: note("run"),
      start: note("start"),
      openSession: note("openSession"),
      list: Effect.succeed([])
    })
    return Effect.gen(function* () {
      const options = { command: "greet" }
      assert.strictEqual((yield* Effect.flip(Process.run(options))).command, "run")
      assert.strictEqual((yield* Effect.flip(Process.start(options))).command, "start")
      assert.strictEqual((yield* Effect.flip(Process.openSession({ cwd: "/" }))).command, "openSession")
      assert.deepStrictEqual(yield* Process.list, [])
      assert.deepStrictEqual(asked, [
        ["run", options],
        ["start", options],
        ["openSession", { cwd: "/" }]
      ])
    }).pipe(Cancellation.own, Effect.provide(fake))
  })
})
