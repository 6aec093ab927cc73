import { Context, type Effect, type Layer, type Scope, type Stream } from "effect"
import type { CancelCause, Cancellation } from "quiesce"
import type {
  Approval,
  CodeRuntime,
  FileSystem,
  Http,
  Model,
  Process,
  Subagent,
  Task,
  Workflow
} from "quiesce/capability"
import { Seam, type Seams, type Signal } from "quiesce/promise"
import { describe, expect, it } from "tstyche"

type Owner = Cancellation.Cancellation
type Gives<A, E = never, R = Owner> = Effect.Effect<A, E, R>
interface Own {
  readonly signal: AbortSignal
}

/** The seams of all capabilities, beside their services. */
interface All {
  readonly fileSystem: [FileSystem.Service, Seams.FileSystemSeam]
  readonly process: [Process.Service, Seams.ProcessSeam]
  readonly background: [Process.Background, Awaited<ReturnType<Seams.ProcessSeam["start"]>>]
  readonly session: [Process.Session, Awaited<ReturnType<Seams.ProcessSeam["openSession"]>>]
  readonly http: [Http.Service, Seams.HttpSeam]
  readonly response: [Http.Response, Awaited<ReturnType<Seams.HttpSeam["request"]>>]
  readonly task: [Task.Service, Seams.TaskSeam]
  readonly subagent: [Subagent.Service, Seams.SubagentSeam]
  readonly codeRuntime: [CodeRuntime.Service, Seams.CodeRuntimeSeam]
  readonly model: [Model.Service, Seams.ModelSeam]
  readonly approval: [Approval.Service, Seams.ApprovalSeam]
}

type Operation<F> = F extends (...args: Array<any>) => infer G
  ? Extract<G, Stream.Stream<any, any, any>>
  : Extract<F, Stream.Stream<any, any, any>>
/** What of a service can wait, and so needs an owner: read off the service alone. */
type Waiting<S> = {
  [K in keyof S]: [Operation<S[K]>] extends [never]
    ? never
    : Operation<S[K]> extends Stream.Stream<any, any, infer R>
      ? Owner extends R
        ? K
        : never
      : never
}[keyof S]

type LastOf<F> = F extends (...args: infer P) => any ? (P extends [...any, infer L] ? L : never) : never
type SignalOf<F> = LastOf<F> extends { readonly signal: infer X } ? X : "no signal"
type WithoutSignal<F> = F extends (...args: infer P) => any
  ? P extends [...infer I, infer L]
    ? [...I, Omit<L, "signal">]
    : never
  : never
type Leaving<F> = WithoutSignal<F> extends (F extends (...args: infer P) => any ? P : never) ? "compiles" : "refused"

// Over the services, as it is done for owners: a new operation cannot be forgotten.
describe("Seams", () => {
  it("each operation that can wait has a signal in its last argument, exactly an AbortSignal", () => {
    type Signals = {
      readonly [N in keyof All]: { readonly [K in Waiting<All[N][0]>]: SignalOf<All[N][1][K & keyof All[N][1]]> }
    }
    expect<Signals>().type.toBe<{
      readonly [N in keyof All]: { readonly [K in Waiting<All[N][0]>]: AbortSignal }
    }>()
  })

  it("leaving it out does not compile, for any of them", () => {
    type Left = {
      readonly [N in keyof All]: { readonly [K in Waiting<All[N][0]>]: Leaving<All[N][1][K & keyof All[N][1]]> }
    }
    expect<Left>().type.toBe<{ readonly [N in keyof All]: { readonly [K in Waiting<All[N][0]>]: "refused" } }>()
    expect<Seams.FileSystemSeam["list"]>().type.not.toBeCallableWith("folder")
    expect<Seams.FileSystemSeam["list"]>().type.not.toBeCallableWith("folder", {})
    expect<Seams.FileSystemSeam["list"]>().type.not.toBeCallableWith("folder", { signal: undefined })
    expect<Seams.FileSystemSeam["readText"]>().type.not.toBeCallableWith("file", { maxBytes: 1 })
    expect<Seams.ModelSeam["stream"]>().type.not.toBeCallableWith({ model: "m", messages: [] })
    expect<Seams.FileSystemSeam["list"]>().type.toBeCallableWith("folder", { signal: {} as AbortSignal })
  })

  it("a seam has the members of its service, and no others but close", () => {
    type Names = { readonly [N in keyof All]: Exclude<keyof All[N][1], keyof Seam.Scoped> }
    expect<Names>().type.toBe<{ readonly [N in keyof All]: Exclude<keyof All[N][0], keyof Seam.Scoped> }>()
    expect<Exclude<keyof All["response"][1], keyof Http.Response>>().type.toBe<keyof Seam.Scoped>()
  })

  it("the signal joins the options that there are, and stands alone where there are none", () => {
    expect<Parameters<Seams.FileSystemSeam["readText"]>>().type.toBe<
      [path: string, options: FileSystem.ReadOptions & Seam.Signalled]
    >()
    expect<Parameters<Seams.FileSystemSeam["copy"]>>().type.toBe<
      [from: string, to: string, options: FileSystem.CopyOptions & Seam.Signalled]
    >()
    expect<Parameters<Seams.FileSystemSeam["list"]>>().type.toBe<[path: string, options: Seam.Signalled]>()
    expect<Parameters<Seams.ProcessSeam["openSession"]>>().type.toBe<
      [options: Process.SessionOptions & Seam.Signalled]
    >()
    expect<Parameters<All["background"][1]["awaitExit"]>>().type.toBe<[options: Seam.Signalled]>()
    expect<Seam.Signalled>().type.toBe<Own>()
  })

  it("what answers at once takes no signal, and is there when one has aborted", () => {
    expect<Seams.TaskSeam["kill"]>().type.toBe<
      (id: string, cause?: CancelCause.CancelCause) => Promise<"requested" | "already-finished">
    >()
    expect<All["background"][1]["kill"]>().type.toBe<(cause: CancelCause.CancelCause) => Promise<boolean>>()
    expect<All["background"][1]["pid"]>().type.toBe<number>()
    expect<Seams.TaskSeam["list"]>().type.toBe<() => Promise<ReadonlyArray<Task.Snapshot>>>()
  })

  it("streams are async iterables", () => {
    expect<Seams.FileSystemSeam["streamText"]>().type.toBe<
      (path: string, options: Seam.Signalled) => AsyncIterable<string>
    >()
    expect<Seams.ModelSeam["stream"]>().type.toBe<
      (request: Model.Request & Seam.Signalled) => AsyncIterable<Model.Chunk>
    >()
    expect<All["response"][1]["body"]>().type.toBe<(options: Seam.Signalled) => AsyncIterable<Uint8Array>>()
  })

  it("handles are seams too, also in an array", () => {
    expect<Awaited<ReturnType<Seams.ProcessSeam["list"]>>[number]>().type.toBe<All["background"][1]>()
    expect<All["response"][1]>().type.toBeAssignableTo<AsyncDisposable>()
  })

  it("effects in options are promises and async iterables", () => {
    type Start = Parameters<Seams.TaskSeam["start"]>[0]
    expect<Start["run"]>().type.toBe<
      (task: Task.Running, options: { readonly signal: AbortSignal }) => PromiseLike<unknown>
    >()
    expect<NonNullable<Parameters<Seams.HttpSeam["text"]>[0]["body"]>>().type.toBe<
      string | Uint8Array | AsyncIterable<Uint8Array>
    >()
    expect<Seams.SubagentSeam["start"]>().type.not.toBeCallableWith({
      profile: "p",
      task: "t",
      attachment: "attached",
      signal: {} as AbortSignal
    })
  })

  it("fromSeam takes what toSeam gives, and provides the service", () => {
    expect(Seam.fromSeam<FileSystem.FileSystem, FileSystem.Service, Seams.FileSystemSeam>).type.toBe<
      (
        definition: Seam.Definition<FileSystem.FileSystem, FileSystem.Service, Seams.FileSystemSeam>,
        seam: Seams.FileSystemSeam
      ) => Layer.Layer<FileSystem.FileSystem>
    >()
  })
})

describe("Seam.Descriptor", () => {
  interface Before {
    readonly read: (path: string) => Gives<string, "gone">
  }
  interface After extends Before {
    readonly chmod: (path: string, mode: number) => Gives<void, "gone">
  }
  class Old extends Context.Tag("quiesce/test/types/Seam.tst/Old")<Old, Before>() {}
  class New extends Context.Tag("quiesce/test/types/Seam.tst/New")<New, After>() {}
  const fail = (): "gone" => "gone"

  it("an operation that is added does not compile until it is described", () => {
    expect(Seam.define(Old)).type.toBeCallableWith({ operations: { read: "effect" }, catch: fail })
    expect(Seam.define(New)).type.not.toBeCallableWith({ operations: { read: "effect" }, catch: fail })
    expect(Seam.define(New)).type.toBeCallableWith({ operations: { read: "effect", chmod: "effect" }, catch: fail })
  })

  it("one that is taken away does not compile until its description goes", () => {
    expect(Seam.define(Old)).type.not.toBeCallableWith({
      operations: { read: "effect", chmod: "effect" } as const,
      catch: fail
    })
  })

  it("one that is described as something else does not compile", () => {
    expect(Seam.define(Old)).type.not.toBeCallableWith({ operations: { read: "stream" }, catch: fail })
    expect(Seam.define(Old)).type.not.toBeCallableWith({ operations: { read: "at-once" }, catch: fail })
    expect(Seam.define(Old)).type.not.toBeCallableWith({ operations: { read: "get effect" }, catch: fail })
  })

  it("a rejection becomes a failure of the service, and nothing else", () => {
    expect(Seam.define(Old)).type.not.toBeCallableWith({ operations: { read: "effect" }, catch: () => "other" })
    expect<Seam.Failure<After>>().type.toBe<"gone">()
  })

  it("the capabilities' own descriptors do not fit a service that has one operation more", () => {
    interface More extends FileSystem.Service {
      readonly chmod: (path: string, mode: number) => Gives<void, FileSystem.FileSystemError>
    }
    type Described = { readonly [K in keyof FileSystem.Service]: K extends "streamText" ? "stream" : "effect" }
    expect<Described>().type.toBeAssignableTo<Seam.Descriptor<FileSystem.Service>>()
    expect<Described>().type.not.toBeAssignableTo<Seam.Descriptor<More>>()
    expect<Described & { readonly chmod: "effect" }>().type.toBeAssignableTo<Seam.Descriptor<More>>()
  })

  it("what a seam cannot have is said, and has no value", () => {
    expect<Seam.Entry<<A>(value: A) => Gives<A>>>().type.toBe<Seam.Unmappable<"it is generic or overloaded">>()
    expect<Seam.Entry<Workflow.Service["start"]>>().type.toBe<Seam.Unmappable<"it is generic or overloaded">>()
    expect<Seam.Entry<{ (a: string): Gives<string>; (a: number): Gives<number> }>>().type.toBe<
      Seam.Unmappable<"it is generic or overloaded">
    >()
    expect<Seam.Entry<(...paths: ReadonlyArray<string>) => Gives<string>>>().type.toBe<
      Seam.Unmappable<"it takes any number of arguments">
    >()
    expect<Seam.Entry<(...paths: Array<string>) => Gives<string>>>().type.toBe<
      Seam.Unmappable<"it takes any number of arguments">
    >()
    expect<Seam.Entry<(id: string, from?: number) => Gives<string>>>().type.toBe<
      Seam.Unmappable<"its last argument may be left out, and is no options object">
    >()
    expect<Seam.Entry<(id?: string, from?: { readonly at: number }) => Gives<string>>>().type.toBe<
      Seam.Unmappable<"an argument before its last may be left out">
    >()
    expect<Seam.Entry<(options: { readonly a?: string }) => Gives<string>>>().type.toBe<
      Seam.Unmappable<"its options may be empty, and not be left out">
    >()
    expect<Seam.Entry<(options: { readonly a: string } | string) => Gives<string>>>().type.toBe<
      Seam.Unmappable<"its last argument may be an options object or something else">
    >()
    expect<Seam.Entry<(options: { readonly signal: string }) => Gives<string>>>().type.toBe<
      Seam.Unmappable<"its options have a signal already">
    >()
    expect<Seam.Entry<(effect: Gives<string>) => Gives<string>>>().type.toBe<
      Seam.Unmappable<"its last argument is an effect">
    >()
    expect<Seam.Entry<() => Gives<string, never, Owner | FileSystem.FileSystem>>>().type.toBe<
      Seam.Unmappable<"it needs more than an owner and a scope">
    >()
    expect<"effect">().type.not.toBeAssignableTo<Seam.Entry<<A>(value: A) => Gives<A>>>()
  })

  it("a handle, an effect in options and a scope have to be described", () => {
    interface Handle {
      readonly wait: Gives<void>
    }
    expect<"effect">().type.not.toBeAssignableTo<Seam.Entry<() => Gives<Handle>>>()
    expect<{ readonly kind: "effect"; readonly gives: { readonly wait: "get effect" } }>().type.toBeAssignableTo<
      Seam.Entry<() => Gives<Handle>>
    >()
    expect<"effect">().type.not.toBeAssignableTo<Seam.Entry<(o: { readonly run: () => Gives<void> }) => Gives<void>>>()
    expect<"effect">().type.not.toBeAssignableTo<Seam.Entry<() => Gives<string, never, Owner | Scope.Scope>>>()
  })
})

describe("Signal", () => {
  it("a child's signal is exactly an AbortSignal, and readonly", () => {
    expect<Pick<Signal.Child, "signal">>().type.toBe<{ readonly signal: AbortSignal }>()
    expect<Signal.Deadline>().type.toBeAssignableTo<Disposable>()
  })

  it("settled gives what its work gives, one or several", () => {
    expect<Signal.Settled<[() => Promise<number>, (signal: AbortSignal) => string]>>().type.toBe<[number, string]>()
  })
})
