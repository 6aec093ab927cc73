import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type Agent, type AgentEvent, Content, Session } from "quiesce"
import { ScriptedModel, SessionLog } from "quiesce/testing"
import {
  calling,
  ends,
  endTags,
  onStage,
  quickTool,
  type Setup,
  type Stage,
  said,
  settle,
  silently,
  tags,
  toolCall,
  user
} from "./support/agents.js"
import { refusals } from "./support/providerRules.js"
import { TestStorage } from "./support/sessionStorage.js"

type Heard = (event: AgentEvent.AgentEvent, agent: Agent.Handle) => void

/** A session that tells of each event in the very step in which it is appended, as a host may wrap one. */
const telling = (heard: Heard): { readonly setup: Setup["session"] & {}; readonly listen: (stage: Stage) => void } => {
  let agent: Agent.Handle | undefined
  const wrap = (session: Session.Service): Session.Service => ({
    ...session,
    append: (event) => {
      const envelope = session.append(event)
      if (agent !== undefined) heard(envelope.event, agent)
      return envelope
    }
  })
  return {
    setup: Layer.scoped(Session.Session, Effect.map(Session.make(), wrap)),
    listen: (stage) => {
      agent = stage.agent
    }
  }
}

const cancel = (agent: Agent.Handle, keepInbox = false): void => Effect.runSync(agent.cancel(user, { keepInbox }))

/** A turn with two calls, somebody who steers it, and another turn behind it. */
const answers: ScriptedModel.Answers = (_request, index) =>
  index === 0 ? calling(toolCall("c1", "quick"), toolCall("c2", "quick")) : ScriptedModel.reply("ok")

const script = ({ agent }: Stage) =>
  Effect.gen(function* () {
    yield* agent.followup("one")
    yield* agent.followup("two")
    yield* Effect.repeatN(Effect.yieldNow(), 3)
    yield* agent.steer("left")
  }).pipe(Effect.ignore)

/** What holds at rest, whatever has happened: L8 and L11. */
const checkRest = (session: Session.Service, isClosed: boolean, where: string): void => {
  assert.deepStrictEqual(SessionLog.problems(session.events()), [], where)
  assert.deepStrictEqual(refusals(session.messages()), [], where)
  const queued = session.position().queued
  if (!isClosed) for (const { parked, wakes } of queued) assert.isTrue(parked !== undefined || !wakes, where)
  const gone = new Set(queued.map(({ message }) => message.id))
  for (const { event } of session.events()) {
    if (event._tag === "UserMessage" && event.id !== undefined) gone.add(event.id)
    if (event._tag === "InputDiscarded") for (const id of event.ids) gone.add(id)
  }
  for (const { event } of session.events()) {
    if (event._tag === "InputQueued") assert.isTrue(gone.has(event.message.id), `${where}: a message is lost`)
  }
}

describe("Agent (whoever reads along)", () => {
  it.effect("148. a cancel as its step starts: no request, no chunk, the step is closed, the turn cancelled", () => {
    const { listen, setup } = telling((event, agent) => event._tag === "StepStarted" && cancel(agent))
    return onStage({ answers: [], session: setup }, (stage) =>
      Effect.gen(function* () {
        listen(stage)
        yield* stage.agent.followup("go")
        yield* stage.agent.whenIdle
        assert.deepStrictEqual(tags(stage.session, []).slice(-4), [
          ...["StepStarted", "UserMessage", "StepEnded", "TurnEnded"]
        ])
        assert.deepStrictEqual(endTags(stage.session), ["Cancelled"])
        assert.lengthOf(yield* stage.model.requests, 0)
      })
    )
  })

  it.effect("159. a cancel as a message is queued: the turn is cancelled, and what waits is cleared", () => {
    const { listen, setup } = telling((event, agent) => {
      if (event._tag === "InputQueued" && Content.toText(event.message.content) === "two") cancel(agent)
    })
    return onStage({ answers: [[Effect.never]], session: setup }, (stage) =>
      Effect.gen(function* () {
        listen(stage)
        yield* stage.agent.followup("one")
        yield* settle
        yield* stage.agent.followup("two")
        yield* stage.agent.whenIdle
        assert.deepStrictEqual(endTags(stage.session), ["Cancelled"])
        assert.deepStrictEqual(stage.session.position().queued, [])
        assert.include(tags(stage.session), "InputDiscarded")
        checkRest(stage.session, false, "")
      })
    )
  })

  it.effect("193. disposal as the turn or its step starts: the log is balanced, nothing is asked, nothing runs", () =>
    Effect.forEach(["TurnStarted", "StepStarted"], (tag) => {
      const { listen, setup } = telling((event, agent) => event._tag === tag && Effect.runFork(agent.dispose))
      return onStage({ answers: [], session: setup }, (stage) =>
        Effect.gen(function* () {
          listen(stage)
          yield* stage.agent.followup("go")
          yield* settle
          assert.strictEqual(yield* stage.agent.status, "closed")
          assert.deepStrictEqual(ends(stage.session), [{ _tag: "Cancelled", cause: { _tag: "Disposed" } }])
          assert.lengthOf(yield* stage.model.requests, 0)
          checkRest(stage.session, true, tag)
        })
      )
    })
  )

  it.effect("W18: a cancel with keepInbox as a turn ends is not lost: what waits is not read, and is parked", () => {
    const { listen, setup } = telling((event, agent) => event._tag === "TurnEnded" && cancel(agent, true))
    return onStage({ answers, tools: [quickTool], session: setup }, (stage) =>
      Effect.gen(function* () {
        listen(stage)
        yield* stage.agent.followup("one")
        yield* stage.agent.followup("two")
        yield* settle
        assert.deepStrictEqual(said(stage.session), ["one"])
        assert.isDefined(stage.session.position().queued[0]?.parked)
        checkRest(stage.session, false, "")
      })
    )
  })

  it.live(
    "L8, L11: whatever somebody does within the append of any event, no step is cut in two",
    () =>
      Effect.gen(function* () {
        const acts: { readonly [name: string]: (agent: Agent.Handle) => void } = {
          cancel: (agent) => cancel(agent),
          keep: (agent) => cancel(agent, true),
          dispose: (agent) => Effect.runFork(agent.dispose),
          send: (agent) => Effect.runFork(agent.followup("from within")),
          "cancel, send": (agent) => {
            cancel(agent)
            Effect.runFork(agent.steer("from within"))
          },
          withdraw: (agent) => Effect.runFork(agent.withdraw("message-3")),
          maintain: (agent) => Effect.runFork(agent.runMaintenance(Effect.yieldNow()))
        }
        for (const [name, act] of Object.entries(acts)) {
          for (let at = 1, isOver = false; !isOver; at++) {
            let count = 0
            const { listen, setup } = telling((_event, agent) => ++count === at && act(agent))
            yield* onStage({ answers, tools: [quickTool], session: setup }, (stage) =>
              Effect.gen(function* () {
                listen(stage)
                yield* script(stage)
                yield* Effect.repeatN(Effect.yieldNow(), 20)
                yield* stage.agent.whenIdle
                checkRest(stage.session, (yield* stage.agent.status) === "closed", `${name} at event ${at}`)
                isOver = count < at
              })
            )
          }
        }
      }),
    120_000
  )
})

describe("Agent (a log that fails)", () => {
  it.live(
    "M6, L8, W7: whichever append fails, and for how long: it comes to rest, and behind that the log is in order",
    () =>
      Effect.gen(function* () {
        for (const length of [1, 2, 4, Number.POSITIVE_INFINITY]) {
          for (let at = 3, isOver = false; !isOver; at++) {
            let count = 0
            let isMended = false
            const storage = new TestStorage()
            const append = storage.append.bind(storage)
            storage.append = (line) => {
              count++
              if (!isMended && count >= at && count < at + length) throw new Error("EIO")
              append(line)
            }
            const session = Session.layerStorage(Effect.succeed(storage))
            yield* onStage({ answers, tools: [quickTool], session }, (stage) =>
              Effect.gen(function* () {
                yield* script(stage)
                yield* stage.agent.whenIdle
                isOver = count < at
                isMended = true
                yield* stage.agent.followup("after")
                yield* stage.agent.whenIdle
                const where = `append ${at} fails, ${length} in all`
                checkRest(stage.session, false, where)
                assert.include(said(stage.session), "after", where)
                assert.strictEqual(endTags(stage.session).at(-1), "Completed", where)
              })
            )
          }
        }
      }).pipe(silently),
    120_000
  )

  it.effect("183. a turn that cannot be started: at rest, and its message still waits (W15)", () => {
    const storage = new TestStorage()
    const session = Session.layerStorage(Effect.succeed(storage))
    return onStage({ answers: [ScriptedModel.reply("ok")], session }, (stage) =>
      Effect.gen(function* () {
        const append = storage.append.bind(storage)
        storage.append = (line) => {
          if (new TextDecoder().decode(line).includes(`"TurnStarted"`)) throw new Error("EIO")
          append(line)
        }
        yield* stage.agent.followup("one")
        yield* stage.agent.whenIdle
        assert.strictEqual(yield* stage.agent.status, "idle")
        assert.deepInclude(stage.session.position().queued[0], { parked: "the turn failed" })
        storage.append = append
        yield* stage.agent.followup("two")
        yield* stage.agent.whenIdle
        assert.deepStrictEqual(said(stage.session), ["one", "two"])
      })
    ).pipe(silently)
  })
})
