import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Schema } from "effect"
import { Agent, Policy, type Session, Tool } from "quiesce"
import { Approval } from "quiesce/capability"
import { MessageRules, ScriptedModel, SessionLog } from "quiesce/testing"
import { calling, onStage, text, toolCall, user } from "./support/agents.js"
import { refusals } from "./support/providerRules.js"

const pause = Effect.yieldNow()

/** A clock on which every wait takes a few steps. */
const quickly = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withClock(effect, Object.assign(Clock.make(), { sleep: () => Effect.repeatN(pause, 6) }))

const slow = (name: string, concurrency: "parallel" | "exclusive") =>
  Tool.make(name, {
    description: "Takes a few steps",
    parameters: {},
    success: Schema.String,
    concurrency,
    handler: () => Effect.as(Effect.repeatN(pause, 4), "done")
  })

/** Everything that a turn can be in the middle of: a failed request, a wait, a stream, a question, a batch, the end. */
const answers: ScriptedModel.Answers = (_request, index) => {
  if (index === 0) {
    return [
      text("half"),
      pause,
      { _tag: "Finish", reason: "error", error: { code: "OVERLOADED", message: "later", isRetryable: true } }
    ]
  }
  if (index > 1) return [pause, ...ScriptedModel.reply("ok")]
  return [
    { _tag: "Reasoning", text: "hm" },
    pause,
    text("Let me see."),
    pause,
    ...calling(toolCall("c1", "beside"), toolCall("c2", "beside"), toolCall("c3", "alone"), toolCall("c4", "beside"))
  ]
}

/** What a session is in the middle of. */
const placeOf = (session: Session.Service, isAsking: boolean): string => {
  const tags = session.events().map(({ event }) => event._tag)
  const last = tags.at(-1)
  const open = tags.filter((tag) => tag === "CallStarted").length - tags.filter((tag) => tag === "CallEnded").length
  if (isAsking) return "a question"
  if (open > 0) return "a batch"
  if (last === "RequestFailed") return "the wait for a retry"
  if (last === "ModelChunk") return "a stream"
  return last ?? "nothing"
}

describe("Agent (cancelled at every instant)", () => {
  for (const keepInbox of [false, true]) {
    it.effect(
      `L8: cancelled at any instant of a turn${keepInbox ? ", keeping what waits" : ""}: the next request is valid, and is answered`,
      () =>
        Effect.gen(function* () {
          const places = new Set<string>()
          for (let instant = 0, isOver = false; !isOver; instant++) {
            let isAsking = false
            const asking = Policy.before("ask", ({ id }) => Effect.succeed(id === "c3" ? Policy.ask() : Policy.allow))
            const approval = Approval.layer(() =>
              Effect.gen(function* () {
                isAsking = true
                yield* Effect.repeatN(pause, 4)
                return "allowed-once" as const
              }).pipe(
                Effect.ensuring(
                  Effect.sync(() => {
                    isAsking = false
                  })
                )
              )
            )
            const setup = {
              answers,
              tools: [slow("beside", "parallel"), slow("alone", "exclusive")],
              policies: [asking],
              approval,
              agent: {
                beforeStep: (_step, messages) => Effect.as(pause, Agent.enter(messages)),
                beforeStop: () => pause,
                onRequestFailed: () => Effect.as(Effect.repeatN(pause, 2), Agent.retry(1000))
              }
            } satisfies Parameters<typeof onStage>[0]
            yield* onStage(setup, ({ agent, model, session }) =>
              Effect.gen(function* () {
                yield* agent.followup("go")
                for (let n = 0; n < instant; n++) yield* pause
                isOver = (yield* agent.status) === "idle"
                places.add(placeOf(session, isAsking))
                yield* agent.cancel(user, { keepInbox })
                yield* agent.whenIdle
                const where = `instant ${instant}`
                assert.deepStrictEqual(SessionLog.problems(session.events()), [], where)
                assert.deepStrictEqual(refusals(session.messages()), [], where)
                yield* agent.followup("next")
                yield* agent.whenIdle
                for (const { messages } of yield* model.requests)
                  assert.deepStrictEqual(MessageRules.problems(messages), [])
                const { event } = session.events().findLast(({ event }) => event._tag === "TurnEnded") ?? {}
                assert.deepInclude(event, { outcome: { _tag: "Completed" } }, where)
              })
            ).pipe(quickly)
          }
          assert.includeMembers(
            [...places],
            ["a stream", "the wait for a retry", "a question", "a batch", "ModelRequested"]
          )
        })
    )
  }
})
