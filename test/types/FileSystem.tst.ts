import { Effect } from "effect"
import { Cancellation } from "quiesce"
import { FileSystem } from "quiesce/capability"
import { describe, expect, it } from "tstyche"

declare const fake: FileSystem.Service

type Operation = keyof FileSystem.Service

type Requirements<F> = F extends (...args: Array<any>) => Effect.Effect<any, any, infer R> ? R : never
type Failure<F> = F extends (...args: Array<any>) => Effect.Effect<any, infer E, any> ? E : never
type Success<F> = F extends (...args: Array<any>) => Effect.Effect<infer A, any, any> ? A : never

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
    expect(Effect.runPromise<void, unknown>).type.not.toBeCallableWith(ready)
    expect(Effect.runPromise<void, unknown>).type.toBeCallableWith(Cancellation.own(ready))
  })
})
