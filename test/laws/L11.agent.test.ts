import { assert, describe } from "@effect/vitest"
import { Effect, Layer, type Scope, Stream } from "effect"
import { Agent, CancelCause, Session, ToolRuntime } from "quiesce"
import { Model } from "quiesce/capability"
import { ScriptedModel, SessionLog, Sim } from "quiesce/testing"
import { law } from "../support/laws.js"

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

  /** Says something, now. */
  say(text: string): string | undefined {
    const said = Effect.runSync(Effect.either(this.agent.followup(text)))
    return said._tag === "Right" ? said.right : undefined
  }
}

const office: Effect.Effect<Office, never, Scope.Scope> = Effect.gen(function* () {
  // No provider in between: what `Model.layer` adds is explored with the model.
  const model = Layer.succeed(Model.Model, {
    stream: () => Stream.fromIterable(ScriptedModel.reply("ok") as ReadonlyArray<Model.Chunk>)
  })
  const layer = Layer.mergeAll(model, ToolRuntime.layer(), Session.layerMemory())
  const context = yield* Layer.build(layer)
  const agent = yield* Effect.provide(Agent.make({ id: "clerk", model: "scripted" }), context)
  return new Office(agent)
})

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
    { cut: "op", preemptions: 0, expect: ["alone, 1 turn", "read, 2 turns"] }
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
    { cut: "op", preemptions: 0, expect: ["read, Completed", "read, Cancelled", "discarded, Cancelled"] }
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
    { cut: "op", preemptions: 0, expect: ["2 turns", "3 turns", "4 turns"] }
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
    { cut: "op", preemptions: 0, expect: ["read, idle", "read, closed", "parked, closed"] }
  )
})
