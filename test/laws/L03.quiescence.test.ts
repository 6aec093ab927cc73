import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Abort, Cancellation, Policy, type ToolResult, ToolRuntime } from "quiesce"
import { Sim } from "quiesce/testing"
import { codeOf, ended, executing, law, Witness, world } from "../support/laws.js"

const everyCode = ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "not accepted"]

describe("L3 quiescence", () => {
  law(
    "L3",
    "a body forks a child, and a daemon that runs an operation: both have ended when the result is published",
    Effect.gen(function* () {
      const witness = new Witness()
      const body = Effect.gen(function* () {
        yield* Effect.fork(witness.during("child", Effect.never))
        yield* Effect.forkDaemon(Cancellation.operation(witness.during("daemon", Effect.never), "work"))
        yield* Effect.yieldNow()
        return "done"
      })
      const here = yield* world(witness, [witness.tool(body)])
      return yield* ended(yield* executing(here, ["interrupt"]), witness)
    }),
    { expect: everyCode }
  )

  law(
    "L3",
    "a promise that ignores its signal is awaited: the result comes when it has settled",
    Effect.gen(function* () {
      const witness = new Witness()
      const body = Effect.gen(function* () {
        const answer = yield* Sim.promise("answer", { ok: () => "done" })
        return yield* Abort.fromPromise(() => {
          witness.alive.add("promise")
          return answer.finally(() => witness.alive.delete("promise"))
        })
      })
      const here = yield* world(witness, [witness.tool(body)])
      return yield* ended(yield* executing(here, ["interrupt", "signal"]), witness)
    }),
    { expect: everyCode }
  )

  law(
    "L3",
    "a wrapper stops waiting for the body: the body is stopped, and awaited before the result is published",
    Effect.gen(function* () {
      const witness = new Witness()
      const body = witness.during("body", Effect.as(Sim.external("slow", { ends: Effect.void }), "done"))
      const impatient = Policy.around("impatient", (_call, next) =>
        Effect.flatMap(Effect.forkDaemon(next), (waiting) =>
          Effect.flatten(
            Sim.external("patience", {
              ends: Effect.succeed(Effect.fail("waited long enough") as Effect.Effect<ToolResult.ToolResult, string>),
              lasts: Effect.succeed(Fiber.join(waiting))
            })
          )
        )
      )
      const here = yield* world(witness, [witness.tool(body)], [impatient])
      return yield* ended(yield* executing(here, ["cancelCall"]), witness)
    }),
    { expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "POLICY_FAILURE"] }
  )

  law(
    "L3",
    "a body makes a call of its own: that is published before the outer one is, and both are quiet",
    Effect.gen(function* () {
      const witness = new Witness()
      const inner = new Witness()
      const innerTool = {
        ...inner.tool(inner.during("inner body", Effect.as(Effect.yieldNow(), "inner"))),
        name: "inner"
      }
      const codes: Array<string> = []
      const records = Policy.observe("records", ({ id }, result) =>
        Effect.sync(() => void codes.push(`${id} ${codeOf(result)}`))
      )
      const body = Effect.flatMap(ToolRuntime.execute({ id: "c2", name: "inner", parameters: {} }), (result) =>
        witness.during("outer body", Effect.succeed(codeOf(result)))
      )
      const here = yield* world(new Witness(), [witness.tool(body), innerTool], [records])
      const running = yield* executing(here, ["signal"])
      yield* Effect.exit(running.fiber)
      assert.deepStrictEqual([...witness.alive, ...inner.alive], [])
      if (inner.handlers > 0) assert.match(codes[0] ?? "", /^c2/, "L3: the inner call was published first")
      return codes.join(", ") || "not accepted"
    }),
    {
      expect: [
        "c2 OK, c1 OK",
        "c2 OK, c1 ABORTED",
        "c2 ABORTED, c1 ABORTED",
        "c2 ABORTED_BEFORE_DISPATCH, c1 ABORTED",
        "c1 ABORTED",
        "c1 ABORTED_BEFORE_DISPATCH",
        "not accepted"
      ]
    }
  )
})
