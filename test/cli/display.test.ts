import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { ToolResult, type ToolRuntime } from "quiesce"
import { Display, type Event, makeToolkit, type Outcome, Output, Plan, table, Written } from "../support/cli.js"

const plan = Either.getOrThrow(
  Plan.check(
    {
      steps: [
        {
          calls: [
            { id: "one", tool: "read_file", parameters: { path: "a" } },
            { id: "two", tool: "run_command", parameters: { command: "ls" } }
          ]
        }
      ]
    },
    "plan.json",
    makeToolkit({ cwd: "." })
  )
)
const calls = plan.steps[0]?.calls ?? []

const outcome = (callId: string, tool: string, more: Partial<Outcome> = {}): Outcome => ({
  step: 0,
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

const step: Event = { _tag: "Step", step: 0, calls, at: 1000 }

const phases = (
  callId: string,
  tool: string,
  at: number,
  names: ReadonlyArray<ToolRuntime.Phase>,
  cancelledAt?: number
): Event => ({
  _tag: "Phases",
  phases: names,
  at,
  status: {
    callId,
    rootId: callId,
    tool,
    phase: names.at(-1) ?? "received",
    dispatched: true,
    attempts: 1,
    startedAt: 1000,
    cancelledAt,
    cause: undefined,
    progress: undefined
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

describe("the plain display", () => {
  const shown = (...events: ReadonlyArray<Event>): ReadonlyArray<string> => {
    const stdout = new Written()
    const display = Display.plain(new Output(stdout, new Written()), plan, 1000)
    for (const event of events) display.show(event)
    return stdout.text.split("\n").slice(0, -1)
  }

  it("has a line for each change, and ends each call with its code", () => {
    assert.deepStrictEqual(
      shown(
        step,
        phases("one", "read_file", 1003, ["received", "materialized", "decoded", "gated", "dispatching"]),
        phases("one", "read_file", 1012, ["settled", "reviewed", "published"]),
        { _tag: "Outcome", outcome: outcome("one", "read_file"), at: 1012 },
        phases("two", "run_command", 1800, ["settled"]),
        { _tag: "Outcome", outcome: { ...stopped, stillAlive: ["process 7 (sleep)"] }, at: 1801 }
      ),
      [
        "     3ms  one  read_file    received > materialized > decoded > gated > dispatching",
        "    12ms  one  read_file    settled > reviewed > published  OK",
        "   800ms  two  run_command  settled",
        "   801ms  two  run_command  published  ABORTED  still alive: process 7 (sleep)"
      ]
    )
  })

  it("shows nothing of a call behind its result", () => {
    const late = phases("one", "read_file", 1012, ["settled", "reviewed", "published"])
    const lines = shown({ _tag: "Outcome", outcome: outcome("one", "read_file"), at: 1012 }, late)
    assert.deepStrictEqual(lines, ["    12ms  one  read_file    published  OK"])
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
  const terminal = { columns: 60, rows: 24 }

  it("draws the calls of a step in place", () => {
    const stdout = new Written(terminal)
    const display = Display.live(new Output(stdout, new Written()), plan)
    display.show(step)
    assert.deepStrictEqual(screen(stdout.text), [
      "Step 1 of 1",
      "  one  read_file    waiting",
      "  two  run_command  waiting"
    ])
    display.show(phases("one", "read_file", 1000, ["received", "dispatching"]))
    display.show({ _tag: "Outcome", outcome: outcome("one", "read_file"), at: 1012 })
    display.show(phases("two", "run_command", 1300, ["dispatching"], 1300))
    display.tick(1800)
    assert.deepStrictEqual(screen(stdout.text), [
      "Step 1 of 1",
      "  one  read_file    OK  0.0 s",
      "  two  run_command  dispatching  0.8 s, cancelled 0.5 s ago"
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
