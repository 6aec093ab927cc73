import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schema, Stream, TestClock } from "effect"
import { Agent, CancelCause, Cancellation, Content, Session, Tool, ToolContext, ToolRuntime } from "quiesce"
import type { Model } from "quiesce/capability"
import { ScriptedModel, SessionLog } from "quiesce/testing"
import {
  calling,
  ends,
  endTags,
  finish,
  gatedTool,
  onStage,
  type Setup,
  said,
  settle,
  tags,
  text,
  toolCall,
  user
} from "./support/agents.js"

describe("Agent", () => {
  it.effect("a turn: a message, a request, calls and their results, a second request, and rest", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      yield* onStage(
        {
          answers: [calling(toolCall("c1", "work"), toolCall("c2", "nothing")), ScriptedModel.reply("All done.")],
          tools: [gatedTool(gate)],
          agent: { instructions: "Be brief." }
        },
        ({ agent, model, session }) =>
          Effect.gen(function* () {
            yield* agent.followup("Work.")
            assert.strictEqual(yield* agent.status, "running")
            yield* Deferred.succeed(gate, undefined)
            yield* agent.whenIdle
            assert.strictEqual(yield* agent.status, "idle")
            assert.deepStrictEqual(tags(session), [
              ...["InputQueued", "TurnStarted", "InputClaimed", "StepStarted", "UserMessage", "ModelRequested"],
              ...["AssistantMessage", "CallStarted", "CallEnded", "CallStarted", "CallEnded", "StepEnded"],
              ...["StepStarted", "ModelRequested", "AssistantMessage", "StepEnded", "TurnEnded"]
            ])
            const second = (yield* model.requests)[1]
            assert.deepStrictEqual(
              second?.messages.map(({ role }) => role),
              ["system", "user", "assistant", "tool", "tool"]
            )
            assert.deepStrictEqual(
              second?.tools?.map(({ name }) => name),
              ["work"]
            )
            assert.deepStrictEqual(endTags(session), ["Completed"])
          })
      )
    })
  )

  it.effect("145. a cancel of an idle agent does nothing, and the next message runs", () =>
    onStage({ answers: [ScriptedModel.reply("Hello.")] }, ({ agent, session }) =>
      Effect.gen(function* () {
        yield* agent.cancel(user)
        yield* agent.followup("Hello?")
        yield* agent.whenIdle
        assert.deepStrictEqual(endTags(session), ["Completed"])
      })
    )
  )

  it.effect("146. two messages and a cancel in one step: one turn, no step, no request, nothing said", () =>
    onStage({ answers: [ScriptedModel.reply("never")] }, ({ agent, model, session }) =>
      Effect.gen(function* () {
        yield* Effect.sync(() => {
          Effect.runSync(agent.followup("one"))
          Effect.runSync(agent.followup("two"))
          Effect.runSync(agent.cancel(user))
        })
        yield* agent.whenIdle
        assert.deepStrictEqual(tags(session), [
          ...["InputQueued", "TurnStarted", "InputClaimed", "InputQueued", "InputDiscarded", "TurnEnded"]
        ])
        assert.deepStrictEqual(ends(session), [{ _tag: "Cancelled", cause: { _tag: "User" } }])
        assert.lengthOf(yield* model.requests, 0)
        yield* agent.followup("three")
        yield* settle
        assert.strictEqual((yield* model.requests).length, 1)
      })
    )
  )

  it.effect("149. a cancel during assembly and before a step: no step, no request", () =>
    Effect.gen(function* () {
      for (const options of [
        { instructions: () => Effect.never },
        { beforeStep: () => Effect.never }
      ] satisfies ReadonlyArray<Setup["agent"]>) {
        yield* onStage({ answers: [], agent: options }, ({ agent, model, session }) =>
          Effect.gen(function* () {
            yield* agent.followup("Hello?")
            yield* settle
            yield* agent.cancel(user)
            yield* agent.whenIdle
            assert.deepStrictEqual(tags(session), [
              ...["InputQueued", "TurnStarted", "InputClaimed", "InputDiscarded", "TurnEnded"]
            ])
            assert.deepStrictEqual(endTags(session), ["Cancelled"])
            assert.lengthOf(yield* model.requests, 0)
          })
        )
      }
    })
  )

  it.effect(
    "150, 185. a cancel in mid-stream keeps what was said, drops the queued tail, and the next turn shows it",
    () =>
      Effect.gen(function* () {
        const gate = yield* ScriptedModel.gate
        yield* onStage(
          { answers: [[text("part"), text("ial"), gate.wait, finish], ScriptedModel.reply("Again.")] },
          ({ agent, model, session }) =>
            Effect.gen(function* () {
              yield* agent.followup("one")
              yield* gate.reached
              yield* agent.followup("two")
              yield* agent.cancel(user)
              yield* agent.whenIdle
              const message = session.events().find(({ event }) => event._tag === "AssistantMessage")?.event
              const chunks = session.events().flatMap(({ event, seq }) => (event._tag === "ModelChunk" ? [seq] : []))
              assert.deepInclude(message, {
                blocks: [{ type: "text", text: "partial" }],
                interrupted: true,
                chunkSeqs: chunks
              })
              assert.deepStrictEqual(tags(session).slice(-4), [
                ...["InputDiscarded", "AssistantMessage", "StepEnded", "TurnEnded"]
              ])
              assert.lengthOf(yield* model.requests, 1)
              yield* agent.followup("three")
              yield* agent.whenIdle
              const last = (yield* model.requests)[1]
              assert.deepStrictEqual(
                last?.messages.map(({ content }) => JSON.stringify(content).includes("partial")),
                [...[false, true, false]]
              )
              assert.deepStrictEqual(said(session), ["one", "three"])
            })
        )
      })
  )

  it.effect("186 to 188. of a cancelled answer reasoning, text and usage are kept, calls and blanks are not", () =>
    Effect.gen(function* () {
      const usage: Model.Chunk = { _tag: "Usage", inputTokens: 3, outputTokens: 2 }
      const keep = (...chunks: ReadonlyArray<Model.Chunk>) =>
        Effect.gen(function* () {
          const gate = yield* ScriptedModel.gate
          return yield* onStage({ answers: [[...chunks, gate.wait]] }, ({ agent, session }) =>
            Effect.gen(function* () {
              yield* agent.followup("go")
              yield* gate.reached
              yield* agent.cancel(user)
              yield* agent.whenIdle
              const message = session.events().find(({ event }) => event._tag === "AssistantMessage")?.event
              return message?._tag === "AssistantMessage" ? { blocks: message.blocks, usage: message.usage } : undefined
            })
          )
        })
      assert.deepStrictEqual(yield* keep({ _tag: "Reasoning", text: "hm" }, usage), {
        blocks: [{ type: "reasoning", text: "hm" }],
        usage: usage as any
      })
      assert.deepStrictEqual(yield* keep(text("said"), ...toolCall("c1", "work")), {
        blocks: [{ type: "text", text: "said" }],
        usage: undefined
      })
      assert.isUndefined(yield* keep(...toolCall("c1", "work")))
      assert.isUndefined(yield* keep(text(" \n")))
    })
  )

  it.effect("151. a cancel when the turn was about to stop makes it a cancelled one", () =>
    onStage(
      { answers: [ScriptedModel.reply("Done.")], agent: { beforeStop: () => Effect.never } },
      ({ agent, session }) =>
        Effect.gen(function* () {
          yield* agent.followup("go")
          yield* settle
          yield* agent.cancel(user)
          yield* agent.whenIdle
          assert.strictEqual(tags(session).filter((tag) => tag === "StepStarted").length, 1)
          assert.deepStrictEqual(endTags(session), ["Cancelled"])
        })
    )
  )

  it.effect("153, 154. the first cause stays, for a later cancel and for disposal", () =>
    Effect.gen(function* () {
      for (const later of ["cancel", "dispose"] as const) {
        yield* onStage({ answers: [[Effect.never]] }, ({ agent, session }) =>
          Effect.gen(function* () {
            yield* agent.followup("go")
            yield* settle
            yield* agent.cancel(CancelCause.parent())
            yield* later === "cancel" ? agent.cancel(user) : agent.dispose
            yield* agent.whenIdle
            assert.deepStrictEqual(ends(session), [{ _tag: "Cancelled", cause: { _tag: "Parent" } }])
          })
        )
      }
    })
  )

  it.effect("155. one signal for a whole turn, another for the next", () =>
    Effect.gen(function* () {
      const signals: Array<AbortSignal> = []
      const note = Effect.map(Cancellation.signal, (signal) => void signals.push(signal))
      yield* onStage(
        {
          answers: [ScriptedModel.reply("one"), ScriptedModel.reply("two")],
          agent: {
            instructions: () => Effect.as(note, ""),
            beforeStop: () => note
          }
        },
        ({ agent }) =>
          Effect.gen(function* () {
            yield* agent.followup("one")
            yield* agent.whenIdle
            yield* agent.followup("two")
            yield* agent.whenIdle
            assert.lengthOf(signals, 4)
          })
      )
    })
  )

  it.effect("156, 194. a tool that ignores its signal delays the rest, and nothing is abandoned", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const stubborn = Tool.make("work", {
        description: "Ignores its cancellation",
        parameters: {},
        success: Schema.String,
        handler: () => Effect.uninterruptible(Effect.as(Deferred.await(gate), "done"))
      })
      yield* onStage({ answers: [calling(toolCall("c1", "work"))], tools: [stubborn] }, ({ agent, session }) =>
        Effect.gen(function* () {
          yield* agent.followup("go")
          yield* settle
          yield* agent.cancel(user)
          const waiting = yield* Effect.fork(agent.whenIdle)
          yield* settle
          assert.strictEqual(yield* agent.status, "running")
          assert.isNull(yield* Fiber.poll(waiting).pipe(Effect.map((exit) => (exit._tag === "None" ? null : exit))))
          yield* Deferred.succeed(gate, undefined)
          yield* Fiber.join(waiting)
          assert.deepStrictEqual(tags(session).slice(-3), ["CallEnded", "StepEnded", "TurnEnded"])
        })
      )
    })
  )

  it.effect("157. a provider that says aborted while the turn lives is an error, and leaves no message", () =>
    onStage({ answers: [[text("some"), { _tag: "Finish", reason: "aborted" }]] }, ({ agent, session }) =>
      Effect.gen(function* () {
        yield* agent.followup("go")
        yield* agent.whenIdle
        assert.deepInclude(ends(session)[0], { _tag: "Error", code: "ABORTED" })
        assert.notInclude(tags(session), "AssistantMessage")
      })
    )
  )

  it.effect("160. a log that cannot take the clearing of the inbox does not keep the turn running (W14)", () =>
    Effect.gen(function* () {
      let isFull = false
      const storage: Session.Storage = {
        name: "a disk",
        contents: new Uint8Array(),
        append: () => {
          if (isFull) throw new Error("disk full")
        },
        cut: () => {},
        sync: () => {}
      }
      yield* onStage(
        {
          answers: [[Effect.never], ScriptedModel.reply("on")],
          session: Session.layerStorage(Effect.succeed(storage))
        },
        ({ agent }) =>
          Effect.gen(function* () {
            yield* agent.followup("one")
            yield* settle
            yield* agent.followup("two")
            isFull = true
            yield* agent.cancel(user)
            yield* agent.whenIdle
            assert.strictEqual(yield* agent.status, "idle")
            const refused = yield* Effect.flip(agent.followup("three"))
            assert.strictEqual(refused._tag, "SessionError") // 180. what cannot be logged is not accepted
            isFull = false
            yield* agent.followup("four")
            yield* settle
            assert.deepStrictEqual(said(agent.session), ["one", "four"])
          })
      )
    })
  )

  it.effect("164. messages in a row: one turn each, in order, without rest in between", () =>
    onStage({ answers: () => ScriptedModel.reply("ok") }, ({ agent, session }) =>
      Effect.gen(function* () {
        for (let i = 1; i <= 5; i++) yield* agent.followup(`m${i}`)
        yield* agent.whenIdle
        assert.deepStrictEqual(said(session), ["m1", "m2", "m3", "m4", "m5"])
        const turns = session.events().flatMap(({ event }) => (event._tag === "TurnStarted" ? [event.turn] : []))
        assert.deepStrictEqual(turns, [1, 2, 3, 4, 5])
      })
    )
  )

  it.effect("165, 166. with keepInbox what waits stays; a message behind the cancel wakes the agent again", () =>
    onStage(
      { answers: (_request, index) => (index === 0 ? [Effect.never] : ScriptedModel.reply("ok")) },
      ({ agent, session }) =>
        Effect.gen(function* () {
          yield* agent.followup("one")
          yield* settle
          yield* agent.followup("two")
          yield* agent.cancel(user, { keepInbox: true })
          yield* agent.whenIdle
          assert.deepStrictEqual(said(session), ["one"])
          assert.include(tags(session), "InputParked")
          yield* agent.followup("three")
          yield* agent.whenIdle
          assert.deepStrictEqual(said(session), ["one", "two", "three"])
          assert.deepStrictEqual(endTags(session), ["Cancelled", "Completed", "Completed"])
        })
    )
  )

  it.effect("167. the same with a provider that takes its time to stop, and a message meanwhile", () =>
    onStage(
      {
        answers: (_request, index) =>
          index === 0 ? [Effect.onInterrupt(Effect.never, () => Effect.sleep("50 millis"))] : ScriptedModel.reply("ok")
      },
      ({ agent, session }) =>
        Effect.gen(function* () {
          yield* agent.followup("one")
          yield* settle
          yield* agent.cancel(user, { keepInbox: true })
          yield* TestClock.adjust("10 millis")
          yield* agent.followup("two")
          assert.deepStrictEqual(said(session), ["one"])
          yield* TestClock.adjust("40 millis")
          yield* agent.whenIdle
          assert.deepStrictEqual(said(session), ["one", "two"])
          const order = tags(session).filter((tag) => tag.startsWith("Turn"))
          assert.deepStrictEqual(order, ["TurnStarted", "TurnEnded", "TurnStarted", "TurnEnded"])
        })
    )
  )

  it.effect(
    "175, 176. what steers and what is injected during a tool is read in the next step, behind its results",
    () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        yield* onStage(
          { answers: [calling(toolCall("c1", "work")), ScriptedModel.reply("ok")], tools: [gatedTool(gate)] },
          ({ agent, model, session }) =>
            Effect.gen(function* () {
              yield* agent.inject("before")
              yield* settle
              assert.deepStrictEqual(tags(session), ["InputQueued"])
              yield* agent.followup("go")
              yield* settle
              yield* agent.steer("left")
              yield* agent.inject("and slowly")
              yield* Deferred.succeed(gate, undefined)
              yield* agent.whenIdle
              assert.deepStrictEqual(
                (yield* model.requests)[1]?.messages.map(({ role }) => role),
                ["user", "user", "assistant", "tool", "user", "user"]
              )
              assert.deepStrictEqual(said(session), ["before", "go", "left", "and slowly"])
              assert.lengthOf(endTags(session), 1)
            })
        )
      })
  )

  it.effect("177. a step that is refused: blocked, its message gone, and those behind it run with the next wake", () =>
    onStage(
      {
        answers: () => ScriptedModel.reply("ok"),
        agent: {
          beforeStep: (_step, messages) =>
            Effect.as(
              Effect.yieldNow(),
              Content.toText(messages[0]?.content ?? []) === "bad" ? Agent.reject("not this") : Agent.enter(messages)
            )
        }
      },
      ({ agent, session }) =>
        Effect.gen(function* () {
          yield* agent.followup("bad")
          yield* agent.followup("good")
          yield* agent.whenIdle
          assert.deepStrictEqual(ends(session), [{ _tag: "Blocked", reason: "not this" }])
          yield* agent.followup("more")
          yield* agent.whenIdle
          assert.deepStrictEqual(said(session), ["good", "more"])
        })
    )
  )

  it.effect("178. a step whose policy breaks: the turn fails, and what waits is parked, with a record (W21)", () =>
    Effect.gen(function* () {
      let isBroken = true
      yield* onStage(
        {
          answers: () => ScriptedModel.reply("ok"),
          agent: {
            beforeStep: (_step, messages) =>
              Effect.zipRight(
                Effect.yieldNow(),
                isBroken ? Effect.fail({ _tag: "Broken", message: "no" }) : Effect.succeed(Agent.enter(messages))
              )
          }
        },
        ({ agent, session }) =>
          Effect.gen(function* () {
            yield* agent.followup("one")
            yield* agent.followup("two")
            yield* agent.whenIdle
            assert.deepStrictEqual(ends(session), [{ _tag: "Error", code: "BROKEN", message: "no" }])
            assert.deepInclude(session.events().findLast(({ event }) => event._tag === "InputParked")?.event, {
              ids: session.position().queued.map(({ message }) => message.id)
            })
            isBroken = false
            yield* agent.followup("three")
            yield* agent.whenIdle
            assert.deepStrictEqual(said(session), ["one", "two", "three"])
          })
      )
    })
  )

  it.effect("179. a step that is entered with nothing: a completed turn without a request", () =>
    onStage(
      { answers: [], agent: { beforeStep: () => Effect.succeed(Agent.enter([])) } },
      ({ agent, model, session }) =>
        Effect.gen(function* () {
          yield* agent.followup("one")
          yield* agent.whenIdle
          assert.deepStrictEqual(endTags(session), ["Completed"])
          assert.lengthOf(yield* model.requests, 0)
        })
    )
  )

  it.effect("189. a request that failed is sent again; a cancel meanwhile leaves no message of the failed one", () =>
    Effect.gen(function* () {
      const overloaded: Model.Chunk = {
        _tag: "Finish",
        reason: "error",
        error: { code: "OVERLOADED", message: "later", isRetryable: true }
      }
      yield* onStage({ answers: [[text("half"), overloaded], ScriptedModel.reply("whole")] }, ({ agent, session }) =>
        Effect.gen(function* () {
          yield* agent.followup("go")
          yield* settle
          yield* TestClock.adjust("1 minute")
          yield* agent.whenIdle
          const message = session.events().find(({ event }) => event._tag === "AssistantMessage")?.event
          const own = session
            .events()
            .flatMap(({ event, seq }) => (event._tag === "ModelChunk" && event.attempt === 2 ? [seq] : []))
          assert.deepInclude(message, { interrupted: false, chunkSeqs: own })
        })
      )
      yield* onStage({ answers: [[text("half"), overloaded]] }, ({ agent, session }) =>
        Effect.gen(function* () {
          yield* agent.followup("go")
          yield* settle
          yield* agent.cancel(user)
          yield* agent.whenIdle
          assert.notInclude(tags(session), "AssistantMessage")
          assert.deepStrictEqual(endTags(session), ["Cancelled"])
        })
      )
    })
  )

  it.effect("192, 196, 197. disposal cancels, waits, and nothing starts after it (W11, W13)", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      yield* onStage(
        { answers: [[Effect.onInterrupt(Effect.never, () => Deferred.await(gate))]] },
        ({ agent, model, session }) =>
          Effect.gen(function* () {
            yield* agent.followup("one")
            yield* settle
            yield* agent.followup("tail")
            const disposing = yield* Effect.fork(
              Effect.all([agent.dispose, agent.dispose], { concurrency: "unbounded" })
            )
            yield* settle
            assert.strictEqual((yield* Effect.flip(agent.followup("late")))._tag, "AgentError")
            yield* Deferred.succeed(gate, undefined)
            yield* Fiber.join(disposing)
            assert.deepStrictEqual(ends(session), [{ _tag: "Cancelled", cause: { _tag: "Disposed" } }])
            assert.strictEqual(yield* agent.status, "closed")
            const length = session.events().length
            assert.strictEqual((yield* Effect.flip(agent.followup("later")))._tag, "AgentError")
            yield* agent.cancel(user)
            yield* agent.whenIdle
            assert.strictEqual(session.events().length, length)
            assert.lengthOf(yield* model.requests, 1)
          })
      )
    })
  )

  it.effect("200. maintenance: not beside a turn; a cancel stops it; a message meanwhile runs afterwards", () =>
    onStage({ answers: () => ScriptedModel.reply("ok") }, ({ agent, session }) =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const maintaining = yield* Effect.fork(agent.runMaintenance(Effect.as(Deferred.await(gate), "maintained")))
        yield* settle
        assert.strictEqual(yield* agent.status, "idle")
        assert.strictEqual((yield* Effect.flip(agent.runMaintenance(Effect.void))).code, "AGENT_BUSY")
        yield* agent.followup("one")
        yield* settle
        assert.deepStrictEqual(tags(session), ["InputQueued"])
        yield* Deferred.succeed(gate, undefined)
        assert.strictEqual(yield* Fiber.join(maintaining), "maintained")
        yield* agent.whenIdle
        assert.deepStrictEqual(said(session), ["one"])
        const stopped = yield* Effect.fork(agent.runMaintenance(Effect.never))
        yield* settle
        yield* agent.cancel(user)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.await(stopped)))
        yield* agent.whenIdle
      })
    )
  )

  it.effect("a tool that concludes the turn ends it with its step; contexts come behind all results", () =>
    Effect.gen(function* () {
      const concluding = Tool.make("stop", {
        description: "Ends the turn",
        parameters: {},
        success: Schema.String,
        handler: () =>
          Effect.flatMap(ToolContext.ToolContext, (context) =>
            Effect.as(Effect.zipRight(context.deferContext(Content.text("remember")), context.concludeTurn), "stopped")
          )
      })
      yield* onStage(
        { answers: [calling(toolCall("c1", "stop"), toolCall("c2", "stop"))], tools: [concluding] },
        ({ agent, model, session }) =>
          Effect.gen(function* () {
            yield* agent.followup("go")
            yield* agent.whenIdle
            assert.lengthOf(yield* model.requests, 1)
            assert.deepStrictEqual(tags(session).slice(-8), [
              ...["CallStarted", "CallEnded", "CallStarted", "CallEnded"],
              ...["ContextAdded", "ContextAdded", "StepEnded", "TurnEnded"]
            ])
            assert.deepStrictEqual(endTags(session), ["Completed"])
          })
      )
    })
  )

  it.effect("an agent on a session that was used goes on from there: numbers, messages, and what waited", () =>
    onStage(
      { answers: (_request, index) => (index === 1 ? [Effect.never] : ScriptedModel.reply("ok")) },
      ({ agent, session }) =>
        Effect.gen(function* () {
          yield* agent.followup("one")
          yield* agent.whenIdle
          yield* agent.followup("two")
          yield* settle
          yield* agent.followup("three")
          yield* agent.dispose
          const model = yield* ScriptedModel.make(() => ScriptedModel.reply("again"))
          const layer = Layer.mergeAll(model.layer, ToolRuntime.layer(), Layer.succeed(Session.Session, session))
          yield* Effect.gen(function* () {
            const next = yield* Agent.make({ id: "clerk", model: "scripted" })
            assert.strictEqual(yield* next.status, "idle")
            yield* next.followup("four")
            yield* next.whenIdle
          }).pipe(Effect.scoped, Effect.provide(layer))
          assert.deepStrictEqual(said(session), ["one", "two", "three", "four"])
          const turns = session.events().flatMap(({ event }) => (event._tag === "TurnStarted" ? [event.turn] : []))
          assert.deepStrictEqual(turns, [1, 2, 3, 4])
        })
    )
  )

  it.effect("events are followed as they come", () =>
    onStage({ answers: [ScriptedModel.reply("ok")] }, ({ agent, session }) =>
      Effect.gen(function* () {
        const ended = yield* Effect.fork(
          Stream.runHead(Stream.filter(session.follow(), ({ event }) => event._tag === "TurnEnded"))
        )
        yield* agent.followup("go")
        assert.strictEqual((yield* Fiber.join(ended))._tag, "Some")
      })
    )
  )

  it.effect("the calls of a body are in the log, inside of its own, and the model sees its result alone", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      yield* Deferred.succeed(gate, undefined)
      const outer = Tool.make("outer", {
        description: "Calls another",
        parameters: {},
        success: Schema.String,
        handler: () => Effect.map(ToolContext.call("work", {}), ({ _tag }) => `it ended as ${_tag}`)
      })
      yield* onStage(
        { answers: [calling(toolCall("c1", "outer")), ScriptedModel.reply("Done.")], tools: [gatedTool(gate), outer] },
        ({ agent, session }) =>
          Effect.gen(function* () {
            yield* agent.followup("Work.")
            yield* agent.whenIdle
            const calls = session.events().flatMap(({ event }) => {
              switch (event._tag) {
                case "CallStarted":
                case "NestedCallStarted":
                  return [`${event._tag} ${event.callId} ${event.tool}`]
                case "CallEnded":
                case "NestedCallEnded":
                  return [`${event._tag} ${event.result.callId} ${event.result._tag}`]
                default:
                  return []
              }
            })
            assert.deepStrictEqual(calls, [
              "CallStarted c1 outer",
              "NestedCallStarted c1:1 work",
              "NestedCallEnded c1:1 Success",
              "CallEnded c1 Success"
            ])
            const shown = session.messages().flatMap((message) => (message.role === "tool" ? [message.toolCallId] : []))
            assert.deepStrictEqual(shown, ["c1"])
            assert.deepStrictEqual(SessionLog.problems(session.events()), [])
          })
      )
    })
  )
})
