import { Effect, type Layer, Stream } from "effect"
import { Cancellation, type ToolResult } from "quiesce"
import { type Http, Model, OpenAiModel } from "quiesce/capability"
import { describe, expect, it } from "tstyche"

declare const fake: Model.Service
declare const request: Model.Request
declare const message: ToolResult.Message

type Operation = keyof Model.Service
type Requirements<F> = F extends (...args: Array<any>) => Stream.Stream<any, any, infer R> ? R : never
type Failure<F> = F extends (...args: Array<any>) => Stream.Stream<any, infer E, any> ? E : never

// Over the keys of the service, so that a new operation cannot be forgotten.
describe("Model", () => {
  it("each operation needs an owner, and never fails", () => {
    expect<{ readonly [K in Operation]: Requirements<Model.Service[K]> }>().type.toBe<{
      readonly [K in Operation]: Cancellation.Cancellation
    }>()
    expect<{ readonly [K in Operation]: Failure<Model.Service[K]> }>().type.toBe<{
      readonly [K in Operation]: never
    }>()
  })

  it("an operation without an owner cannot be run", () => {
    const ready = Stream.runDrain(fake.stream(request))
    expect(Effect.runPromise<void, never>).type.not.toBeCallableWith(ready)
    expect(Effect.runPromise<void, never>).type.toBeCallableWith(Cancellation.own(ready))
  })

  it("each operation has an accessor", () => {
    expect(Model.stream(request)).type.toBe<
      Stream.Stream<Model.Chunk, never, Model.Model | Cancellation.Cancellation>
    >()
  })

  it("a layer loses the owner of its stream, and keeps what else it needs", () => {
    const layer = Model.layer(() =>
      Stream.fromEffect(Effect.as(Effect.context<Http.Http | Cancellation.Cancellation>(), end))
    )
    expect(layer).type.toBe<Layer.Layer<Model.Model, never, Http.Http>>()
    expect(OpenAiModel.layer({ baseUrl: "" })).type.toBe<Layer.Layer<Model.Model, never, Http.Http>>()
  })

  it("a provider that fails with an error does not compile: it says so in its last chunk", () => {
    expect(Model.layer<never>).type.not.toBeCallableWith(() => Stream.fail("no luck"))
  })

  it("a result is a message", () => {
    expect(message).type.toBeAssignableTo<Model.Message>()
  })

  it("the key is redacted", () => {
    expect(OpenAiModel.layer).type.not.toBeCallableWith({ baseUrl: "", apiKey: "sk-secret" })
  })
})

declare const end: Model.Chunk
