import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Schema } from "effect"
import { AgentSubagent, CancelCause, Cancellation, Content, Tool, Toolkit, type ToolResult, ToolRuntime } from "quiesce"
import { Workflow } from "quiesce/capability"
import { ScriptedModel } from "quiesce/testing"
import { AgentTools, WorkflowTools } from "quiesce/tools"
import { settle } from "../support/agents.js"

/** Tools that a plan calls: one that gives what it is given, one that fails, and one that goes on. */
const world = (options?: WorkflowTools.Options) => {
  const running: Array<string> = []
  let most = 0
  const gate = Deferred.make<void>().pipe(Effect.runSync)
  const echo = Tool.make("echo", {
    description: "Gives what it is given",
    parameters: { value: Schema.Unknown },
    success: Schema.Struct({ value: Schema.Unknown }),
    handler: ({ value }) => Effect.succeed({ value })
  })
  const fail = Tool.make("fail", {
    description: "Fails",
    parameters: {},
    success: Schema.String,
    failure: Schema.Unknown,
    concurrency: "parallel",
    handler: () => Effect.fail({ _tag: "NoDisk", code: "NO_DISK", message: "there is no disk" })
  })
  const wait = Tool.make("wait", {
    description: "Goes on until the gate is opened",
    parameters: { name: Schema.String },
    success: Schema.String,
    concurrency: "parallel",
    handler: ({ name }) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          running.push(name)
          most = Math.max(most, running.length)
        }),
        () => Effect.as(Deferred.await(gate), name),
        () => Effect.sync(() => running.splice(running.indexOf(name), 1))
      )
  })
  const toolkit = Toolkit.merge(WorkflowTools.make(options), Toolkit.make(echo, fail, wait))
  return {
    layer: ToolRuntime.layer({ toolkit }).pipe(Layer.provideMerge(Workflow.layer())),
    running,
    most: () => most,
    open: Deferred.succeed(gate, undefined)
  }
}

const run = (parameters: unknown) => ToolRuntime.execute({ id: "c1", name: "run_workflow", parameters })
const plan = (...steps: ReadonlyArray<unknown>) => Cancellation.own(run({ steps }))
const echo = (id: string, value: unknown) => ({ id, tool: "echo", parameters: { value } })
const wait = (id: string) => ({ id, tool: "wait", parameters: { name: id } })

const valuesOf = (result: ToolResult.ToolResult): any =>
  result._tag === "Success"
    ? Object.fromEntries((result.value as any).steps.map(({ id, value }: any) => [id, value?.value ?? value]))
    : result.message

/** What the model is told of each step where the plan has not completed. */
const told = (result: ToolResult.ToolResult): ReadonlyArray<string> =>
  Content.toText(result.contexts)
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line))
    .map(({ error, id, status }) => `${id} ${status}${error === undefined ? "" : ` ${error.code}`}`)

describe("run_workflow", () => {
  it.effect("gives the value of each step, which later ones may refer to", () =>
    Effect.gen(function* () {
      const result = yield* plan(
        echo("a", { list: ["x", "y"] }),
        { parallel: [echo("b", { $from: "a", at: ["value", "list", 1] }), echo("c", 2)] },
        echo("d", { $text: ["b is ", { $from: "b", at: ["value"] }, ", c is ", { $from: "c", at: ["value"] }] }),
        echo("e", [{ $from: "c" }, "{{b}}"])
      )
      assert.deepStrictEqual(valuesOf(result), {
        a: { list: ["x", "y"] },
        b: "y",
        c: 2,
        d: "b is y, c is 2",
        e: [{ value: 2 }, "{{b}}"]
      })
    }).pipe(Effect.provide(world().layer))
  )

  it.effect.each([
    ["the same id twice", [echo("a", 1), echo("a", 2)], /two steps have the id a/],
    ["a reference to what comes later", [echo("a", { $from: "b" }), echo("b", 1)], /step a refers to b/],
    ["a reference to what runs beside it", [{ parallel: [echo("a", 1), echo("b", { $from: "a" })] }], /b refers to a/],
    ["a reference that is none", [echo("a", 1), echo("b", { $from: "a", at: "value" })], /step b: a reference is/],
    ["itself", [{ id: "a", tool: "run_workflow", parameters: {} }], /cannot call itself/]
  ])("refuses %s before anything runs", ([_what, steps, message]) =>
    Effect.gen(function* () {
      const result = yield* plan(...(steps as ReadonlyArray<unknown>))
      assert.deepInclude(result, { code: "WORKFLOW_INVALID_PLAN", contexts: [] })
      assert.match(valuesOf(result), message as RegExp)
    }).pipe(Effect.provide(world().layer))
  )

  it.effect("what is no plan is invalid parameters", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* plan(), { code: "INVALID_ARGS", dispatched: false })
      assert.deepInclude(yield* plan({ id: "a" }), { code: "INVALID_ARGS", dispatched: false })
    }).pipe(Effect.provide(world().layer))
  )

  it.effect("a step that fails ends the plan: those beside it are cancelled, those behind it never start", () => {
    const { layer, running } = world()
    return Effect.gen(function* () {
      const failing = { id: "f", tool: "fail" }
      const result = yield* plan(echo("a", 1), { parallel: [wait("w"), failing] }, echo("z", 1))
      assert.deepInclude(result, { code: "WORKFLOW_STEP_FAILED" })
      assert.strictEqual(valuesOf(result), "step f: NO_DISK: there is no disk")
      assert.deepStrictEqual(running, [])
      const [a, w, f, z] = told(result)
      assert.deepStrictEqual([a, f, z], ["a completed", "f failed NO_DISK", "z not-started"])
      assert.match(w ?? "", /^w (cancelled|not-started)/)
      const missing = yield* plan(echo("a", 1), echo("b", { $from: "a", at: ["nothing"] }))
      assert.deepStrictEqual(told(missing), ["a completed", "b failed NO_VALUE"])
      const unknown = yield* plan({ id: "a", tool: "nothing" })
      assert.deepStrictEqual(told(unknown), ["a failed UNKNOWN_TOOL"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("cancelled, it cancels its calls and waits for them, and what had completed is told", () => {
    const { layer, running } = world()
    return Effect.gen(function* () {
      const controller = new AbortController()
      const steps = [echo("a", 1), { parallel: [wait("b"), wait("c")] }, echo("d", 1)]
      const fiber = yield* Effect.fork(Cancellation.ownSignal(run({ steps }), controller.signal))
      yield* settle
      assert.deepStrictEqual(running, ["b", "c"])
      const ids = Effect.flatMap(ToolRuntime.ToolRuntime, ({ inFlight }) => inFlight)
      assert.lengthOf(yield* ids, 3)
      controller.abort()
      const result = yield* Fiber.join(fiber)
      assert.deepStrictEqual(running, [])
      assert.deepStrictEqual(yield* ids, [])
      assert.deepInclude(result, { code: "ABORTED", body: "interrupted" })
      assert.deepStrictEqual(
        told(result).map((line) => line.split(" ").slice(0, 2).join(" ")),
        ["a completed", "b cancelled", "c cancelled", "d not-started"]
      )
      assert.deepInclude((yield* Workflow.list)[0], { status: "ended", outcome: "cancelled" })
    }).pipe(Effect.provide(layer))
  })

  it.effect("a call that somebody cancels alone fails its step, and so the plan", () => {
    const { layer } = world()
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(plan(wait("a")))
      yield* settle
      const { cancelCall, inFlight } = yield* ToolRuntime.ToolRuntime
      const nested = (yield* inFlight).find(({ tool }) => tool === "wait")
      yield* cancelCall(nested?.callId ?? "", CancelCause.user("not this one"))
      const result = yield* Fiber.join(fiber)
      assert.deepInclude(result, { code: "WORKFLOW_STEP_FAILED" })
      assert.deepStrictEqual(told(result), ["a cancelled ABORTED"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("has no more calls at once than it is told, and than its limit", () => {
    const { layer, most, open, running } = world({ maxConcurrency: 2 })
    return Effect.gen(function* () {
      const steps = [{ parallel: [wait("a"), wait("b"), wait("c")] }]
      const fiber = yield* Effect.fork(Cancellation.own(run({ steps, concurrency: 5 })))
      yield* settle
      assert.deepStrictEqual(running, ["a", "b"])
      yield* open
      assert.deepStrictEqual(valuesOf(yield* Fiber.join(fiber)), { a: "a", b: "b", c: "c" })
      assert.strictEqual(most(), 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("gives tasks to agents, with what earlier steps gave", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel.make([ScriptedModel.reply("Fine.")])
      const { layer } = world()
      const agents = AgentTools.layer({ profiles: { reviewer: "reviews" } }).pipe(
        Layer.provideMerge(AgentSubagent.layer({ profiles: { reviewer: { model: "scripted" } } })),
        Layer.provideMerge(Layer.merge(layer, model.layer))
      )
      const task = { $text: ["Review: ", { $from: "a", at: ["value"] }] }
      const result = yield* Effect.provide(plan(echo("a", "the change"), { id: "r", agent: "reviewer", task }), agents)
      assert.deepStrictEqual(valuesOf(result), { a: "the change", r: { output: "Fine." } })
      assert.include(JSON.stringify((yield* model.requests)[0]?.messages), "Review: the change")
    })
  )
})
