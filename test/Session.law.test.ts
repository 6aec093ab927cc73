import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck, Logger } from "effect"
import { type AgentEvent, Session, type ToolResult } from "quiesce"
import { SessionLog } from "quiesce/testing"
import { refusals } from "./support/providerRules.js"
import { sessionScript } from "./support/sessionScript.js"
import { bytesOf, concat, enveloped, TestStorage } from "./support/sessionStorage.js"

const started: AgentEvent.AgentEvent = { _tag: "SessionStarted", version: 1, agent: "a" }
const silently = Effect.provide(Logger.remove(Logger.defaultLogger))

const open = (contents: Uint8Array) =>
  Effect.gen(function* () {
    const storage = new TestStorage(contents)
    const session = yield* Session.make({ storage })
    const events = session.events()
    return { storage, events, messages: session.messages(), position: session.position() }
  }).pipe(Effect.scoped, silently)

/** What must hold of a session that was cut off after `known` events and then opened. */
const checkReopened = (contents: Uint8Array, known: ReadonlyArray<AgentEvent.Envelope>, where: string) =>
  Effect.gen(function* () {
    const first = yield* open(contents)
    // Nothing that was stored is lost or changed.
    assert.deepStrictEqual(first.events.slice(0, known.length), known, where)
    assert.deepStrictEqual(SessionLog.problems(first.events), [], where)
    assert.deepStrictEqual(refusals(first.messages), [], where)
    // What comes next is in order, too: an agent goes on with the next turn.
    const turn = first.position.turn + 1
    const next = [
      { _tag: "TurnStarted", turn },
      { _tag: "StepStarted", turn, step: 1 },
      { _tag: "UserMessage", turn, step: 1, content: [{ type: "text", text: "go on" }] },
      { _tag: "StepEnded", turn, step: 1 },
      { _tag: "TurnEnded", turn, outcome: { _tag: "Completed" } }
    ] as const
    const events = enveloped([...first.events.map(({ event }) => event), ...next])
    assert.deepStrictEqual(SessionLog.problems(events), [], where)
    assert.deepStrictEqual(refusals(Session.toMessages(events)), [], where)
    // There is nothing left to put in order.
    const second = yield* open(first.storage.bytes)
    assert.deepStrictEqual(
      second.events.slice(first.events.length).map(({ event }) => event._tag),
      ["SessionClosed", "SessionReopened"],
      where
    )
    assert.deepStrictEqual(second.messages, first.messages, where)
    assert.deepStrictEqual(second.position, first.position, where)
    return first
  })

/** Input that is neither waiting, nor shown to the model, nor gone for a reason that the log has. */
const lostInput = (events: ReadonlyArray<AgentEvent.Envelope>, waiting: Session.Position["queued"]) => {
  const gone = new Set<string | undefined>(waiting.map(({ message }) => message.id))
  for (const { event } of events) {
    if (event._tag === "UserMessage") gone.add(event.id)
    if (event._tag === "InputDiscarded") for (const id of event.ids) gone.add(id)
  }
  return events.flatMap(({ event }) =>
    event._tag === "InputQueued" && !gone.has(event.message.id) ? [event.message.id] : []
  )
}

describe("Session", () => {
  it.effect.prop(
    "L8: reopened after any event, its log is balanced, and the messages are such that a model takes them",
    [FastCheck.nat()],
    ([seed]) =>
      Effect.gen(function* () {
        const log = enveloped([started, ...sessionScript(seed, 2)])
        for (let cut = 1; cut <= log.length; cut++) {
          const known = log.slice(0, cut)
          const { events, position } = yield* checkReopened(bytesOf(known), known, `seed ${seed}, after event ${cut}`)
          assert.deepStrictEqual(lostInput(events, position.queued), [])
          assert.deepStrictEqual(refusals(Session.toMessages(known)), [])
        }
      }),
    { fastCheck: { numRuns: 5 }, timeout: 60_000 }
  )

  it.effect.prop(
    "L13: cut off in the middle of any line, it is as it was before that event",
    [FastCheck.nat(), FastCheck.nat()],
    ([seed, place]) =>
      Effect.gen(function* () {
        const log = enveloped([started, ...sessionScript(seed, 1)])
        const last = 1 + (place % (log.length - 1))
        const known = log.slice(0, last)
        const whole = bytesOf(known)
        const line = bytesOf(log.slice(last, last + 1))
        const before = yield* open(whole)
        for (let length = 1; length < line.length - 1; length++) {
          const contents = concat(whole, line.slice(0, length))
          const { events, messages } = yield* open(contents)
          const where = `seed ${seed}, byte ${length} of event ${last + 1}`
          assert.deepStrictEqual(events.slice(0, last), known, where)
          const repaired = events[last + 1]?.event
          assert.match(
            (repaired?._tag === "Repaired" && repaired.what[0]) || "",
            new RegExp(`^line ${last + 1} had`),
            where
          )
          assert.deepStrictEqual(messages, before.messages, where)
        }
        // The byte that is missing then is the end of the line.
        const kept = yield* open(concat(whole, line.slice(0, -1)))
        assert.deepStrictEqual(kept.events.slice(0, last + 1), log.slice(0, last + 1))
      }),
    { fastCheck: { numRuns: 5 }, timeout: 60_000 }
  )

  it.effect.prop(
    "L13: every call of a session that was cut off is found as finished, never started, or unknown",
    [FastCheck.nat(), FastCheck.nat()],
    ([seed, place]) =>
      Effect.gen(function* () {
        const log = enveloped([started, ...sessionScript(seed, 3)])
        const known = log.slice(0, 1 + (place % log.length))
        const { events } = yield* open(bytesOf(known))
        const results = new Map<string, ToolResult.ToolResult>()
        for (const { event } of events) if (event._tag === "CallEnded") results.set(event.result.callId, event.result)
        const startedIds = new Set(known.map(({ event }) => (event._tag === "CallStarted" ? event.callId : "")))
        const endedIds = new Set(known.map(({ event }) => (event._tag === "CallEnded" ? event.result.callId : "")))
        for (const { event } of known) {
          if (event._tag !== "AssistantMessage") continue
          for (const block of event.blocks) {
            if (block.type !== "tool-call" || endedIds.has(block.id)) continue
            const result = results.get(block.id)
            const isStarted = startedIds.has(block.id)
            const code = result?._tag === "Failure" ? result.code : "none"
            assert.strictEqual(code, isStarted ? "OUTCOME_UNKNOWN" : "TOOL_NOT_STARTED", block.id)
            assert.strictEqual(result?.dispatched, isStarted)
          }
        }
      }),
    { fastCheck: { numRuns: 30 }, timeout: 60_000 }
  )
})
