import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scheduler, Stream } from "effect"
import { Agent, CancelCause, Cancellation, Policy, Session, ToolRuntime } from "quiesce"
import { Approval } from "quiesce/capability"
import { ScriptedModel, SessionLog } from "quiesce/testing"
import {
  calling,
  ends,
  endTags,
  onStage,
  quickTool,
  said,
  settle,
  silently,
  tags,
  text,
  toolCall,
  user
} from "./support/agents.js"

// Case 181 (a wake on an idle agent whose message is removed before it is claimed) cannot occur here: an agent at rest
// claims a waking message in the step in which it accepts it, so there is no moment to remove it in.
//
// Case 39 (an approval outside of an open turn) has no counterpart: `Approval` is asked for calls, by whoever runs them, and
// is the same with and without an agent. Case 36 (a call without an agent cannot be approved) is decided otherwise for the
// same reason: the question goes to the approver of the runtime, which is told who the agent is, where there is one.

describe("Agent (withdrawing)", () => {
  it.effect("a message that waits is withdrawn, with a record, and is not read; one that a turn has is not", () =>
    Effect.gen(function* () {
      const gate = yield* ScriptedModel.gate
      yield* onStage(
        {
          answers: (_request, index) =>
            index === 0 ? [gate.wait, ...ScriptedModel.reply("a")] : ScriptedModel.reply("b")
        },
        ({ agent, session }) =>
          Effect.gen(function* () {
            const first = yield* agent.followup("one")
            const second = yield* agent.followup("two")
            const third = yield* agent.steer("three")
            yield* gate.reached
            assert.isFalse(yield* agent.withdraw(first))
            assert.isTrue(yield* agent.withdraw(second))
            assert.isFalse(yield* agent.withdraw(second))
            assert.isTrue(yield* agent.withdraw(third))
            assert.isFalse(yield* agent.withdraw("nobody's"))
            yield* gate.open
            yield* agent.whenIdle
            assert.deepStrictEqual(said(session), ["one"])
            const discarded = session.events().flatMap(({ event }) => (event._tag === "InputDiscarded" ? [event] : []))
            assert.deepStrictEqual(
              discarded.map(({ ids, reason }) => [ids, reason]),
              [
                [[second], "withdrawn"],
                [[third], "withdrawn"]
              ]
            )
            assert.deepStrictEqual(SessionLog.problems(session.events()), [])
            const parked = yield* agent.inject("parked")
            assert.isTrue(yield* agent.withdraw(parked))
            yield* agent.dispose
            assert.strictEqual((yield* Effect.flip(agent.withdraw(parked)))._tag, "AgentError")
          })
      )
    })
  )

  it.effect("M2: what cannot be logged is not withdrawn", () =>
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
        { answers: [ScriptedModel.reply("ok")], session: Session.layerStorage(Effect.succeed(storage)) },
        ({ agent, session }) =>
          Effect.gen(function* () {
            const id = yield* agent.inject("parked")
            isFull = true
            assert.strictEqual((yield* Effect.flip(agent.withdraw(id)))._tag, "SessionError")
            isFull = false
            yield* agent.followup("go")
            yield* agent.whenIdle
            assert.deepStrictEqual(said(session), ["parked", "go"])
          })
      )
    }).pipe(silently)
  )

  it.effect("169. what steers a cancelled turn and is withdrawn before that has ended opens no turn", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const slow = Effect.onInterrupt(Effect.never, () => Deferred.await(gate))
      yield* onStage({ answers: [[slow], ScriptedModel.reply("never")] }, ({ agent, model, session }) =>
        Effect.gen(function* () {
          yield* agent.followup("go")
          yield* settle
          yield* agent.cancel(user)
          const id = yield* agent.steer("left")
          assert.isTrue(yield* agent.withdraw(id))
          yield* Deferred.succeed(gate, undefined)
          yield* agent.whenIdle
          assert.lengthOf(
            tags(session).filter((tag) => tag === "TurnStarted"),
            1
          )
          assert.lengthOf(yield* model.requests, 1)
        })
      )
    })
  )

  it.effect("200. a message that came during maintenance and was withdrawn opens no turn", () =>
    onStage({ answers: [] }, ({ agent, session }) =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const maintaining = yield* Effect.fork(agent.runMaintenance(Deferred.await(gate)))
        yield* settle
        assert.isTrue(yield* agent.withdraw(yield* agent.followup("go")))
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(maintaining)
        yield* agent.whenIdle
        assert.deepStrictEqual(tags(session), ["InputQueued", "InputDiscarded"])
      })
    )
  )
})

/** Interrupts before one of its operations. Gives whether there was one. */
const interruptedBefore = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  operation: number
): Effect.Effect<boolean, never, R> => {
  let left = operation
  const scheduler: Scheduler.Scheduler = {
    scheduleTask: (task, priority) => Scheduler.defaultScheduler.scheduleTask(task, priority),
    shouldYield: (fiber) => {
      if (left-- === 0) fiber.unsafeInterruptAsFork(fiber.id())
      return false
    }
  }
  return Effect.fork(Effect.withScheduler(effect, scheduler)).pipe(
    Effect.flatMap(Fiber.await),
    Effect.map(() => left < 0)
  )
}

describe("Agent (its end and its beginning)", () => {
  it.effect("198. whoever disposes waits for the same, and the session is free when nothing runs any more", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const slow = Effect.onInterrupt(Effect.never, () => Deferred.await(gate))
      yield* onStage({ answers: [[slow]] }, ({ agent, session }) =>
        Effect.gen(function* () {
          const model = yield* ScriptedModel.make([])
          const layer = Layer.mergeAll(model.layer, ToolRuntime.layer(), Layer.succeed(Session.Session, session))
          const next = Agent.make({ id: "clerk", model: "scripted" }).pipe(Effect.provide(layer), Effect.scoped)
          yield* agent.followup("go")
          yield* settle
          const disposals = yield* Effect.replicateEffect(Effect.fork(agent.dispose), 3)
          yield* settle
          assert.isTrue(Exit.isFailure(yield* Effect.exit(next)))
          for (const disposal of disposals) assert.strictEqual((yield* Fiber.poll(disposal))._tag, "None")
          yield* Deferred.succeed(gate, undefined)
          yield* Fiber.joinAll(disposals)
          assert.isTrue(Exit.isSuccess(yield* Effect.exit(next)))
        })
      )
    })
  )

  it.effect("199. listeners that throw, and readers that break, do not keep an agent from being disposed of", () =>
    onStage(
      {
        answers: [],
        agent: {
          instructions: () =>
            Effect.flatMap(Cancellation.signal, (signal) => {
              signal.addEventListener("abort", () => {
                throw new Error("bad")
              })
              return Effect.never
            })
        }
      },
      ({ agent, session }) =>
        Effect.gen(function* () {
          yield* Effect.fork(Stream.runForEach(session.follow(), () => Effect.die("bad")))
          yield* agent.followup("go")
          yield* settle
          yield* agent.dispose
          assert.strictEqual(yield* agent.status, "closed")
          assert.deepStrictEqual(ends(session), [{ _tag: "Cancelled", cause: { _tag: "Disposed" } }])
        })
    ).pipe(silently)
  )

  it.effect(
    "201. an agent whose making is interrupted leaves nothing; under an owner that is cancelled it asks nothing",
    () =>
      Effect.gen(function* () {
        const session = yield* Session.make()
        const model = yield* ScriptedModel.make(() => ScriptedModel.reply("ok"))
        const layer = Layer.mergeAll(model.layer, ToolRuntime.layer(), Layer.succeed(Session.Session, session))
        const context = yield* Layer.build(layer)
        const make = Agent.make({ id: "clerk", model: "scripted" }).pipe(Effect.provide(context))
        // Stopped at each of its operations in turn, until it is through.
        for (let at = 0; yield* interruptedBefore(Effect.scoped(make), at); at++) assert.lengthOf(session.events(), 1)
        const agent = yield* make
        yield* agent.followup("go")
        yield* agent.whenIdle
        assert.lengthOf(yield* model.requests, 1)
        yield* agent.dispose
        const controller = new AbortController()
        const owned = Effect.gen(function* () {
          controller.abort(new Error("stop"))
          const late = yield* make
          yield* late.followup("go")
          yield* late.whenIdle
          return late
        })
        yield* Effect.exit(Cancellation.ownSignal(Effect.uninterruptible(owned), controller.signal))
        assert.strictEqual(endTags(session).at(-1), "Cancelled")
        assert.lengthOf(yield* model.requests, 1)
      }).pipe(Effect.scoped)
  )
})

describe("Agent (approvals)", () => {
  const asking = Policy.before("ask", () => Effect.succeed(Policy.ask("sure?")))

  it.effect("29, 36. the approver is told which agent asks, and a yes runs the call", () =>
    Effect.gen(function* () {
      const asked: Array<Approval.Request> = []
      const approval = Approval.layer((request) =>
        Effect.sync(() => {
          asked.push(request)
          return "allowed-once" as const
        })
      )
      yield* onStage(
        {
          answers: [calling(toolCall("c1", "quick")), ScriptedModel.reply("ok")],
          tools: [quickTool],
          policies: [asking],
          approval
        },
        ({ agent, session }) =>
          Effect.gen(function* () {
            yield* agent.followup("go")
            yield* agent.whenIdle
            assert.deepStrictEqual(asked, [
              { callId: "c1", tool: "quick", parameters: {}, reason: "sure?", agent: "clerk" }
            ])
            assert.deepStrictEqual(endTags(session), ["Completed"])
          })
      )
    })
  )

  it.effect("32, 40. a cancel while somebody is asked: the question is taken back, and the call never ran", () =>
    Effect.gen(function* () {
      let isTakenBack = false
      const approval = Approval.layer(() =>
        Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => {
            isTakenBack = true
          })
        )
      )
      yield* onStage(
        {
          answers: [[text("Let me see."), ...calling(toolCall("c1", "quick"), toolCall("c2", "quick"))]],
          tools: [quickTool],
          policies: [asking],
          approval
        },
        ({ agent, session }) =>
          Effect.gen(function* () {
            yield* agent.followup("go")
            yield* settle
            yield* agent.cancel(CancelCause.user())
            yield* agent.whenIdle
            assert.isTrue(isTakenBack)
            const results = session.events().flatMap(({ event }) => (event._tag === "CallEnded" ? [event.result] : []))
            assert.deepStrictEqual(
              results.map((result) => result._tag === "Failure" && [result.callId, result.code, result.dispatched]),
              [
                ["c1", "ABORTED_BEFORE_DISPATCH", false],
                ["c2", "ABORTED_BEFORE_DISPATCH", false]
              ]
            )
          })
      )
    })
  )
})
