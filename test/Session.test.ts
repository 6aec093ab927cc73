import { assert, describe, it } from "@effect/vitest"
import { Cause, Chunk, Effect, Fiber, Logger, Stream, TestClock } from "effect"
import { type AgentEvent, Content, Session, ToolResult } from "quiesce"
import type { Model } from "quiesce/capability"
import { bytesOf, enveloped, TestStorage } from "./support/sessionStorage.js"

type Event = AgentEvent.AgentEvent

const at = { turn: 1, step: 1 }
const turnStarted: Event = { _tag: "TurnStarted", turn: 1 }
const stepStarted: Event = { _tag: "StepStarted", ...at }
const stepEnded: Event = { _tag: "StepEnded", ...at }
const turnEnded: Event = { _tag: "TurnEnded", turn: 1, outcome: { _tag: "Completed" } }

const tagsOf = (log: ReadonlyArray<AgentEvent.Envelope>): ReadonlyArray<string> => log.map(({ event }) => event._tag)

/** What a step of a session refuses. */
const refusalOf = (step: () => unknown): Session.SessionError => {
  try {
    step()
  } catch (error) {
    if (error instanceof Session.SessionError) return error
    throw error
  }
  return assert.fail("nothing was refused")
}

describe("Session", () => {
  describe("append", () => {
    it.scoped("gives an event its place, the time on the clock, and a copy that nobody changes", () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(5000)
        const session = yield* Session.make({ agent: "clerk" })
        yield* TestClock.adjust("10 millis")
        const ids = ["a"]
        const envelope = session.append({ _tag: "InputReturned", ids })
        ids.push("b")
        assert.deepStrictEqual(envelope, { seq: 2, at: 5010, event: { _tag: "InputReturned", ids: ["a"] } })
        assert.isTrue(Object.isFrozen(envelope) && Object.isFrozen(envelope.event))
        assert.deepStrictEqual(session.events(), [
          { seq: 1, at: 5000, event: { _tag: "SessionStarted", version: 1, agent: "clerk" } },
          envelope
        ])
        assert.strictEqual(session.events()[1], envelope)
      })
    )

    it.scoped("takes a property that is undefined for one that is not there", () =>
      Effect.gen(function* () {
        const session = yield* Session.make()
        const usage: Model.Usage = { _tag: "Usage", inputTokens: 1, outputTokens: 2, cachedInputTokens: undefined }
        const { event } = session.append({ _tag: "ModelChunk", ...at, attempt: 1, chunk: usage })
        assert.deepStrictEqual(event, {
          ...{ _tag: "ModelChunk", ...at, attempt: 1 },
          chunk: { _tag: "Usage", inputTokens: 1, outputTokens: 2 }
        })
      })
    )

    it.scoped("refuses what is no event, or would not come back from JSON, and goes on", () =>
      Effect.gen(function* () {
        const storage = new TestStorage()
        const session = yield* Session.make({ storage })
        const before = storage.lines
        const call = { _tag: "CallStarted", ...at, callId: "a", tool: "t" } as const
        const cycle: Array<unknown> = [undefined]
        cycle.push(cycle)
        for (const [event, text] of [
          [{ _tag: "TurnStarted", turn: 0 }, /it is no event|turn/],
          [{ _tag: "Invented" }, /_tag/],
          [
            { ...call, parameters: { at: [new Date(0)] } },
            /it is not JSON: an object that is not plain at \$\.parameters\.at\[0\]/
          ],
          [{ ...call, parameters: Number.NaN }, /NaN at \$\.parameters/],
          [{ ...call, parameters: [undefined] }, /undefined at \$\.parameters\[0\]/],
          [{ ...call, parameters: { a: undefined, b: Number.NaN } }, /NaN at \$\.parameters\.b/],
          [{ ...call, parameters: cycle }, /it is not JSON/]
        ] as const) {
          const error = refusalOf(() => session.append(event as Event))
          assert.strictEqual(error.reason, "InvalidEvent")
          assert.match(error.message, /^Cannot append to session "test.jsonl": /)
          assert.match(error.message, text)
        }
        assert.deepStrictEqual(storage.lines, before)
        assert.strictEqual(session.append(turnStarted).seq, 2)
      })
    )

    it.scoped("159: an event may be appended while somebody reads, and while another one is being told", () =>
      Effect.gen(function* () {
        const session = yield* Session.make()
        const echo = yield* Effect.fork(
          session.follow(2).pipe(
            Stream.take(1),
            Stream.tap(() => Effect.sync(() => session.append(turnEnded))),
            Stream.runCollect
          )
        )
        yield* Effect.yieldNow()
        session.append(turnStarted)
        yield* Fiber.join(echo)
        assert.deepStrictEqual(tagsOf(session.events()), ["SessionStarted", "TurnStarted", "TurnEnded"])
      })
    )

    it.scoped("180: what the storage refuses has not happened, and the next event takes its place", () =>
      Effect.gen(function* () {
        const storage = new TestStorage()
        const session = yield* Session.make({ storage })
        const cause = new Error("ENOSPC")
        storage.failNext("append", cause)
        const error = refusalOf(() => session.append(turnStarted))
        assert.strictEqual(error.reason, "Unknown")
        assert.strictEqual(error.cause, cause)
        assert.deepStrictEqual(tagsOf(session.events()), ["SessionStarted"])
        assert.strictEqual(session.append(turnStarted).seq, 2)
        const stored: ReadonlyArray<unknown> = storage.lines.map((line) => JSON.parse(line))
        assert.deepStrictEqual(stored, session.events())
      })
    )

    it.effect("as an effect: fails with what it throws", () =>
      Effect.gen(function* () {
        const envelope = yield* Session.append(turnStarted)
        assert.strictEqual(envelope.seq, 2)
        const session = yield* Session.Session
        session.close()
        const error = yield* Effect.flip(Session.append(turnStarted))
        assert.strictEqual(error.reason, "Closed")
      }).pipe(Effect.provide(Session.layerMemory()))
    )
  })

  describe("sync", () => {
    const syncedLines = (sync: Session.SyncPolicy | undefined) =>
      Effect.gen(function* () {
        const storage = new TestStorage()
        yield* Effect.scoped(
          Effect.map(Session.make({ storage, sync }), (session) => {
            for (const event of [turnStarted, stepStarted, stepEnded, turnEnded]) session.append(event)
          })
        )
        return storage.syncs.map(
          (length) => new TextDecoder().decode(storage.bytes.slice(0, length)).split("\n").length - 1
        )
      })

    it.effect("forces events to the disk as the policy says", () =>
      Effect.gen(function* () {
        // SessionStarted, TurnStarted, StepStarted, StepEnded, TurnEnded, SessionClosed
        assert.deepStrictEqual(yield* syncedLines(undefined), [1, 4, 5, 6])
        assert.deepStrictEqual(yield* syncedLines("turn"), [1, 4, 5, 6])
        assert.deepStrictEqual(yield* syncedLines("always"), [1, 2, 3, 4, 5, 6, 6])
        assert.deepStrictEqual(yield* syncedLines("never"), [])
      })
    )

    it.scoped("forces what was appended when it is called, whatever the policy", () =>
      Effect.gen(function* () {
        const storage = new TestStorage()
        const session = yield* Session.make({ storage, sync: "never" })
        session.sync()
        assert.deepStrictEqual(storage.syncs, [storage.bytes.length])
      })
    )

    it.scoped("after one that failed nothing is appended any more, and the event was not", () =>
      Effect.gen(function* () {
        const storage = new TestStorage()
        const session = yield* Session.make({ storage, sync: "always" })
        const before = storage.lines
        storage.failNext("sync", new Error("EIO"))
        assert.strictEqual(refusalOf(() => session.append(turnStarted)).reason, "Unknown")
        assert.deepStrictEqual(storage.lines, before)
        assert.deepStrictEqual(tagsOf(session.events()), ["SessionStarted"])
        for (const step of [() => session.append(turnStarted), () => session.sync()]) {
          assert.strictEqual(refusalOf(step).reason, "NotDurable")
        }
        assert.deepStrictEqual(storage.lines, before)
      })
    )

    it.scoped("one that failed, with a line that cannot be taken back, leaves it whole", () =>
      Effect.gen(function* () {
        const storage = new TestStorage()
        const session = yield* Session.make({ storage, sync: "always" })
        storage.failNext("sync")
        storage.failNext("cut")
        refusalOf(() => session.append(turnStarted))
        const reopened = yield* Session.make({ storage: new TestStorage(storage.bytes) })
        assert.deepStrictEqual(tagsOf(reopened.events()).slice(0, 3), [
          "SessionStarted",
          "TurnStarted",
          "SessionReopened"
        ])
      })
    )
  })

  describe("close", () => {
    it.effect("the scope closes it, once", () =>
      Effect.gen(function* () {
        const storage = new TestStorage()
        const session = yield* Effect.scoped(Session.make({ storage }))
        session.close()
        assert.deepStrictEqual(tagsOf(session.events()), ["SessionStarted", "SessionClosed"])
        assert.strictEqual(storage.lines.length, 2)
      })
    )

    it.scoped("249: nothing is appended behind it", () =>
      Effect.gen(function* () {
        const storage = new TestStorage()
        const session = yield* Session.make({ storage })
        session.close()
        for (const step of [() => session.append(turnStarted), () => session.sync()]) {
          assert.strictEqual(refusalOf(step).reason, "Closed")
        }
        assert.deepStrictEqual(tagsOf(session.events()), ["SessionStarted", "SessionClosed"])
        assert.strictEqual(storage.lines.length, 2)
      })
    )

    it.scoped("does not throw where its end cannot be stored: that is logged, and it is closed", () =>
      Effect.gen(function* () {
        const logged: Array<string> = []
        const logger = Logger.make(({ cause, message }) => logged.push(`${message} ${Cause.pretty(cause)}`))
        const storage = new TestStorage()
        yield* Effect.gen(function* () {
          const session = yield* Session.make({ storage })
          storage.failNext("append", new Error("ENOSPC"))
          session.close()
          assert.strictEqual(refusalOf(() => session.append(turnStarted)).reason, "Closed")
          assert.deepStrictEqual(tagsOf(session.events()), ["SessionStarted"])
        }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
        assert.strictEqual(logged.length, 1)
        assert.match(logged[0] ?? "", /^The end of a session may not be stored .*Cannot append to session "test.jsonl"/)
      })
    )
  })

  describe("follow", () => {
    const seqs = (stream: Stream.Stream<AgentEvent.Envelope>) =>
      Effect.map(Stream.runCollect(stream), (chunk) => Chunk.toReadonlyArray(chunk).map(({ seq }) => seq))

    it.scoped("gives what there is and what will come, from a number on, until the session is closed", () =>
      Effect.gen(function* () {
        const session = yield* Session.make()
        session.append(turnStarted)
        const readers = yield* Effect.forEach([undefined, 2, 4, 99, -1], (from) =>
          Effect.fork(seqs(session.follow(from)))
        )
        yield* Effect.yieldNow()
        session.append(stepStarted)
        yield* Effect.yieldNow()
        session.append(stepEnded)
        session.close()
        assert.deepStrictEqual(yield* Effect.forEach(readers, Fiber.join), [
          [1, 2, 3, 4, 5],
          [2, 3, 4, 5],
          [4, 5],
          [],
          [1, 2, 3, 4, 5]
        ])
        assert.deepStrictEqual(yield* seqs(session.follow(5)), [5])
      })
    )

    it.scoped(
      "a slow reader holds up nobody and misses nothing",
      () =>
        Effect.gen(function* () {
          const session = yield* Session.make()
          const seen: Array<number> = []
          const slow = yield* Effect.fork(
            Stream.runForEach(session.follow(), ({ seq }) =>
              Effect.delay(
                Effect.sync(() => seen.push(seq)),
                "1 second"
              )
            )
          )
          yield* TestClock.adjust("1 second")
          for (let n = 0; n < 300; n++) session.append(turnStarted)
          assert.deepStrictEqual(seen, [1])
          session.close()
          yield* TestClock.adjust("400 seconds")
          yield* Fiber.join(slow)
          assert.deepStrictEqual(
            seen,
            Array.from({ length: 302 }, (_, i) => i + 1)
          )
        }),
      30_000
    )

    it.scoped("tells those who wait in the step in which an event is appended", () =>
      Effect.gen(function* () {
        const session = yield* Session.make()
        const reader = yield* Effect.fork(seqs(Stream.take(session.follow(2), 1)))
        const status = Effect.zipLeft(reader.status, Effect.yieldNow())
        yield* Effect.repeat(status, { until: ({ _tag }) => _tag === "Suspended" })
        session.append(turnStarted)
        assert.deepStrictEqual(yield* Fiber.join(reader), [2])
      })
    )

    it.scoped("ends where it is interrupted while it waits", () =>
      Effect.gen(function* () {
        const session = yield* Session.make()
        const reader = yield* Effect.fork(seqs(session.follow()))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(reader)
        session.append(turnStarted)
        assert.deepStrictEqual(yield* seqs(Stream.take(session.follow(), 2)), [1, 2])
      })
    )
  })

  describe("messages", () => {
    const user = (text: string): Event => ({ _tag: "UserMessage", ...at, content: [Content.text(text)] })
    const answer = (ids: ReadonlyArray<string>, text = "", interrupted = false): Event => ({
      _tag: "AssistantMessage",
      ...at,
      blocks: [
        ...(text === "" ? [] : [{ type: "text", text } as const]),
        ...ids.map((id) => ({ type: "tool-call", id, name: "t", arguments: "{}" }) as const)
      ],
      interrupted,
      chunkSeqs: []
    })
    const started = (callId: string): Event => ({ _tag: "CallStarted", ...at, callId, tool: "t", parameters: {} })
    const ended = (callId: string, text = callId): Event => {
      const result = { ...ToolResult.success(text), content: [Content.text(text)], callId, tool: "t" }
      return { _tag: "CallEnded", ...at, result }
    }
    const context = (callId: string, text: string): Event => ({
      ...{ _tag: "ContextAdded", ...at, callId, content: [Content.text(text)] }
    })
    /** Messages as text: who says what. */
    const shown = (...events: ReadonlyArray<Event>): ReadonlyArray<string> =>
      Session.toMessages(enveloped(events)).map((message) => {
        const blocks = message.content.map((block) => {
          if (block.type === "tool-call") return `[${block.id}]`
          return block.type === "image" ? "image" : block.text
        })
        return `${message.role === "tool" ? `tool ${message.toolCallId}` : message.role}: ${blocks.join(" ")}`
      })

    it("129: results come in the order of the calls, and contexts behind all of them", () => {
      const events = [
        ...[user("go"), answer(["a", "b"], "Let me see."), context("a", "stale"), ended("b"), ended("a")],
        ...[context("b", "newer"), stepEnded, user("and?")]
      ]
      const expected = [
        "user: go",
        "assistant: Let me see. [a] [b]",
        "tool a: a",
        "tool b: b",
        "user: stale",
        "user: newer"
      ]
      assert.deepStrictEqual(shown(...events), [...expected, "user: and?"])
      assert.deepStrictEqual(shown(...events.slice(0, -2)), expected)
    })

    it("185: the beginning of an answer that was stopped is shown", () => {
      const events = [user("go"), answer([], "partial", true), stepEnded, turnEnded, user("go on")]
      assert.deepStrictEqual(shown(...events), ["user: go", "assistant: partial", "user: go on"])
    })

    it("137: what was never started is answered, too", () => {
      const result: ToolResult.ToolResult = {
        ...ToolResult.failure({ code: "ABORTED_BEFORE_DISPATCH", message: "tool call aborted before dispatch" }),
        callId: "a",
        tool: "t"
      }
      const messages = Session.toMessages(enveloped([user("go"), answer(["a"]), { _tag: "CallEnded", ...at, result }]))
      assert.deepStrictEqual(messages.at(-1), ToolResult.toMessage(result))
      assert.strictEqual((messages.at(-1) as ToolResult.Message).isError, true)
    })

    it("141: a call without a result has one that says what is known", () => {
      const unknown = "Error: the program ended while the call ran; it may have had effects"
      const notStarted = "Error: the program ended before the call was started"
      const open = [user("go"), answer(["a", "b", "c"]), started("a"), started("b"), ended("b")]
      const expected = [
        "user: go",
        "assistant: [a] [b] [c]",
        `tool a: ${unknown}`,
        "tool b: b",
        `tool c: ${notStarted}`
      ]
      for (const end of [[], [stepEnded], [turnEnded]]) assert.deepStrictEqual(shown(...open, ...end), expected)
      assert.deepStrictEqual(shown(...open, user("hm")), [...expected, "user: hm"])
      assert.deepStrictEqual(shown(...open, answer([], "hm")), [...expected, "assistant: hm"])
    })

    it("two calls with one id have two results, and what nobody asked for is not shown", () => {
      const events = [user("go"), answer(["a", "a"]), ended("x"), ended("a", "1"), ended("a", "2"), ended("a", "3")]
      assert.deepStrictEqual(shown(...events), ["user: go", "assistant: [a] [a]", "tool a: 1", "tool a: 2"])
    })

    it("input is shown when a turn lets it in, and an answer of nothing not at all", () => {
      const message = { id: "m", content: [Content.text("secret")] }
      const events: ReadonlyArray<Event> = [
        { _tag: "InputQueued", message, target: "turn", wakes: true },
        { _tag: "InputDiscarded", ids: ["m"], reason: "cancelled" },
        user("go"),
        answer([])
      ]
      assert.deepStrictEqual(shown(...events), ["user: go"])
    })
  })

  describe("position", () => {
    it.scoped("tells the number of the last turn and what waits", () =>
      Effect.gen(function* () {
        const session = yield* Session.make()
        assert.deepStrictEqual(session.position(), { turn: 0, queued: [] })
        const queue = (id: string, wakes = true) =>
          session.append({ _tag: "InputQueued", message: { id, content: [] }, target: wakes ? "turn" : "step", wakes })
        for (const id of ["a", "b", "c"]) queue(id)
        queue("d", false)
        session.append({ _tag: "TurnStarted", turn: 7 })
        session.append({ _tag: "InputClaimed", turn: 7, ids: ["a", "c"] })
        session.append({ _tag: "InputParked", ids: ["b"], reason: "the turn failed" })
        const waiting = () => session.position().queued.map(({ message, parked }) => [message.id, parked])
        assert.strictEqual(session.position().turn, 7)
        assert.deepStrictEqual(waiting(), [
          ["b", "the turn failed"],
          ["d", undefined]
        ])
        session.append({ _tag: "UserMessage", turn: 7, step: 1, id: "a", content: [] })
        session.append({ _tag: "InputReturned", ids: ["a", "c"] })
        session.append({ _tag: "InputDiscarded", ids: ["d"], reason: "taken back" })
        assert.deepStrictEqual(waiting(), [
          ["c", undefined],
          ["b", "the turn failed"]
        ])
        session.append({ _tag: "InputClaimed", turn: 7, ids: ["b"] })
        session.append({ _tag: "InputReturned", ids: ["b"] })
        assert.deepStrictEqual(session.position().queued[0], {
          ...{ message: { id: "b", content: [] }, target: "turn", wakes: true, parked: undefined }
        })
      })
    )
  })

  describe("layers", () => {
    it.effect("one for a storage closes with its scope, and fails as the storage does", () =>
      Effect.gen(function* () {
        const storage = new TestStorage(bytesOf(enveloped([{ _tag: "SessionStarted", version: 1, agent: "a" }])))
        const events = Effect.map(Session.Session, (session) => session.events())
        const seen = yield* Effect.provide(events, Session.layerStorage(Effect.succeed(storage)))
        assert.deepStrictEqual(tagsOf(seen), ["SessionStarted", "SessionReopened"])
        assert.match(storage.lines.at(-1) ?? "", /SessionClosed/)
        assert.strictEqual(
          yield* Effect.flip(Effect.provide(events, Session.layerStorage(Effect.fail("no disk")))),
          "no disk"
        )
      })
    )
  })
})
