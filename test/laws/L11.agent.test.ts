import { assert, describe } from "@effect/vitest"
import { Effect, Layer, Schema, type Scope, Stream } from "effect"
import { Agent, CancelCause, Session, Tool, Toolkit, ToolRuntime } from "quiesce"
import { Model } from "quiesce/capability"
import { ScriptedModel, SessionLog, Sim } from "quiesce/testing"
import { law } from "../support/laws.js"
import { refusals } from "../support/providerRules.js"

/** An agent on a session in memory, with a model that answers at once, and what has become of what was said to it. */
class Office {
  readonly agent: Agent.Handle
  /** Whether faults come too late. */
  isOver = false

  constructor(agent: Agent.Handle) {
    this.agent = agent
  }

  /** Waits for rest, lets no fault strike behind it, and waits for what one may have started in between. */
  get rest(): Effect.Effect<void> {
    const over = Effect.sync(() => {
      this.isOver = true
    })
    return Effect.zipRight(Effect.zipRight(this.agent.whenIdle, over), this.agent.whenIdle)
  }

  private has(tag: "UserMessage" | "InputDiscarded", id: string): boolean {
    return this.agent.session.events().some(({ event }) => {
      if (event._tag !== tag) return false
      return event._tag === "UserMessage" ? event.id === id : event.ids.includes(id)
    })
  }

  /** What became of a message. The log is balanced, and what waits at rest is parked. */
  fateOf(id: string | undefined): string {
    assert.deepStrictEqual(SessionLog.problems(this.agent.session.events()), [], "L8")
    assert.deepStrictEqual(refusals(this.agent.session.messages()), [], "L8")
    if (id === undefined) return "refused"
    const waiting = this.agent.session.position().queued.find(({ message }) => message.id === id)
    if (waiting !== undefined) {
      if (Effect.runSync(this.agent.status) !== "closed") assert.isDefined(waiting.parked, "L11: it is stranded")
      return "parked"
    }
    const [isRead, isDiscarded] = [this.has("UserMessage", id), this.has("InputDiscarded", id)]
    assert.isTrue(isRead !== isDiscarded, "L11: it is lost, or there twice")
    return isRead ? "read" : "discarded"
  }

  /** What came of the call of the first step, if there was one. */
  get call(): string {
    const results = this.agent.session
      .events()
      .flatMap(({ event }) => (event._tag === "CallEnded" ? [event.result] : []))
    assert.isAtMost(results.length, 1, "L8")
    const [result] = results
    return result === undefined ? "no call" : result._tag === "Success" ? "OK" : result.code
  }

  /** What is kept of the first answer. */
  get answer(): string {
    const { event } = this.agent.session.events().find(({ event }) => event._tag === "AssistantMessage") ?? {}
    return event?._tag === "AssistantMessage"
      ? `${event.interrupted ? "cut short" : "whole"}: ${event.blocks.map((block) => (block.type === "text" ? block.text : "")).join("")}`
      : "none"
  }

  /** Says something, now. */
  say(text: string, how: "followup" | "steer" | "inject" = "followup"): string | undefined {
    const said = Effect.runSync(Effect.either(this.agent[how](text)))
    return said._tag === "Right" ? said.right : undefined
  }
}

type Answers = (request: number) => ReadonlyArray<Model.Chunk>

const officeWith = (
  answers: Answers,
  tools: ReadonlyArray<Tool.Any> = [],
  toStream: (chunks: ReadonlyArray<Model.Chunk>) => Stream.Stream<Model.Chunk> = Stream.fromIterable
): Effect.Effect<Office, never, Scope.Scope> =>
  Effect.gen(function* () {
    let requests = 0
    // No provider in between: what `Model.layer` adds is explored with the model.
    const model = Layer.succeed(Model.Model, { stream: () => toStream(answers(++requests)) })
    const runtime = ToolRuntime.layer({ toolkit: Toolkit.make(...tools) }) as Layer.Layer<ToolRuntime.ToolRuntime>
    const context = yield* Layer.build(Layer.mergeAll(model, runtime, Session.layerMemory()))
    const agent = yield* Effect.provide(Agent.make({ id: "clerk", model: "scripted" }), context)
    return new Office(agent)
  })

const ok: Answers = () => ScriptedModel.reply("ok")

const office = officeWith(ok)

const work = Tool.make("work", {
  description: "Works for a step",
  parameters: {},
  success: Schema.String,
  handler: () => Effect.as(Effect.yieldNow(), "done")
})

/** A turn of two steps: a call, and a word. */
const calling: Answers = (request) =>
  request === 1 ? ScriptedModel.calls({ id: "c1", name: "work", parameters: {} }) : ScriptedModel.reply("ok")

const oneByOne = (chunks: ReadonlyArray<Model.Chunk>) => Stream.rechunk(Stream.fromIterable(chunks), 1)

const stream: Answers = (request) =>
  request === 1
    ? [
        { _tag: "Text", text: "a" },
        { _tag: "Text", text: "b" },
        { _tag: "Finish", reason: "stop" }
      ]
    : ScriptedModel.reply("ok")

describe("L11 agent", () => {
  law(
    "L11",
    "W12: a message comes before any operation of a turn, the last ones too: it is read, and the agent rests behind it",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const here = yield* office
      let late: string | undefined
      sim.addFault("send", () => {
        if (here.isOver) return
        late = here.say("late")
      })
      const first = here.say("first")
      yield* here.rest
      assert.strictEqual(yield* here.agent.status, "idle")
      assert.strictEqual(here.fateOf(first), "read")
      const turns = here.agent.session.position().turn
      return late === undefined ? `alone, ${turns} turn` : `${here.fateOf(late)}, ${turns} turns`
    }),
    { cut: "effect", preemptions: 0, expect: ["alone, 1 turn", "read, 2 turns"] }
  )

  law(
    "L11",
    "a cancel before any operation of a turn, and a message behind it: the wake is latched, and the message is read",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const here = yield* office
      let behind: string | undefined
      let wasRunning = false
      sim.addFault("cancel", () => {
        if (here.isOver) return
        wasRunning = Effect.runSync(here.agent.status) === "running"
        Effect.runSync(here.agent.cancel(CancelCause.user()))
        behind = here.say("behind")
      })
      const first = here.say("first")
      yield* here.rest
      if (behind !== undefined) assert.strictEqual(here.fateOf(behind), "read", "L11: the wake is lost")
      const { outcome } = here.agent.session
        .events()
        .flatMap(({ event }) => (event._tag === "TurnEnded" ? [event] : []))[0] ?? { outcome: undefined }
      if (wasRunning) assert.strictEqual(outcome?._tag, "Cancelled", "a turn that was cancelled while it ran")
      return `${here.fateOf(first)}, ${outcome?._tag}`
    }),
    { cut: "effect", preemptions: 0, expect: ["read, Completed", "read, Cancelled", "discarded, Cancelled"] }
  )

  law(
    "L11",
    "with keepInbox: what waits stays and is parked, a message behind the cancel wakes the agent, and both are read",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const here = yield* office
      let behind: string | undefined
      sim.addFault("cancel", () => {
        if (here.isOver) return
        Effect.runSync(here.agent.cancel(CancelCause.user(), { keepInbox: true }))
        behind = here.say("behind")
      })
      const first = here.say("first")
      const second = here.say("second")
      yield* here.rest
      for (const id of [first, second]) assert.strictEqual(here.fateOf(id), "read", "L11")
      if (behind !== undefined) assert.strictEqual(here.fateOf(behind), "read", "L11")
      return `${here.agent.session.position().turn} turns`
    }),
    { cut: "effect", preemptions: 0, expect: ["2 turns", "3 turns", "4 turns"] }
  )

  law(
    "L11",
    "disposal before any operation of a turn, and a message behind it: that is refused, and nothing runs any more",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const here = yield* office
      let behind: string | undefined = "none"
      sim.addFault("dispose", () => {
        if (here.isOver) return
        Effect.runFork(here.agent.dispose)
        behind = here.say("behind")
      })
      const first = here.say("first")
      yield* here.rest
      const status = yield* here.agent.status
      if (status === "closed") assert.isUndefined(behind, "L11: accepted by an agent that is closed")
      const length = here.agent.session.events().length
      yield* Effect.yieldNow()
      if (status === "closed") assert.strictEqual(here.agent.session.events().length, length, "L11: it still runs")
      return `${here.fateOf(first)}, ${status}`
    }),
    { cut: "effect", preemptions: 0, expect: ["read, idle", "read, closed", "parked, closed"] }
  )

  law(
    "L11",
    "a message is withdrawn before any operation of the turn before it: it is gone, or it is read, as the answer says",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const here = yield* office
      let answer: boolean | undefined
      const first = here.say("first")
      const second = here.say("second") ?? ""
      sim.addFault("withdraw", () => {
        if (here.isOver) return
        answer = Effect.runSync(here.agent.withdraw(second))
      })
      yield* here.rest
      assert.strictEqual(here.fateOf(first), "read", "L11")
      const fate = here.fateOf(second)
      assert.strictEqual(fate, answer === true ? "discarded" : "read", "L11: the answer is not what became of it")
      return `${answer ?? "nobody asks"}: ${fate}, ${here.agent.session.position().turn} turns`
    }),
    {
      cut: "effect",
      preemptions: 0,
      expect: [
        "nobody asks: read, 2 turns",
        "true: discarded, 1 turns",
        "true: discarded, 2 turns",
        "false: read, 2 turns"
      ]
    }
  )

  law(
    "L11",
    "somebody steers before any operation of a turn with a call: it is read in that turn, behind the result, or in the next",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const here = yield* officeWith(calling, [work])
      let steered: string | undefined
      sim.addFault("steer", () => {
        if (!here.isOver) steered = here.say("left", "steer")
      })
      const first = here.say("first")
      yield* here.rest
      assert.strictEqual(here.fateOf(first), "read")
      assert.strictEqual(here.call, "OK")
      return `${steered === undefined ? "alone" : here.fateOf(steered)}, ${here.agent.session.position().turn} turns`
    }),
    { cut: "effect", preemptions: 0, expect: ["alone, 1 turns", "read, 1 turns", "read, 2 turns"] }
  )

  law(
    "L11",
    "a cancel before any operation of a turn with a call, and a message behind it: the call has its result, and the message is read",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const here = yield* officeWith(calling, [work])
      let behind: string | undefined
      sim.addFault("cancel", () => {
        if (here.isOver) return
        Effect.runSync(here.agent.cancel(CancelCause.user()))
        behind = here.say("behind", "steer")
      })
      const first = here.say("first")
      yield* here.rest
      if (behind !== undefined) assert.strictEqual(here.fateOf(behind), "read", "L11: the wake is lost")
      return `${here.fateOf(first)}, ${here.call}`
    }),
    {
      cut: "effect",
      preemptions: 0,
      expect: ["read, OK", "read, no call", "read, ABORTED", "read, ABORTED_BEFORE_DISPATCH", "discarded, OK"]
    }
  )

  law(
    "L11",
    "a cancel before any operation of a turn that streams: what has come is kept, and nothing that comes behind it",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const here = yield* officeWith(stream, [], oneByOne)
      let chunks: number | undefined
      const count = () => here.agent.session.events().filter(({ event }) => event._tag === "ModelChunk").length
      sim.addFault("cancel", () => {
        if (here.isOver) return
        const isRunning = Effect.runSync(here.agent.status) === "running"
        Effect.runSync(here.agent.cancel(CancelCause.user(), { keepInbox: true }))
        if (isRunning) chunks = count()
      })
      const first = here.say("first")
      yield* here.rest
      if (chunks !== undefined) assert.strictEqual(count(), chunks, "R1: a chunk behind the cancel")
      return `${here.fateOf(first)}, ${here.answer}`
    }),
    {
      cut: "effect",
      preemptions: 0,
      expect: ["read, whole: ab", "parked, none", "read, none", "read, cut short: a", "read, cut short: ab"]
    }
  )

  law(
    "L11",
    "somebody steers, or injects, before any operation of a turn that streams: the one is read, the other waits or is read",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const here = yield* officeWith(stream, [], oneByOne)
      let said: string | undefined
      let how = "nobody"
      for (const kind of ["steer", "inject"] as const) {
        sim.addFault(kind, () => {
          if (here.isOver) return
          said = here.say("left", kind)
          how = kind
        })
      }
      const first = here.say("first")
      yield* here.rest
      assert.strictEqual(here.fateOf(first), "read")
      assert.strictEqual(here.answer, "whole: ab")
      const waiting = here.agent.session.position().queued.some(({ message }) => message.id === said)
      const fate = said === undefined ? "" : waiting ? "waits" : here.fateOf(said)
      if (how === "steer") assert.strictEqual(fate, "read", "L11")
      return `${how} ${fate}, ${here.agent.session.position().turn} turns`
    }),
    {
      cut: "effect",
      preemptions: 0,
      expect: [
        "nobody , 1 turns",
        "steer read, 1 turns",
        "steer read, 2 turns",
        "inject read, 1 turns",
        "inject waits, 1 turns"
      ]
    }
  )
})
