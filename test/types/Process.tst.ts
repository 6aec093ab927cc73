import { Effect, type Layer } from "effect"
import { Cancellation } from "quiesce"
import * as Process from "quiesce/capability/Process"
import * as NodeProcess from "quiesce/node/NodeProcess"
import { ScriptedProcess } from "quiesce/testing"
import { describe, expect, it } from "tstyche"

declare const service: Process.Service
declare const background: Process.Background
declare const session: Process.Session

type Operation<F> = F extends (...args: Array<any>) => Effect.Effect<any, any, any>
  ? ReturnType<F>
  : Extract<F, Effect.Effect<any, any, any>>
type Needs<F> = Effect.Effect.Context<Operation<F>>
type Failure<F> = Effect.Effect.Error<Operation<F>>
type Success<F> = Effect.Effect.Success<Operation<F>>
type Operations<S> = { readonly [K in keyof S as [Operation<S[K]>] extends [never] ? never : K]: S[K] }

/** What answers at once. Everything else can wait: an operation that is added needs an owner, or a place here. */
type AtOnce = {
  readonly service: "list"
  readonly background: "status" | "kill" | "read"
  readonly session: "status"
}
type Owners<S, Immediate> = {
  readonly [K in keyof Operations<S>]: K extends Immediate ? never : Cancellation.Cancellation
}

// Over the keys of the service and of what it gives, so that a new operation cannot be forgotten.
describe("Process", () => {
  it("207: each operation that can wait needs an owner", () => {
    expect<{ readonly [K in keyof Operations<Process.Service>]: Needs<Process.Service[K]> }>().type.toBe<
      Owners<Process.Service, AtOnce["service"]>
    >()
    expect<{ readonly [K in keyof Operations<Process.Background>]: Needs<Process.Background[K]> }>().type.toBe<
      Owners<Process.Background, AtOnce["background"]>
    >()
    expect<{ readonly [K in keyof Operations<Process.Session>]: Needs<Process.Session[K]> }>().type.toBe<
      Owners<Process.Session, AtOnce["session"]>
    >()
  })

  it("no operation has anything but its own errors, and those say nothing of cancellation", () => {
    type Failures<S> = Failure<Operations<S>[keyof Operations<S>]>
    expect<Failures<Process.Service>>().type.toBe<Process.ProcessError>()
    expect<Failures<Process.Background>>().type.toBe<Process.ProcessError>()
    expect<Failures<Process.Session>>().type.toBe<Process.ProcessError>()
    expect<
      Extract<Process.Reason, `${string}${"Cancel" | "Abort" | "Interrupted" | "Timeout"}${string}`>
    >().type.toBe<never>()
  })

  it("each operation has an accessor of its name, which takes and gives the same", () => {
    type Accessors = typeof Process
    type Name = keyof Process.Service
    type Parameters<F> = F extends (...args: infer A) => any ? A : []
    expect<{ readonly [K in Name]: Needs<Accessors[K]> }>().type.toBe<{
      readonly [K in Name]: Process.Process | Needs<Process.Service[K]>
    }>()
    expect<{ readonly [K in Name]: Parameters<Accessors[K]> }>().type.toBe<{
      readonly [K in Name]: Parameters<Process.Service[K]>
    }>()
    expect<{ readonly [K in Name]: Failure<Accessors[K]> }>().type.toBe<{
      readonly [K in Name]: Failure<Process.Service[K]>
    }>()
    expect<{ readonly [K in Name]: Success<Accessors[K]> }>().type.toBe<{
      readonly [K in Name]: Success<Process.Service[K]>
    }>()
  })

  it("207: an operation without an owner cannot be run", () => {
    const operations = [
      service.run({ command: "true" }),
      service.start({ command: "true" }),
      background.awaitExit,
      background.write("text"),
      session.send("true"),
      session.close
    ] as const
    const [operation] = operations
    expect(Effect.runPromise<unknown, unknown>).type.not.toBeCallableWith(operation)
    expect(Effect.runPromise<unknown, unknown>).type.toBeCallableWith(Cancellation.own(operation))
    expect(Effect.runPromise<unknown, unknown>).type.not.toBeCallableWith(background.awaitExit)
    expect(Effect.runPromise<unknown, unknown>).type.toBeCallableWith(background.kill({ _tag: "Disposed" }))
  })

  it("keeps exit code, signal and timeout apart", () => {
    expect<Pick<Process.Ending, "exitCode" | "signal" | "timedOut">>().type.toBe<{
      readonly exitCode: number | undefined
      readonly signal: string | undefined
      readonly timedOut: boolean
    }>()
    expect<Process.RunResult>().type.toBeAssignableTo<Process.Ending>()
  })

  it("takes a command without a shell", () => {
    expect(Process.run).type.not.toBeCallableWith("true")
    expect(Process.run).type.not.toBeCallableWith({ command: "true", shell: true })
    expect(Process.run).type.not.toBeCallableWith({ command: "true", keepStdinOpen: true })
    expect(Process.run).type.not.toBeCallableWith({ command: "true", containment: "pidns" })
  })

  it("is provided on Node without requirements, and by scripts too", () => {
    expect(NodeProcess.layer).type.toBe<Layer.Layer<Process.Process>>()
    expect(NodeProcess.killAll).type.toBe<() => number>()
    expect(ScriptedProcess.layer({})).type.toBe<Layer.Layer<Process.Process>>()
  })
})
