import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Schema } from "effect"
import { Agent, AgentSubagent, CancelCause, Cancellation, Session, Tool, Toolkit, ToolRuntime } from "quiesce"
import { Subagent } from "quiesce/capability"
import { ScriptedModel, ScriptedSubagent, SessionLog } from "quiesce/testing"
import { AgentTools } from "quiesce/tools"
import { settle } from "../support/agents.js"

const profiles = { reviewer: "reviews a change" }

const scripted = (options: ScriptedSubagent.Options = {}) =>
  AgentTools.layer({ profiles }).pipe(
    Layer.provideMerge(ScriptedSubagent.layer(options)),
    Layer.provideMerge(ToolRuntime.layer())
  )

const spawn = { id: "c1", name: "spawn_agent", parameters: { profile: "reviewer", task: "Look." } }
const call = (name: string, parameters: unknown) =>
  Effect.map(Cancellation.own(ToolRuntime.execute({ id: "c1", name, parameters })), (result): any =>
    result._tag === "Success" ? result.value : result
  )

describe("AgentTools", () => {
  it.effect("spawn_agent gives what the agent says, and nothing of the agent is left", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* call("spawn_agent", spawn.parameters), { output: "Fine." })
      assert.deepStrictEqual(
        (yield* Subagent.list).map(({ status }) => status),
        ["disposed"]
      )
      assert.strictEqual((yield* call("spawn_agent", { profile: "poet", task: "Write." })).code, "INVALID_ARGS")
    }).pipe(Effect.provide(scripted({ whenAsked: () => ({ outcome: "completed", output: "Fine." }) })))
  )

  it.effect.each([
    ["aborted", "SUBAGENT_ABORTED", /was cancelled/],
    ["error", "SUBAGENT_ERROR", /failed: E1: no disk/],
    ["max-tokens", "SUBAGENT_MAX_TOKENS", /hit its token limit/],
    ["refusal", "SUBAGENT_REFUSAL", /declined the task/]
  ] as const)("232. %s is a failure of the call, with what the agent had said", ([outcome, code, message]) =>
    Effect.gen(function* () {
      const result = yield* call("spawn_agent", spawn.parameters)
      assert.strictEqual(result.code, code)
      assert.match(result.message, message)
      assert.match(result.message, /What it had said: So far\./)
    }).pipe(
      Effect.provide(
        scripted({
          whenAsked: () => ({
            outcome,
            output: "So far.",
            ...(outcome === "error" ? { error: { code: "E1", message: "no disk" } } : {})
          })
        })
      )
    )
  )

  it.effect("232. both failures are told: that of the agent, and that of disposing of it", () =>
    Effect.gen(function* () {
      const result = yield* call("spawn_agent", spawn.parameters)
      assert.strictEqual(result.code, "SUBAGENT_REFUSAL")
      assert.match(result.message, /declined the task.*could not be disposed of cleanly: no space left/)
      assert.strictEqual((yield* Subagent.list)[0]?.disposal, "no space left")
    }).pipe(
      Effect.provide(
        scripted({
          whenAsked: () => ({ outcome: "refusal", output: "" }),
          whenDisposed: () => Effect.dieMessage("no space left")
        })
      )
    )
  )

  it.effect("in the background it gives an id; agent_output waits, and knows the answer of an agent that is gone", () =>
    Effect.gen(function* () {
      const { end, running, subagent } = yield* ScriptedSubagent.make()
      const layer = AgentTools.layer({ profiles }).pipe(
        Layer.provideMerge(Layer.succeed(Subagent.Subagent, subagent)),
        Layer.provideMerge(ToolRuntime.layer())
      )
      yield* Effect.gen(function* () {
        const { id } = yield* call("spawn_agent", { ...spawn.parameters, background: true })
        assert.deepInclude(yield* call("agent_output", { id }), { id, status: "running", attachment: "detached" })
        assert.lengthOf(yield* running, 1)
        yield* end(id, { outcome: "completed", output: "Fine." })
        const { result, status } = yield* call("agent_output", { id, waitMillis: 1000 })
        assert.deepStrictEqual([status, result.output], ["disposed", "Fine."])
        assert.strictEqual((yield* call("agent_output", { id: "reviewer-9" })).code, "SUBAGENT_NOT_FOUND")
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped)
  )

  it.effect("a cancel of the call stops an agent in the foreground, and is answered when that is gone", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const layer = scripted({ whenStopped: () => Deferred.await(gate) })
      yield* Effect.gen(function* () {
        const runtime = yield* ToolRuntime.ToolRuntime
        yield* Cancellation.own(
          Effect.gen(function* () {
            const running = yield* runtime.start(spawn)
            yield* settle
            yield* running.cancel(CancelCause.user())
            yield* settle
            assert.strictEqual((yield* Subagent.list)[0]?.status, "stopping")
            assert.strictEqual(yield* running.phase, "dispatching")
            yield* Deferred.succeed(gate, undefined)
            const result = yield* running.result
            assert.strictEqual(result._tag === "Failure" && result.code, "ABORTED")
            assert.deepInclude((yield* Subagent.list)[0], { status: "disposed", cause: CancelCause.user() })
          })
        )
      }).pipe(Effect.provide(layer))
    })
  )
})

describe("agents that start agents", () => {
  it.effect("use the same tools, three levels deep, and a cancel at the top is settled leaf first", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const reached = yield* Deferred.make<void>()
      const leaf = Tool.make("leaf", {
        description: "Works until it is stopped",
        parameters: {},
        success: Schema.String,
        handler: () =>
          Effect.onInterrupt(Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never), () =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => events.push("tool"))
            )
          )
      })
      const deeper = (task: string) =>
        ScriptedModel.calls({ id: "c1", name: "spawn_agent", parameters: { profile: "worker", task } })
      const model = yield* ScriptedModel.make((request) => {
        const said = JSON.stringify(request.messages)
        if (said.includes("first")) return deeper("second")
        return said.includes("second")
          ? ScriptedModel.calls({ id: "c1", name: "leaf", parameters: {} })
          : deeper("first")
      })
      const sessions: Array<Session.Service> = []
      const session = ({ id }: { readonly id: string }) =>
        Effect.acquireRelease(
          Effect.tap(Session.make({ agent: id }), (made) => Effect.sync(() => sessions.push(made))),
          () => Effect.sync(() => events.push(id))
        )
      const subagents = AgentSubagent.layer({ profiles: { worker: { model: "scripted" } }, session })
      const layer = AgentTools.layer({ profiles: { worker: "works" } }).pipe(
        Layer.provideMerge(subagents),
        Layer.provideMerge(
          Layer.mergeAll(ToolRuntime.layer({ toolkit: Toolkit.make(leaf) }), model.layer, Session.layerMemory())
        )
      )
      yield* Effect.gen(function* () {
        const agent = yield* Agent.make({ id: "boss", model: "scripted" })
        yield* agent.followup("Begin.")
        yield* Deferred.await(reached)
        yield* agent.cancel(CancelCause.user())
        yield* agent.whenIdle
        events.push("boss")
        assert.deepStrictEqual(events, ["tool", "worker-2", "worker-1", "boss"])
        for (const { events, messages } of [...sessions, agent.session]) {
          assert.deepStrictEqual(SessionLog.problems(events()), [])
          const results = messages().flatMap((message) => (message.role === "tool" ? [message] : []))
          assert.lengthOf(results, 1, "L8")
        }
        assert.deepStrictEqual(
          (yield* Subagent.list).map(({ result, status }) => [status, result?.outcome]),
          [
            ["disposed", "aborted"],
            ["disposed", "aborted"]
          ]
        )
        assert.deepStrictEqual(yield* (yield* ToolRuntime.ToolRuntime).inFlight, [])
      }).pipe(Effect.scoped, Effect.provide(layer))
    })
  )
})
