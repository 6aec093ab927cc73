import { Effect, Stream } from "effect"
import { Cancellation } from "quiesce"
import { FileSystem } from "quiesce/capability"
import { describe, expect, it } from "tstyche"

declare const fake: FileSystem.Service

type Operation = keyof FileSystem.Service

/** What an operation gives: an effect or a stream. */
type Given<F> = F extends (...args: Array<any>) => infer G ? G : never
type Requirements<F> =
  Given<F> extends Effect.Effect<any, any, infer R> ? R : Given<F> extends Stream.Stream<any, any, infer R> ? R : never
type Failure<F> =
  Given<F> extends Effect.Effect<any, infer E, any> ? E : Given<F> extends Stream.Stream<any, infer E, any> ? E : never
type Success<F> =
  Given<F> extends Effect.Effect<infer A, any, any> ? A : Given<F> extends Stream.Stream<infer A, any, any> ? A : never

// Over the keys of the service, so that a new operation cannot be forgotten.
describe("FileSystem", () => {
  it("207: each operation needs an owner", () => {
    expect<{ readonly [K in Operation]: Requirements<FileSystem.Service[K]> }>().type.toBe<{
      readonly [K in Operation]: Cancellation.Cancellation
    }>()
  })

  it("no operation has cancellation among its failures", () => {
    expect<{ readonly [K in Operation]: Failure<FileSystem.Service[K]> }>().type.toBe<{
      readonly [K in Operation]: FileSystem.FileSystemError
    }>()
    expect<Extract<FileSystem.Reason, "Cancelled" | "Aborted" | "Interrupted">>().type.toBe<never>()
  })

  it("a failure names one of the operations, and each of them", () => {
    expect<FileSystem.FileSystemError["operation"]>().type.toBe<Operation>()
  })

  it("each operation has an accessor of its name, which takes and gives the same", () => {
    type Accessors = typeof FileSystem
    expect<{ readonly [K in Operation]: Requirements<Accessors[K]> }>().type.toBe<{
      readonly [K in Operation]: FileSystem.FileSystem | Cancellation.Cancellation
    }>()
    expect<{ readonly [K in Operation]: Parameters<Accessors[K]> }>().type.toBe<{
      readonly [K in Operation]: Parameters<FileSystem.Service[K]>
    }>()
    expect<{ readonly [K in Operation]: Failure<Accessors[K]> }>().type.toBe<{
      readonly [K in Operation]: Failure<FileSystem.Service[K]>
    }>()
    expect<{ readonly [K in Operation]: Success<Accessors[K]> }>().type.toBe<{
      readonly [K in Operation]: Success<FileSystem.Service[K]>
    }>()
  })

  it("207: an operation without an owner cannot be run", () => {
    const write = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.writeText("file", ""))
    const ready = Effect.provideService(write, FileSystem.FileSystem, fake)
    expect(Effect.runPromise<FileSystem.Version, unknown>).type.not.toBeCallableWith(ready)
    expect(Effect.runPromise<FileSystem.Version, unknown>).type.toBeCallableWith(Cancellation.own(ready))
    const stream = Stream.provideService(FileSystem.streamText("file"), FileSystem.FileSystem, fake)
    const drained = Stream.runDrain(stream)
    expect(Effect.runPromise<void, unknown>).type.not.toBeCallableWith(drained)
    expect(Effect.runPromise<void, unknown>).type.toBeCallableWith(Cancellation.own(drained))
  })

  it("a text is no version", () => {
    expect<{ readonly expected: string }>().type.not.toBeAssignableTo<FileSystem.WriteOptions>()
    expect<{ readonly expected: FileSystem.Version }>().type.toBeAssignableTo<FileSystem.WriteOptions>()
    expect<FileSystem.Info["version"] & FileSystem.VersionedText["version"]>().type.toBe<FileSystem.Version>()
  })
})
