import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { Cancellation, Content, Policy, Tool, type ToolResult } from "quiesce"
import { Sim } from "quiesce/testing"
import { call, checkPublished, codeOf, ended, executing, law, user, Witness, world } from "../support/laws.js"

describe("L1 one result", () => {
  law(
    "L1",
    "the caller and two observers get one deep-frozen object, whose value is encoded",
    Effect.gen(function* () {
      const witness = new Witness()
      const others: Array<ToolResult.ToolResult> = []
      const tool = Tool.make("tool", {
        description: "Gives a number",
        parameters: {},
        success: Schema.NumberFromString,
        handler: () => {
          witness.handlers++
          return Effect.as(Effect.yieldNow(), 42)
        }
      })
      const policies = [
        Policy.after("adds", () => Effect.as(Effect.yieldNow(), Policy.accept({ contexts: [Content.text("seen")] }))),
        Policy.observe("fails", (_call, result) => Effect.die(others.push(result)))
      ]
      const here = yield* world(witness, [tool], policies)
      const code = yield* ended(yield* executing(here, ["interrupt", "signal", "release"]), witness)
      assert.deepStrictEqual(others, witness.observed, "L1: an observer was left out")
      assert.strictEqual(others[0], witness.observed[0], "L1: observers saw two objects")
      const [result] = witness.observed
      if (result?._tag === "Success") assert.strictEqual(result.value, "42", "L1: the value is not encoded")
      return code
    }),
    { expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L1",
    "whoever waits for a started call gets the same object, when RunningCall.cancel strikes and when it does not",
    Effect.gen(function* () {
      const witness = new Witness()
      const sim = yield* Sim.Sim
      const waits = Policy.before("waits", () => Effect.as(Effect.yieldNow(), Policy.allow))
      const { runtime } = yield* world(witness, [witness.tool(Effect.as(Effect.yieldNow(), "done"))], [waits])
      let accepted: boolean | undefined
      const [first, second] = yield* Cancellation.own(
        Effect.gen(function* () {
          const running = yield* runtime.start(call)
          sim.addFault("cancel", () => {
            accepted = Effect.runSync(running.cancel(user))
          })
          const other = yield* Sim.fork("second")(running.result)
          return [yield* running.result, yield* Fiber.join(other)] as const
        })
      )
      const result = checkPublished(witness)
      assert.strictEqual(first, result)
      assert.strictEqual(second, result)
      const code = codeOf(first)
      if (accepted !== undefined) assert.strictEqual(code !== "OK", accepted, "cancel did not say what came of it")
      return accepted === undefined ? code : `${code} and cancel said ${accepted}`
    }),
    {
      expect: [
        "OK",
        "OK and cancel said false",
        "ABORTED and cancel said true",
        "ABORTED_BEFORE_DISPATCH and cancel said true"
      ]
    }
  )
})
