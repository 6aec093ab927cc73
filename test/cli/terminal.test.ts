import { PassThrough } from "node:stream"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import { Output, Permission, Terminal } from "../support/cli.js"

vi.stubEnv("TERM", "xterm")

/** A terminal of 40 columns: what is typed and what it was told to show. */
const makeStreams = () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  const shown = { text: "" }
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 40, rows: 20 })
  stdout.on("data", (text) => {
    shown.text += text
  })
  const streams = { stdin, stdout } as unknown as Terminal.Streams
  return { streams, stdin, shown, output: new Output(stdout, stdout) }
}

/** How often the cursor was told to go up. */
const timesUp = (text: string): number => text.split("\u001b[").filter((part) => /^\d+A/.test(part)).length

describe("a prompt of several rows", () => {
  it.scopedLive("is erased as far as it goes, and nothing that is above it", () =>
    Effect.gen(function* () {
      const { output, shown, stdin, streams } = makeStreams()
      const terminal = yield* Terminal.open(output, streams)
      stdin.write("long ".repeat(30))
      yield* Effect.promise(() => new Promise(setImmediate))
      terminal.setStatus("[1 s] ")
      output.write("said")
      yield* Effect.promise(() => new Promise(setImmediate))
      const [before = "", after = ""] = shown.text.split("said")
      assert.isAtLeast(timesUp(before), 1)
      assert.include(after, "long long")
      assert.strictEqual(timesUp(after), 0)

      shown.text = ""
      terminal.setStatus("[2 s] ")
      yield* Effect.promise(() => new Promise(setImmediate))
      assert.strictEqual(timesUp(shown.text), 1)
    })
  )
})

describe("a question", () => {
  const long = { command: `echo ${"x".repeat(1000)}; rm -rf \u202Eall` }

  it("shows what would turn the direction of writing, or be a command, as JSON writes it", () => {
    const { above, text } = Permission.questionOf({
      callId: "a",
      tool: "shell",
      parameters: { a: "\x1b[2J\x9b\u202E" }
    })
    assert.isUndefined(above)
    assert.strictEqual(text, `Allow shell {"a":"\\u001b[2J\\u009b\\u202e"}? [y/N] `)
  })

  it("does not hide the end of what is to be allowed", () => {
    const { above, text } = Permission.questionOf({ callId: "a", tool: "shell", parameters: long })
    assert.include(above, `; rm -rf \\u202eall"}`)
    assert.strictEqual(text, "Allow shell with parameters as above? [y/N] ")
    const { text: more } = Permission.questionOf({ callId: "a", tool: "shell", parameters: "x".repeat(30_000) })
    assert.strictEqual(more, "Allow shell with parameters of 30002 characters, of which 20000 are shown above? [y/N] ")
  })

  it.scopedLive("has what belongs above it there when it is its turn, once", () =>
    Effect.gen(function* () {
      const { output, shown, stdin, streams } = makeStreams()
      const terminal = yield* Terminal.open(output, streams)
      const first = yield* Effect.fork(terminal.ask({ text: "first? " }))
      const second = yield* Effect.fork(terminal.ask({ text: "second? ", above: "above it" }))
      yield* Effect.promise(() => new Promise(setImmediate))
      assert.notInclude(shown.text, "above it")
      stdin.write("one\r")
      assert.strictEqual(yield* Fiber.join(first), "one")
      terminal.setStatus("[1 s] ")
      yield* Effect.promise(() => new Promise(setImmediate))
      assert.lengthOf(shown.text.match(/above it/g) ?? [], 1)
      assert.isAtLeast(shown.text.lastIndexOf("second? "), shown.text.indexOf("above it"))
      stdin.write("two\r")
      assert.strictEqual(yield* Fiber.join(second), "two")
      assert.strictEqual(yield* Queue.size(terminal.inputs), 0)
    })
  )
})
