import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { type AgentEvent, Content, Session, ToolResult } from "quiesce"
import { SessionLog } from "quiesce/testing"
import { bytesOf, concat, enveloped, TestStorage } from "./support/sessionStorage.js"

type Event = AgentEvent.AgentEvent

const at = { turn: 1, step: 1 }
const started: Event = { _tag: "SessionStarted", version: 1, agent: "clerk" }
const turnStarted: Event = { _tag: "TurnStarted", turn: 1 }
const inStep: ReadonlyArray<Event> = [started, turnStarted, { _tag: "StepStarted", ...at }]
const stepEnded: Event = { _tag: "StepEnded", ...at }
const interrupted: Event = { _tag: "TurnEnded", turn: 1, outcome: { _tag: "Interrupted" } }
const asked: Event = {
  _tag: "AssistantMessage",
  ...at,
  blocks: ["a", "b", "c"].map((id) => ({ type: "tool-call", id, name: "t", arguments: "" }) as const),
  interrupted: false,
  chunkSeqs: []
}
const callStarted = (callId: string): Event => ({ _tag: "CallStarted", ...at, callId, tool: "t", parameters: {} })
const callEnded = (callId: string, contexts: ReadonlyArray<Content.Content> = []): Event => ({
  ...{ _tag: "CallEnded", ...at },
  result: { ...ToolResult.success("x"), callId, tool: "t", contexts, dispatched: true, body: "completed" }
})

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

interface Reopened {
  readonly storage: TestStorage
  /** What was appended by opening it. */
  readonly added: ReadonlyArray<Event>
  readonly messages: ReturnType<Session.Service["messages"]>
  readonly position: Session.Position
  readonly logged: ReadonlyArray<string>
}

/** Opens what is stored, up to the point at which an agent could go on. */
const reopen = (contents: Uint8Array, known: number): Effect.Effect<Reopened, Session.SessionError> =>
  Effect.suspend(() => {
    const logged: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => logged.push(`${logLevel.label} ${message}`))
    const storage = new TestStorage(contents)
    return Effect.map(Session.make({ storage }), (session) => ({
      storage,
      added: session
        .events()
        .slice(known)
        .map(({ event }) => event),
      messages: session.messages(),
      position: session.position(),
      logged
    })).pipe(Effect.scoped, Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
  })

const reopenEvents = (...events: ReadonlyArray<Event>) => reopen(bytesOf(enveloped(events)), events.length)

/** Opening it is refused, and nothing of it is changed. */
const refused = (contents: Uint8Array): Effect.Effect<Session.SessionError> =>
  Effect.gen(function* () {
    const storage = new TestStorage(contents)
    const error = yield* Effect.flip(Effect.scoped(Session.make({ storage })))
    assert.deepStrictEqual(storage.bytes, contents)
    assert.strictEqual(error.operation, "open")
    assert.match(error.message, /^Cannot open session "test.jsonl"/)
    return error
  }).pipe(Effect.orDie)

describe("Session, reopened", () => {
  it.effect("a session that was closed goes on where it was, without a word", () =>
    Effect.gen(function* () {
      const { added, logged, storage } = yield* reopenEvents(started, { _tag: "SessionClosed" })
      assert.deepStrictEqual(added, [{ _tag: "SessionReopened" }])
      assert.deepStrictEqual(logged, [])
      const numbers = storage.lines.map((line) => (JSON.parse(line) as AgentEvent.Envelope).seq)
      assert.deepStrictEqual(numbers, [1, 2, 3, 4])
    })
  )

  it.effect("an empty file is a new session", () =>
    Effect.gen(function* () {
      const { added } = yield* reopen(new Uint8Array(), 0)
      assert.deepStrictEqual(added, [{ _tag: "SessionStarted", version: 1, agent: "agent" }])
    })
  )

  describe("the last line", () => {
    const whole = bytesOf(enveloped([started, turnStarted, { ...interrupted, turn: 1 }]))

    for (const [name, tail, bytes] of [
      ["that is torn", encode(`{"seq":4,"at":10`), 16],
      ["that is torn in the middle of a character", encode(`{"seq":4,"at":10,"event":"ä`).slice(0, -1), 27],
      ["that is not JSON", encode("\0\0\0\0\n"), 5],
      ["that is empty", encode("\n"), 1]
    ] as const) {
      it.effect(`${name} is cut off, and that is said`, () =>
        Effect.gen(function* () {
          const { added, logged, storage } = yield* reopen(concat(whole, tail), 3)
          const what = `line 4 had not been written to its end, and was cut off (${bytes} bytes)`
          assert.deepStrictEqual(added, [{ _tag: "SessionReopened" }, { _tag: "Repaired", what: [what] }])
          assert.deepStrictEqual(logged, [`WARN Session "test.jsonl" was put in order: ${what}`])
          assert.deepStrictEqual(storage.bytes.slice(0, whole.length), whole)
          assert.strictEqual(storage.lines.length, 6)
        })
      )
    }

    it.effect("that lacks only its end is kept", () =>
      Effect.gen(function* () {
        const { added, logged, storage } = yield* reopen(whole.slice(0, -1), 3)
        assert.deepStrictEqual(added, [{ _tag: "SessionReopened" }])
        assert.deepStrictEqual(logged, [])
        assert.deepStrictEqual(storage.bytes.slice(0, whole.length), whole)
        // The length that a failed sync cuts back to counts that byte, too.
        const again = new TestStorage(whole.slice(0, -1))
        const session = yield* Session.make({ storage: again, sync: "always" })
        const before = again.bytes
        again.failNext("sync")
        assert.throws(() => session.append(turnStarted))
        assert.deepStrictEqual(again.bytes, before)
      }).pipe(Effect.scoped)
    )

    it.effect("that is whole and no event we know is not ours to cut", () =>
      Effect.gen(function* () {
        for (const end of ["\n", ""]) {
          const error = yield* refused(concat(whole, encode(`{"seq":4,"at":10,"event":{"_tag":"Later"}}${end}`)))
          assert.strictEqual(error.reason, "BrokenLine")
          assert.strictEqual(error.line, 4)
        }
      })
    )

    it.effect("of a session that had hardly begun is cut off, and it begins anew", () =>
      Effect.gen(function* () {
        const first = bytesOf(enveloped([started]))
        for (let length = 1; length < first.length - 1; length++) {
          const { added } = yield* reopen(first.slice(0, length), 0)
          assert.deepStrictEqual(
            added.map(({ _tag }) => _tag),
            ["SessionStarted", "Repaired"],
            `${length} bytes`
          )
        }
      })
    )
  })

  describe("what it cannot read it leaves as it is:", () => {
    const lines = enveloped([started, turnStarted, interrupted]).map((envelope) => JSON.stringify(envelope))
    const withLine = (line: number, text: string): Uint8Array => encode(`${lines.with(line - 1, text).join("\n")}\n`)

    it.effect("a broken line in the middle", () =>
      Effect.gen(function* () {
        for (const [text, message] of [
          ["", /line 2: it is not JSON/],
          ["garbage", /line 2: it is not JSON/],
          [`{"seq":2,"at":1,"event":{"_tag":"TurnStarted"}}`, /line 2: .*\(event\.turn: is missing\)/],
          [`{"seq":3,"at":1,"event":{"_tag":"TurnStarted","turn":1}}`, /line 2: it has the number 3 instead of 2/],
          [lines[0]?.replace(`"seq":1`, `"seq":2`) ?? "", /line 2: it begins the session a second time/]
        ] as const) {
          const error = yield* refused(withLine(2, text))
          assert.strictEqual(error.reason, "BrokenLine")
          assert.match(error.message, message)
          assert.match(
            error.message,
            /It was left as it is: repair that line, or copy the lines above it to a new file\.$/
          )
        }
        const notText = concat(encode(`${lines[0]}\n`), Uint8Array.of(0xff, 0x0a), encode(`${lines[2]}\n`))
        assert.match((yield* refused(notText)).message, /line 2: it is not JSON/)
      })
    )

    it.effect("another version", () =>
      Effect.gen(function* () {
        const error = yield* refused(
          withLine(1, `{"seq":1,"at":1,"event":{"_tag":"SessionStarted","version":2,"new":true}}`)
        )
        assert.strictEqual(error.reason, "OtherVersion")
        assert.match(
          error.message,
          /written in version 2, this library writes version 1\. Open it with the version of the/
        )
      })
    )

    it.effect("what is no session", () =>
      Effect.gen(function* () {
        for (const contents of [
          encode("# Read me"),
          encode("# Read me\n\nAll of it.\n"),
          encode("{}\n"),
          encode("\n"),
          encode("0"),
          encode("\0\0\0"),
          encode(`{"seq":1,"at":12\n{"seq":2}\n`),
          encode(`{"seq":1,"at":1,"event":{"_tag":"SessionStarted","version":"x"}}\n`),
          withLine(1, `{"seq":1,"at":1,"event":{"_tag":"TurnStarted","turn":1}}`)
        ]) {
          const error = yield* refused(contents)
          assert.strictEqual(error.reason, "NotASession", new TextDecoder().decode(contents))
        }
      })
    )

    it.effect("a disk that refuses what opening it would add", () =>
      Effect.gen(function* () {
        const contents = concat(bytesOf(enveloped([started])), encode("{"))
        for (const method of ["append", "cut", "sync"] as const) {
          const storage = new TestStorage(contents)
          storage.failNext(method, new Error("EIO"))
          const error = yield* Effect.flip(Effect.scoped(Session.make({ storage })))
          assert.strictEqual(error.operation, "open")
          assert.strictEqual(error.reason, "Unknown")
        }
      })
    )
  })

  it.effect("L13: calls without a result get one that says what is known of them", () =>
    Effect.gen(function* () {
      const events = [...inStep, asked, callStarted("a"), callStarted("b"), callEnded("a")]
      const { added, logged } = yield* reopenEvents(...events)
      assert.deepStrictEqual(
        added.slice(2, 4).map((event) => event._tag === "CallEnded" && event.result),
        [
          {
            ...ToolResult.failure({
              code: "OUTCOME_UNKNOWN",
              message: "the program ended while the call ran; it may have had effects"
            }),
            ...{ callId: "b", tool: "t", dispatched: true, body: "interrupted" }
          },
          {
            ...ToolResult.failure({
              code: "TOOL_NOT_STARTED",
              message: "the program ended before the call was started"
            }),
            ...{ callId: "c", tool: "t", dispatched: false, body: "not-started" }
          }
        ]
      )
      assert.deepStrictEqual(added.slice(4), [stepEnded, interrupted])
      const what = [
        `call "b" got the result OUTCOME_UNKNOWN`,
        `call "c" got the result TOOL_NOT_STARTED`,
        "ended turn 1, which had been interrupted"
      ]
      assert.deepStrictEqual(added.slice(0, 2), [{ _tag: "SessionReopened" }, { _tag: "Repaired", what }])
      assert.deepStrictEqual(logged, [`WARN Session "test.jsonl" was put in order: ${what.join("; ")}`])
    })
  )

  it.effect("L8, L13: calls of a body without a result get one too, the innermost first, before its own", () =>
    Effect.gen(function* () {
      const nested = (callId: string, parentId: string): Event => ({
        ...{ _tag: "NestedCallStarted", ...at, parentId, rootId: "a", callId, tool: "n", parameters: {} }
      })
      const { result } = callEnded("a:1") as Extract<Event, { readonly _tag: "CallEnded" }>
      const ended: Event = { _tag: "NestedCallEnded", ...at, parentId: "a", rootId: "a", result }
      const events = [
        ...inStep,
        asked,
        callStarted("a"),
        nested("a:1", "a"),
        ended,
        nested("a:2", "a"),
        nested("a:2:1", "a:2")
      ]
      const { added, storage } = yield* reopenEvents(...events)
      const results = added.flatMap((event) =>
        event._tag === "NestedCallEnded" || event._tag === "CallEnded"
          ? [[event.result.callId, event.result._tag === "Failure" ? event.result.code : "OK"]]
          : []
      )
      assert.deepStrictEqual(results, [
        ["a:2:1", "OUTCOME_UNKNOWN"],
        ["a:2", "OUTCOME_UNKNOWN"],
        ["a", "OUTCOME_UNKNOWN"],
        ["b", "TOOL_NOT_STARTED"],
        ["c", "TOOL_NOT_STARTED"]
      ])
      const log = storage.lines.map((line) => JSON.parse(line) as AgentEvent.Envelope)
      assert.deepStrictEqual(SessionLog.problems(log), [])
    })
  )

  it.effect("L12: what calls wanted the model to be told is added behind all results", () =>
    Effect.gen(function* () {
      const content = (text: string) => [Content.text(text)]
      const events = [...inStep, asked, callStarted("a"), callEnded("a", content("1")), callStarted("b")]
      const context = (callId: string, text: string): Event => ({
        _tag: "ContextAdded",
        ...at,
        callId,
        content: content(text)
      })
      const { added } = yield* reopenEvents(...events)
      assert.deepStrictEqual(added.slice(-3), [context("a", "1"), stepEnded, interrupted])
      const all = [...events, callEnded("b", content("2")), callEnded("c"), context("a", "1")]
      const second = yield* reopenEvents(...all)
      assert.deepStrictEqual(second.added.slice(2), [context("b", "2"), stepEnded, interrupted])
    })
  )

  it.effect("L11: what was queued waits, and what had been claimed and not shown waits again", () =>
    Effect.gen(function* () {
      const queued = (id: string): Event => ({
        _tag: "InputQueued",
        message: { id, content: [] },
        target: "turn",
        wakes: true
      })
      const events: ReadonlyArray<Event> = [
        ...[started, queued("a"), queued("b"), queued("c"), turnStarted],
        { _tag: "InputClaimed", turn: 1, ids: ["a", "b"] },
        { _tag: "StepStarted", ...at },
        { _tag: "UserMessage", ...at, id: "a", content: [Content.text("hello")] }
      ]
      const { added, position } = yield* reopenEvents(...events)
      assert.deepStrictEqual(added.slice(2), [stepEnded, { _tag: "InputReturned", ids: ["b"] }, interrupted])
      assert.strictEqual(position.turn, 1)
      assert.deepStrictEqual(
        position.queued.map(({ message }) => message.id),
        ["b", "c"]
      )
    })
  )

  describe("an answer that had begun", () => {
    const requested = (attempt: number): Event => ({ _tag: "ModelRequested", ...at, attempt, model: "m" })
    const chunk = (attempt: number, text: string): Event => ({
      ...{ _tag: "ModelChunk", ...at, attempt, chunk: { _tag: "Text", text } }
    })
    const other = (chunk: (AgentEvent.AgentEvent & { readonly _tag: "ModelChunk" })["chunk"]): Event => ({
      ...{ _tag: "ModelChunk", ...at, attempt: 1, chunk }
    })

    it.effect("is kept as if it had been cancelled, without its calls", () =>
      Effect.gen(function* () {
        const usage = { _tag: "Usage", inputTokens: 3, outputTokens: 4 } as const
        const { added, messages } = yield* reopenEvents(
          ...[...inStep, requested(1), chunk(1, "Let "), chunk(1, "me"), other(usage)],
          other({ _tag: "ToolCallStart", id: "a", name: "t" })
        )
        const blocks = [{ type: "text", text: "Let me" }] as const
        assert.deepStrictEqual(added.slice(2), [
          { _tag: "AssistantMessage", ...at, blocks, interrupted: true, usage, chunkSeqs: [5, 6, 7, 8] },
          stepEnded,
          interrupted
        ])
        assert.deepStrictEqual(messages, [{ role: "assistant", content: blocks }])
      })
    )

    it.effect("and failed is not, nor one of which nothing had come", () =>
      Effect.gen(function* () {
        const failed: Event = { _tag: "RequestFailed", ...at, attempt: 1, code: "C", message: "m", retried: true }
        const error = { code: "OVERLOADED", message: "m", isRetryable: true } as const
        for (const events of [
          [requested(1), chunk(1, "Let me"), failed],
          [requested(1), chunk(1, "Let me"), failed, requested(2)],
          [requested(1), chunk(1, "Let me"), other({ _tag: "Finish", reason: "error", error })],
          [requested(1), chunk(1, " \n")],
          [requested(1)]
        ]) {
          const { added } = yield* reopenEvents(...inStep, ...events)
          assert.deepStrictEqual(added.slice(2), [stepEnded, interrupted])
        }
        const { added } = yield* reopenEvents(
          ...inStep,
          requested(1),
          chunk(1, "no"),
          failed,
          requested(2),
          chunk(2, "yes")
        )
        const [answer] = added.slice(2)
        assert.strictEqual(
          answer?._tag === "AssistantMessage" && answer.blocks[0]?.type === "text" && answer.blocks[0].text,
          "yes"
        )
        assert.deepStrictEqual(answer?._tag === "AssistantMessage" && answer.chunkSeqs, [8])
      })
    )
  })

  it.effect("putting it in order may itself be cut off after any event", () =>
    Effect.gen(function* () {
      const queued: Event = { _tag: "InputQueued", message: { id: "m", content: [] }, target: "turn", wakes: true }
      const claimed: Event = { _tag: "InputClaimed", turn: 1, ids: ["m"] }
      const [first, ...rest] = inStep
      const events = [first ?? started, queued, ...rest.slice(0, 1), claimed, ...rest.slice(1)]
      const context = [Content.text("note")]
      const open = [...events, asked, callStarted("a"), callStarted("b"), callEnded("a", context)]
      const whole = yield* reopenEvents(...open)
      for (let cut = 0; cut <= whole.added.length; cut++) {
        const known = [...open, ...whole.added.slice(0, cut)]
        const { added, position } = yield* reopenEvents(...known)
        assert.deepStrictEqual(SessionLog.problems(enveloped([...known, ...added])), [], `${cut}`)
        assert.deepStrictEqual(
          position.queued.map(({ message }) => message.id),
          ["m"]
        )
      }
    })
  )
})
