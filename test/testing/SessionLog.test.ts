import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck } from "effect"
import { AgentEvent, ToolResult } from "quiesce"
import { SessionLog } from "quiesce/testing"
import { sessionScript } from "../support/sessionScript.js"
import { enveloped } from "../support/sessionStorage.js"

type Event = AgentEvent.AgentEvent

const started: Event = { _tag: "SessionStarted", version: AgentEvent.version, agent: "a" }
const turnStarted = (turn: number): Event => ({ _tag: "TurnStarted", turn })
const turnEnded = (turn: number, _tag: "Completed" | "Interrupted" = "Completed"): Event => ({
  _tag: "TurnEnded",
  turn,
  outcome: { _tag }
})
const at = { turn: 1, step: 1 }
const stepStarted: Event = { _tag: "StepStarted", ...at }
const stepEnded: Event = { _tag: "StepEnded", ...at }
const answer = (ids: ReadonlyArray<string>, chunkSeqs: ReadonlyArray<number> = [], interrupted = false): Event => ({
  _tag: "AssistantMessage",
  ...at,
  blocks: ids.map((id) => ({ type: "tool-call", id, name: "t", arguments: "" }) as const),
  interrupted,
  chunkSeqs
})
const callStarted = (callId: string): Event => ({ _tag: "CallStarted", ...at, callId, tool: "t", parameters: {} })
const callEnded = (callId: string, dispatched = false): Event => ({
  _tag: "CallEnded",
  ...at,
  result: { ...ToolResult.success(1), callId, dispatched }
})
const context = (callId: string): Event => ({ _tag: "ContextAdded", ...at, callId, content: [] })
const queued = (id: string): Event => ({
  _tag: "InputQueued",
  message: { id, content: [] },
  target: "turn",
  wakes: true
})
const claimed = (...ids: ReadonlyArray<string>): Event => ({ _tag: "InputClaimed", turn: 1, ids })
const shown = (id: string): Event => ({ _tag: "UserMessage", ...at, id, content: [] })
const requested = (attempt: number): Event => ({ _tag: "ModelRequested", ...at, attempt, model: "m" })
const chunk = (attempt: number): Event => ({
  _tag: "ModelChunk",
  ...at,
  attempt,
  chunk: { _tag: "Text", text: "a" }
})
const failed = (attempt: number): Event => ({
  ...{ _tag: "RequestFailed", ...at, attempt, code: "C", message: "m", retried: true }
})

const found = (...events: ReadonlyArray<Event>): ReadonlyArray<string> =>
  SessionLog.problems(enveloped([started, ...events])).map(({ _tag, about, seq }) => `${_tag} ${about}@${seq}`)

/** In the first step of turn 1, which begins with event 4. */
const inStep = (...events: ReadonlyArray<Event>): ReadonlyArray<string> =>
  found(turnStarted(1), stepStarted, ...events, stepEnded, turnEnded(1))

describe("SessionLog", () => {
  it.prop("nothing is wrong with what an agent does", [FastCheck.nat()], ([seed]) => {
    assert.deepStrictEqual(found(...sessionScript(seed)), [])
  })

  it.prop("what is missing shows, and what comes twice", [FastCheck.nat()], ([seed]) => {
    const events = [started, ...sessionScript(seed, 2)]
    const structure = new Set(["SessionStarted", "TurnStarted", "StepStarted", "CallEnded", "StepEnded", "TurnEnded"])
    for (const [i, event] of events.entries()) {
      if (!structure.has(event._tag)) continue
      // All others keep their places: the answers name the chunks by what these are now.
      const moved = (by: number) => (other: Event) =>
        other._tag === "AssistantMessage"
          ? { ...other, chunkSeqs: other.chunkSeqs.map((seq) => (seq > i + 1 ? seq + by : seq)) }
          : other
      const without = events.toSpliced(i, 1).map(moved(-1))
      assert.isAbove(SessionLog.problems(enveloped(without)).length, 0, `without ${event._tag} at ${i}`)
      const twice = events.toSpliced(i, 0, event).map(moved(1))
      assert.isAbove(SessionLog.problems(enveloped(twice)).length, 0, `${event._tag} twice at ${i}`)
    }
  })

  it("the session begins once, and ends before it begins again", () => {
    assert.deepStrictEqual(
      found({ _tag: "SessionClosed" }, { _tag: "SessionReopened" }, turnStarted(1), turnEnded(1)),
      []
    )
    assert.deepStrictEqual(found({ _tag: "SessionReopened" }), [])
    assert.deepStrictEqual(found(started), ["Misplaced SessionStarted@2"])
    assert.deepStrictEqual(
      SessionLog.problems(enveloped([turnStarted(1), turnEnded(1)])).map(({ seq }) => seq),
      [1, 2]
    )
  })

  it("249: nothing comes behind the end", () => {
    assert.deepStrictEqual(found({ _tag: "SessionClosed" }, queued("a")), ["Misplaced InputQueued@3"])
    assert.deepStrictEqual(found({ _tag: "SessionClosed" }, { _tag: "SessionClosed" }), ["Misplaced SessionClosed@3"])
  })

  it("249: numbers only rise", () => {
    assert.deepStrictEqual(found(turnStarted(2), turnEnded(2), turnStarted(2), turnEnded(2)), [
      "NumberNotRising turn 2@4"
    ])
    assert.deepStrictEqual(inStep(stepEnded, stepStarted), ["NumberNotRising step 1@5"])
    assert.deepStrictEqual(inStep(requested(1), requested(1)), ["NumberNotRising attempt 1@5"])
    const [first] = enveloped([started])
    assert.deepStrictEqual(SessionLog.problems([{ ...first, seq: 2 } as AgentEvent.Envelope]), [
      { _tag: "NumberNotRising", about: "event 2", seq: 2 }
    ])
  })

  it("what begins ends, in its place", () => {
    assert.deepStrictEqual(found(turnStarted(1)), ["NotEnded turn 1@2"])
    assert.deepStrictEqual(found(turnStarted(1), stepStarted), ["NotEnded turn 1@2", "NotEnded step 1 of turn 1@3"])
    assert.deepStrictEqual(found(turnStarted(1), stepStarted, turnEnded(1)), ["Misplaced TurnEnded@4"])
    assert.deepStrictEqual(found(turnStarted(1), turnStarted(2), turnEnded(2)), ["Misplaced TurnStarted@3"])
    assert.deepStrictEqual(found(turnEnded(1)), ["Misplaced TurnEnded@2"])
    assert.deepStrictEqual(found(turnStarted(1), turnEnded(2)), ["Misplaced TurnEnded@3"])
    assert.deepStrictEqual(inStep(stepStarted), ["Misplaced StepStarted@4", "NumberNotRising step 1@4"])
    assert.deepStrictEqual(found(turnStarted(1), requested(1), turnEnded(1)), ["Misplaced ModelRequested@3"])
    const elsewhere: Event = { _tag: "UserMessage", turn: 1, step: 2, content: [] }
    assert.deepStrictEqual(inStep(elsewhere), ["Misplaced UserMessage@4"])
  })

  it("every call has one result, in order, before its step ends", () => {
    assert.deepStrictEqual(inStep(answer(["a", "b"]), callEnded("a"), callEnded("b")), [])
    assert.deepStrictEqual(inStep(answer(["a"])), [`Unanswered call "a"@4`])
    assert.deepStrictEqual(inStep(answer(["a"]), callEnded("a"), callEnded("a")), [`AnsweredTwice call "a"@6`])
    assert.deepStrictEqual(inStep(answer(["a", "b"]), callEnded("b"), callEnded("a")), [`OutOfOrder call "a"@6`])
    assert.deepStrictEqual(inStep(callEnded("a")), [`UnknownCall call "a"@4`])
    const late = found(turnStarted(1), stepStarted, answer(["a"]), stepEnded, callEnded("a"), turnEnded(1))
    assert.deepStrictEqual(late, ["Misplaced CallEnded@6", `AfterStepEnd call "a"@6`])
  })

  it("a call is started once, in order, and what ran was started", () => {
    const both = [callEnded("a"), callEnded("b")]
    assert.deepStrictEqual(inStep(answer(["a", "b"]), callStarted("a"), callStarted("b"), ...both), [])
    assert.deepStrictEqual(inStep(answer(["a", "b"]), callStarted("b"), ...both), [])
    assert.deepStrictEqual(inStep(answer(["a", "b"]), callStarted("b"), callStarted("a"), ...both), [
      `StartedOutOfOrder call "a"@6`
    ])
    assert.deepStrictEqual(inStep(answer(["a"]), callStarted("a"), callStarted("a"), callEnded("a")), [
      `StartedTwice call "a"@6`
    ])
    assert.deepStrictEqual(inStep(callStarted("a")), [`StartedOutOfOrder call "a"@4`])
    assert.deepStrictEqual(inStep(answer(["a"]), callEnded("a", true)), [`RanUnstarted call "a"@5`])
  })

  it("the calls of a body have their results before it has its own", () => {
    const inCall = { parentId: "a", rootId: "a" }
    const start = (callId: string, parentId = "a"): Event => ({
      ...{ _tag: "NestedCallStarted", turn: 1, step: 1, ...inCall },
      ...{ parentId, callId, tool: "t", parameters: {} }
    })
    const end = (callId: string): Event => {
      const { result } = callEnded(callId, true) as Extract<Event, { readonly _tag: "CallEnded" }>
      return { _tag: "NestedCallEnded", turn: 1, step: 1, ...inCall, result }
    }
    const begin = [answer(["a"]), callStarted("a")]
    const all = [start("a:1"), start("a:1:1", "a:1"), end("a:1:1"), end("a:1"), callEnded("a", true)]
    assert.deepStrictEqual(inStep(...begin, ...all), [])
    assert.deepStrictEqual(inStep(...begin, start("a:1"), callEnded("a", true)), [
      `EndedBeforeItsCalls call "a:1" of "a"@7`
    ])
    assert.deepStrictEqual(inStep(...begin, end("a:1"), callEnded("a", true)), [`RanUnstarted call "a:1"@6`])
    assert.deepStrictEqual(inStep(answer(["a"]), start("a:1"), callEnded("a")), [
      `Misplaced NestedCallStarted of "a:1"@5`,
      `EndedBeforeItsCalls call "a:1" of "a"@6`
    ])
  })

  it("contexts come behind all results", () => {
    assert.deepStrictEqual(inStep(answer(["a"]), callEnded("a"), context("a")), [])
    assert.deepStrictEqual(inStep(answer(["a", "b"]), callEnded("a"), context("a"), callEnded("b")), [
      `ContextTooEarly the context of call "a"@6`
    ])
  })

  it("185: an answer names its own chunks, and one that was stopped has no calls", () => {
    assert.deepStrictEqual(inStep(requested(1), chunk(1), chunk(1), answer([], [5, 6])), [])
    assert.deepStrictEqual(inStep(requested(1), chunk(1), chunk(1), answer([], [5])), ["WrongChunks the answer@7"])
    assert.deepStrictEqual(inStep(requested(1), chunk(1), answer([], [4])), ["WrongChunks the answer@6"])
    assert.deepStrictEqual(inStep(requested(1), chunk(2), answer([], [5])), ["Misplaced ModelChunk@5"])
    assert.deepStrictEqual(inStep(requested(1), failed(2)), ["Misplaced RequestFailed@5"])
    assert.deepStrictEqual(inStep(answer([]), answer([])), ["Misplaced AssistantMessage@5"])
    const interrupted = inStep(answer(["a"], [], true), callEnded("a"))
    assert.deepStrictEqual(interrupted, ["InterruptedWithCalls the answer@4"])
  })

  it("189: a retried answer names its own chunks only", () => {
    const twoAttempts = [requested(1), chunk(1), failed(1), requested(2), chunk(2)]
    assert.deepStrictEqual(inStep(...twoAttempts, answer([], [8])), [])
    assert.deepStrictEqual(inStep(...twoAttempts, answer([], [5, 8])), ["WrongChunks the answer@9"])
  })

  it("249: input that was claimed is shown, discarded or returned", () => {
    const inTurn = (...events: ReadonlyArray<Event>) => found(queued("a"), turnStarted(1), ...events, turnEnded(1))
    const lost = [`LostInput input "a"@4`]
    assert.deepStrictEqual(inTurn(claimed("a"), stepStarted, shown("a"), stepEnded), [])
    assert.deepStrictEqual(inTurn(claimed("a"), { _tag: "InputReturned", ids: ["a"] }), [])
    assert.deepStrictEqual(inTurn(claimed("a"), { _tag: "InputDiscarded", ids: ["a"], reason: "r" }), [])
    assert.deepStrictEqual(inTurn(claimed("a")), lost)
    const blocked: Event = { _tag: "TurnEnded", turn: 1, outcome: { _tag: "Blocked", reason: "no" } }
    assert.deepStrictEqual(found(queued("a"), turnStarted(1), claimed("a"), blocked), [])
    assert.deepStrictEqual(found(queued("a"), turnStarted(1), claimed("a"), blocked, turnStarted(2), turnEnded(2)), [])
  })

  it("input is queued once, before anything else happens to it", () => {
    assert.deepStrictEqual(found(queued("a"), queued("a")), [`UnknownInput input "a"@3`])
    for (const event of [
      { _tag: "InputDiscarded", ids: ["x"], reason: "r" },
      { _tag: "InputParked", ids: ["x"], reason: "r" },
      { _tag: "InputReturned", ids: ["x"] }
    ] satisfies ReadonlyArray<Event>) {
      assert.deepStrictEqual(found(queued("a"), event), [`UnknownInput input "x"@3`])
    }
    assert.deepStrictEqual(inStep(shown("x")), [`UnknownInput input "x"@4`])
    const twice = found(
      queued("a"),
      turnStarted(1),
      claimed("a"),
      claimed("a"),
      { _tag: "InputReturned", ids: ["a"] },
      turnEnded(1)
    )
    assert.deepStrictEqual(twice, [`UnknownInput input "a"@5`])
  })

  it.effect("a failure names everything that is wrong", () =>
    Effect.gen(function* () {
      yield* SessionLog.check(enveloped([started]))
      const failure = yield* Effect.flip(
        SessionLog.check(enveloped([started, turnStarted(1), stepStarted, answer(["a"])]))
      )
      assert.deepStrictEqual(failure.message.split("\n"), [
        "The session is not in order:",
        "  turn 1 has not ended (event 2)",
        "  step 1 of turn 1 has not ended (event 3)",
        `  call "a" has no result (event 4)`
      ])
    })
  )
})
