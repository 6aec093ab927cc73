import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { embeddedPlan, makeToolkit, Plan } from "../support/cli.js"

const toolkit = makeToolkit({ cwd: "." })

const problemsIn = (value: unknown): ReadonlyArray<string> =>
  Either.match(Plan.check(value, "plan.json", toolkit), {
    onLeft: ({ messages }) => messages,
    onRight: () => []
  })

const withCalls = (...calls: ReadonlyArray<unknown>) => ({ steps: [{ calls }] })

const read = (more: object = {}) => ({ tool: "read_file", parameters: { path: "a" }, ...more })

describe("a plan that cannot run", () => {
  it.each([
    ["no object", [1], `plan.json: $: expected { "steps": [...] }, actual [1]`],
    ["no steps", {}, "plan.json: $.steps: is missing: expected a list of at least one step"],
    ["empty steps", { steps: [] }, "plan.json: $.steps: expected a list of at least one step"],
    ["a step that is none", { steps: [4] }, `plan.json: $.steps[0]: expected { "calls": [...] }, actual 4`],
    ["a step without anything", { steps: [{}] }, `plan.json: $.steps[0]: expected "calls", "text" or both in a step`],
    ["no calls", { steps: [{ calls: [] }] }, "plan.json: $.steps[0].calls: expected a list of at least one call"],
    ["nothing said", { steps: [{ text: " " }] }, "plan.json: $.steps[0].text: expected what the model says"],
    [
      "an empty question",
      withCalls(read({ ask: "" })),
      "$.steps[0].calls[0].ask: expected why somebody is to be asked"
    ],
    [
      "no tool",
      withCalls({ parameters: {} }),
      "plan.json: $.steps[0].calls[0].tool: is missing: expected the name of a tool"
    ],
    ["a tool that is no name", withCalls(read(), read({ tool: 3 })), "$.steps[0].calls[1].tool: expected the name of"],
    [
      "no parameters",
      withCalls({ tool: "read_file" }),
      "plan.json: $.steps[0].calls[0].parameters: is missing: expected the parameters of the tool"
    ],
    ["an id for a terminal", withCalls(read({ id: "\x1b[2J" })), "$.steps[0].calls[0].id: expected a name of 1 to 64"],
    [
      "a phase that is none",
      withCalls(read({ cancel: { phase: "soon" } })),
      `plan.json: $.steps[0].calls[0].cancel: expected { "afterMillis": a whole number } or { "phase": one of "before", "gated", "dispatching", "settled", "reviewed", "after" }`
    ],
    [
      "a timeout that no timer can wait for",
      withCalls(read({ timeoutMillis: 2 ** 31 })),
      "plan.json: $.steps[0].calls[0].timeoutMillis: expected a whole number of milliseconds from 1 to 2147483647"
    ],
    [
      "a slip of the pen",
      withCalls(read({ timeout: 5 })),
      `plan.json: $.steps[0].calls[0].timeout: is unexpected, expected: "id" | "tool"`
    ],
    [
      "a tool that there is not",
      withCalls(read({ tool: "rea_file" })),
      `plan.json: $.steps[0].calls[0].tool: there is no tool "rea_file": expected one of read_file, list_files, write_file, edit_file, search_files, run_command, shell, fetch_url, start_task, task_output, kill_task, run_code, run_workflow`
    ],
    [
      "a parameter of another type",
      withCalls(read({ parameters: { path: 7 } })),
      "plan.json: $.steps[0].calls[0].parameters.path: expected string, actual 7 (the parameters of read_file are { path: string })"
    ],
    [
      "a parameter that the tool does not know",
      withCalls({ tool: "list_files", parameters: { pth: "." } }),
      `plan.json: $.steps[0].calls[0].parameters.pth: is unexpected, expected: "path"`
    ],
    [
      "an id twice",
      { steps: [{ calls: [read({ id: "a" })] }, { calls: [read({ id: "a" })] }] },
      `plan.json: $.steps[1].calls[0].id: "a" is the id of $.steps[0].calls[0]: expected one of its own`
    ],
    [
      "a wrong expectation of the tool",
      withCalls(read({ expect: "UNKNOWN_TOOL" })),
      `plan.json: $.steps[0].calls[0].expect: "read_file" is a tool: expected`
    ],
    [
      "a wrong expectation of the parameters",
      withCalls(read({ expect: "INVALID_ARGS" })),
      "plan.json: $.steps[0].calls[0].expect: the parameters are valid: expected"
    ]
  ])("%s", (_, plan, message) => {
    const problems = problemsIn(plan)
    assert.strictEqual(problems.length, 1, problems.join("\n"))
    assert.include(problems[0], message)
  })

  it("is told of all its problems at once", () => {
    const problems = problemsIn(withCalls(read({ tool: "a" }), read({ tool: "b" }), read({ parameters: {} })))
    assert.deepStrictEqual(
      problems.map((problem) => problem.split(": ")[1]),
      ["$.steps[0].calls[0].tool", "$.steps[0].calls[1].tool", "$.steps[0].calls[2].parameters.path"]
    )
  })

  it("does not have a long value repeated to it", () => {
    const [problem = ""] = problemsIn(["x".repeat(10_000)])
    assert.isBelow(problem.length, 500)
  })
})

describe("a plan that can run", () => {
  it("gives calls without an id one that nobody has", () => {
    const plan = Either.getOrThrow(Plan.check(withCalls(read(), read({ id: "call_2" }), read()), "plan.json", toolkit))
    assert.deepStrictEqual(
      plan.steps[0]?.calls.map(({ id }) => id),
      ["call_1", "call_2", "call_3"]
    )
  })

  it("may only say something in a step, which ends its turn", () => {
    const plan = Either.getOrThrow(Plan.check({ steps: [{ text: "hello" }] }, "plan.json", toolkit))
    assert.deepStrictEqual(plan.steps, [{ text: "hello", calls: [] }])
  })

  it("may hold calls that are wrong on purpose", () => {
    const unknown = { tool: "send_mail", parameters: 1, expect: "UNKNOWN_TOOL" }
    const invalid = { tool: "read_file", parameters: {}, expect: "INVALID_ARGS" }
    assert.deepStrictEqual(problemsIn(withCalls(unknown, invalid)), [])
  })

  it("is the built-in one", () => {
    assert.deepStrictEqual(problemsIn(embeddedPlan()), [])
  })
})
