import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { Args } from "../support/cli.js"

describe("the command line", () => {
  const plain = {
    _tag: "Run",
    source: { _tag: "Plan", file: undefined },
    workspace: undefined,
    task: undefined,
    interactive: false,
    yes: false,
    session: undefined,
    html: undefined,
    cancelAfterMillis: undefined,
    json: false
  }

  it.each([
    [["run"], {}],
    [
      ["run", "plan.json", "--workspace", "here", "--cancel-after=200", "--json"],
      { source: { _tag: "Plan", file: "plan.json" }, workspace: "here", cancelAfterMillis: 200, json: true }
    ],
    [
      ["run", "plan.json", "-i", "--session", "work.jsonl", "--html", "work.html", "-y"],
      {
        source: { _tag: "Plan", file: "plan.json" },
        interactive: true,
        session: "work.jsonl",
        html: "work.html",
        yes: true
      }
    ],
    [
      ["run", "--model", "small", "--task", "tidy up", "--workspace", "here"],
      {
        source: { _tag: "Model", name: "small", baseUrl: "https://api.openai.com/v1" },
        task: "tidy up",
        workspace: "here"
      }
    ],
    // A model that is told nothing waits for somebody to tell it something.
    [
      ["run", "--model", "small", "--base-url", "http://127.0.0.1:8080/v1"],
      { source: { _tag: "Model", name: "small", baseUrl: "http://127.0.0.1:8080/v1" }, interactive: true }
    ]
  ])("%j is read", (args, expected) => {
    assert.deepStrictEqual(Either.getOrThrow(Args.read(args)), { ...plain, ...expected } as never)
  })

  it.each([[["run", "--help"]], [["-h"]], [["run", "plan.json", "-h"]]])("%j asks for help", (args) => {
    assert.deepStrictEqual(Either.getOrThrow(Args.read(args)), { _tag: "Help" })
  })

  it.each([
    [[], `there is no command: expected "run"`],
    [["walk"], `there is no command "walk": expected "run"`],
    [["run", "a", "b"], `"b" is one argument too many: expected at most one PLAN`],
    [["run", "--foo"], "Unknown option '--foo'"],
    [["run", "a", "--workspace"], "Option '--workspace <value>' argument missing"],
    [["run", "--workspace", "here"], "--workspace was given without a PLAN"],
    [["run", "plan.json", "--model", "small"], "--model small was given beside the plan plan.json"],
    [["run", "--base-url", "http://localhost/v1"], "--base-url was given without --model NAME"],
    [["run", "--model", "small", "--base-url", "localhost:80"], "--base-url localhost:80: expected a URL such as"],
    [["run", "--json", "-i"], "--json prints one document at the end, and cannot be interactive"],
    [["run", "--json", "--model", "small"], "--json prints one document at the end"],
    [["run", "--task", " "], "--task is empty: expected a text"],
    [["run", "--cancel-after", "soon"], "--cancel-after soon: expected a whole number of milliseconds from 0 to"],
    [["run", "--cancel-after", "1e3"], "--cancel-after 1e3: expected a whole number"],
    [["run", "--cancel-after", "2147483648"], "from 0 to 2147483647"]
  ])("%j is refused", (args, message) => {
    const { messages, showUsage } = Either.getOrThrow(Either.flip(Args.read(args)))
    assert.include(messages[0], message)
    assert.isTrue(showUsage)
  })
})
