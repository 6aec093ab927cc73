import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, FiberId, Layer, Stream } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import { Approval, CodeRuntime, FileSystem, Http, Model, Process, Subagent, Task } from "quiesce/capability"
import { Seam, Seams } from "quiesce/promise"
import {
  MemoryFileSystem,
  ScriptedCode,
  ScriptedHttp,
  ScriptedModel,
  ScriptedProcess,
  ScriptedSubagent
} from "quiesce/testing"
import { itKeepsTheContract as codeContract, scripts } from "../support/contracts/code.js"
import { modelContract } from "../support/contracts/model.js"
import { itKeepsTheContract as processContract } from "../support/contracts/process.js"

/** A layer whose service was made a seam, and that a service again. */
const thereAndBack = <I, S, P, E>(definition: Seam.Definition<I, S, P>, layer: Layer.Layer<I, E>): Layer.Layer<I, E> =>
  Layer.unwrapEffect(
    Effect.map(definition.tag, (service) => Seam.fromSeam(definition, Seam.toSeam(definition, service)))
  ).pipe(Layer.provide(layer)) as Layer.Layer<I, E>

const { signal } = new AbortController()

describe("Seams, there and back", () => {
  describe("CodeRuntime", () =>
    codeContract(() => {
      const { code, running } = ScriptedCode.make(scripts)
      return {
        layer: thereAndBack(Seams.codeRuntime, Layer.succeed(CodeRuntime.CodeRuntime, code)),
        maxMemoryMb: 128,
        stride: 1,
        alive: () => Effect.runSync(running)
      }
    }))

  modelContract("there and back", (answer) =>
    Effect.gen(function* () {
      const gates = yield* Effect.forEach(answer, () => ScriptedModel.gate)
      const steps = answer.flatMap((chunk, i): ScriptedModel.Script => [gates[i]?.wait ?? Effect.never, chunk])
      const scripted = yield* ScriptedModel.make([steps])
      return {
        model: yield* Layer.build(thereAndBack(Seams.model, scripted.layer)),
        requests: Effect.map(scripted.requests, (requests) => requests.length),
        awaitRequest: Effect.asVoid(scripted.awaitRequest()),
        sendUpTo: (index) => Effect.forEach(gates.slice(0, index), (gate) => gate.open, { discard: true }),
        closed: Effect.map(scripted.running, (running) => assert.strictEqual(running, 0)),
        open: scripted.running
      }
    })
  )

  describe("Process", () =>
    processContract(() => {
      let alive: () => ReadonlyArray<number> = () => []
      const layer = Layer.scoped(
        Process.Process,
        Effect.map(
          ScriptedProcess.make({
            echo: (args) => ({ stdout: `${args.join(" ")}\n` }),
            sleep: { lasts: "forever" },
            cat: { echoes: true }
          }),
          ({ process, started }) => {
            alive = () => Effect.runSync(started).flatMap(({ isRunning, pid }) => (isRunning ? [pid] : []))
            return process
          }
        )
      )
      return { layer: thereAndBack(Seams.process, layer), env: {}, stride: 5, alive: () => alive(), listsCopies: true }
    }))

  it.live("FileSystem", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const version = yield* fs.writeText("a/b.txt", "one two")
      yield* fs.editText("a/b.txt", [{ find: "one", replace: "1" }], { expected: version })
      const stale = yield* Effect.flip(fs.writeText("a/b.txt", "late", { expected: version }))
      assert.deepInclude(stale, { _tag: "FileSystemError", reason: "StaleVersion" })
      assert.strictEqual(yield* fs.readText("a/b.txt"), "1 two")
      const parts = yield* Effect.map(Effect.scoped(fs.streamText("a/b.txt").pipe(collect)), (parts) => parts.join(""))
      assert.strictEqual(parts, "1 two")
      assert.strictEqual(yield* fs.remove("a", { recursive: true }), 2)
    }).pipe(Cancellation.own, Effect.provide(thereAndBack(Seams.fileSystem, MemoryFileSystem.layer())))
  )

  it.live("Process: handles too, and a cancel stops the command", () =>
    Effect.gen(function* () {
      const layer = ScriptedProcess.layer({
        echo: (args) => ({ stdout: `${args.join(" ")}\n` }),
        sleep: { lasts: "forever" },
        cat: { echoes: true }
      })
      const processes = Context.get(yield* Layer.build(thereAndBack(Seams.process, layer)), Process.Process)
      yield* Effect.gen(function* () {
        assert.strictEqual((yield* processes.run({ command: "echo", args: ["hi"] })).stdout, "hi\n")
        const cat = yield* processes.start({ command: "cat", keepStdinOpen: true })
        yield* cat.write("text")
        assert.deepStrictEqual(
          (yield* processes.list).map(({ pid }) => pid),
          [cat.pid]
        )
        assert.strictEqual((yield* cat.status)._tag, "Running")
        assert.isTrue(yield* cat.kill(CancelCause.user()))
        assert.strictEqual((yield* cat.awaitExit).signal, "SIGTERM")
        const missing = yield* Effect.flip(processes.run({ command: "missing" }))
        assert.deepInclude(missing, { _tag: "ProcessError", reason: "CommandNotFound" })
        const session = yield* processes.openSession()
        assert.strictEqual((yield* session.send("echo out")).stdout, "out\n")
        yield* session.close
      }).pipe(Cancellation.own)
      const sleeping = Cancellation.withDeadline(processes.run({ command: "sleep" }), {
        duration: 5,
        onExpire: () => Effect.succeed("stopped" as const)
      })
      assert.strictEqual(yield* sleeping, "stopped")
    }).pipe(Effect.scoped)
  )

  it.live("Http: bodies as they come, responses as long as their scope", () =>
    Effect.gen(function* () {
      const handle = yield* ScriptedHttp.make((request) =>
        Effect.succeed({ status: request.url.endsWith("gone") ? 410 : 200, body: "hello" })
      )
      const http = Context.get(yield* Layer.build(thereAndBack(Seams.http, handle.layer)), Http.Http)
      yield* Effect.gen(function* () {
        const url = "http://a.test/"
        assert.strictEqual(yield* http.text({ url }), "hello")
        const response = yield* Effect.scoped(
          Effect.flatMap(http.request({ url: `${url}gone` }), (response) =>
            Effect.map(response.text, (text) => `${response.status} ${text}`)
          )
        )
        assert.strictEqual(response, "410 hello")
        assert.deepInclude(yield* Effect.flip(http.text({ url: `${url}gone` })), { reason: "BadStatus", status: 410 })
        const bytes = yield* collect(http.stream({ url }))
        assert.strictEqual(Buffer.concat(bytes).toString(), "hello")
        yield* Effect.scoped(http.request({ url }))
        assert.strictEqual(yield* handle.open, 0)
      }).pipe(Cancellation.own)
    }).pipe(Effect.scoped)
  )

  it.live("Task: the work runs under the task's own owner, and is stopped with it", () =>
    Effect.gen(function* () {
      const tasks = yield* Task.Task
      const stopped = Deferred.unsafeMake<string>(FiberId.none)
      const began = Deferred.unsafeMake<void>(FiberId.none)
      const id = yield* Cancellation.own(
        tasks.start({
          label: "work",
          run: (task) =>
            Effect.zipRight(Deferred.succeed(began, undefined), Effect.never).pipe(
              Effect.onInterrupt(() =>
                Effect.zipRight(
                  Effect.sync(() => task.write("bye")),
                  Deferred.succeed(stopped, task.id)
                )
              )
            )
        })
      )
      yield* Deferred.await(began)
      assert.strictEqual(yield* tasks.kill(id, CancelCause.user("enough")), "requested")
      const snapshot = yield* Cancellation.own(tasks.wait(id))
      assert.deepInclude(snapshot, { status: "killed", cause: CancelCause.user("enough") })
      assert.strictEqual(yield* Deferred.await(stopped), id)
      assert.strictEqual((yield* tasks.read(id)).text, "bye")
      assert.deepInclude(yield* Effect.flip(tasks.read("none")), { reason: "NotFound" })
    }).pipe(Effect.provide(thereAndBack(Seams.task, Task.layer())))
  )

  it.live("Subagent: detached, and refuses to attach", () =>
    Effect.gen(function* () {
      const subagents = yield* Subagent.Subagent
      const id = yield* subagents.start({ profile: "reviewer", task: "Review.", attachment: "detached" })
      assert.deepStrictEqual(
        (yield* subagents.list).map((child) => child.id),
        [id]
      )
      yield* subagents.dispose(id)
      for (const attachment of ["attached", undefined] as const) {
        const refused = yield* Effect.flip(subagents.start({ profile: "reviewer", task: "Review.", attachment }))
        assert.match(refused.message, /can only be detached/)
      }
      assert.lengthOf(
        (yield* subagents.list).filter(({ status }) => status !== "disposed"),
        0
      )
    }).pipe(Cancellation.own, Effect.provide(thereAndBack(Seams.subagent, ScriptedSubagent.layer())))
  )

  it.live("Approval", () =>
    Effect.gen(function* () {
      const question = Approval.request({ callId: "c1", tool: "t", parameters: {} })
      assert.strictEqual(yield* question, "rejected")
    }).pipe(Cancellation.own, Effect.provide(thereAndBack(Seams.approval, Approval.layerConst("rejected"))))
  )
})

describe("Seams, as promise code uses them", () => {
  it("a child of a seam outlives the promise that started it", async () => {
    await using subagents = await Seam.open(Seams.subagent, ScriptedSubagent.layer())
    const id = await subagents.seam.start({ profile: "reviewer", task: "Review.", signal })
    const [child] = await subagents.seam.list()
    assert.deepInclude(child, { id, attachment: "detached", status: "running" })
  })

  it("killing a task aborts the signal of its work with the cause, and waits for its promise", async () => {
    await using tasks = await Seam.open(Seams.task, Task.layer())
    let seen: unknown
    const id = await tasks.seam.start({
      label: "work",
      run: (_task, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            seen = signal.reason
            setImmediate(() => reject(signal.reason))
          })
        }),
      signal
    })
    await new Promise((resolve) => setImmediate(resolve))
    await tasks.seam.kill(id, CancelCause.user("enough"))
    assert.strictEqual((await tasks.seam.wait(id, { signal })).status, "killed")
    assert.deepInclude(seen, { name: "AbortError", cause: CancelCause.user("enough") })
  })

  it("a body that is sent is an async iterable, and retries are plain data", async () => {
    let asked = 0
    const sent: Array<string> = []
    const handle = await Effect.runPromise(
      ScriptedHttp.make((request) =>
        Effect.map(collect(request.body), (pieces) => {
          sent.push(Buffer.concat(pieces).toString())
          return { status: asked++ === 0 ? 503 : 200, body: "at last" }
        })
      )
    )
    await using http = await Seam.open(Seams.http, handle.layer)
    const url = "http://a.test/"
    assert.strictEqual(await http.seam.text({ url, retry: { times: 2, delayMillis: 1 }, signal }), "at last")
    const body = async function* () {
      yield new TextEncoder().encode("one ")
      yield new TextEncoder().encode("two")
    }
    await http.seam.text({ url, method: "POST", body: body(), signal })
    assert.strictEqual(asked, 3)
    assert.deepStrictEqual(sent, ["", "", "one two"])
  })

  it("what a seam rejects with becomes an error of its service, with what it said", async () => {
    const failing = () => Promise.reject(new Error("no luck"))
    const seams = [
      [Seams.process, Effect.flatMap(Process.Process, (service) => service.run({ command: "x" })), { run: failing }],
      [Seams.fileSystem, FileSystem.list("x"), { list: failing }],
      [Seams.http, Http.text({ url: "http://a.test/" }), { text: failing }],
      [Seams.task, Task.wait("x"), { wait: failing }],
      [Seams.subagent, Subagent.wait("x"), { wait: failing }],
      [Seams.codeRuntime, CodeRuntime.run({ code: "" }), { run: failing }]
    ] as const
    for (const [definition, operation, seam] of seams) {
      const layer = Seam.fromSeam(definition as Seam.Definition<any, any, any>, seam)
      const error: Error = await Effect.runPromise(
        Effect.flip(Effect.provide(Cancellation.own(operation as Effect.Effect<any, any, any>), layer))
      )
      assert.match(String(error.cause ?? error.message), /no luck/)
    }
    const model = Seam.fromSeam(Seams.model, {
      async *stream() {
        throw new Error("no luck")
      }
    })
    const answer = await Effect.runPromise(
      Cancellation.own(collect(Model.stream({ model: "m", messages: [] }))).pipe(Effect.provide(model))
    )
    assert.deepInclude(answer.at(-1), { _tag: "Finish", reason: "error" })
    assert.match(JSON.stringify(answer.at(-1)), /PROVIDER_FAILURE.*no luck/)
  })
})

function collect<A, E, R>(stream: Stream.Stream<A, E, R>): Effect.Effect<ReadonlyArray<A>, E, R> {
  return Effect.map(Stream.runCollect(stream), (chunk) => [...chunk])
}
