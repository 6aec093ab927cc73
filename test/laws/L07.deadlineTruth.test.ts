import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Fiber, Schedule } from "effect"
import { CancelCause, Cancellation, Policy } from "quiesce"
import { Sim } from "quiesce/testing"
import { call, checkPublished, codeOf, law, user, Witness, world } from "../support/laws.js"

const slow = Sim.external("slow", { ends: Effect.void })

describe("L7 deadline truth", () => {
  law(
    "L7",
    "the tool's timer and a cancel race with the body: the code is that of the first cause, or the body was in time",
    Effect.gen(function* () {
      const witness = new Witness()
      const sim = yield* Sim.Sim
      const body = Effect.zipRight(slow, Effect.as(witness.note("in time"), "done"))
      const { runtime } = yield* world(witness, [witness.tool(body, { timeout: 100 })])
      const fiber = yield* Sim.fork("call")(Cancellation.own(runtime.execute(call)))
      let cancelled = false
      sim.addFault("cancelCall", () => {
        cancelled = Effect.runSync(runtime.cancelCall(call.id, user))
      })
      yield* Fiber.await(fiber)
      const result = checkPublished(witness)
      assert.isDefined(result)
      const code = codeOf(result as never)
      if ((yield* Clock.currentTimeMillis) < 100) assert.notStrictEqual(code, "TOOL_TIMEOUT", "L7: it was not late")
      if (result?._tag === "Success") assert.isTrue(witness.saw("in time"))
      else if (code === "TOOL_TIMEOUT") assert.strictEqual(result?.cause?._tag, "Deadline")
      else assert.isTrue(cancelled && result?.cause?._tag === "User", "L7: aborted, and nobody had cancelled")
      return code
    }),
    { timers: "any", expect: ["OK", "TOOL_TIMEOUT", "ABORTED", "ABORTED_BEFORE_DISPATCH"] }
  )

  law(
    "L7",
    "a body that succeeded in time stays a success, however slow the wrapper between it and the timer is",
    Effect.gen(function* () {
      const witness = new Witness()
      const sim = yield* Sim.Sim
      const lingers = Policy.around("lingers", (_call, next) =>
        Effect.zipLeft(next, Effect.zipRight(Effect.sleep(1000), witness.note("lingered")))
      )
      const body = Effect.as(Effect.yieldNow(), "done")
      const { runtime } = yield* world(witness, [witness.tool(body)], [Policy.timeoutOf(() => 100), lingers])
      const fiber = yield* Sim.fork("call")(Cancellation.own(runtime.execute(call)))
      let cancelled = false
      sim.addFault("cancelCall", () => {
        cancelled = Effect.runSync(runtime.cancelCall(call.id, user))
      })
      yield* Fiber.await(fiber)
      const result = checkPublished(witness)
      const code = codeOf(result as never)
      if (!cancelled) {
        assert.strictEqual(code, "OK", "L7: the wrapper was slow, not the tool")
        assert.isTrue(witness.saw("lingered"), "L7: the wrapper was stopped")
      }
      return code
    }),
    { expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH"] }
  )

  law(
    "L7",
    "an outer deadline is not the tool's timeout: the code says which of the two came first",
    Effect.gen(function* () {
      const witness = new Witness()
      const body = Effect.as(slow, "done")
      const { runtime } = yield* world(witness, [witness.tool(body, { timeout: 100 })])
      const fiber = yield* Sim.fork("call")(
        Cancellation.withDeadline(runtime.execute(call), { duration: 50, code: "OUTER" })
      )
      yield* Fiber.await(fiber)
      const result = checkPublished(witness)
      if (result === undefined) return "not accepted"
      if (result._tag === "Success") return "OK"
      assert.isTrue(result.cause?._tag === "Deadline")
      const code = result.cause?._tag === "Deadline" ? result.cause.code : ""
      assert.strictEqual(result.code === "TOOL_TIMEOUT", code === "TOOL_TIMEOUT", "L7: the wrong deadline")
      return `${result.code} by ${code}`
    }),
    {
      faults: 0,
      preemptions: 2,
      timers: "any",
      expect: [
        "OK",
        "TOOL_TIMEOUT by TOOL_TIMEOUT",
        "ABORTED by OUTER",
        "ABORTED_BEFORE_DISPATCH by OUTER",
        "not accepted"
      ]
    }
  )

  law(
    "L7",
    "a cancel during the clean-up after a timeout does not take the timeout back; the body's own failure is kept in it",
    Effect.gen(function* () {
      const witness = new Witness()
      const sim = yield* Sim.Sim
      const stuck = Effect.sleep(1000).pipe(
        Effect.onInterrupt(() => Effect.zipRight(witness.note("cleaning"), Effect.die("broke while it stopped")))
      )
      const { runtime } = yield* world(witness, [witness.tool(Effect.as(stuck, "done"), { timeout: 100 })])
      const fiber = yield* Sim.fork("call")(Cancellation.own(runtime.execute(call)))
      let causeAtCancel: string | undefined
      sim.addFault("cancelCall", () => {
        causeAtCancel = witness.saw("cleaning") ? "late" : "early"
        Effect.runSync(runtime.cancelCall(call.id, CancelCause.user("stop")))
      })
      yield* Fiber.await(fiber)
      const result = checkPublished(witness)
      const code = codeOf(result as never)
      if (causeAtCancel !== "early") assert.strictEqual(code, "TOOL_TIMEOUT", "L7: the timeout was taken back")
      if (result?._tag === "Failure" && code === "TOOL_TIMEOUT") {
        assert.include(result.bodyFailure?.message, "broke while it stopped", "L7: the body's own failure is lost")
      }
      return `${code}, cancelled ${causeAtCancel ?? "never"}`
    }),
    {
      expect: [
        "TOOL_TIMEOUT, cancelled never",
        "TOOL_TIMEOUT, cancelled late",
        "TOOL_TIMEOUT, cancelled early",
        "TOOL_FAILURE, cancelled early",
        "ABORTED, cancelled early",
        "ABORTED_BEFORE_DISPATCH, cancelled early"
      ]
    }
  )

  law(
    "L7",
    "a deadline over retries: it names itself only if it stopped an attempt, and a failure that was waiting to be tried again stays",
    Effect.gen(function* () {
      const witness = new Witness()
      // The pause between the attempts and the deadline end in one instant, in either order.
      const second = Sim.external("second", { quick: Effect.void, slow: Effect.sleep(10) })
      const body = Effect.suspend(() =>
        witness.handlers === 1
          ? Effect.fail("once more")
          : witness
              .note("again")
              .pipe(Effect.zipRight(second), Effect.zipRight(witness.note("in time")), Effect.as("done"))
      )
      const policies = [Policy.timeout, Policy.retry({ schedule: Schedule.addDelay(Schedule.recurs(1), () => 100) })]
      const { runtime } = yield* world(witness, [witness.tool(body, { timeout: 100 })], policies)
      const fiber = yield* Sim.fork("call")(Cancellation.own(runtime.execute(call)))
      yield* Fiber.await(fiber)
      const result = checkPublished(witness)
      const code = codeOf(result as never)
      if (code === "TOOL_TIMEOUT") {
        assert.isAtLeast(yield* Clock.currentTimeMillis, 100, "L7: it was not late")
        assert.strictEqual(result?.body, "interrupted", "L7: it stopped no attempt")
        assert.isFalse(witness.saw("in time"), "L7: the body had succeeded")
      }
      if (code === "OK") assert.isTrue(witness.saw("in time"))
      if (code === "TOOL_FAILURE")
        assert.isFalse(witness.saw("again"), "L7: the failure of an attempt that does not count")
      return code
    }),
    {
      faults: 0,
      preemptions: 2,
      expect: ["OK", "TOOL_TIMEOUT", "TOOL_FAILURE"]
    }
  )
})
