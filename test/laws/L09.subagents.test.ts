import { assert, describe } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Schema, Scope, Stream } from "effect"
import { Agent, AgentSubagent, CancelCause, Cancellation, Session, Tool, Toolkit, ToolRuntime } from "quiesce"
import { Model, Subagent } from "quiesce/capability"
import { ScriptedModel, ScriptedSubagent, SessionLog, Sim } from "quiesce/testing"
import { AgentTools } from "quiesce/tools"
import { law, reason } from "../support/laws.js"

/** Scripted children with a step before their commit point and one in their disposal, and what is there of them. */
class Nursery {
  alive = 0

  readonly options: ScriptedSubagent.Options = {
    maxChildren: 1,
    whenAsked: () => ({ outcome: "completed", output: "Done." }),
    whenStarted: () =>
      Effect.zipRight(
        Effect.sync(() => {
          this.alive = 1
        }),
        Effect.yieldNow()
      ),
    whenDisposed: () =>
      Effect.zipRight(
        Effect.yieldNow(),
        Effect.sync(() => {
          this.alive = 0
        })
      )
  }
}

const work = { profile: "worker", task: "Work." }
const detached = { ...work, attachment: "detached" } as const

describe("L9 subagents", () => {
  law(
    "L9",
    "the starter of a detached child is cancelled around its publication: nothing is left of it, or it is the layer's and works",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const nursery = new Nursery()
      const scope = yield* Scope.make()
      const made = ScriptedSubagent.make({ ...nursery.options, whenAsked: () => undefined })
      const { asked, running, subagent } = yield* Scope.extend(made, scope)
      const controller = new AbortController()
      let aliveAtAnswer: number | undefined
      const answered = Effect.onExit(subagent.start(detached), () =>
        Effect.sync(() => {
          aliveAtAnswer = nursery.alive
        })
      )
      const fiber = yield* Sim.fork("starter")(Cancellation.ownSignal(answered, controller.signal))
      fiber.addObserver(sim.addFault("interrupt", () => fiber.unsafeInterruptAsFork(fiber.id())))
      sim.addFault("signal", () => controller.abort(reason))
      const exit = yield* Fiber.await(fiber)
      const listed = yield* subagent.list
      const isPublished = listed.length > 0
      assert.strictEqual(nursery.alive, listed.length, "L9: both owners, or neither")
      if (aliveAtAnswer !== undefined)
        assert.strictEqual(aliveAtAnswer, listed.length, "L3: answered before it was quiet")
      assert.lengthOf(yield* asked, listed.length, "L9: it has begun to work, and nobody knows of it")
      assert.lengthOf(yield* running, listed.length, "L9: the starter's cancel has reached it")
      // The one place is free again, or the child has it.
      const again = yield* Effect.either(Cancellation.own(subagent.start(detached)))
      assert.strictEqual(again._tag, isPublished ? "Left" : "Right", "a place is lost, or given twice")
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(nursery.alive, 0, "L3: the layer has ended, its child has not")
      return `${isPublished ? "published" : "taken back"}, ${Exit.isSuccess(exit) ? "answered" : "interrupted"}`
    }),
    { cut: "suspension", expect: ["published, answered", "published, interrupted", "taken back, interrupted"] }
  )

  law(
    "L9, L3",
    "the owner of an attached child is cancelled at any time: the child is gone before that has ended, and what it came to stays",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const nursery = new Nursery()
      const scope = yield* Scope.make()
      const { subagent } = yield* Scope.extend(ScriptedSubagent.make(nursery.options), scope)
      const controller = new AbortController()
      const use = Effect.flatMap(subagent.start(work), (id) => subagent.wait(id))
      const fiber = yield* Sim.fork("owner")(Cancellation.ownSignal(use, controller.signal))
      let struck = false
      sim.addFault("signal", () => {
        struck = true
        controller.abort(reason)
      })
      const exit = yield* Fiber.await(fiber)
      assert.strictEqual(nursery.alive, 0, "L3: its owner has ended, the child has not")
      const [child] = yield* subagent.list
      yield* Scope.close(scope, Exit.void)
      if (child === undefined) return "taken back"
      assert.strictEqual(child.status, "disposed")
      if (!struck) assert.strictEqual(child.cause?._tag, "Parent")
      if (Exit.isSuccess(exit)) assert.deepStrictEqual(exit.value.result, child.result, "L5: it came to two things")
      return `${child.result?.outcome}, ${Exit.isSuccess(exit) ? "answered" : "interrupted"}`
    }),
    {
      cut: "suspension",
      expect: ["completed, answered", "completed, interrupted", "aborted, interrupted", "taken back"]
    }
  )

  law(
    "L11",
    "something is said to a child that is disposed of as soon as it rests: it is read, or refused",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const nursery = new Nursery()
      const scope = yield* Scope.make()
      const { asked, subagent } = yield* Scope.extend(ScriptedSubagent.make(nursery.options), scope)
      const id = yield* Cancellation.own(subagent.start({ ...detached, disposeAtRest: true }))
      let said: Exit.Exit<string, Subagent.SubagentError> | undefined
      sim.addFault("send", () => {
        said = Effect.runSyncExit(Cancellation.own(subagent.send(id, "more")))
      })
      const { result } = yield* Cancellation.own(subagent.wait(id))
      assert.strictEqual(nursery.alive, 0, "L3: answered before it was quiet")
      assert.strictEqual(result?.outcome, "completed", "L11: it was stopped, and nobody has asked for that")
      const read = (yield* asked).map(({ message }) => message)
      yield* Scope.close(scope, Exit.void)
      if (said === undefined) return "alone"
      assert.deepStrictEqual(read, Exit.isSuccess(said) ? ["Work.", "more"] : ["Work."], "L11: it is lost")
      return Exit.isSuccess(said) ? "read" : "refused"
    }),
    { cut: "op", preemptions: 0, expect: ["alone", "read", "refused"] }
  )

  law(
    "L6, L3",
    "a child is disposed of while it completes, and a wait for it is given up: it ends once, after it is quiet",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const nursery = new Nursery()
      const scope = yield* Scope.make()
      const { subagent } = yield* Scope.extend(ScriptedSubagent.make(nursery.options), scope)
      const id = yield* Cancellation.own(subagent.start(detached))
      const waiter = yield* Sim.fork("waiter")(Cancellation.own(subagent.wait(id)))
      let disposing: Fiber.RuntimeFiber<void, unknown> | undefined
      sim.addFault("dispose", () => {
        disposing = Effect.runFork(Cancellation.own(subagent.dispose(id)))
        disposing.addObserver(() => assert.strictEqual(nursery.alive, 0, "L3: disposed of before it was quiet"))
      })
      waiter.addObserver(sim.addFault("give up", () => waiter.unsafeInterruptAsFork(waiter.id())))
      const exit = yield* Fiber.await(waiter)
      if (Exit.isSuccess(exit)) assert.isDefined(exit.value.result, "it rests, and has come to nothing")
      if (disposing !== undefined) yield* Fiber.join(disposing)
      const last = yield* Cancellation.own(subagent.wait(id))
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(nursery.alive, 0, "L3: the layer has ended, its child has not")
      if (Exit.isSuccess(exit)) assert.deepStrictEqual(last.result, exit.value.result, "L5: it came to two things")
      return `${last.result?.outcome}, ${last.status}${Exit.isSuccess(exit) ? "" : ", given up"}`
    }),
    {
      cut: "suspension",
      expect: ["completed, idle", "completed, idle, given up", "completed, disposed", "aborted, disposed"]
    }
  )
})

/** A boss, whose agent starts another one, whose tool works; and what has ended, in its order. */
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
  const parameters = { profile: "worker", task: "Work." }
  const answers = (request: Model.Request): ReadonlyArray<Model.Chunk> => {
    const [first] = request.messages
    const isWorker = JSON.stringify(first).includes("Work.")
    if (request.messages.some(({ role }) => role === "tool")) return ScriptedModel.reply("ok")
    return ScriptedModel.calls(
      isWorker ? { id: "c1", name: "leaf", parameters: {} } : { id: "c1", name: "spawn_agent", parameters }
    )
  }
  const model = Layer.succeed(Model.Model, { stream: (request) => Stream.fromIterable(answers(request)) })
  const session = ({ id }: { readonly id: string }) =>
    Effect.acquireRelease(
      Effect.tap(Session.make({ agent: id }), (made) => Effect.sync(() => sessions.set(id, made))),
      () => Effect.sync(() => ended.push("subagent"))
    ).pipe(Effect.zipLeft(Effect.yieldNow()))
  const context = yield* Layer.build(
    AgentTools.layer({ profiles: { worker: "works" } }).pipe(
      Layer.provideMerge(AgentSubagent.layer({ profiles: { worker: { model: "scripted" } }, session })),
      Layer.provideMerge(
        Layer.mergeAll(ToolRuntime.layer({ toolkit: Toolkit.make(leaf) }), model, Session.layerMemory())
      )
    )
  )
  const agent = yield* Effect.provide(Agent.make({ id: "boss", model: "scripted" }), context)
  sessions.set("boss", agent.session)
  return { agent, context, ended, sessions, alive: () => alive }
})

describe("L8 agents that start agents", () => {
  law(
    "L8, L3, L9",
    "three levels, cancelled at the top at every suspension: settled leaf first, one result for each call, nothing alive behind it",
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
      for (const [id, { events, messages }] of sessions) {
        assert.deepStrictEqual(SessionLog.problems(events()), [], `L8: ${id}`)
        const calls = messages().flatMap((message) =>
          message.role === "assistant" ? message.content.filter(({ type }) => type === "tool-call") : []
        )
        const results = messages().filter(({ role }) => role === "tool")
        assert.strictEqual(results.length, calls.length, `L8: ${id}`)
      }
      assert.includeMembers([["tool", "subagent"].join(), "subagent", ""], [ended.join()], "leaf first")
      const outcome = children[0]?.result?.outcome ?? (sessions.size > 1 ? "taken back" : "none")
      if (!struck) assert.strictEqual(outcome, "completed")
      const end = agent.session.events().findLast(({ event }) => event._tag === "TurnEnded")?.event
      return `${outcome}, ${ended.join()}, ${end?._tag === "TurnEnded" ? end.outcome._tag : "no turn"}`
    }).pipe(Effect.scoped),
    {
      cut: "suspension",
      preemptions: 0,
      expect: [
        "completed, tool,subagent, Completed",
        "completed, tool,subagent, Cancelled",
        "aborted, tool,subagent, Cancelled",
        "aborted, subagent, Cancelled",
        "taken back, subagent, Cancelled",
        "none, , Cancelled"
      ]
    }
  )
})
