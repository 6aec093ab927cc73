import { Context, Effect } from "effect"
import type { Cancellation } from "quiesce"
import { CodeRuntime } from "quiesce/capability"
import { NodeCodeRuntime } from "quiesce/node"
import { describe, expect, it } from "tstyche"

class Disk extends Context.Tag("quiesce/test/types/CodeRuntime.tst/Disk")<Disk, { readonly free: number }>() {}

type Given<F> = F extends (...args: Array<any>) => infer G ? G : F
type Requirements<F> = Given<F> extends Effect.Effect<any, any, infer R> ? R : never
type Failure<F> = Given<F> extends Effect.Effect<any, infer E, any> ? E : never

// Over the keys of the service, so that a new operation cannot be forgotten.
describe("CodeRuntime", () => {
  it("207: each operation that can wait needs an owner", () => {
    expect<{ readonly [K in keyof CodeRuntime.Service]: Requirements<CodeRuntime.Service[K]> }>().type.toBe<{
      readonly [K in keyof CodeRuntime.Service]: Cancellation.Cancellation
    }>()
  })

  it("without an owner it does not run", () => {
    const program = Effect.provide(CodeRuntime.run({ code: "" }), NodeCodeRuntime.layer)
    expect(Effect.runPromise).type.not.toBeCallableWith(program)
    expect(program).type.toBe<Effect.Effect<CodeRuntime.RunResult, CodeRuntime.CodeError, Cancellation.Cancellation>>()
  })

  it("no operation has cancellation among its failures", () => {
    expect<Failure<CodeRuntime.Service[keyof CodeRuntime.Service]>>().type.toBe<CodeRuntime.CodeError>()
    expect<Extract<CodeRuntime.Reason, "Cancelled" | "Aborted" | "Interrupted">>().type.toBe<never>()
  })

  it("what bindings need is needed by the run", () => {
    expect(CodeRuntime.run({ code: "", bindings: { free: () => Effect.map(Disk, ({ free }) => free) } })).type.toBe<
      Effect.Effect<
        CodeRuntime.RunResult,
        CodeRuntime.CodeError,
        Disk | CodeRuntime.CodeRuntime | Cancellation.Cancellation
      >
    >()
  })
})
