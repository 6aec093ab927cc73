import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Fiber, Option } from "effect"
import { Abort, Cancellation, Policy, type ToolResult } from "quiesce"
import { hostile, policyFailed, type Setup, settle, setup, succeeded, toolFailed, user } from "./support/calls.js"

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

  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const throwsItself: unknown = new Proxy(
    {},
    {
      get: () => {
        throw throwsItself
      },
      has: () => {
        throw throwsItself
      },
      getPrototypeOf: () => {
        throw throwsItself
      }
    }
  )
  const values = {
    "a hostile proxy": hostile,
    "a revoked proxy": revoked.proxy,
    "one that throws itself": throwsItself
  }

  const thrown = (value: unknown) => (): string => {
    throw value
  }
  type Way = (value: unknown) => Effect.Effect<unknown, unknown, Cancellation.Cancellation>
  /** Each way to fail with a value that cannot be looked at. */
  const ways: Readonly<Record<string, Way>> = {
    "throws it": (value) => Effect.succeed(thrown(value)()),
    "throws it in an effect": (value) => Effect.sync(thrown(value)),
    "throws it after a turn": (value) => Effect.zipRight(turn, Effect.sync(thrown(value))),
    "throws it in a generator": (value) =>
      Effect.gen(function* () {
        return thrown(value)()
      }),
    "throws it in a callback": (value) => Effect.map(turn, thrown(value)),
    "throws it in a child": (value) => Effect.flatMap(Effect.fork(Effect.sync(thrown(value))), Fiber.join),
    "throws it in a finalizer": (value) => Effect.onExit(turn, () => Effect.succeed(thrown(value)())),
    "throws it in an operation": (value) => Cancellation.operation(Effect.sync(thrown(value)), "throws"),
    "throws it under an owner": (value) => Cancellation.own(Effect.sync(thrown(value))),
    "fails with it": (value) => Effect.failCause(Cause.fail(value)),
    "dies with it": (value) => Effect.failCause(Cause.die(value)),
    "rejects with it": (value) => Abort.fromPromise({ try: () => Promise.reject(value), catch: (error) => error }),
    "maps a rejection to it": (value) =>
      Abort.fromPromise({ try: () => Promise.reject(new Error("no")), catch: () => value }),
    "throws it where it maps a rejection": (value) =>
      Abort.fromPromise({ try: () => Promise.reject(new Error("no")), catch: thrown(value) })
  }
  const unprintable = "<unprintable thrown value>"
  for (const [what, value] of Object.entries(values)) {
    for (const [how, fail] of Object.entries(ways)) {
      it.scoped(`L1: a body or policy that ${how} (${what}) leaves no call without its result`, () =>
        Effect.gen(function* () {
          const failing = Effect.zipRight(
            Effect.suspend(() => fail(value)),
            Effect.never
          )
          const inBody: Setup = yield* setup({
            body: () => (how === "throws it" ? Effect.succeed(thrown(value)()) : failing)
          })
          assert.deepStrictEqual(yield* ended(yield* Effect.fork(inBody.execute())), toolFailed(unprintable))
          for (const stage of ["before", "around", "after"] as const) {
            const t: Setup = yield* setup({ [stage]: () => failing })
            const ran = stage === "after" ? ({ dispatched: true, body: "completed" } as const) : {}
            const result = yield* ended(yield* Effect.fork(t.execute()))
            assert.deepStrictEqual(result, policyFailed(unprintable, ran))
          }
          const observed: Setup = yield* setup({ observe: () => failing })
          assert.deepStrictEqual(yield* ended(yield* Effect.fork(observed.execute())), succeeded())
        })
      )
    }

    it.scoped(`L1: a body that is cancelled and then throws ${what} is a failed call`, () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          body: () => Effect.onInterrupt(Effect.never, () => Effect.succeed(thrown(value)()))
        })
        const call = yield* t.start()
        yield* t.reached("body")
        yield* call.cancel(user)
        assert.deepStrictEqual(yield* ended(yield* Effect.fork(call.result)), toolFailed(unprintable))
      })
    )

    it.scoped(`a promise that rejects with ${what} outside of a call fails with it`, () =>
      Effect.gen(function* () {
        const rejects = Abort.fromPromise({ try: () => Promise.reject(value), catch: (error) => error })
        const exit = yield* ended(yield* Effect.fork(Effect.exit(Cancellation.own(rejects))))
        assert.isTrue(Exit.isFailure(exit) && Option.getOrNull(Cause.failureOption(exit.cause)) === value)
        const rejection = yield* Effect.promise(() => Abort.toPromise(rejects).then(Option.none, Option.some))
        assert.isTrue(Option.isSome(rejection) && rejection.value === value)
      })
    )
  }
})
