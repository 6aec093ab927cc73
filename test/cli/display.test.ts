import { assert, describe, it } from "@effect/vitest"
import { type AgentEvent, ToolResult, type ToolRuntime } from "quiesce"
import type { Model } from "quiesce/capability"
import { Display, type Event, type Outcome, Output, table, Written } from "../support/cli.js"

const outcome = (callId: string, tool: string, more: Partial<Outcome> = {}): Outcome => ({
  turn: 1,
  step: 1,
  parentId: undefined,
  result: { ...ToolResult.success("text"), callId, tool, dispatched: true, body: "completed" },
  millis: 12,
  quietMillis: undefined,
  stillAlive: [],
  ...more
})

const stopped: Outcome = outcome("two", "run_command", {
  result: {
    ...ToolResult.failure({ code: "ABORTED", message: "tool call aborted" }),
    callId: "two",
    tool: "run_command",
    dispatched: true,
    body: "interrupted"
  },
  millis: 800,
  quietMillis: 512
})

const logged = (event: AgentEvent.AgentEvent, at = 1000): Event => ({ _tag: "Logged", event, at })

const answer = (...blocks: ReadonlyArray<Model.Block>): Event =>
  logged({ _tag: "AssistantMessage", turn: 1, step: 1, blocks, interrupted: false, chunkSeqs: [] })

const calls = answer(
  { type: "tool-call", id: "one", name: "read_file", arguments: "{}" },
  { type: "tool-call", id: "two", name: "run_command", arguments: "{}" }
)

const said = (text: string): Event =>
  logged({ _tag: "ModelChunk", turn: 1, step: 1, attempt: 1, chunk: { _tag: "Text", text } })

const ended = (outcome: AgentEvent.Outcome): Event => logged({ _tag: "TurnEnded", turn: 1, outcome })

const phases = (
  callId: string,
  tool: string,
  at: number,
  names: ReadonlyArray<ToolRuntime.Phase>,
  cancelledAt?: number,
  progress?: string
): Event => ({
  _tag: "Phases",
  phases: names,
  at,
  status: {
    callId,
    rootId: callId,
    parentId: undefined,
    tool,
    phase: names.at(-1) ?? "received",
    dispatched: true,
    attempts: 1,
    startedAt: 1000,
    cancelledAt,
    cause: undefined,
    progress
  }
})

describe("table", () => {
  it("says what is true of each call", () => {
    assert.deepStrictEqual(table([outcome("one", "read_file"), stopped]), [
      "call  tool         code     dispatched  body         quiet after  still alive",
      "----  -----------  -------  ----------  -----------  -----------  -----------",
      "one   read_file    OK       yes         completed    -            nothing",
      "two   run_command  ABORTED  yes         interrupted  512 ms       nothing"
    ])
  })

  it("names what is alive", () => {
    const [, , row = ""] = table([outcome("one", "read_file", { stillAlive: ["process 7 (sleep)", "process 8 (sh)"] })])
    assert.match(row, / process 7 \(sleep\); process 8 \(sh\)$/)
  })
})

describe("calls of a body", () => {
  const inner = (callId: string, parentId: string) =>
    outcome(callId, "read_file", {
      parentId,
      result: { ...ToolResult.success("text"), callId, tool: "read_file", dispatched: true, body: "completed" }
    })

  it("stand below the call whose body made them", () => {
    const rows = table([
      outcome("one", "run_code"),
      inner("one:1", "one"),
      inner("one:1:1", "one:1"),
      inner("two:1", "two")
    ])
    assert.deepStrictEqual(
      rows.slice(2).map((row) => row.slice(0, 11)),
      ["one        ", "  one:1    ", "    one:1:1", "  two:1    "]
    )
    const stdout = new Written({ columns: 80, rows: 24 })
    const display = Display.live(new Output(stdout, new Written()))
    display.show(logged({ _tag: "StepStarted", turn: 1, step: 1 }))
    display.show(calls)
    display.show({ _tag: "Outcome", outcome: inner("one:1", "one"), at: 1000 })
    assert.deepStrictEqual(screen(stdout.text), [
      "Step 1",
      "  one    read_file    waiting",
      "    one:1  read_file    OK  0.0 s",
      "  two    run_command  waiting"
    ])
  })
})

describe("the plain display", () => {
  const shown = (...events: ReadonlyArray<Event>): ReadonlyArray<string> => {
    const stdout = new Written()
    const display = Display.plain(new Output(stdout, new Written()), 1000)
    for (const event of events) display.show(event)
    return stdout.text.split("\n").slice(0, -1)
  }

  it("has a line for each change, and ends each call with its code", () => {
    assert.deepStrictEqual(
      shown(
        calls,
        phases("one", "read_file", 1003, ["received", "materialized", "decoded", "gated", "dispatching"]),
        phases("one", "read_file", 1012, ["settled", "reviewed", "published"]),
        { _tag: "Outcome", outcome: outcome("one", "read_file"), at: 1012 },
        phases("two", "run_command", 1800, ["settled"]),
        { _tag: "Outcome", outcome: { ...stopped, stillAlive: ["process 7 (sleep)"] }, at: 1801 }
      ),
      [
        "     3ms  one  read_file  received > materialized > decoded > gated > dispatching",
        "    12ms  one  read_file  settled > reviewed > published  OK",
        "   800ms  two  run_command  settled",
        "   801ms  two  run_command  published  ABORTED  still alive: process 7 (sleep)"
      ]
    )
  })

  it("shows nothing of a call behind its result", () => {
    const late = phases("one", "read_file", 1012, ["settled", "reviewed", "published"])
    const lines = shown({ _tag: "Outcome", outcome: outcome("one", "read_file"), at: 1012 }, late)
    assert.deepStrictEqual(lines, ["    12ms  one  read_file  published  OK"])
  })
})

describe("what a model says", () => {
  const shown = (...events: ReadonlyArray<Event>) => {
    const [stdout, stderr] = [new Written(), new Written()]
    const display = Display.chat(new Output(stdout, stderr))
    for (const event of events) display.show(event)
    return [stdout.text, stderr.text]
  }

  it("is written line by line, the last one when the answer has ended, and without commands to the terminal", () => {
    assert.deepStrictEqual(shown(said("one\ntw"), said("o\x1b[2J\nthr")), ["one\ntwo[2J\n", ""])
    assert.deepStrictEqual(shown(said("one\ntw"), said("o"), answer()), ["one\ntwo\n", ""])
  })

  it("is followed by what became of its calls, and by what was wrong with its turn", () => {
    const [stdout, stderr] = shown(
      { _tag: "Outcome", outcome: outcome("one", "read_file"), at: 1012 },
      { _tag: "Outcome", outcome: stopped, at: 1801 },
      logged({
        _tag: "RequestFailed",
        turn: 1,
        step: 2,
        attempt: 1,
        code: "TIMEOUT",
        message: "silence",
        retried: true
      }),
      ended({ _tag: "Cancelled", cause: { _tag: "User", note: "Ctrl-C" } }),
      ended({ _tag: "Error", code: "UNAUTHORIZED", message: "no key" }),
      ended({ _tag: "Completed" })
    )
    assert.strictEqual(stdout, "  read_file (one)  OK  0.0 s\n  run_command (two)  ABORTED: tool call aborted  0.8 s\n")
    assert.strictEqual(
      stderr,
      "The model could not be asked, and is asked again: silence (TIMEOUT)\n" +
        "The turn was cancelled by the user: Ctrl-C. All of it is quiet.\n" +
        "The turn failed: no key (UNAUTHORIZED)\n"
    )
  })
})

/** What a terminal shows that was given `text`. Knows "up" and "clear below", which is all that is used. */
const screen = (text: string): ReadonlyArray<string> => {
  const lines = [""]
  let row = 0
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are the subject
  for (const [part] of text.matchAll(/\x1b\[(\d*)[AJ]|\n|\r|[^\x1b\n\r]+/g)) {
    if (part === "\r") continue
    if (part === "\n") lines[++row] ??= ""
    else if (part.endsWith("A") && part.startsWith("\x1b")) row -= Number(part.slice(2, -1))
    else if (part === "\x1b[J") lines.splice(row, lines.length, "")
    else lines[row] += part
  }
  return lines.slice(0, -1)
}

describe("the live display", () => {
  const terminal = { columns: 80, rows: 24 }

  it("draws the calls of a step in place", () => {
    const stdout = new Written(terminal)
    const display = Display.live(new Output(stdout, new Written()))
    display.show(logged({ _tag: "StepStarted", turn: 1, step: 1 }))
    display.show(calls)
    assert.deepStrictEqual(screen(stdout.text), [
      "Step 1",
      "  one  read_file    waiting",
      "  two  run_command  waiting"
    ])
    display.show(phases("one", "read_file", 1000, ["received", "dispatching"]))
    display.show({ _tag: "Outcome", outcome: outcome("one", "read_file"), at: 1012 })
    display.show(phases("two", "run_command", 1300, ["dispatching"], 1300, "half\n\x1b[2Jway"))
    display.tick(1800)
    assert.deepStrictEqual(screen(stdout.text), [
      "Step 1",
      "  one  read_file    OK  0.0 s",
      "  two  run_command  dispatching  0.8 s, cancelled 0.5 s ago, half [2Jway"
    ])
  })

  it("stays below what else is written, and goes away", () => {
    const stdout = new Written(terminal)
    const output = new Output(stdout, stdout)
    output.draw(["region 1", "region 2"])
    output.complain("a warning")
    assert.deepStrictEqual(screen(stdout.text), ["a warning", "region 1", "region 2"])
    output.draw([])
    output.write("the table")
    assert.deepStrictEqual(screen(stdout.text), ["a warning", "the table"])
  })

  it("fits on the screen", () => {
    const stdout = new Written({ columns: 10, rows: 5 })
    new Output(stdout, stdout).draw(["a line that is too long", "2", "3", "4", "5"])
    assert.deepStrictEqual(screen(stdout.text), ["a line th", "2", "  ... and"])
  })

  it("believes no terminal that has no size", () => {
    const stdout = new Written({ columns: 0, rows: 0 })
    new Output(stdout, stdout).draw(["a line", "another"])
    assert.deepStrictEqual(screen(stdout.text), ["a line", "another"])
  })
})
