import { assert, describe, it, vi } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, TestClock } from "effect"
import { Cancellation, Policy, ToolContext, type ToolResult } from "quiesce"
import {
  aborted,
  failed,
  HarnessError,
  roads,
  type Setup,
  settle,
  setup,
  succeeded,
  timedOut,
  toolFailed,
  user
} from "./support/calls.js"

const whole = ["before", "guard", "around", "body", "after", "observe"]

const boom = new HarnessError({ message: "kaboom", code: "BOOM" })
const boomReported = { code: "BOOM", name: "HarnessError", message: "kaboom" }

/** Starts a call and lets it get as far as it gets without the clock. */
const begin = (t: Setup) => Effect.zipLeft(Effect.fork(t.execute()), settle)

// L7: TOOL_TIMEOUT if and only if the tool's own timer was the first cause before the body had settled.

describe("ToolRuntime (deadline truth)", () => {
  /** `Policy.timeout` outside of one more wrapper. */
  const bounded = (
    inner: (next: Policy.Next) => Effect.Effect<ToolResult.ToolResult, unknown, Cancellation.Cancellation>,
    onCancel: Policy.OnCancel = "interrupt"
  ) => [Policy.timeout, Policy.around("inner", (_, next) => inner(next), { onCancel })]

  for (const road of roads) {
    it.scoped(`L7: a cancel during the clean-up after a timeout does not take it back, ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({
          timeout: 100,
          body: () => Effect.onInterrupt(Effect.never, () => Deferred.await(gate))
        })
        const call = yield* road.begin(t)
        yield* t.reached("body")
        yield* TestClock.adjust(100)
        yield* call.cancel
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, timedOut(100))
        assert.deepStrictEqual(t.log, whole)
      })
    )
  }

  it.scoped("L7: a deadline of somebody else is not the tool's timeout, whichever is first", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        timeout: 100,
        around: (_, next) => Cancellation.withDeadline(next, { duration: 50, code: "OUTER" }),
        body: () => Effect.never
      })
      const call = yield* begin(t)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(call), aborted({ _tag: "Deadline", code: "OUTER", millis: 50 }))
      const other: Setup = yield* setup({
        timeout: 50,
        around: (_, next) => Cancellation.withDeadline(next, { duration: 100, code: "OUTER" }),
        body: () => Effect.never
      })
      const second = yield* begin(other)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(second), timedOut(50))
    })
  )

  it.scoped("the place of the policy is its meaning: outside of a retry it bounds all attempts, inside each one", () =>
    Effect.gen(function* () {
      const twice = Policy.around("twice", (_, next) => Effect.zipRight(next, next))
      const stages = {
        timeout: 100,
        body: () => Effect.zipRight(Effect.sleep(70), Effect.fail(boom))
      }
      const outside: Setup = yield* setup({ ...stages, policies: [Policy.timeout, twice] })
      const first = yield* begin(outside)
      yield* TestClock.adjust(70)
      yield* TestClock.adjust(70)
      assert.deepStrictEqual(yield* Fiber.join(first), timedOut(100))
      const inside: Setup = yield* setup({ ...stages, policies: [twice, Policy.timeout] })
      const second = yield* begin(inside)
      yield* TestClock.adjust(70)
      yield* TestClock.adjust(70)
      assert.deepStrictEqual(yield* Fiber.join(second), failed(boomReported, { dispatched: true, body: "failed" }))
    })
  )

  it.scoped("a body that times out although its caller is in a protected region", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({ timeout: 100, body: () => Effect.never })
      const call = yield* Effect.fork(Effect.uninterruptible(t.execute()))
      yield* t.reached("body")
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(call), timedOut(100))
    })
  )

  it.scoped("a body that fails by itself in time is that failure, not a timeout", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({ timeout: 100, body: () => Effect.zipRight(Effect.sleep(99), Effect.fail("no")) })
      const call = yield* begin(t)
      yield* TestClock.adjust(99)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(call), toolFailed("no"))
    })
  )

  it.scoped("what still runs of a body when its time is over is stopped with it", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        timeout: 100,
        body: () =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.zipRight(
              settle,
              Effect.sync(() => t.log.push("stopped"))
            )
          ).pipe(Cancellation.operation("watch"), Effect.forkDaemon, Effect.zipRight(Effect.never))
      })
      const call = yield* begin(t)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(call), timedOut(100))
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "stopped", "after", "observe"])
      assert.isFalse(yield* t.runtime.cancelCall("c1", user))
    })
  )

  it.scoped("L7: an attempt that a wrapper begins after the time is over is not started", () =>
    Effect.gen(function* () {
      for (const onCancel of ["interrupt", "finish"] as const) {
        const t: Setup = yield* setup({
          timeout: 30,
          policies: bounded((next) => Effect.zipRight(next, Effect.zipRight(Effect.sleep(100), next)), onCancel),
          body: (text) =>
            Effect.flatMap(ToolContext.ToolContext, ({ attempt }) =>
              attempt === 1 ? Effect.succeed(text) : Effect.never
            )
        })
        const call = yield* begin(t)
        yield* TestClock.adjust(100)
        assert.deepStrictEqual(yield* Fiber.join(call), succeeded())
        assert.deepStrictEqual(t.log, whole)
      }
    })
  )

  it.scoped("L7: one of two attempts at once that is in time does not keep the other from being stopped", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        timeout: 30,
        policies: bounded((next) =>
          Effect.map(Effect.all([next, Effect.zipRight(settle, next)], { concurrency: 2 }), ([first]) => first)
        ),
        body: (text) =>
          Effect.flatMap(ToolContext.ToolContext, ({ attempt }) =>
            attempt === 1 ? Effect.never : Effect.succeed(text)
          )
      })
      const call = yield* begin(t)
      yield* settle
      yield* TestClock.adjust(30)
      yield* settle
      assert.isTrue(Option.isSome(yield* Fiber.poll(call)))
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "body", "after", "observe"])
    })
  )

  it.scoped(
    "L7: a body that succeeded in time stays a success however long the fibers that it forked take to stop",
    () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          timeout: 30,
          body: (text) =>
            Effect.onInterrupt(Effect.never, () => Effect.sleep(100)).pipe(
              Effect.fork,
              Effect.zipRight(Effect.sleep(10)),
              Effect.as(text)
            )
        })
        const call = yield* begin(t)
        yield* TestClock.adjust(10)
        yield* TestClock.adjust(100)
        assert.deepStrictEqual(yield* Fiber.join(call), succeeded())
      })
  )

  it.scopedLive("L3: no timer is left of a body that was in time, nor of a call that was stopped", () =>
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })),
        () => Effect.sync(() => vi.useRealTimers())
      )
      const inTime = yield* setup({ timeout: 60_000, body: (text) => Effect.as(Effect.yieldNow(), text) })
      assert.deepStrictEqual(yield* inTime.execute(), succeeded())
      assert.strictEqual(vi.getTimerCount(), 0)
      const stops: Setup = yield* setup({ timeout: 60_000, body: () => Effect.async<never>(() => {}) })
      const call = yield* stops.start()
      assert.strictEqual(vi.getTimerCount(), 1)
      yield* call.cancel(user)
      assert.deepStrictEqual(yield* call.result, aborted(user))
      assert.strictEqual(vi.getTimerCount(), 0)
    })
  )
})
