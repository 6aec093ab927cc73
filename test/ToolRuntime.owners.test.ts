import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option, TestClock } from "effect"
import { CancelCause, Cancellation, Policy, ToolResult } from "quiesce"
import { aborted, callOf, failed, notDispatched, policyFailed, setup, succeeded, user } from "./support/calls.js"

describe("ToolRuntime (owners and signals)", () => {
  it.scoped("46: a next under an owner that is cancelled already does not start the body, while the caller lives", () =>
    Effect.gen(function* () {
      const controller = new AbortController()
      const t = yield* setup({
        around: (_, next) =>
          // Protected, so that what `next` says of it comes back.
          Effect.uninterruptible(
            Cancellation.ownSignal(
              Effect.zipRight(
                Effect.sync(() => controller.abort("no")),
                next
              ),
              controller.signal
            )
          )
      })
      assert.deepStrictEqual(yield* t.execute(), notDispatched({ _tag: "HostSignal", reason: "no" }))
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "after", "observe"])
    })
  )

  const hostSaysNo = { _tag: "HostSignal", reason: "no" } as const
  const underSignal = (signal: () => AbortSignal) => (next: Policy.Next) =>
    Effect.suspend(() => Cancellation.ownSignal(next, signal()))
  // Each is a wrapper under an owner of its own that is cancelled before its `next` runs.
  const stopsItself: ReadonlyArray<
    readonly [
      string,
      (next: Policy.Next) => Effect.Effect<ToolResult.ToolResult, never, Cancellation.Cancellation>,
      CancelCause.Encoded?
    ]
  > = [
    ["an aborted signal", underSignal(() => AbortSignal.abort("no"))],
    ["an aborted signal, deeper", (next) => Cancellation.own(underSignal(() => AbortSignal.abort("no"))(next))],
    ["an aborted signal, shielded", (next) => Cancellation.shield(underSignal(() => AbortSignal.abort("no"))(next))],
    [
      "an aborted signal, beside other work",
      (next) =>
        Effect.map(
          Effect.all([Effect.never, underSignal(() => AbortSignal.abort("no"))(next)], { concurrency: 2 }),
          ([, result]) => result
        )
    ],
    [
      "a signal that aborts meanwhile",
      (next) => {
        const controller = new AbortController()
        const waits = Effect.zipRight(
          Effect.yieldNow(),
          Effect.zipRight(
            Effect.sync(() => controller.abort("no")),
            next
          )
        )
        return Cancellation.ownSignal(Effect.zipRight(Effect.yieldNow(), waits), controller.signal)
      }
    ],
    [
      "a deadline that passes first",
      (next) => Cancellation.withDeadline(Effect.zipRight(Effect.sleep("1 hour"), next), { duration: 10 }),
      { _tag: "Deadline", code: "DEADLINE", millis: 10 }
    ]
  ]
  for (const onCancel of ["interrupt", "finish"] as const) {
    for (const [name, wrap, cause = hostSaysNo] of stopsItself) {
      it.scoped(`46: a wrapper with ${name} ends the call before dispatch, while the caller lives (${onCancel})`, () =>
        Effect.gen(function* () {
          const t = yield* setup({ onCancel, around: (_, next) => wrap(next) })
          const call = yield* Effect.fork(t.execute())
          yield* t.reached("around")
          yield* TestClock.adjust(10)
          assert.deepStrictEqual(yield* Fiber.join(call), notDispatched(cause))
          assert.deepStrictEqual(t.log, ["before", "guard", "around", "after", "observe"])
        })
      )
    }

    it.scoped(
      `46: a wrapper that an owner of its own stops after its next ends the call as aborted (${onCancel})`,
      () =>
        Effect.gen(function* () {
          const t = yield* setup({
            onCancel,
            around: (_, next) => Effect.zipLeft(next, underSignal(() => AbortSignal.abort("no"))(next))
          })
          assert.deepStrictEqual(yield* t.execute(), aborted(hostSaysNo, { body: "completed" }))
        })
    )

    it.scoped(
      `a wrapper that goes on after a stop, and then interrupts itself, is a failing policy (${onCancel})`,
      () =>
        Effect.gen(function* () {
          const t = yield* setup({
            onCancel,
            around: (_, next) =>
              Effect.zipRight(Effect.exit(underSignal(() => AbortSignal.abort("no"))(next)), Effect.interrupt)
          })
          assert.deepStrictEqual(yield* t.execute(), policyFailed("a wrapper interrupted itself"))
        })
    )
  }

  it.scoped(
    "L2: a result from before the first handler call that a wrapper returns after it does not say that none was",
    () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const cancelledFirst = (next: Policy.Next) =>
          Effect.uninterruptible(
            Cancellation.ownSignal(
              Effect.zipRight(
                Effect.sync(() => controller.abort("no")),
                next
              ),
              controller.signal
            )
          )
        const t = yield* setup({
          around: (_, next) => Effect.flatMap(cancelledFirst(next), (first) => Effect.as(next, first))
        })
        assert.deepStrictEqual(
          yield* t.execute(),
          aborted({ _tag: "HostSignal", reason: "no" }, { body: "not-started" })
        )
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "after", "observe"])
      })
  )

  it.scoped("51 (core: the owner): a body under an owner of its wrapper's still follows the caller's", () =>
    Effect.gen(function* () {
      const signals: Array<AbortSignal> = []
      const keep = Effect.map(Cancellation.signal, (signal) => {
        signals.push(signal)
        t.log.push("kept")
      })
      const t = yield* setup({
        onCancel: "interrupt",
        around: (_, next) =>
          Effect.zipRight(keep, Cancellation.withDeadline(Effect.zipRight(keep, next), { duration: "1 hour" })),
        body: () => Effect.zipRight(keep, Effect.never)
      })
      const call = yield* t.start()
      yield* t.reached("body")
      assert.strictEqual(signals.length, 3)
      // The body is derived from the wrapper's deadline and has no owner of its own.
      assert.notStrictEqual(signals[0], signals[1])
      assert.deepStrictEqual(
        signals.map((signal) => signal.aborted),
        [false, false, false]
      )
      yield* call.cancel(user)
      assert.deepStrictEqual(yield* call.result, aborted(user))
      for (const signal of signals) assert.strictEqual(signal.reason, CancelCause.toReason(user))
    })
  )

  it.scoped(
    "two roads: on a test's clock too, who has a result in hand returns it, however many turns that takes",
    () =>
      Effect.gen(function* () {
        for (const turns of [0, 1, 3, 10, 100]) {
          const controller = new AbortController()
          const t = yield* setup({ body: () => Effect.never })
          const returning = Effect.zipLeft(t.runtime.execute(callOf()), Effect.repeatN(Effect.yieldNow(), turns))
          const call = yield* Effect.fork(Cancellation.ownSignal(returning, controller.signal))
          yield* t.reached("body")
          controller.abort("no")
          assert.deepStrictEqual(yield* Fiber.join(call), aborted({ _tag: "HostSignal", reason: "no" }))
          // Where it waits instead, it is interrupted.
          const second = new AbortController()
          const waits = yield* setup({ body: () => Effect.never })
          const waiting = Effect.zipRight(waits.runtime.execute(callOf()), Effect.never)
          const stopped = yield* Effect.fork(Cancellation.ownSignal(waiting, second.signal))
          yield* waits.reached("body")
          second.abort("no")
          assert.isTrue(Exit.isInterrupted(yield* Fiber.await(stopped)))
        }
      })
  )

  it.scoped("51 (core): a deadline of the wrapper's stops the body, and the call is aborted with it", () =>
    Effect.gen(function* () {
      const timedOut = { code: "LATE", name: "Error", message: "too late" }
      const handled = yield* setup({
        around: (_, next) =>
          Cancellation.withDeadline(next, {
            duration: "10 millis",
            onExpire: () => Effect.succeed(ToolResult.failure(timedOut))
          }),
        body: () => Effect.never
      })
      const first = yield* handled.start()
      yield* handled.reached("body")
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(yield* first.result, failed(timedOut, { dispatched: true, body: "interrupted" }))
      const plain = yield* setup({
        around: (_, next) => Cancellation.withDeadline(next, { duration: "10 millis", code: "OUTER" }),
        body: () => Effect.never
      })
      const second = yield* plain.start()
      yield* plain.reached("body")
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(yield* second.result, aborted({ _tag: "Deadline", code: "OUTER", millis: 10 }))
      assert.deepStrictEqual(plain.log, ["before", "guard", "around", "body", "after", "observe"])
    })
  )

  it.scoped("53 (core): the body's signal follows the host's with its reason, and reviews do not see it", () =>
    Effect.gen(function* () {
      const controller = new AbortController()
      const reason = new Error("tab closed")
      const signals: Array<AbortSignal> = []
      const t = yield* setup({
        body: () =>
          Effect.flatMap(Cancellation.signal, (signal) => {
            signals.push(signal)
            controller.abort(reason)
            return Effect.never
          }),
        after: () =>
          Effect.map(Cancellation.signal, (signal) => {
            signals.push(signal)
            return Policy.accept()
          })
      })
      yield* Effect.exit(Cancellation.ownSignal(t.runtime.execute(callOf()), controller.signal))
      assert.deepStrictEqual(t.observed, [aborted({ _tag: "HostSignal", reason: "tab closed" })])
      assert.strictEqual(signals[0]?.reason, reason)
      assert.isFalse(signals[1]?.aborted)
    })
  )

  it.scoped("54, 55 (core): an owner of the wrapper's is lexical: reviews and observers are not under it", () =>
    Effect.gen(function* () {
      const seen: Array<boolean> = []
      const see = Effect.map(Cancellation.cause, (cause) => {
        seen.push(Option.isSome(cause))
      })
      const controller = new AbortController()
      const t = yield* setup({
        around: (_, next) =>
          Effect.zipRight(
            Effect.exit(
              Cancellation.ownSignal(
                Effect.zipRight(
                  Effect.sync(() => controller.abort()),
                  see
                ),
                controller.signal
              )
            ),
            Effect.zipLeft(next, see)
          ),
        body: (text) => Effect.as(see, text),
        after: () => Effect.as(see, Policy.accept()),
        observe: () => see
      })
      assert.deepStrictEqual(yield* t.execute(), succeeded())
      // Only the first look is from under it.
      assert.deepStrictEqual(seen, [true, false, false, false, false])
    })
  )

  it.scopedLive("64 (core): a signal of the host has as many listeners after a call as before, however it ended", () =>
    Effect.gen(function* () {
      const ends: ReadonlyArray<readonly [string, () => Effect.Effect<string, unknown>]> = [
        ["Success", () => Effect.succeed("hi")],
        ["TOOL_FAILURE", () => Effect.fail("no")],
        ["TOOL_FAILURE", () => Effect.die("no")],
        [
          "ABORTED",
          () =>
            Effect.zipRight(
              Effect.sync(() => current.abort("stop")),
              Effect.never
            )
        ]
      ]
      let current = new AbortController()
      for (const [code, body] of ends) {
        current = new AbortController()
        const { signal } = current
        const t = yield* setup({ body: () => Effect.zipRight(Cancellation.signal, body()) })
        const counts: Array<number> = []
        const result = yield* Cancellation.ownSignal(
          Effect.tap(t.runtime.execute(callOf()), () =>
            Effect.sync(() => counts.push(getEventListeners(signal, "abort").length))
          ),
          signal
        )
        assert.strictEqual(result._tag === "Success" ? "Success" : result.code, code)
        assert.isAtMost(counts[0] ?? 0, 1)
        assert.deepStrictEqual(getEventListeners(signal, "abort"), [])
      }
    })
  )
})
