import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Schema } from "effect"
import { AgentEvent, CancelCause, ToolResult } from "quiesce"
import { sessionScript } from "./support/sessionScript.js"

const { isAgentEvent } = AgentEvent
const through = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe("AgentEvent", () => {
  it.prop("an event is the same on both sides of JSON, and of its schema", [FastCheck.nat()], ([seed]) => {
    for (const event of sessionScript(seed, 2)) {
      const read = through(event)
      assert.deepStrictEqual(read, event)
      assert.deepStrictEqual(Schema.decodeUnknownSync(AgentEvent.AgentEvent)(read), event)
      assert.deepStrictEqual(Schema.encodeSync(AgentEvent.AgentEvent)(event), event)
    }
  })

  it("a script has every kind of event that an agent appends", () => {
    const seen = new Set(
      Array.from({ length: 60 }, (_, seed) => sessionScript(seed))
        .flat()
        .map(({ _tag }) => _tag)
    )
    const all = AgentEvent.AgentEvent.members.map(
      (member) => Object.entries(AgentEvent).find(([, exported]) => exported === member)?.[0] ?? ""
    )
    const ofTheSession = ["SessionStarted", "SessionReopened", "SessionClosed", "Repaired"]
    assert.deepStrictEqual([...seen].sort(), all.filter((tag) => !ofTheSession.includes(tag)).sort())
  })

  it("a result and the cause of a cancellation come back whole", () => {
    const cause = CancelCause.encode(CancelCause.deadline("TURN_TIMEOUT", 100))
    const result = {
      ...ToolResult.failure({ code: "X", message: "y" }),
      cause,
      bodyFailure: { code: "A", name: "B", message: "C" }
    }
    const events: ReadonlyArray<AgentEvent.AgentEvent> = [
      { _tag: "CallEnded", turn: 1, step: 1, result },
      { _tag: "CallEnded", turn: 1, step: 1, result: { ...ToolResult.success({ a: [null, 1] }), meta: { page: 2 } } },
      { _tag: "TurnEnded", turn: 1, outcome: { _tag: "Cancelled", cause } }
    ]
    for (const event of events)
      assert.deepStrictEqual(Schema.decodeUnknownSync(AgentEvent.AgentEvent)(through(event)), event)
  })

  it("what is no event is refused", () => {
    assert.isTrue(isAgentEvent({ _tag: "StepEnded", turn: 1, step: 1 }))
    for (const wrong of [
      null,
      {},
      { _tag: "Invented" },
      { _tag: "StepEnded", turn: 1 },
      { _tag: "StepEnded", turn: 1, step: 0 },
      { _tag: "StepEnded", turn: 1.5, step: 1 },
      { _tag: "TurnEnded", turn: 1, outcome: { _tag: "Done" } },
      { _tag: "ModelChunk", turn: 1, step: 1, attempt: 1, chunk: { _tag: "Text" } }
    ]) {
      assert.isFalse(isAgentEvent(wrong), JSON.stringify(wrong))
    }
    assert.isTrue(AgentEvent.isEnvelope({ seq: 1, at: 5, event: { _tag: "SessionClosed" } }))
    assert.isFalse(AgentEvent.isEnvelope({ seq: 0, at: 5, event: { _tag: "SessionClosed" } }))
    assert.isFalse(AgentEvent.isEnvelope({ seq: 1, at: 5, event: { _tag: "Session" } }))
  })
})
