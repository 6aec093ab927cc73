/**
 * The seams of the capabilities.
 *
 * Each is the service of its module with promises, and says the same of what its operations do: see `Seam` for how they are
 * mapped, and the `Service` of each capability for what is promised.
 *
 * What belongs to the layer of a service when its operation has ended (a process in the background, a shell that stays, a
 * task) goes on when its promise has settled, as it does there. A signal that aborts later does not reach it; its own
 * operations do, and closing the layer does.
 *
 * Long because each capability has its descriptor, and says what is its own there.
 *
 * @since 0.1.0
 */
import * as Schedule from "effect/Schedule"
import type * as Stream from "effect/Stream"
import * as Abort from "../Abort.js"
import type { Cancellation } from "../Cancellation.js"
import * as Approval from "../capability/Approval.js"
import * as CodeRuntime from "../capability/CodeRuntime.js"
import * as FileSystem from "../capability/FileSystem.js"
import * as Http from "../capability/Http.js"
import * as Model from "../capability/Model.js"
import * as Process from "../capability/Process.js"
import * as Subagent from "../capability/Subagent.js"
import * as Task from "../capability/Task.js"
import { callback, callbacks } from "../internal/promise/seamCallback.js"
import { fromIterable, toIterable } from "../internal/promise/seamStream.js"
import { describeThrown } from "../internal/thrown.js"
import * as Seam from "./Seam.js"

const detailOf = (error: unknown): string => describeThrown(error).message

/** A failure of a service that cannot fail is a bug of who brought it: a defect. */
const defect = (error: unknown): never => {
  throw error
}

const fileSystemOperations = {
  resolve: "effect",
  stat: "effect",
  lstat: "effect",
  readText: "effect",
  readVersioned: "effect",
  readBytes: "effect",
  streamText: "stream",
  list: "effect",
  writeText: "effect",
  editText: "effect",
  remove: "effect",
  copy: "effect"
} as const satisfies Seam.Descriptor<FileSystem.Service>

/**
 * Files and folders, with promises.
 *
 * @since 0.1.0
 * @category services
 */
export interface FileSystemSeam extends Seam.Of<FileSystem.Service, typeof fileSystemOperations> {}

/**
 * The seam of `FileSystem`.
 *
 * A rejection that is no `FileSystemError` becomes one, with the reason `Unknown`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Seam, Seams } from "quiesce/promise"
 * import { MemoryFileSystem } from "quiesce/testing"
 *
 * await using files = await Seam.open(Seams.fileSystem, MemoryFileSystem.layer())
 * const { signal } = new AbortController()
 * await files.seam.writeText("notes/a.txt", "hello", { signal })
 * for await (const part of files.seam.streamText("notes/a.txt", { signal })) assert.strictEqual(part, "hello")
 * await assert.rejects(files.seam.readText("notes/b.txt", { maxBytes: 100, signal }), { code: "FS_NOT_FOUND" })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const fileSystem: Seam.Definition<FileSystem.FileSystem, FileSystem.Service, FileSystemSeam> = Seam.define(
  FileSystem.FileSystem
)({
  operations: fileSystemOperations,
  catch: (error, operation) =>
    error instanceof FileSystem.FileSystemError
      ? error
      : new FileSystem.FileSystemError({
          operation: operation as keyof FileSystem.Service,
          path: "",
          reason: "Unknown",
          cause: error
        })
})

const background = {
  pid: "sync",
  command: "sync",
  status: "get at-once",
  kill: "at-once",
  awaitExit: "get effect",
  read: "at-once",
  write: "effect",
  closeStdin: "get effect"
} as const satisfies Seam.Descriptor<Process.Background>

const session = {
  pid: "sync",
  status: "get at-once",
  send: "effect",
  close: "get effect"
} as const satisfies Seam.Descriptor<Process.Session>

const processOperations = {
  run: "effect",
  start: { kind: "effect", gives: background },
  openSession: { kind: "effect", gives: session },
  list: { kind: "get at-once", gives: background }
} as const satisfies Seam.Descriptor<Process.Service>

/**
 * Commands of the operating system, with promises.
 *
 * @since 0.1.0
 * @category services
 */
export interface ProcessSeam extends Seam.Of<Process.Service, typeof processOperations> {}

/**
 * The seam of `Process`. The handles that `start`, `list` and `openSession` give are seams too.
 *
 * A rejection that is no `ProcessError` becomes one, with the reason `SpawnFailed`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { CancelCause } from "quiesce"
 * import { NodeProcess } from "quiesce/node"
 * import { Seam, Seams } from "quiesce/promise"
 *
 * await using processes = await Seam.open(Seams.process, NodeProcess.layer)
 * const { signal } = new AbortController()
 * const server = await processes.seam.start({ command: "sleep", args: ["60"], signal })
 * await server.kill(CancelCause.user("enough"))
 * const ending = await server.awaitExit({ signal })
 * assert.strictEqual(ending.signal, "SIGTERM")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const process: Seam.Definition<Process.Process, Process.Service, ProcessSeam> = Seam.define(Process.Process)({
  operations: processOperations,
  catch: (error, operation) =>
    error instanceof Process.ProcessError
      ? error
      : new Process.ProcessError({ reason: "SpawnFailed", command: operation, detail: detailOf(error) })
})

/**
 * How often a request is sent again, and when.
 *
 * @since 0.1.0
 * @category models
 */
export interface Retry {
  /** How often at most, behind the first time. */
  readonly times: number
  /** The wait before the second time; each further one is twice as long. Default: 200 milliseconds. */
  readonly delayMillis?: number | undefined
}

const retry: Seam.Codec<Retry, Schedule.Schedule<unknown, Http.HttpError>> = {
  toEffect: ({ delayMillis = 200, times }) =>
    Schedule.intersect(Schedule.exponential(delayMillis), Schedule.recurs(times)),
  toPromise: () => {
    throw new TypeError("A schedule cannot be handed to a seam: retry the request around it")
  }
}

type Bytes = string | Uint8Array

const body: Seam.Codec<Bytes | AsyncIterable<Uint8Array>, Bytes | Stream.Stream<Uint8Array, unknown, Cancellation>> = {
  toEffect: (body) =>
    typeof body === "string" || body instanceof Uint8Array
      ? body
      : fromIterable(
          () => body,
          (error) => error
        ),
  toPromise: (body) =>
    typeof body === "string" || body instanceof Uint8Array
      ? body
      : toIterable(body, (effect, ...signals) => Abort.toPromise(effect, { signal: signals[0] }))
}

const response = {
  url: "sync",
  status: "sync",
  headers: "sync",
  body: "get stream",
  text: "get effect",
  drop: "get effect"
} as const satisfies Seam.Descriptor<Http.Response>

const httpOperations = {
  request: { kind: "effect", takes: { body, retry }, gives: response, endedBy: ["body", "text", "drop"] },
  text: { kind: "effect", takes: { body, retry } },
  stream: { kind: "stream", takes: { body, retry } },
  download: { kind: "effect", takes: { body, retry } }
} as const satisfies Seam.Descriptor<Http.Service>

/**
 * Requests over HTTP, with promises.
 *
 * @since 0.1.0
 * @category services
 */
export interface HttpSeam extends Seam.Of<Http.Service, typeof httpOperations> {}

/**
 * The seam of `Http`.
 *
 * A response that `request` gives is as long as its connection: it ends when the body was read (`body`, `text`), with
 * `drop` or `close`, at the end of `await using`, and when the signal of the request aborts. A body that is sent may be an
 * async iterable, and `retry` is plain data. A rejection that is no `HttpError` becomes one, with the reason
 * `ConnectionLost`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Seam, Seams } from "quiesce/promise"
 * import { ScriptedHttp } from "quiesce/testing"
 *
 * const { layer } = await Effect.runPromise(ScriptedHttp.make(() => Effect.succeed({ body: "hello" })))
 * await using http = await Seam.open(Seams.http, layer)
 * const { signal } = new AbortController()
 * await using response = await http.seam.request({ url: "https://example.com/", signal })
 * assert.strictEqual(response.status, 200)
 * assert.strictEqual(await response.text({ signal }), "hello")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const http: Seam.Definition<Http.Http, Http.Service, HttpSeam> = Seam.define(Http.Http)({
  operations: httpOperations,
  catch: (error, operation) =>
    error instanceof Http.HttpError
      ? error
      : new Http.HttpError({
          method: operation,
          url: "",
          reason: "ConnectionLost",
          detail: detailOf(error),
          cause: error
        })
})

const taskOperations = {
  start: { kind: "effect", takes: { run: callback<[task: Task.Running]>() } },
  wait: "effect",
  read: "at-once",
  kill: "at-once",
  list: "get at-once"
} as const satisfies Seam.Descriptor<Task.Service>

/**
 * Background tasks, with promises.
 *
 * @since 0.1.0
 * @category services
 */
export interface TaskSeam extends Seam.Of<Task.Service, typeof taskOperations> {}

/**
 * The seam of `Task`.
 *
 * The work of a task is a function that gives a promise. Its `signal` is the task's own: killing the task aborts it, and
 * not the signal of who started it. A rejection that is no `TaskError` becomes one, with the reason `InvalidOptions`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Task } from "quiesce/capability"
 * import { Seam, Seams } from "quiesce/promise"
 *
 * await using tasks = await Seam.open(Seams.task, Task.layer())
 * const { signal } = new AbortController()
 * const id = await tasks.seam.start({
 *   label: "count",
 *   run: async (task, { signal }) => task.write(signal.aborted ? "" : "1 2 3"),
 *   signal
 * })
 * assert.strictEqual((await tasks.seam.wait(id, { signal })).status, "completed")
 * assert.strictEqual((await tasks.seam.read(id)).text, "1 2 3")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const task: Seam.Definition<Task.Task, Task.Service, TaskSeam> = Seam.define(Task.Task)({
  operations: taskOperations,
  catch: (error, operation) =>
    error instanceof Task.TaskError
      ? error
      : new Task.TaskError({ task: operation, reason: "InvalidOptions", detail: detailOf(error) })
})

const detached: Seam.Codec<"detached", Subagent.Attachment> = {
  absent: "detached",
  toEffect: (attachment) => attachment,
  toPromise: (attachment) => {
    if (attachment === "detached") return attachment
    throw new TypeError("A subagent that was brought as a seam can only be detached: a signal has no end to be gone by")
  }
}

const subagentOperations = {
  start: { kind: "effect", takes: { attachment: detached } },
  send: "effect",
  wait: "effect",
  interrupt: "at-once",
  dispose: "effect",
  list: "get at-once"
} as const satisfies Seam.Descriptor<Subagent.Service>

/**
 * Subagents, with promises.
 *
 * @since 0.1.0
 * @category services
 */
export interface SubagentSeam extends Seam.Of<Subagent.Service, typeof subagentOperations> {}

/**
 * The seam of `Subagent`.
 *
 * An attached child ends with the operation that started it, which here is one promise. So here all children are detached:
 * they belong to the layer, and a service that is brought as a seam refuses to attach one. A rejection that is no `SubagentError` becomes
 * one, with the reason `NotStarted`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const subagent: Seam.Definition<Subagent.Subagent, Subagent.Service, SubagentSeam> = Seam.define(
  Subagent.Subagent
)({
  operations: subagentOperations,
  catch: (error, operation) =>
    error instanceof Subagent.SubagentError
      ? error
      : new Subagent.SubagentError({ subagent: operation, reason: "NotStarted", detail: detailOf(error) })
})

const codeOperations = {
  run: { kind: "effect", takes: { bindings: callbacks<[argument: unknown]>() } }
} as const satisfies Seam.Descriptor<CodeRuntime.Service>

/**
 * Code that a model has written, with promises.
 *
 * @since 0.1.0
 * @category services
 */
export interface CodeRuntimeSeam extends Seam.Of<CodeRuntime.Service, typeof codeOperations> {}

/**
 * The seam of `CodeRuntime`.
 *
 * Its bindings are functions that give promises, and are given a `signal` that aborts with the run. A rejection that is no
 * `CodeError` becomes one, with the reason `WorkerFailed`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { NodeCodeRuntime } from "quiesce/node"
 * import { Seam, Seams } from "quiesce/promise"
 *
 * await using code = await Seam.open(Seams.codeRuntime, NodeCodeRuntime.layer)
 * const { signal } = new AbortController()
 * const result = await code.seam.run({
 *   code: "return await double(21)",
 *   bindings: { double: async (n, { signal }) => (signal.aborted ? 0 : Number(n) * 2) },
 *   signal
 * })
 * assert.strictEqual(result.value, 42)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const codeRuntime: Seam.Definition<CodeRuntime.CodeRuntime, CodeRuntime.Service, CodeRuntimeSeam> = Seam.define(
  CodeRuntime.CodeRuntime
)({
  operations: codeOperations,
  catch: (error) =>
    error instanceof CodeRuntime.CodeError
      ? error
      : new CodeRuntime.CodeError({ reason: "WorkerFailed", detail: detailOf(error), logs: [], logsTruncated: false })
})

const modelOperations = { stream: "stream" } as const satisfies Seam.Descriptor<Model.Service>

/**
 * Language models, with promises.
 *
 * @since 0.1.0
 * @category services
 */
export interface ModelSeam extends Seam.Of<Model.Service, typeof modelOperations> {}

/**
 * The seam of `Model`: an async iterable of chunks, that ends with one `Finish`.
 *
 * A provider that is brought as a seam says what goes wrong in its last chunk; what it throws ends the answer with
 * `PROVIDER_FAILURE` (see `Model.layer`, which makes it keep the rest of the contract, too).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Seam, Seams } from "quiesce/promise"
 *
 * const parrot = Seam.fromSeam(Seams.model, {
 *   async *stream({ messages, signal }) {
 *     signal.throwIfAborted()
 *     yield { _tag: "Text", text: `${messages.length} messages` }
 *     yield { _tag: "Finish", reason: "stop" }
 *   }
 * })
 * await using model = await Seam.open(Seams.model, parrot)
 * const { signal } = new AbortController()
 * const tags: Array<string> = []
 * for await (const chunk of model.seam.stream({ model: "parrot", messages: [], signal })) tags.push(chunk._tag)
 * assert.deepStrictEqual(tags, ["Text", "Finish"])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const model: Seam.Definition<Model.Model, Model.Service, ModelSeam> = Seam.define(Model.Model)({
  operations: modelOperations,
  catch: defect,
  layer: (service) => Model.layer(service.stream)
})

const approvalOperations = { request: "effect" } as const satisfies Seam.Descriptor<Approval.Service>

/**
 * Somebody outside of the agent who is asked, with promises.
 *
 * @since 0.1.0
 * @category services
 */
export interface ApprovalSeam extends Seam.Of<Approval.Service, typeof approvalOperations> {}

/**
 * The seam of `Approval`. An approver that is brought as a seam answers `unavailable` where nobody can be asked; what it
 * rejects with is a bug in it, and a defect.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Approval } from "quiesce/capability"
 * import { Seam, Seams } from "quiesce/promise"
 *
 * await using approval = await Seam.open(Seams.approval, Approval.layerConst("rejected"))
 * const { signal } = new AbortController()
 * const question = { callId: "c1", tool: "write_file", parameters: {} }
 * assert.strictEqual(await approval.seam.request({ ...question, signal }), "rejected")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const approval: Seam.Definition<Approval.Approval, Approval.Service, ApprovalSeam> = Seam.define(
  Approval.Approval
)({
  operations: approvalOperations,
  catch: defect,
  layer: (service) => Approval.layer(service.request)
})
