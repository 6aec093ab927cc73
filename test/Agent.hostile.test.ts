import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import { Agent, Cancellation, Session, Tool, ToolRuntime } from "quiesce"
import { Model } from "quiesce/capability"
import { ScriptedModel, SessionLog } from "quiesce/testing"
import {
  calling,
  ends,
  endTags,
  finish,
  onStage,
  quickTool,
  type Setup,
  type Stage,
  said,
  settle,
  silently,
  text,
  toolCall,
  user
} from "./support/agents.js"
import { refusals } from "./support/providerRules.js"

type Act = Effect.Effect<unknown, unknown, Cancellation.Cancellation>
type Policies = NonNullable<Setup["agent"]>

const broken: Model.Chunk = {
  _tag: "Finish",
  reason: "error",
  error: { code: "OVERLOADED", message: "later", isRetryable: true }
}

/** Each place where a host's effect runs in a turn, and a model with which the turn gets there. */
const places: { readonly [name: string]: (act: () => Act) => readonly [Policies, ScriptedModel.Answers] } = {
  instructions: (act) => [{ instructions: () => Effect.as(act(), "") }, () => ScriptedModel.reply("ok")],
  beforeStep: (act) => [
    { beforeStep: (_step, messages) => Effect.as(act(), Agent.enter(messages)) },
    () => ScriptedModel.reply("ok")
  ],
  beforeStop: (act) => [{ beforeStop: () => Effect.asVoid(act()) }, () => ScriptedModel.reply("ok")],
  onRequestFailed: (act) => [{ onRequestFailed: () => Effect.as(act(), Agent.fail) }, () => [broken]]
}

const checkLog = ({ session }: Stage, where: string): void => {
  assert.deepStrictEqual(SessionLog.problems(session.events()), [], where)
  assert.deepStrictEqual(refusals(session.messages()), [], where)
}

describe("Agent (hosts that misbehave)", () => {
  const itself = { code: "UNKNOWN" }
  const kinds: { readonly [name: string]: readonly [act: (agent: Agent.Handle) => Act, outcome: object] } = {
    throws: [
      () => {
        throw new Error("bad")
      },
      { _tag: "Error", code: "UNKNOWN", message: "bad" }
    ],
    dies: [() => Effect.die(new Error("bad")), { _tag: "Error", code: "UNKNOWN", message: "bad" }],
    fails: [() => Effect.fail({ _tag: "NotNow", message: "no" }), { _tag: "Error", code: "NOT_NOW", message: "no" }],
    "interrupts itself": [() => Effect.interrupt, { _tag: "Error", code: "INTERRUPTED" }],
    "cancels the turn": [(agent) => agent.cancel(user), { _tag: "Cancelled", cause: { _tag: "User" } }],
    "cancels in a protected region": [
      (agent) => Effect.uninterruptible(Effect.zipRight(agent.cancel(user), Effect.yieldNow())),
      { _tag: "Cancelled", cause: { _tag: "User" } }
    ],
    "disposes of the agent": [(agent) => agent.dispose, { _tag: "Cancelled", cause: { _tag: "Disposed" } }],
    "disposes of it in a protected region": [
      (agent) => Effect.uninterruptible(agent.dispose),
      { _tag: "Cancelled", cause: { _tag: "Disposed" } }
    ],
    "waits for the agent": [(agent) => agent.whenIdle, { _tag: "Error", ...itself }],
    "waits for it in a protected region": [
      (agent) => Effect.uninterruptible(Cancellation.shield(agent.whenIdle)),
      { _tag: "Error", ...itself }
    ],
    maintains: [(agent) => agent.runMaintenance(Effect.void), { _tag: "Error", code: "AGENT_BUSY" }]
  }
  for (const [kind, [act, outcome]] of Object.entries(kinds)) {
    it.effect(`a policy that ${kind}: the turn ends as such, the log is in order, and the agent rests`, () =>
      Effect.forEach(Object.entries(places), ([place, policiesOf]) => {
        let agent: Agent.Handle | undefined
        const [policies, answers] = policiesOf(() => Effect.suspend(() => act(agent as Agent.Handle)))
        return onStage({ answers, agent: policies }, (stage) =>
          Effect.gen(function* () {
            agent = stage.agent
            yield* agent.followup("go")
            yield* settle
            assert.notStrictEqual(yield* agent.status, "running", place)
            const [first] = ends(stage.session)
            // The problem that the policy was asked about is told where the policy has no own.
            assert.deepInclude(first, outcome, place)
            checkLog(stage, place)
          })
        )
      }).pipe(silently)
    )
  }

  it.effect("what a policy sends is read: by a later step of the turn, or in the next turn", () =>
    Effect.forEach(Object.entries(places), ([place, policiesOf]) => {
      let agent: Agent.Handle | undefined
      let isSent = false
      const [policies, answers] = policiesOf(() =>
        Effect.suspend(() => {
          if (isSent || agent === undefined) return Effect.void
          isSent = true
          return agent.steer("from the policy")
        })
      )
      return onStage({ answers, agent: policies }, (stage) =>
        Effect.gen(function* () {
          agent = stage.agent
          yield* agent.followup("go")
          yield* settle
          const queued = stage.session.position().queued
          if (place === "onRequestFailed") assert.strictEqual(queued[0]?.parked, "the turn failed")
          else assert.deepStrictEqual(said(stage.session), ["go", "from the policy"], place)
          checkLog(stage, place)
        })
      )
    })
  )

  it.effect(
    "a policy that hangs, and ignores its cancel for a while: it is waited for, and the turn is cancelled",
    () =>
      Effect.forEach(Object.entries(places), ([place, policiesOf]) =>
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void>()
          const [policies, answers] = policiesOf(() => Effect.uninterruptible(Deferred.await(gate)))
          yield* onStage({ answers, agent: policies }, (stage) =>
            Effect.gen(function* () {
              yield* stage.agent.followup("go")
              yield* settle
              yield* stage.agent.cancel(user)
              yield* settle
              assert.strictEqual(yield* stage.agent.status, "running", place)
              yield* Deferred.succeed(gate, undefined)
              yield* stage.agent.whenIdle
              assert.deepStrictEqual(endTags(stage.session), ["Cancelled"], place)
              checkLog(stage, place)
            })
          )
        })
      )
  )

  it.effect("a tool that cancels, disposes of, waits for or steers its agent", () =>
    Effect.gen(function* () {
      const run = (act: (agent: Agent.Handle) => Effect.Effect<unknown, unknown>) =>
        Effect.gen(function* () {
          let agent: Agent.Handle | undefined
          const tool = Tool.make("meddle", {
            description: "Meddles with its agent",
            parameters: {},
            success: Schema.String,
            handler: () =>
              Effect.suspend(() => act(agent as Agent.Handle)).pipe(
                Effect.as("done"),
                Effect.catchAll(() => Effect.succeed("failed"))
              )
          })
          const answers: ScriptedModel.Answers = [calling(toolCall("c1", "meddle")), ScriptedModel.reply("ok")]
          return yield* onStage({ answers, tools: [tool] }, (stage) =>
            Effect.gen(function* () {
              agent = stage.agent
              yield* agent.followup("go")
              yield* settle
              assert.notStrictEqual(yield* agent.status, "running")
              checkLog(stage, String(act))
              const [code] = stage.session.events().flatMap(({ event }) => {
                if (event._tag !== "CallEnded") return []
                return [event.result._tag === "Success" ? "OK" : event.result.code]
              })
              return [code, ...endTags(stage.session)]
            })
          )
        })
      assert.deepStrictEqual(yield* run((agent) => agent.cancel(user)), ["ABORTED", "Cancelled"])
      assert.deepStrictEqual(yield* run((agent) => agent.dispose), ["ABORTED", "Cancelled"])
      assert.deepStrictEqual(yield* run((agent) => Effect.uninterruptible(agent.dispose)), ["ABORTED", "Cancelled"])
      assert.deepStrictEqual(yield* run((agent) => agent.whenIdle), ["TOOL_FAILURE", "Completed"])
      assert.deepStrictEqual(yield* run((agent) => agent.steer("left")), ["OK", "Completed"])
      assert.deepStrictEqual(yield* run((agent) => agent.runMaintenance(Effect.void)), ["OK", "Completed"])
    }).pipe(silently)
  )

  it.effect("161. a listener on the turn's signal that throws stops neither the others nor the cancel (W20)", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      const listen = Effect.map(Cancellation.signal, (signal) => {
        signal.addEventListener("abort", () => {
          throw new Error("bad")
        })
        signal.addEventListener("abort", () => heard.push("second"))
      })
      yield* onStage({ answers: [], agent: { instructions: () => Effect.zipRight(listen, Effect.never) } }, (stage) =>
        Effect.gen(function* () {
          yield* stage.agent.followup("go")
          yield* settle
          yield* stage.agent.cancel(user)
          yield* stage.agent.whenIdle
          assert.deepStrictEqual(heard, ["second"])
          assert.deepStrictEqual(endTags(stage.session), ["Cancelled"])
        })
      )
    }).pipe(silently)
  )

  it.effect("162, W17: a cancel at rest leaves alone what is parked; the next wake runs it", () =>
    onStage({ answers: () => ScriptedModel.reply("ok") }, ({ agent, session }) =>
      Effect.gen(function* () {
        yield* agent.inject("parked")
        yield* agent.cancel(user)
        assert.lengthOf(session.position().queued, 1)
        yield* agent.followup("go")
        yield* agent.whenIdle
        assert.deepStrictEqual(said(session), ["parked", "go"])
      })
    )
  )

  it.effect("two agents on one session: the second dies with a message, and does not when the first is gone", () =>
    onStage({ answers: [] }, ({ agent, session }) =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel.make([])
        const layer = Layer.mergeAll(model.layer, ToolRuntime.layer(), Layer.succeed(Session.Session, session))
        const another = Effect.scoped(Effect.provide(Agent.make({ id: "other", model: "scripted" }), layer))
        const exit = yield* Effect.exit(another)
        assert.match(String(exit), /another agent is open on this session/)
        yield* agent.dispose
        assert.isTrue(Exit.isSuccess(yield* Effect.exit(another)))
        assert.isTrue(Exit.isSuccess(yield* Effect.exit(another)))
      })
    )
  )

  it.effect("10,000 messages: read by one turn in order, or cleared by one cancel", () =>
    Effect.gen(function* () {
      const gate = yield* ScriptedModel.gate
      yield* onStage(
        { answers: (_request, index) => (index === 0 ? [gate.wait, finish] : ScriptedModel.reply("ok")) },
        ({ agent, session }) =>
          Effect.gen(function* () {
            yield* agent.followup("go")
            yield* gate.reached
            for (let n = 0; n < 10_000; n++) yield* agent.steer(String(n))
            yield* gate.open
            yield* agent.whenIdle
            assert.deepStrictEqual(said(session).slice(1).map(Number), [...Array(10_000).keys()])
            assert.lengthOf(endTags(session), 1)
            for (let n = 0; n < 10_000; n++) yield* agent.inject(String(n))
            yield* agent.followup("stop")
            yield* agent.cancel(user)
            yield* agent.whenIdle
            assert.lengthOf(session.position().queued, 0)
          })
      )
    })
  )
})

describe("Agent (models that misbehave)", () => {
  const play = (answers: ScriptedModel.Answers, check: (stage: Stage) => void) =>
    onStage(
      { answers, tools: [quickTool, readTool], agent: { onRequestFailed: () => Effect.succeed(Agent.fail) } },
      (stage) =>
        Effect.gen(function* () {
          yield* stage.agent.followup("go")
          yield* stage.agent.whenIdle
          checkLog(stage, "")
          check(stage)
        })
    )

  const readTool = Tool.make("read", {
    description: "Reads",
    parameters: { path: Schema.String },
    success: Schema.String,
    handler: ({ path }) => Effect.succeed(path)
  })

  const results = ({ session }: Stage): ReadonlyArray<string> =>
    session.events().flatMap(({ event }) => {
      if (event._tag !== "CallEnded") return []
      return [event.result._tag === "Success" ? "OK" : event.result.code]
    })

  it.effect("L8: ids that are empty, or that come again: each call has its own, and its own result", () =>
    play(
      [
        calling(toolCall("c", "quick"), toolCall("c", "quick"), toolCall("", "quick"), toolCall("", "quick")),
        calling(toolCall("c", "quick")),
        ScriptedModel.reply("ok")
      ],
      (stage) => {
        assert.deepStrictEqual(results(stage), ["OK", "OK", "OK", "OK", "OK"])
        assert.deepStrictEqual(endTags(stage.session), ["Completed"])
      }
    )
  )

  it.effect("L8: ids that come again in another agent on the session", () =>
    onStage({ answers: [calling(toolCall("c", "quick")), ScriptedModel.reply("ok")], tools: [quickTool] }, (stage) =>
      Effect.gen(function* () {
        yield* stage.agent.followup("go")
        yield* stage.agent.whenIdle
        yield* stage.agent.dispose
        const again = { answers: [calling(toolCall("c", "quick")), ScriptedModel.reply("ok")], tools: [quickTool] }
        yield* onStage({ ...again, session: Layer.succeed(Session.Session, stage.session) }, ({ agent }) =>
          Effect.zipRight(Effect.orDie(agent.followup("again")), agent.whenIdle)
        )
        checkLog(stage, "")
        assert.deepStrictEqual(results(stage), ["OK", "OK"])
      })
    )
  )

  it.effect(
    "L8: arguments that are no JSON, or no object, and tools that do not exist: told, and sent back as valid",
    () =>
      play(
        [
          [
            { _tag: "ToolCallStart", id: "c1", name: "read" },
            { _tag: "ToolCallArguments", id: "c1", text: `{"path": ` },
            { _tag: "ToolCallStart", id: "c2", name: "read" },
            { _tag: "ToolCallArguments", id: "c2", text: "[1]" },
            { _tag: "ToolCallStart", id: "c3", name: "no such tool!" },
            { _tag: "ToolCallStart", id: "c4", name: "" },
            { _tag: "ToolCallArguments", id: "nobody", text: "{}" },
            { _tag: "Finish", reason: "tool-calls" }
          ],
          ScriptedModel.reply("ok")
        ],
        (stage) => {
          assert.deepStrictEqual(results(stage), ["INVALID_ARGS", "INVALID_ARGS", "UNKNOWN_TOOL", "UNKNOWN_TOOL"])
          assert.include(
            JSON.stringify(stage.session.messages()),
            JSON.stringify(JSON.stringify({ invalid: `{"path": ` }))
          )
        }
      )
  )

  it.effect("answers that say nothing, or blanks, leave nothing that a provider would refuse", () =>
    Effect.forEach(
      [[finish], [text(""), finish], [text(" \n"), finish], [text(" "), ...toolCall("c1", "quick"), finish]],
      (answer) =>
        play([answer, ScriptedModel.reply("ok")], ({ session }) => {
          assert.deepStrictEqual(endTags(session), ["Completed"])
        })
    )
  )

  it.effect("10,000 chunks are one message", () =>
    play([[...Array.from({ length: 10_000 }, () => text("a")), finish]], ({ session }) => {
      const message = session.events().find(({ event }) => event._tag === "AssistantMessage")?.event
      assert.deepInclude(message, { blocks: [{ type: "text", text: "a".repeat(10_000) }] })
    })
  )

  it.effect("an answer without an end, one that breaks, one that goes on behind its end", () =>
    Effect.gen(function* () {
      yield* play([[text("half")]], ({ session }) => assert.deepInclude(ends(session)[0], { code: "INVALID_RESPONSE" }))
      yield* play([[text("half"), Effect.dieMessage("bad")]], ({ session }) =>
        assert.strictEqual(endTags(session)[0], "Error")
      )
      yield* play([[text("whole"), finish, text("more"), finish]], ({ session }) => {
        assert.deepStrictEqual(endTags(session), ["Completed"])
        assert.notInclude(JSON.stringify(session.messages()), "more")
      })
    }).pipe(silently)
  )

  /** Streams that nothing of `Model.layer` stands before. */
  const raw = (stream: () => Stream.Stream<Model.Chunk>) =>
    Effect.gen(function* () {
      const model = Layer.succeed(Model.Model, { stream })
      const layer = Layer.mergeAll(model, ToolRuntime.layer(), Session.layerMemory())
      return yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* Agent.make({ id: "clerk", model: "raw" })
          yield* agent.followup("go")
          yield* agent.whenIdle
          assert.deepStrictEqual(SessionLog.problems(agent.session.events()), [])
          return ends(agent.session)[0]
        })
      ).pipe(Effect.provide(layer))
    }).pipe(silently)

  it.effect("a service of a model that keeps no contract: the turn ends, and the log is in order", () =>
    Effect.gen(function* () {
      const streams: { readonly [name: string]: readonly [() => Stream.Stream<Model.Chunk, any>, object] } = {
        throws: [
          () => {
            throw new Error("bad")
          },
          { _tag: "Error", message: "bad" }
        ],
        dies: [() => Stream.die(new Error("bad")), { _tag: "Error", message: "bad" }],
        fails: [() => Stream.fail({ _tag: "Gone", message: "bad" }), { _tag: "Error", code: "GONE" }],
        "interrupts itself": [() => Stream.fromEffect(Effect.interrupt), { _tag: "Error", code: "INTERRUPTED" }],
        "has no end": [() => Stream.make(text("half")), { _tag: "Error", code: "INVALID_RESPONSE" }],
        "is empty": [() => Stream.empty, { _tag: "Error", code: "INVALID_RESPONSE" }],
        "goes on": [() => Stream.make(text("a"), finish, text("b"), finish), { _tag: "Completed" }],
        "says what is no chunk": [
          () => Stream.make({ _tag: "Nonsense" } as unknown as Model.Chunk),
          { _tag: "Error", code: "SESSION_INVALID_EVENT" }
        ]
      }
      for (const [name, [stream, outcome]] of Object.entries(streams)) {
        assert.deepInclude(yield* raw(stream as () => Stream.Stream<Model.Chunk>), outcome, name)
      }
    })
  )

  it.effect("191. a stream that ignores its interruption is waited for, and nothing that it says then counts", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const stubborn = Effect.uninterruptible(Deferred.await(gate))
      yield* onStage({ answers: [[text("before"), stubborn, text("after"), finish]] }, (stage) =>
        Effect.gen(function* () {
          yield* stage.agent.followup("go")
          yield* settle
          yield* stage.agent.cancel(user)
          const waiting = yield* Effect.fork(stage.agent.whenIdle)
          yield* settle
          assert.strictEqual(yield* stage.agent.status, "running")
          yield* Deferred.succeed(gate, undefined)
          yield* Fiber.join(waiting)
          checkLog(stage, "")
          assert.notInclude(JSON.stringify(stage.session.events()), "after")
          assert.strictEqual(yield* stage.model.running, 0)
        })
      )
    })
  )
})
