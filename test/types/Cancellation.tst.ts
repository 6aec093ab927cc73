import { Context, Effect, type Layer, type Scope } from "effect"
import { Cancellation, type ToolCall, ToolRuntime } from "quiesce"
import { describe, expect, it } from "tstyche"

declare const call: ToolCall.ToolCall
declare const operation: Effect.Effect<string, Error, Cancellation.Cancellation>
declare const signal: AbortSignal

describe("owners (L14)", () => {
  it("a call without an owner does not run", () => {
    const program = ToolRuntime.execute(call).pipe(Effect.provide(ToolRuntime.layer()))
    expect(program).type.toBe<Effect.Effect<ToolResult, never, Cancellation.Cancellation>>()
    expect(Effect.runPromise).type.not.toBeCallableWith(program)
    expect(Effect.runPromise).type.toBeCallableWith(Cancellation.own(program))
  })

  it("becoming an owner takes the requirement away", () => {
    expect(Cancellation.own(operation)).type.toBe<Effect.Effect<string, Error>>()
    expect(Cancellation.ownSignal(operation, signal)).type.toBe<Effect.Effect<string, Error>>()
    expect(operation.pipe(Cancellation.ownSignal(signal))).type.toBe<Effect.Effect<string, Error>>()
    expect(Cancellation.withDeadline(operation, { duration: "1 second" })).type.toBe<Effect.Effect<string, Error>>()
    expect(Cancellation.ownScoped).type.toBe<
      Effect.Effect<Context.Context<Cancellation.Cancellation>, never, Scope.Scope>
    >()
    expect(Cancellation.layer).type.toBe<Layer.Layer<Cancellation.Cancellation>>()
  })

  it("a deadline adds what onExpire succeeds and fails with", () => {
    const bounded = Cancellation.withDeadline(operation, {
      duration: "1 second",
      onExpire: () => Effect.fail("late" as const)
    })
    expect(bounded).type.toBe<Effect.Effect<string, Error | "late">>()
  })

  it("an operation and a shield need an owner", () => {
    expect(Cancellation.operation(Effect.succeed(1), "read")).type.toBe<
      Effect.Effect<number, never, Cancellation.Cancellation>
    >()
    expect(Cancellation.shield(Effect.succeed(1))).type.toBe<Effect.Effect<number, never, Cancellation.Cancellation>>()
  })

  it("nobody forges an owner", () => {
    expect(Cancellation.Cancellation.of).type.not.toBeCallableWith({ signal, cause: undefined })
    expect(Context.make<typeof Cancellation.Cancellation.Identifier, Cancellation.Service>).type.not.toBeCallableWith(
      Cancellation.Cancellation,
      { signal, cause: undefined }
    )
    expect<{ signal: AbortSignal; cause: undefined }>().type.not.toBeAssignableTo<Cancellation.Service>()
  })

  it("an owner shows its signal and cause, and lets nobody replace them", () => {
    expect<Cancellation.Service["signal"]>().type.toBe<AbortSignal>()
    expect<Cancellation.Service>().type.toBeAssignableTo<{ readonly signal: AbortSignal }>()
  })
})

type ToolResult = import("quiesce").ToolResult.ToolResult
