import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { Args } from "../support/cli.js"

describe("the command line", () => {
  it("is read", () => {
    const command = Args.read(["run", "plan.json", "--workspace", "here", "--cancel-after=200", "--json"])
    assert.deepStrictEqual(Either.getOrThrow(command), {
      _tag: "Run",
      plan: "plan.json",
      workspace: "here",
      cancelAfterMillis: 200,
      json: true
    })
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
    [["run", "--cancel-after", "soon"], "--cancel-after soon: expected a whole number of milliseconds from 0 to"],
    [["run", "--cancel-after", "1e3"], "--cancel-after 1e3: expected a whole number"],
    [["run", "--cancel-after", "2147483648"], "from 0 to 2147483647"]
  ])("%j is refused", (args, message) => {
    const { messages, showUsage } = Either.getOrThrow(Either.flip(Args.read(args)))
    assert.include(messages[0], message)
    assert.isTrue(showUsage)
  })
})
