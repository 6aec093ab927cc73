import { Context, Effect, type Layer, type Scope } from "effect"
import { AgentSubagent, Cancellation, type Session, type ToolRuntime } from "quiesce"
import { type Model, Subagent } from "quiesce/capability"
import { AgentTools } from "quiesce/tools"
import { describe, expect, it } from "tstyche"

declare const fake: Subagent.Service
declare const session: Session.Service
class Disk extends Context.Tag("quiesce/test/types/Subagent.tst/Disk")<Disk, { readonly free: number }>() {}

/** What answers at once, and so needs nobody who could stop it. */
type AtOnce = "interrupt" | "list"
type Waiting = Exclude<keyof Subagent.Service, AtOnce>

type Given<F> = F extends (...args: Array<any>) => infer G ? G : F
type Requirements<F> = Given<F> extends Effect.Effect<any, any, infer R> ? R : never
type Failure<F> = Given<F> extends Effect.Effect<any, infer E, any> ? E : never

// Over the keys of the service, so that a new operation cannot be forgotten.
describe("Subagent", () => {
  it("each operation that can wait needs an owner, the others answer at once", () => {
    expect<{ readonly [K in Waiting]: Requirements<Subagent.Service[K]> }>().type.toBe<{
      readonly [K in Waiting]: Cancellation.Cancellation
    }>()
    expect<{ readonly [K in AtOnce]: Requirements<Subagent.Service[K]> }>().type.toBe<{
      readonly [K in AtOnce]: never
    }>()
  })

  it("no operation has cancellation, or what a child came to, among its failures", () => {
    expect<Failure<Subagent.Service[Waiting]>>().type.toBe<Subagent.SubagentError>()
    expect<Extract<Subagent.SubagentError["reason"], "Cancelled" | "Aborted" | "Refusal">>().type.toBe<never>()
  })

  it("an operation without an owner cannot be run", () => {
    const run = Effect.provideService(Subagent.run({ profile: "p", task: "t" }), Subagent.Subagent, fake)
    expect(Effect.runPromise<string, unknown>).type.not.toBeCallableWith(run)
    expect(Effect.runPromise<string, unknown>).type.toBeCallableWith(Cancellation.own(run))
  })
})

describe("AgentSubagent", () => {
  it("needs a model, tools, and what its profiles and sessions need, except an owner and a scope", () => {
    const layer = AgentSubagent.layer({
      profiles: {
        worker: { model: "any", beforeStop: () => Effect.zipRight(Cancellation.signal, Effect.asVoid(Disk)) }
      },
      session: () => Effect.as(Effect.scope, session) as Effect.Effect<Session.Service, "no disk", Disk | Scope.Scope>
    })
    expect<typeof layer>().type.toBe<
      Layer.Layer<Subagent.Subagent, never, Disk | Model.Model | ToolRuntime.ToolRuntime>
    >()
  })
})

describe("AgentTools", () => {
  it("a layer of them needs the runtime and the subagents, and neither needs the other", () => {
    const layer = AgentTools.layer({ profiles: { worker: "works" } })
    expect<Layer.Layer.Context<typeof layer>>().type.toBe<ToolRuntime.ToolRuntime | Subagent.Subagent>()
    expect<Layer.Layer.Success<typeof layer>>().type.toBe<never>()
  })
})
