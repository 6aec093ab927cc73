import { assert, describe } from "@effect/vitest"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import { Agent, AgentSubagent, CancelCause, Session, Tool, Toolkit, ToolRuntime } from "quiesce"
import { Model, Subagent, Workflow } from "quiesce/capability"
import { ScriptedModel, SessionLog, Sim } from "quiesce/testing"
import { AgentTools, WorkflowTools } from "quiesce/tools"
import { law } from "../support/laws.js"

/** A boss, whose agent starts another one, which runs a workflow, whose step is a tool; and what has ended, in its order. */
const offices = Effect.gen(function* () {
  const ended: Array<string> = []
  const sessions = new Map<string, Session.Service>()
  let alive = 0
  const leaf = Tool.make("leaf", {
    description: "Works for some steps",
    parameters: {},
    success: Schema.String,
    handler: () =>
      Effect.acquireUseRelease(
        Effect.sync(() => alive++),
        () => Effect.as(Effect.yieldNow(), "done"),
        () =>
          Effect.sync(() => {
            alive--
            ended.push("tool")
          })
      )
  })
  const answers = (request: Model.Request): ReadonlyArray<Model.Chunk> => {
    if (request.messages.some(({ role }) => role === "tool")) return ScriptedModel.reply("ok")
    const isWorker = JSON.stringify(request.messages[0]).includes("Work.")
    const parameters = isWorker ? { steps: [{ id: "s", tool: "leaf" }] } : { profile: "worker", task: "Work." }
    return ScriptedModel.calls({ id: "c1", name: isWorker ? "run_workflow" : "spawn_agent", parameters })
  }
  const model = Layer.succeed(Model.Model, { stream: (request) => Stream.fromIterable(answers(request)) })
  const session = ({ id }: { readonly id: string }) =>
    Effect.acquireRelease(
      Effect.tap(Session.make({ agent: id }), (made) => Effect.sync(() => sessions.set(id, made))),
      () => Effect.sync(() => ended.push("subagent"))
    )
  const workflows = Layer.map(Workflow.layer(), (context) => {
    const workflow = Context.get(context, Workflow.Workflow)
    const start: Workflow.Service["start"] = (options) =>
      workflow.start({
        ...options,
        onEvent: ({ _tag }) => {
          if (_tag === "WorkflowEnded") ended.push("workflow")
        }
      })
    return Context.make(Workflow.Workflow, { ...workflow, start })
  })
  const runtime = ToolRuntime.layer({ toolkit: Toolkit.merge(WorkflowTools.make(), Toolkit.make(leaf)) })
  const context = yield* Layer.build(
    AgentTools.layer({ profiles: { worker: "works" } }).pipe(
      Layer.provideMerge(AgentSubagent.layer({ profiles: { worker: { model: "scripted" } }, session })),
      Layer.provideMerge(Layer.mergeAll(runtime, model, Session.layerMemory())),
      Layer.provideMerge(workflows)
    )
  )
  const agent = yield* Effect.provide(Agent.make({ id: "boss", model: "scripted" }), context)
  sessions.set("boss", agent.session)
  return { agent, context, ended, sessions, alive: () => alive }
})

describe("L8 agents, workflows and tools within each other", () => {
  law(
    "L8, L3, L9",
    "four levels (agent, subagent, workflow, tool), cancelled at the top at every suspension: settled leaf first, one result for each call, nothing alive behind it",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const { agent, alive, context, ended, sessions } = yield* offices
      let isOver = false
      let struck = false
      sim.addFault("cancel", () => {
        if (isOver) return
        struck = true
        Effect.runSync(agent.cancel(CancelCause.user()))
      })
      yield* agent.followup("Begin.")
      yield* agent.whenIdle
      isOver = true
      assert.strictEqual(alive(), 0, "L3: at rest, and its tool is alive")
      assert.deepStrictEqual(yield* Context.get(context, ToolRuntime.ToolRuntime).inFlight, [], "L3")
      const children = yield* Context.get(context, Subagent.Subagent).list
      for (const { status } of children) assert.strictEqual(status, "disposed", "L3: at rest, and its agent is alive")
      const runs = yield* Context.get(context, Workflow.Workflow).list
      for (const { status } of runs) assert.strictEqual(status, "ended", "L3: at rest, and its workflow is alive")
      for (const [id, { events, messages }] of sessions) {
        assert.deepStrictEqual(SessionLog.problems(events()), [], `L8: ${id}`)
        const calls = messages().flatMap((message) =>
          message.role === "assistant" ? message.content.filter(({ type }) => type === "tool-call") : []
        )
        const results = messages().filter(({ role }) => role === "tool")
        assert.strictEqual(results.length, calls.length, `L8: ${id}`)
      }
      const order = ["tool", "workflow", "subagent"]
      assert.deepStrictEqual(ended, order.slice(order.length - ended.length), "leaf first")
      const child = children[0]?.result?.outcome ?? (sessions.size > 1 ? "taken back" : "none")
      if (!struck) assert.strictEqual(child, "completed")
      const end = agent.session.events().findLast(({ event }) => event._tag === "TurnEnded")?.event
      return `${child}, ${runs[0]?.outcome ?? "no workflow"}, ${ended.join()}, ${
        end?._tag === "TurnEnded" ? end.outcome._tag : "no turn"
      }`
    }).pipe(Effect.scoped),
    {
      cut: "suspension",
      preemptions: 0,
      expect: [
        "completed, completed, tool,workflow,subagent, Completed",
        "completed, completed, tool,workflow,subagent, Cancelled",
        "aborted, completed, tool,workflow,subagent, Cancelled",
        "aborted, cancelled, tool,workflow,subagent, Cancelled",
        "aborted, cancelled, workflow,subagent, Cancelled",
        "aborted, no workflow, subagent, Cancelled",
        "none, no workflow, , Cancelled"
      ]
    }
  )
})
