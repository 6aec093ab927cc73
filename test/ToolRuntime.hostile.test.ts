import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Option } from "effect"
import { Cancellation, Policy, type ToolResult } from "quiesce"
import { type Setup, settle, setup, user } from "./support/calls.js"

/** Throws when it is asked for the `at`th time, and is the live clock otherwise. */
const throwingAt = (at: number) => {
  let asked = 0
  const live = Clock.make()
  const ask = <A>(answer: () => A): A => {
    if (++asked === at) throw new Error("the clock is broken")
    return answer()
  }
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => ask(() => live.unsafeCurrentTimeMillis()),
    unsafeCurrentTimeNanos: () => ask(() => live.unsafeCurrentTimeNanos()),
    currentTimeMillis: Effect.sync(() => ask(() => live.unsafeCurrentTimeMillis())),
    currentTimeNanos: Effect.sync(() => ask(() => live.unsafeCurrentTimeNanos())),
    sleep: (duration) => ask(() => live.sleep(duration))
  }
  return { clock, wasAsked: () => asked >= at }
}

/** What a fiber comes to. It fails the test, and does not hang it, when the fiber has not ended after many turns. */
const ended = <A, E>(fiber: Fiber.Fiber<A, E>, turns = 1) =>
  Effect.flatMap(Effect.zipRight(Effect.repeatN(settle, turns), Fiber.poll(fiber)), (exit) => {
    assert.isTrue(Option.isSome(exit), "it hangs")
    return Fiber.join(fiber)
  })

describe("ToolRuntime (hosts that break)", () => {
  const deadlines = Policy.around("deadline", (_, next) => Cancellation.withDeadline(next, { duration: "1 hour" }))
  const turn = Effect.yieldNow()
  const scenarios: ReadonlyArray<readonly [string, (t: Setup) => Effect.Effect<ToolResult.ToolResult>]> = [
    ["executed", (t) => t.execute()],
    ["cancelled", (t) => Effect.flatMap(t.start(), (call) => Effect.zipRight(call.cancel(user), call.result))]
  ]
  for (const [name, run] of scenarios) {
    it.scopedLive(`L1: a clock that throws, whenever it does, leaves no call without its result (${name})`, () =>
      Effect.gen(function* () {
        for (let at = 1; ; at++) {
          const { clock, wasAsked } = throwingAt(at)
          const once = Effect.gen(function* () {
            const t: Setup = yield* setup({
              timeout: 60_000,
              policies: [deadlines, Policy.timeout],
              before: () => Effect.as(turn, Policy.allow),
              body: (text) => Effect.as(turn, text),
              after: () => Effect.as(turn, Policy.accept())
            })
            const result = yield* ended(yield* Effect.fork(Cancellation.own(run(t))))
            assert.deepStrictEqual(t.observed, [result], `asked for the ${at}th time`)
            assert.deepStrictEqual(yield* t.runtime.inFlight, [])
            return result._tag === "Success" ? "OK" : result.code
          })
          // The scope closes: no owner was left in that of the test.
          const code = yield* ended(yield* Effect.fork(Effect.withClock(Effect.scoped(once), clock)), 10)
          assert.strictEqual(code, name === "executed" ? "OK" : "ABORTED_BEFORE_DISPATCH")
          if (!wasAsked()) return assert.isAbove(at, 4)
        }
      })
    )
  }
})
