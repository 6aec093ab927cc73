import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Fiber, FiberRef, HashSet, Logger, Schema } from "effect"
import { Cancellation, Policy, Tool, ToolContext } from "quiesce"
import { Sim } from "quiesce/testing"
import { call, codeOf, ended, executing, law, reason, Witness, world } from "../support/laws.js"

const breaks = Effect.zipRight(Effect.yieldNow(), Effect.die(new Error("broken")))

/** A log that fails on each line. */
const brokenLog = HashSet.make(
  Logger.make<unknown, void>(() => {
    throw new Error("the log is broken")
  })
)

describe("L8 balance", () => {
  law(
    "L8",
    "an observer crashes and the log of that crash fails: the call has its one result all the same",
    Effect.gen(function* () {
      const witness = new Witness()
      const crashes = Policy.observe("crashes", () => breaks)
      const here = yield* world(witness, [witness.tool(Effect.succeed("done"))], [crashes])
      return yield* ended(yield* executing(here, ["interrupt", "cancelCall"]), witness)
    }).pipe(Effect.locally(FiberRef.currentLoggers, brokenLog)),
    { expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L8, L5",
    "a policy crashes before the call: it has its one result, and no handler is called",
    Effect.gen(function* () {
      const witness = new Witness()
      const here = yield* world(
        witness,
        [witness.tool(Effect.succeed("done"))],
        [Policy.before("crashes", () => breaks)]
      )
      return yield* ended(yield* executing(here, ["interrupt", "signal", "release"]), witness)
    }),
    { expect: ["POLICY_FAILURE", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L8, L5",
    "a review crashes behind the body: it has its one result",
    Effect.gen(function* () {
      const witness = new Witness()
      const here = yield* world(
        witness,
        [witness.tool(Effect.as(Effect.yieldNow(), "done"))],
        [Policy.after("crashes", () => breaks)]
      )
      return yield* ended(yield* executing(here, ["interrupt", "cancelCall"]), witness)
    }),
    { expect: ["POLICY_FAILURE", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L8, L1",
    "a batch of two is cancelled: each call has one result, in order, the log a pair for each, and nothing of it lives",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const witness = new Witness()
      const body = witness.during("body", Effect.as(Effect.yieldNow(), "done"))
      const { runtime } = yield* world(witness, [{ ...witness.tool(body), concurrency: () => "parallel" }])
      const log: Array<string> = []
      const batch = runtime.executeBatch([call, { ...call, id: "c2" }], {
        onStart: ({ id }) => void log.push(`call ${id}`),
        onResult: ({ callId }) => void log.push(`result ${callId}`)
      })
      const controller = new AbortController()
      const fiber = yield* Sim.fork("batch")(Cancellation.ownSignal(batch, controller.signal))
      sim.addFault("signal", () => controller.abort(reason))
      const exit = yield* Fiber.await(fiber)
      const observed = witness.observed.map(({ callId }) => callId)
      assert.strictEqual(witness.alive.size, 0, "L3: something of the batch lives")
      if (log.length === 0) return "not accepted"
      assert.deepStrictEqual(observed, ["c1", "c2"], "L8: a call has no result, or two, or they are out of order")
      assert.sameMembers(log, ["call c1", "result c1", "call c2", "result c2"], "L8: the log is out of balance")
      const codes = witness.observed.map(codeOf)
      if (Exit.isSuccess(exit)) assert.deepStrictEqual(exit.value.results.map(codeOf), codes)
      return codes.join(", ")
    }),
    {
      cut: "suspension",
      expect: [
        "OK, OK",
        "OK, ABORTED",
        "ABORTED, OK",
        "ABORTED, ABORTED",
        "ABORTED, ABORTED_BEFORE_DISPATCH",
        "ABORTED_BEFORE_DISPATCH, ABORTED_BEFORE_DISPATCH",
        "not accepted"
      ],
      // The second may be dispatched while the first is on its way: bodies of parallel calls overlap.
      deeper: ["ABORTED_BEFORE_DISPATCH, ABORTED"]
    }
  )

  law(
    "L8, L3",
    "a body makes a call of its own and is cancelled: each of both has one result, the inner one first, when it is quiet",
    Effect.gen(function* () {
      const witness = new Witness()
      const inner = Tool.make("inner", {
        description: "The tool that the body calls",
        parameters: {},
        success: Schema.String,
        handler: () => witness.during("inner", Effect.as(Effect.yieldNow(), "done"))
      })
      const body = witness.during("outer", Effect.as(ToolContext.call("inner", {}), "done"))
      const here = yield* world(witness, [witness.tool(body), inner])
      const { fiber } = yield* executing(here, ["interrupt", "cancelCall"])
      const exit = yield* Fiber.await(fiber)
      const results = witness.observed.map((result) => `${result.callId} ${codeOf(result)}`)
      assert.strictEqual(witness.alive.size, 0, "L3: something of the calls lives")
      const ids = witness.observed.map(({ callId }) => callId)
      if (ids.length > 0) assert.strictEqual(ids.at(-1), "c1", "L3: the outer call came before its own")
      assert.strictEqual(new Set(ids).size, ids.length, "L8: a call has two results")
      const own = witness.observed.at(-1)
      if (Exit.isSuccess(exit)) assert.strictEqual(exit.value, own, "L1")
      // A cancel of the body may find its call at its end: then that is what it is.
      return results.length === 0 ? "not accepted" : results.join(", ")
    }),
    {
      expect: [
        "c1:1 OK, c1 OK",
        "c1:1 OK, c1 ABORTED",
        "c1:1 ABORTED, c1 ABORTED",
        "c1:1 ABORTED_BEFORE_DISPATCH, c1 ABORTED",
        "c1 ABORTED",
        "c1 ABORTED_BEFORE_DISPATCH",
        "not accepted"
      ]
    }
  )
})
