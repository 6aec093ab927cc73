import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer, Schema } from "effect"
import { Agent, type AgentEvent, CancelCause, Session, Tool, Toolkit, ToolRuntime } from "quiesce"
import type { Model } from "quiesce/capability"
import { ScriptedModel, SessionLog } from "quiesce/testing"

/** What people do, and how long they wait before it, in turns of the scheduler. */
type Act = readonly [what: "followup" | "steer" | "inject" | "cancel" | "keep" | "maintain" | "dispose", pause: number]

const acts: fc.Arbitrary<ReadonlyArray<Act>> = fc.array(
  fc.tuple(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom("followup" as const, "steer" as const, "inject" as const) },
      { weight: 2, arbitrary: fc.constantFrom("cancel" as const, "keep" as const) },
      { weight: 1, arbitrary: fc.constantFrom("maintain" as const, "dispose" as const) }
    ),
    fc.nat({ max: 40 })
  ),
  { maxLength: 12 }
)

const work = Tool.make("work", {
  description: "Works for a few steps",
  parameters: {},
  success: Schema.String,
  concurrency: "parallel",
  handler: () => Effect.as(Effect.repeatN(Effect.yieldNow(), 5), "done")
})

/** Answers with calls, with text, with a failure, in turn: whatever a turn can go through. */
const answers = (_request: Model.Request, index: number): ScriptedModel.Script => {
  const pause = Effect.yieldNow()
  const text: Model.Chunk = { _tag: "Text", text: `answer ${index}` }
  if (index % 3 === 0) {
    return [
      text,
      pause,
      { _tag: "ToolCallStart", id: `a${index}`, name: "work" },
      { _tag: "ToolCallStart", id: `b${index}`, name: "work" },
      { _tag: "Finish", reason: "tool-calls" }
    ]
  }
  if (index % 7 === 5) {
    const error: Model.Problem = { code: "SERVER_ERROR", message: "broken", isRetryable: false }
    return [pause, { _tag: "Finish", reason: "error", error }]
  }
  return [pause, text, pause, { _tag: "Finish", reason: "stop" }]
}

const settle = Effect.repeatN(Effect.yieldNow(), 400)

interface Ran {
  readonly events: ReadonlyArray<AgentEvent.Envelope>
  readonly accepted: ReadonlyArray<string>
  readonly status: Agent.Status
  readonly queued: ReadonlyArray<{ readonly id: string; readonly wakes: boolean; readonly parked: boolean }>
}

const run = (acts: ReadonlyArray<Act>): Effect.Effect<Ran> =>
  Effect.gen(function* () {
    const model = yield* ScriptedModel.make(answers)
    const layer = Layer.mergeAll(model.layer, ToolRuntime.layer({ toolkit: Toolkit.make(work) }), Session.layerMemory())
    return yield* Effect.gen(function* () {
      const agent = yield* Agent.make({ id: "clerk", model: "scripted" })
      const accepted: Array<string> = []
      for (const [what, pause] of acts) {
        yield* Effect.repeatN(Effect.yieldNow(), pause)
        switch (what) {
          case "followup":
          case "steer":
          case "inject":
            yield* Effect.ignore(Effect.map(agent[what](what), (id) => void accepted.push(id)))
            break
          case "cancel":
            yield* agent.cancel(CancelCause.user())
            break
          case "keep":
            yield* agent.cancel(CancelCause.user(), { keepInbox: true })
            break
          case "maintain":
            yield* Effect.fork(Effect.ignore(agent.runMaintenance(Effect.repeatN(Effect.yieldNow(), 10))))
            break
          case "dispose":
            yield* Effect.fork(agent.dispose)
        }
      }
      yield* settle
      yield* agent.whenIdle
      return {
        events: agent.session.events(),
        accepted,
        status: yield* agent.status,
        queued: agent.session.position().queued.map(({ message, parked, wakes }) => ({
          id: message.id,
          wakes,
          parked: parked !== undefined
        }))
      }
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

describe("Agent (law)", () => {
  it.live(
    "249. whatever people do, and when: nothing is lost, the log is balanced, nothing runs at rest, nothing after the end",
    () =>
      Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(acts, async (acts) => {
            const { accepted, events, queued, status } = await Effect.runPromise(run(acts))
            assert.deepStrictEqual(SessionLog.problems(events), [])
            assert.notStrictEqual(status, "running")
            const seen = new Set<string>()
            for (const { event } of events) {
              if (event._tag === "UserMessage" && event.id !== undefined) seen.add(event.id)
              if (event._tag === "InputDiscarded") for (const id of event.ids) seen.add(id)
            }
            const waiting = new Set(queued.map(({ id }) => id))
            for (const id of accepted)
              assert.isTrue(seen.has(id) !== waiting.has(id), `L11: ${id} is lost, or there twice`)
            // A message that wakes waits at rest only where the log says why, or the agent is gone.
            if (status !== "closed") {
              for (const { id, parked, wakes } of queued) assert.isTrue(parked || !wakes, `L11: ${id} is stranded`)
            }
          }),
          { numRuns: 150 }
        )
      ),
    120_000
  )
})
