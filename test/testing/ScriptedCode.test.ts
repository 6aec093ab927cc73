import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Cancellation } from "quiesce"
import { CodeRuntime } from "quiesce/capability"
import { ScriptedCode } from "quiesce/testing"
import { itKeepsTheContract, scripts } from "../support/contracts/code.js"

describe("ScriptedCode", () => {
  itKeepsTheContract(() => {
    const { code, running } = ScriptedCode.make(scripts)
    return {
      layer: Layer.succeed(CodeRuntime.CodeRuntime, code),
      maxMemoryMb: 128,
      stride: 1,
      alive: () => Effect.runSync(running)
    }
  })

  it.effect("ends as it is told, and code that it does not know is not JavaScript", () =>
    Effect.gen(function* () {
      const { code, started } = ScriptedCode.make({ hog: () => ScriptedCode.ends("OutOfMemory", "64 MiB") })
      const error = yield* Effect.flip(Cancellation.own(code.run({ code: "hog" })))
      assert.deepInclude(error, { reason: "OutOfMemory", detail: "64 MiB" })
      assert.strictEqual((yield* Effect.flip(Cancellation.own(code.run({ code: "?" })))).reason, "Syntax")
      assert.deepStrictEqual(yield* started, ["hog", "?"])
    })
  )
})
