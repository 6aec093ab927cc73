import type { Effect, Layer } from "effect"
import type { Cancellation } from "quiesce"
import * as Process from "quiesce/capability/Process"
import * as NodeProcess from "quiesce/node/NodeProcess"
import { describe, expect, it } from "tstyche"

const run = Process.run({ command: "true" })

describe("Process", () => {
  it("needs an owner", () => {
    expect<Effect.Effect.Context<typeof run>>().type.toBe<Process.Process | Cancellation.Cancellation>()
  })
  it("says nothing of cancellation in its errors", () => {
    expect<Effect.Effect.Error<typeof run>>().type.toBe<Process.ProcessError>()
    expect<
      Extract<Process.Reason, `${string}${"Cancel" | "Abort" | "Interrupted" | "Timeout"}${string}`>
    >().type.toBe<never>()
  })
  it("keeps exit code, signal and timeout apart", () => {
    expect<Pick<Process.RunResult, "exitCode" | "signal" | "timedOut">>().type.toBe<{
      readonly exitCode: number | undefined
      readonly signal: string | undefined
      readonly timedOut: boolean
    }>()
  })
  it("takes a command without a shell", () => {
    expect(Process.run).type.not.toBeCallableWith("true")
    expect(Process.run).type.not.toBeCallableWith({ command: "true", shell: true })
  })
  it("is provided on Node without requirements", () => {
    expect(NodeProcess.layer).type.toBe<Layer.Layer<Process.Process>>()
    expect(NodeProcess.killAll).type.toBe<() => number>()
  })
})
