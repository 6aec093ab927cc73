import { assert, describe, it } from "@effect/vitest"
import type { AgentEvent, ToolRuntime } from "quiesce"
import { Recording, table } from "../support/cli.js"

const status = (callId: string, parentId?: string, phase: ToolRuntime.Phase = "dispatching") =>
  ({ callId, tool: "t", parentId, phase, startedAt: 1 }) as ToolRuntime.CallStatus

const ended = (callId: string) =>
  ({
    seq: 1,
    at: 2,
    event: {
      _tag: "CallEnded",
      turn: 1,
      step: 1,
      result: { _tag: "Success", callId, tool: "t", dispatched: true, body: "completed", escaped: [] }
    }
  }) as unknown as AgentEvent.Envelope

describe("a recording", () => {
  it("has each call in front of those that its body made, those of an unknown body at the end of the whole", () => {
    const recording = new Recording()
    for (const [id, parent] of [
      ["a"],
      ["b"],
      ["a.1", "a"],
      ["b.1", "b"],
      ["a.1.1", "a.1"],
      ["a.2", "a"],
      ["x", "no"]
    ]) {
      recording.saw(status(id ?? "", parent), 1)
    }
    assert.deepStrictEqual(
      recording.calls.map(({ callId }) => callId),
      ["a", "a.1", "a.1.1", "a.2", "b", "b.1", "x"]
    )
  })

  // In a time that grows with the calls, not with their square: that took longer than a test may.
  it("takes very many calls", () => {
    const recording = new Recording()
    const count = 40_000
    for (let i = 0; i < count; i++) recording.saw(status(`call_${i}`), 1)
    assert.lengthOf(recording.calls, count)
    recording.logged(ended("call_7"))
    const [outcome] = recording.outcomes
    assert.isDefined(outcome)
    assert.lengthOf(table(Array.from({ length: 200_000 }, () => outcome)), 200_002)
  })
})
