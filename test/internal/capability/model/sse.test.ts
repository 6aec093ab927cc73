import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { type SseEvent, SseParser } from "../../../../src/internal/capability/model/sse.js"

const encoder = new TextEncoder()

const parse = (...pieces: ReadonlyArray<string | Uint8Array>): ReadonlyArray<SseEvent> => {
  const parser = new SseParser()
  return pieces.flatMap((piece) => parser.push(typeof piece === "string" ? encoder.encode(piece) : piece))
}

const message = (data: string): SseEvent => ({ event: "message", data })

describe("SseParser", () => {
  it.each([
    { of: "an event", text: "data: a\n\n", events: [message("a")] },
    { of: "several", text: "data: a\n\ndata: b\n\n", events: [message("a"), message("b")] },
    { of: "CRLF", text: "data: a\r\n\r\ndata: b\r\n\r\n", events: [message("a"), message("b")] },
    { of: "CR", text: "data: a\r\rdata: b\r\r", events: [message("a"), message("b")] },
    { of: "all of them mixed", text: "data: a\r\n\ndata: b\r\ndata: c\n\r", events: [message("a"), message("b\nc")] },
    { of: "data of several lines", text: "data: a\ndata:\ndata: b\n\n", events: [message("a\n\nb")] },
    { of: "a value without a space", text: "data:a\n\n", events: [message("a")] },
    { of: "a value with two", text: "data:  a\n\n", events: [message(" a")] },
    { of: "a field without a colon", text: "data\n\n", events: [message("")] },
    { of: "comments", text: ": ping\n\n:\ndata: a\n: more\n\n", events: [message("a")] },
    {
      of: "the name of an event",
      text: "event: error\ndata: a\n\ndata: b\n\n",
      events: [{ event: "error", data: "a" }, message("b")]
    },
    { of: "a name without data", text: "event: ping\n\ndata: a\n\n", events: [message("a")] },
    { of: "fields that nobody needs", text: "id: 1\nretry: 10\nfoo: bar\ndata: a\n\n", events: [message("a")] },
    { of: "a byte order mark", text: "\uFEFFdata: a\n\n", events: [message("a")] },
    { of: "an event that is not complete", text: "data: a\n", events: [] },
    { of: "nothing", text: "", events: [] }
  ])("reads $of", ({ events, text }) => {
    assert.deepStrictEqual(parse(text), events)
  })

  it("puts U+FFFD where bytes are not UTF-8", () => {
    const bytes = Uint8Array.from([...encoder.encode("data: a"), 0xff, ...encoder.encode("b\n\n")])
    assert.deepStrictEqual(parse(bytes), [message("a\uFFFDb")])
  })

  it("gives at the end what was begun", () => {
    for (const [text, left] of [
      ["data: a", "a"],
      ["data: a\n", "a"],
      ["data: a\ndata: b", "a\nb"]
    ] as const) {
      const parser = new SseParser()
      assert.deepStrictEqual(parser.push(encoder.encode(text)), [])
      assert.deepStrictEqual(parser.end(), message(left))
    }
    const parser = new SseParser()
    parser.push(encoder.encode("data: a\n\n"))
    assert.isUndefined(parser.end())
  })

  const line = FastCheck.constantFrom(
    "data: grüße 🚀",
    "data:",
    ": ping",
    "event: error",
    "data: \u2028",
    "",
    "",
    "id: 7"
  )
  const ending = FastCheck.constantFrom("\n", "\r", "\r\n")
  const lines = FastCheck.array(FastCheck.tuple(line, ending), { maxLength: 30 })
  const cuts = FastCheck.array(FastCheck.nat(400), { maxLength: 40 })

  it.prop("gives the same events however the bytes are cut", [lines, cuts], ([lines, cuts]) => {
    const bytes = encoder.encode(lines.map((parts) => parts.join("")).join(""))
    const places = [...new Set([0, ...cuts, bytes.length])].filter((cut) => cut <= bytes.length).sort((a, b) => a - b)
    const pieces = places.slice(1).map((to, i) => bytes.subarray(places[i], to))
    const all = new SseParser()
    const cut = new SseParser()
    assert.deepStrictEqual(
      pieces.flatMap((piece) => cut.push(piece)),
      all.push(bytes)
    )
    assert.deepStrictEqual(cut.end(), all.end())
  })
})
