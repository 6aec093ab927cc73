import { Context, Effect, type Scope } from "effect"
import { Cancellation } from "quiesce"
import { Workflow } from "quiesce/capability"
import { describe, expect, it } from "tstyche"

declare const fake: Workflow.Service
class Disk extends Context.Tag("quiesce/test/types/Workflow.tst/Disk")<Disk, { readonly free: number }>() {}

/** What answers at once, and so needs nobody who could stop it. */
type AtOnce = "list"
type Waiting = Exclude<keyof Workflow.Service, AtOnce>
type Running = Workflow.Running<number, "no disk">

type Given<F> = F extends (...args: Array<any>) => infer G ? G : F
type Requirements<F> = Given<F> extends Effect.Effect<any, any, infer R> ? R : never
type Failure<F> = Given<F> extends Effect.Effect<any, infer E, any> ? E : never

declare const script: Effect.Effect<number, "no disk", Disk | Workflow.Script | Scope.Scope | Cancellation.Cancellation>

// Over the keys of the service, so that a new operation cannot be forgotten.
describe("Workflow", () => {
  it("each operation that can wait needs an owner, the others answer at once", () => {
    expect<Cancellation.Cancellation extends Requirements<Workflow.Service[Waiting]> ? true : false>().type.toBe<true>()
    expect<Requirements<Workflow.Service[AtOnce]>>().type.toBe<never>()
    expect<Requirements<Running["result"]>>().type.toBe<Cancellation.Cancellation>()
    expect<Requirements<Running["cancel"] | Running["snapshot"]>>().type.toBe<never>()
  })

  it("no operation has cancellation, or what a run came to, among its failures", () => {
    expect<Failure<Workflow.Service[Waiting]>>().type.toBe<Workflow.WorkflowError>()
    expect<Failure<Running["result"]>>().type.toBe<Workflow.WorkflowError>()
  })

  it("a run needs what its script needs, except what it gives it, and fails as that does", () => {
    const run = Workflow.run({ name: "work", script })
    expect<typeof run>().type.toBe<
      Effect.Effect<
        number,
        "no disk" | Workflow.CompensationFailed | Workflow.WorkflowError,
        Disk | Workflow.Workflow | Cancellation.Cancellation
      >
    >()
  })

  it("a step needs a script, an owner, and what its compensation needs", () => {
    const step = Workflow.step("a", Effect.succeed(1), { compensate: (value: number) => Effect.as(Disk, value) })
    expect<typeof step>().type.toBe<Effect.Effect<number, never, Disk | Workflow.Script | Cancellation.Cancellation>>()
  })

  it("an operation without an owner cannot be run", () => {
    const run = Effect.provideService(Workflow.run({ name: "w", script: Effect.void }), Workflow.Workflow, fake)
    expect(Effect.runPromise<void, unknown>).type.not.toBeCallableWith(run)
    expect(Effect.runPromise<void, unknown>).type.toBeCallableWith(Cancellation.own(run))
  })
})
