import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import { Sim } from "quiesce/testing"
import { call, checkPublished, ended, executing, law, reason, Witness, world } from "../support/laws.js"

describe("L6 first cause wins", () => {
  law(
    "L6",
    "two fibers and the host cancel one call: the first that is told true is the cause, in the result and in the signal",
    Effect.gen(function* () {
      const witness = new Witness()
      const order: Array<string> = []
      let signal: AbortSignal | undefined
      const body = Effect.zipRight(
        Effect.map(Cancellation.signal, (own) => {
          signal = own
        }),
        Effect.as(Sim.external("slow", { ends: Effect.void }), "done")
      )
      const { runtime } = yield* world(witness, [witness.tool(body)])
      const controller = new AbortController()
      const running = yield* Sim.fork("call")(Cancellation.ownSignal(runtime.execute(call), controller.signal))
      const cancels = (name: string) =>
        Effect.map(runtime.cancelCall(call.id, CancelCause.user(name)), (first) => {
          if (first) order.push(name)
        })
      const a = yield* Sim.fork("a")(cancels("a"))
      const b = yield* Sim.fork("b")(cancels("b"))
      yield* Sim.fault("signal", () => controller.abort(reason))
      yield* Fiber.awaitAll([running, a, b])
      const result = checkPublished(witness)
      assert.isAtMost(order.length, 1, "L6: two were told that they were the first")
      if (result === undefined || result._tag === "Success") return "not cancelled"
      const [first] = order
      assert.strictEqual(result.cause?._tag, first === undefined ? "HostSignal" : "User")
      if (result.cause?._tag === "User") assert.strictEqual(result.cause.note, first, "L6: another cause")
      if (signal !== undefined) {
        const told: unknown = signal.reason
        if (first === undefined) assert.strictEqual(told, reason, "L6: not the host's own object")
        else assert.include(String(told), first)
      }
      return first ?? "the host"
    }),
    { expect: ["a", "b", "the host", "not cancelled"] }
  )

  law(
    "L6",
    "owners that derive from a call inherit its cause: one object for the caller's signal and every signal below",
    Effect.gen(function* () {
      const witness = new Witness()
      const signals: Array<AbortSignal> = []
      const keep = Effect.map(Cancellation.signal, (signal) => void signals.push(signal))
      const body = Effect.zipRight(keep, Cancellation.own(Effect.zipRight(keep, Effect.as(Effect.yieldNow(), "done"))))
      const here = yield* world(witness, [witness.tool(body)])
      const running = yield* executing(here, ["signal"])
      const code = yield* ended(running, witness)
      const aborted = signals.filter((signal) => signal.aborted)
      for (const signal of aborted) assert.strictEqual(signal.reason, reason, "L6: not the same object")
      if (running.struck() === undefined) assert.deepStrictEqual(aborted, [], "L10: aborted by success")
      return `${code}, ${aborted.length} aborted`
    }),
    {
      expect: [
        "OK, 0 aborted",
        "OK, 1 aborted",
        "ABORTED, 0 aborted",
        "ABORTED, 1 aborted",
        "ABORTED, 2 aborted",
        "ABORTED_BEFORE_DISPATCH, 0 aborted",
        "not accepted, 0 aborted"
      ]
    }
  )
})
