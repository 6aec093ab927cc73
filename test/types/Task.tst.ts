import { Context, Effect, type Scope } from "effect"
import { Cancellation, Handoff } from "quiesce"
import { Task } from "quiesce/capability"
import { describe, expect, it } from "tstyche"

declare const fake: Task.Service
declare const owner: Context.Context<Cancellation.Cancellation>
class Disk extends Context.Tag("quiesce/test/types/Task.tst/Disk")<Disk, { readonly free: number }>() {}

/** What answers at once, and so needs nobody who could stop it. */
type AtOnce = "read" | "kill" | "list"
type Waiting = Exclude<keyof Task.Service, AtOnce>

type Given<F> = F extends (...args: Array<any>) => infer G ? G : F
type Requirements<F> = Given<F> extends Effect.Effect<any, any, infer R> ? R : never
type Failure<F> = Given<F> extends Effect.Effect<any, infer E, any> ? E : never

// Over the keys of the service, so that a new operation cannot be forgotten.
describe("Task", () => {
  it("each operation that can wait needs an owner, the others answer at once", () => {
    expect<{ readonly [K in Waiting]: Requirements<Task.Service[K]> }>().type.toBe<{
      readonly [K in Waiting]: Cancellation.Cancellation
    }>()
    expect<{ readonly [K in AtOnce]: Requirements<Task.Service[K]> }>().type.toBe<{ readonly [K in AtOnce]: never }>()
  })

  it("no operation has cancellation among its failures", () => {
    expect<Failure<Task.Service[Waiting]>>().type.toBe<Task.TaskError>()
    expect<Extract<Task.TaskError["reason"], "Cancelled" | "Aborted" | "Interrupted">>().type.toBe<never>()
  })

  it("an operation without an owner cannot be run", () => {
    const wait = Effect.provideService(Task.wait("task-1"), Task.Task, fake)
    expect(Effect.runPromise<Task.Snapshot, unknown>).type.not.toBeCallableWith(wait)
    expect(Effect.runPromise<Task.Snapshot, unknown>).type.toBeCallableWith(Cancellation.own(wait))
  })

  it("what the work needs is taken from who starts it, except its owner", () => {
    const start = Task.start({ label: "look", run: () => Effect.zipRight(Cancellation.signal, Disk) })
    expect<Requirements<typeof start>>().type.toBe<Disk | Task.Task | Cancellation.Cancellation>()
  })
})

describe("Handoff", () => {
  it("needs an owner, gives the work another one and a scope, and asks the caller for the rest", () => {
    const start: Effect.Effect<string, "no room", Disk | Scope.Scope | Cancellation.Cancellation> = Effect.as(
      Disk,
      "work"
    )
    const handoff = Handoff.make({ owner, start, publish: (work) => work.length })
    expect<typeof handoff>().type.toBe<
      Effect.Effect<number, "no room" | Handoff.OwnerEnded, Disk | Cancellation.Cancellation>
    >()
  })

  it("takes no owner that somebody made up", () => {
    const start = Effect.succeed("work")
    expect(Handoff.make<string, never, never, number>).type.not.toBeCallableWith({
      owner: Context.empty(),
      start,
      publish: () => 1
    })
  })
})
