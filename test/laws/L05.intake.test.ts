import { assert, describe } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Cancellation, Policy, Tool, type ToolCall } from "quiesce"
import { call, ended, executing, law, Witness, world } from "../support/laws.js"

/** The owner under which a call is made, as its tool sees it. */
interface Caller {
  service?: Cancellation.Service
}

/** A tool that sees when its parameters are decoded, and whether the call had been cancelled by then. */
const picky = (witness: Witness, owner: Caller) =>
  Tool.make("tool", {
    description: "Wants a number",
    parameters: {
      n: Schema.Unknown.pipe(
        Schema.filter((value) => {
          witness.facts.push(owner.service?.cause === undefined ? "decoded" : "decoded although cancelled")
          return typeof value === "number"
        })
      )
    },
    success: Schema.String,
    handler: () => {
      witness.handlers++
      return Effect.succeed("done")
    }
  })

const underOwner = <A, E>(owner: Caller, self: Effect.Effect<A, E, Cancellation.Cancellation>) =>
  Effect.flatMap(Cancellation.Cancellation, (service) => {
    owner.service = service
    return self
  })

const kinds = ["interrupt", "signal"] as const

/** A call that cannot run, cancelled in every way; nobody may be asked about it. */
const refused = (bad: ToolCall.ToolCall) =>
  Effect.gen(function* () {
    const witness = new Witness()
    const owner: Caller = {}
    const asks = Policy.before("asks", () => Effect.as(witness.note("asked"), Policy.deny("nobody is to be asked")))
    const here = yield* world(witness, [picky(witness, owner)], [asks])
    const running = yield* executing(here, kinds, underOwner(owner, here.runtime.execute(bad)))
    const code = yield* ended(running, witness)
    assert.notInclude(witness.facts, "asked", "L5: a policy was asked about a call that cannot run")
    assert.notInclude(witness.facts, "decoded although cancelled", "L5: a cancel comes first")
    assert.strictEqual(witness.saw("decoded"), code === "INVALID_ARGS", "L5: decoded, and something else was told")
    return code
  })

describe("L5 order at intake", () => {
  law(
    "L5",
    "parameters that are not JSON are told before a cancel is, and a cancel never takes that back",
    refused({ ...call, parameters: { n: Number.NaN } }),
    { expect: ["NOT_JSON", "not accepted"] }
  )

  law(
    "L5",
    "a cancel is told before an unknown tool is, and behind that it takes nothing back",
    refused({ ...call, name: "unknown", parameters: { n: 1 } }),
    { expect: ["UNKNOWN_TOOL", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L5",
    "a cancel is told before parameters that do not decode are: they are not even read by the schema",
    refused({ ...call, parameters: { n: "one" } }),
    { expect: ["INVALID_ARGS", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L5",
    "parameters that decode are decoded before a policy is asked, and not when the call is cancelled",
    Effect.gen(function* () {
      const witness = new Witness()
      const owner: Caller = {}
      const asks = Policy.before("asks", () => {
        assert.isTrue(witness.saw("decoded"), "L5: asked about parameters that nobody had decoded")
        return Effect.as(Effect.yieldNow(), Policy.deny("no"))
      })
      const here = yield* world(witness, [picky(witness, owner)], [asks])
      const execute = here.runtime.execute({ ...call, parameters: { n: 1 } })
      const running = yield* executing(here, kinds, underOwner(owner, execute))
      const code = yield* ended(running, witness)
      assert.notInclude(witness.facts, "decoded although cancelled", "L5: a cancel comes first")
      return `${code}, ${witness.saw("decoded") ? "decoded" : "not decoded"}`
    }),
    {
      expect: [
        "DENIED, decoded",
        "ABORTED_BEFORE_DISPATCH, decoded",
        "ABORTED_BEFORE_DISPATCH, not decoded",
        "not accepted, not decoded"
      ]
    }
  )
})
