import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Option, Schema, TestClock } from "effect"
import { Abort, CancelCause, Cancellation, Content, Policy, Tool, ToolContext, type ToolResult } from "quiesce"
import {
  aborted,
  failed,
  HarnessError,
  roads,
  type Setup,
  settle,
  setup,
  succeeded,
  texts,
  timedOut
} from "./support/calls.js"

const whole = ["before", "guard", "around", "body", "after", "observe"]

const boom = new HarnessError({ message: "kaboom", code: "BOOM" })
const boomReported = { code: "BOOM", name: "HarnessError", message: "kaboom" }

/** Starts a call and lets it get as far as it gets without the clock. */
const begin = (t: Setup) => Effect.zipLeft(Effect.fork(t.execute()), settle)

describe("ToolRuntime (timeouts)", () => {
  it.scoped("110: a tool without a timeout has no deadline, and takes its time", () =>
    Effect.gen(function* () {
      const seen: Array<Option.Option<Duration.Duration>> = []
      const t: Setup = yield* setup({
        body: (text) =>
          Effect.flatMap(Cancellation.remaining, (remaining) => {
            seen.push(remaining)
            return Effect.as(Effect.sleep("1 day"), text)
          })
      })
      const call = yield* begin(t)
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(yield* Fiber.join(call), succeeded())
      assert.deepStrictEqual(seen, [Option.none()])
    })
  )

  it.scoped("111: a body that is in time is untouched, sees its deadline, and reviews do not", () =>
    Effect.gen(function* () {
      const seen: Array<number | undefined> = []
      const see = Effect.map(Cancellation.remaining, (remaining) => {
        seen.push(Option.getOrUndefined(Option.map(remaining, Duration.toMillis)))
      })
      const t: Setup = yield* setup({
        timeout: 10_000,
        around: (_, next) => Effect.zipLeft(next, see),
        body: (text) => Effect.zipRight(see, Effect.zipRight(Effect.sleep(4_000), Effect.as(see, text))),
        after: () => Effect.as(see, Policy.accept())
      })
      const call = yield* begin(t)
      yield* TestClock.adjust(4_000)
      assert.deepStrictEqual(yield* Fiber.join(call), succeeded())
      assert.deepStrictEqual(seen, [10_000, 6_000, undefined, undefined])
      assert.deepStrictEqual(t.log, whole)
    })
  )

  it.scoped("111: the timer is gone with the body: nothing happens when it would have fired", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        timeout: 100,
        body: (text) => Effect.as(Effect.sleep(50), text),
        after: () => Effect.as(Effect.sleep(1_000), Policy.accept())
      })
      const call = yield* begin(t)
      yield* TestClock.adjust(50)
      yield* t.reached("after")
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* Fiber.join(call), succeeded())
    })
  )

  it.scoped("112: a body that is stopped in time gives a timeout when it has ended, exactly at its time", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const t: Setup = yield* setup({
        timeout: 100,
        body: () => Effect.onInterrupt(Effect.never, () => Deferred.await(gate))
      })
      const call = yield* begin(t)
      yield* TestClock.adjust(99)
      assert.deepStrictEqual(
        (yield* t.runtime.inFlight).map(({ phase }) => phase),
        ["dispatching"]
      )
      yield* TestClock.adjust(1)
      yield* settle
      assert.isTrue(Option.isNone(yield* Fiber.poll(call)))
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(call), timedOut(100))
      assert.deepStrictEqual(t.log, whole)
    })
  )

  it.scoped("112: the reason that the body's signal aborts with names the timeout", () =>
    Effect.gen(function* () {
      let signal: AbortSignal | undefined
      const t: Setup = yield* setup({
        timeout: 100,
        body: () =>
          Effect.flatMap(Cancellation.signal, (own) => {
            signal = own
            return Effect.never
          })
      })
      const call = yield* begin(t)
      assert.isFalse(signal?.aborted)
      yield* TestClock.adjust(100)
      yield* Fiber.join(call)
      const reason: unknown = signal?.reason
      assert.instanceOf(reason, CancelCause.Cancelled)
      assert.strictEqual((reason as CancelCause.Cancelled).name, "TimeoutError")
      assert.strictEqual((reason as CancelCause.Cancelled).message, "TOOL_TIMEOUT after 100ms")
    })
  )

  it.scoped("113: what the body fails with because of its timeout is kept beside it", () =>
    Effect.gen(function* () {
      const fetches = Abort.fromPromise({
        try: ({ signal }) =>
          new Promise<string>((_, reject) => {
            signal.addEventListener("abort", () => reject(new Error("socket closed")))
          }),
        catch: () => new HarnessError({ message: "web request aborted", code: "WEB_ABORTED" })
      })
      for (const body of [fetches, Effect.mapError(fetches, () => "stripped")]) {
        const t: Setup = yield* setup({ timeout: 100, body: () => body })
        const call = yield* begin(t)
        yield* TestClock.adjust(100)
        assert.deepStrictEqual(
          yield* Fiber.join(call),
          timedOut(100, {
            body: "failed",
            bodyFailure: { code: "WEB_ABORTED", name: "HarnessError", message: "web request aborted" }
          })
        )
        assert.deepStrictEqual(t.log, whole)
      }
    })
  )

  for (const road of roads) {
    it.scoped(`114: a cancel that comes before the timeout is the cause ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({
          timeout: 100,
          body: () => Effect.onInterrupt(Effect.never, () => Deferred.await(gate))
        })
        const call = yield* road.begin(t)
        yield* t.reached("body")
        yield* TestClock.adjust(50)
        yield* call.cancel
        yield* TestClock.adjust(100)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, aborted(road.cause))
      })
    )
  }

  it.scoped("116: a body that ignores its timeout holds the call, and is a timeout when it has ended", () =>
    Effect.gen(function* () {
      const ends: ReadonlyArray<readonly [Effect.Effect<string, unknown>, ToolResult.Failure]> = [
        [Effect.succeed("late"), timedOut(100)],
        [Effect.fail(boom), timedOut(100, { body: "failed", bodyFailure: boomReported })]
      ]
      for (const [end, expected] of ends) {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({
          timeout: 100,
          body: () => Effect.uninterruptible(Effect.zipRight(Deferred.await(gate), end))
        })
        const call = yield* begin(t)
        yield* TestClock.adjust("1 hour")
        yield* settle
        assert.isTrue(Option.isNone(yield* Fiber.poll(call)))
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* Fiber.join(call), expected)
      }
    })
  )

  it.scoped("117: a model is not told of timeouts, and a timeout that cannot be is refused", () =>
    Effect.gen(function* () {
      const t = yield* setup({ timeout: 100 })
      assert.notInclude(JSON.stringify(yield* t.runtime.schemas), "100")
      const make = (timeout: Duration.DurationInput) => () =>
        Tool.make("echo", {
          description: "",
          parameters: {},
          success: Schema.Null,
          timeout,
          handler: () => Effect.succeed(null)
        })
      for (const timeout of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "0 millis", Duration.infinity] as const) {
        assert.throws(make(timeout), /The timeout of tool "echo" must be a positive finite number/)
      }
      // 118
      assert.throws(make(2_147_483_648), /no greater than 2147483647/)
      assert.strictEqual(make(2_147_483_647)().timeoutMillis, 2_147_483_647)
      assert.strictEqual(make("2 seconds")().timeoutMillis, 2_000)
    })
  )

  it.scoped("118: a timeout that no timer can wait for is refused when the tool is made", () =>
    Effect.sync(() => {
      assert.throws(
        () =>
          Tool.make("slow", {
            description: "",
            parameters: {},
            success: Schema.Null,
            timeout: "25 days",
            handler: () => Effect.succeed(null)
          }),
        'The timeout of tool "slow" must be a positive finite number no greater than 2147483647 milliseconds, not 2160000000'
      )
    })
  )

  /** `Policy.timeout` outside of one more wrapper. */
  const bounded = (
    inner: (next: Policy.Next) => Effect.Effect<ToolResult.ToolResult, unknown, Cancellation.Cancellation>,
    onCancel: Policy.OnCancel = "interrupt"
  ) => [Policy.timeout, Policy.around("inner", (_, next) => inner(next), { onCancel })]

  for (const onCancel of ["interrupt", "finish"] as const) {
    it.scoped(`119: a body that succeeded in time stays a success however slow its wrapper is (${onCancel})`, () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          timeout: 30,
          policies: bounded(
            (next) =>
              Effect.map(Effect.zipLeft(next, Effect.sleep(1_000)), (result) => ({
                ...result,
                contexts: [...result.contexts, Content.text("inner")]
              })),
            onCancel
          ),
          body: (text) =>
            Effect.as(Effect.zipRight(Effect.sleep(10), ToolContext.deferContext(Content.text("child"))), text)
        })
        const call = yield* begin(t)
        yield* TestClock.adjust(10)
        yield* TestClock.adjust(1_000)
        assert.deepStrictEqual(yield* Fiber.join(call), succeeded({ contexts: texts("child", "inner") }))
      })
    )

    it.scoped(`120: a timeout before the handler was called says that it was not (${onCancel})`, () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          timeout: 30,
          policies: bounded((next) => Effect.zipRight(Effect.sleep(100), next), onCancel)
        })
        const call = yield* begin(t)
        yield* TestClock.adjust(30)
        yield* TestClock.adjust(100)
        assert.deepStrictEqual(yield* Fiber.join(call), timedOut(30, { dispatched: false, body: "not-started" }))
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "after", "observe"])
      })
    )
  }

  it.scoped("120: a timeout between two attempts says that one ran, and what it failed with", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        timeout: 30,
        policies: bounded((next) => Effect.zipRight(next, Effect.zipRight(Effect.sleep(100), next))),
        body: () => Effect.zipRight(ToolContext.deferContext(Content.text("child")), Effect.fail(boom))
      })
      const call = yield* begin(t)
      yield* TestClock.adjust(100)
      // A failure that came in time, and was only waiting to be tried again, is not the timer's (L7).
      assert.deepStrictEqual(
        yield* Fiber.join(call),
        failed(boomReported, { dispatched: true, body: "failed", contexts: texts("child") })
      )
      assert.deepStrictEqual(t.log, whole)
    })
  )

  it.scoped("122: without the policy a tool's timeout is not kept, and with it in a scope only there", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        toolTimeouts: false,
        timeout: 100,
        body: (text) => Effect.as(Effect.sleep(500), text)
      })
      const timed = Effect.gen(function* () {
        const call = yield* begin(t)
        yield* TestClock.adjust(500)
        return yield* Fiber.join(call)
      })
      assert.deepStrictEqual(yield* timed, succeeded())
      const inside = yield* Effect.scoped(Effect.zipRight(t.runtime.registerPolicy(Policy.timeout), timed))
      assert.deepStrictEqual(inside, timedOut(100))
      assert.deepStrictEqual(yield* timed, succeeded())
    })
  )

  it.scoped("122: a timeout policy that was registered around others leaves nothing behind when its scope closes", () =>
    Effect.gen(function* () {
      const seen: Array<number | undefined> = []
      const signals: Array<AbortSignal> = []
      const t: Setup = yield* setup({
        timeout: 100,
        body: (text) =>
          Effect.gen(function* () {
            seen.push(Option.getOrUndefined(Option.map(yield* Cancellation.remaining, Duration.toMillis)))
            signals.push(yield* Cancellation.signal)
            return yield* Effect.as(Effect.sleep(60), text)
          })
      })
      const timed = Effect.gen(function* () {
        const call = yield* begin(t)
        yield* TestClock.adjust(60)
        yield* settle
        yield* TestClock.adjust(60)
        return yield* Fiber.join(call)
      })
      const twice = Policy.around("twice", (_, next) => Effect.zipRight(next, next))
      // Innermost, as the tool's own timeout is where none is listed, it bounds each attempt.
      const each = yield* Effect.scoped(Effect.zipRight(t.runtime.registerPolicy(twice), timed))
      assert.deepStrictEqual(each, succeeded())
      assert.deepStrictEqual(seen.splice(0), [100, 100])
      // In front of the wrapper it bounds both, and takes the place of the tool's own.
      const both = Effect.all([t.runtime.registerPolicy(Policy.timeout), t.runtime.registerPolicy(twice)])
      assert.deepStrictEqual(yield* Effect.scoped(Effect.zipRight(both, timed)), timedOut(100))
      assert.deepStrictEqual(seen.splice(0), [100, 40])
      // The next call is as it was: its signal has nothing of that deadline, and nothing aborts it later.
      assert.deepStrictEqual(yield* timed, succeeded())
      assert.deepStrictEqual(seen.splice(0), [100])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(
        signals.map(({ aborted }) => aborted),
        [false, false, true, true, false]
      )
    })
  )

  it.scoped(
    "122: a deadline that a policy gives in a scope is gone with it: a call sees what its caller has again",
    () =>
      Effect.gen(function* () {
        const seen: Array<Option.Option<Duration.Duration>> = []
        const t: Setup = yield* setup({
          body: (text) =>
            Effect.as(
              Effect.map(Cancellation.remaining, (left) => seen.push(left)),
              text
            )
        })
        const bounded = Policy.around("bounded", (_, next) => Cancellation.withDeadline(next, { duration: "1 second" }))
        const inside = Effect.zipRight(t.runtime.registerPolicy(bounded), t.execute())
        assert.deepStrictEqual(yield* Effect.scoped(inside), succeeded())
        assert.deepStrictEqual(yield* t.execute(), succeeded())
        assert.deepStrictEqual(seen, [Option.some(Duration.seconds(1)), Option.none()])
      })
  )

  it.scoped("a policy can have a time for each call, over what the tool declares", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        timeout: 500,
        policies: [Policy.timeoutOf(({ id }) => (id === "short" ? "100 millis" : undefined))],
        body: () => Effect.never
      })
      const short = yield* Effect.fork(t.execute({ id: "short" }))
      const other = yield* Effect.fork(t.execute({ id: "other" }))
      yield* settle
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(short), timedOut(100, { callId: "short" }))
      assert.isNull(other.unsafePoll())
      yield* TestClock.adjust(400)
      assert.deepStrictEqual(yield* Fiber.join(other), timedOut(500, { callId: "other" }))
    })
  )

  it.scoped("a time that cannot be measured, or that throws, fails the call before its body, and says what to do", () =>
    Effect.gen(function* () {
      const times: ReadonlyArray<() => number> = [
        () => 0,
        () => Number.NaN,
        () => 2 ** 31,
        () => {
          throw new Error("no time for it")
        }
      ]
      for (const durationOf of times) {
        const t: Setup = yield* setup({ policies: [Policy.timeoutOf(durationOf)] })
        const result = yield* t.execute()
        assert(result._tag === "Failure")
        assert.deepStrictEqual([result.code, result.dispatched], ["POLICY_FAILURE", false])
        assert.match(result.message, /must be a positive finite number|no time for it/)
        assert.notInclude(t.log, "body")
      }
    })
  )

  it.scoped("123: contexts survive a timeout", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        timeout: 100,
        body: () =>
          Effect.zipRight(
            Effect.zipRight(ToolContext.deferContext(Content.text("child")), ToolContext.concludeTurn),
            Effect.never
          ),
        after: () => Effect.succeed(Policy.accept({ contexts: texts("post") }))
      })
      const call = yield* begin(t)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(call), timedOut(100, { contexts: texts("child", "post") }))
    })
  )
})
