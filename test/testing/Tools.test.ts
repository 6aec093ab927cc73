import { getEventListeners } from "node:events"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { CancelCause, Cancellation, Policy, type Tool, Toolkit, type ToolResult, ToolRuntime } from "quiesce"
import { Leaks, Sim, Tools, Transcript } from "quiesce/testing"
import { it } from "quiesce/testing/Vitest"

const start = (tool: Tool.Any, parameters: unknown = { text: "hi" }) =>
  ToolRuntime.start({ id: "c1", name: tool.name, parameters })

const under =
  (tool: Tool.Any) =>
  <A, E>(self: Effect.Effect<A, E, ToolRuntime.ToolRuntime | Cancellation.Cancellation>): Effect.Effect<A, E> =>
    self.pipe(
      Cancellation.own,
      Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(tool as Tool.Tool<string, any, any>) }))
    )

const settle = Effect.repeatN(Effect.yieldNow(), 50)

/** Starts a call of `controlled`, cancels it once its body runs, and returns what it is then. */
const cancelled = (controlled: Tools.Any) =>
  Effect.gen(function* () {
    const call = yield* start(controlled.tool)
    yield* controlled.awaitStarted()
    assert.isTrue(yield* call.cancel(CancelCause.user()))
    yield* settle
    return call
  })

const running = (controlled: Tools.Any) => Effect.all([controlled.entered, controlled.running])

const cancelNow = (running: ToolRuntime.RunningCall) => () => {
  Effect.runFork(running.cancel(CancelCause.user()))
}

/** A call that is released at some time, and cancelled at any time or never. */
const raced = (make: Effect.Effect<Tools.Any>) =>
  Effect.gen(function* () {
    const controlled = yield* make
    const published: Array<ToolResult.ToolResult> = []
    const observe = Policy.observe("observe", (_, result) =>
      Effect.sync(() => {
        published.push(result)
      })
    )
    const call = { id: "c1", name: controlled.tool.name, parameters: {} }
    const toolkit = Toolkit.make(controlled.tool as Tool.Tool<string, any, any>)
    const result = yield* Effect.gen(function* () {
      const running = yield* ToolRuntime.start(call)
      yield* Sim.fault("cancel", cancelNow(running))
      yield* Effect.fork(controlled.release)
      return yield* running.result
    }).pipe(Effect.provide(ToolRuntime.layer({ toolkit, policies: [observe] })), Cancellation.own, Leaks.check())
    assert.strictEqual(yield* controlled.running, 0)
    yield* Transcript.check(Transcript.step([call], published))
    return result._tag === "Success" ? "Success" : result.code
  })

describe("Tools", () => {
  const both = ["Success", "ABORTED"]
  for (const [name, make, expect] of [
    ["gated", Tools.gated(), both],
    ["stubborn", Tools.stubborn(), both],
    ["cooperative", Tools.cooperative(), both],
    ["late", Tools.late(), ["Success", "CONTROLLED_FAILURE"]],
    ["leaky", Tools.leaky({ leaves: "stubborn operation" }), both]
  ] as const) {
    it.explore(`${name} is answered once, and leaves nothing, whenever it is cancelled`, () => raced(make), {
      preemptions: 0,
      expect
    })
  }

  it.effect("echo answers with its text, or with nothing", () =>
    Effect.gen(function* () {
      const echo = yield* Tools.echo()
      const results = yield* Effect.all([
        Effect.flatMap(start(echo.tool), ({ result }) => result),
        Effect.flatMap(start(echo.tool, {}), ({ result }) => result)
      ]).pipe(under(echo.tool))
      assert.deepStrictEqual(
        results.map((result) => result._tag === "Success" && result.value),
        ["hi", ""]
      )
      assert.deepStrictEqual(yield* running(echo), [2, 0])
      assert.isTrue(Effect.isEffect(echo.tool.handler({ text: "made, and not run" })))
      assert.deepStrictEqual(yield* running(echo), [3, 0])
    })
  )

  it.effect("gated waits for its release, and later calls do not", () =>
    Effect.gen(function* () {
      const gated = yield* Tools.gated({ name: "slow", concurrency: "parallel" })
      assert.strictEqual(gated.tool.name, "slow")
      yield* Effect.gen(function* () {
        const calls = yield* Effect.all([start(gated.tool), start(gated.tool)])
        yield* gated.awaitStarted(2)
        assert.deepStrictEqual(yield* running(gated), [2, 2])
        yield* gated.release
        for (const { result } of calls) assert.strictEqual((yield* result)._tag, "Success")
        const later = yield* Effect.flatMap(start(gated.tool), ({ result }) => result)
        assert.strictEqual(later._tag, "Success")
        assert.deepStrictEqual(yield* running(gated), [3, 0])
      }).pipe(under(gated.tool))
    })
  )

  it.effect("gated ends at once when it is cancelled", () =>
    Effect.gen(function* () {
      const gated = yield* Tools.gated()
      const result = yield* Effect.flatMap(cancelled(gated), (call) => call.result).pipe(under(gated.tool))
      assert.deepInclude(result, { code: "ABORTED", body: "interrupted" })
      assert.deepStrictEqual(yield* running(gated), [1, 0])
    })
  )

  it.effect("stubborn holds its call until it is released (L4)", () =>
    Effect.gen(function* () {
      const stubborn = yield* Tools.stubborn()
      const result = yield* Effect.gen(function* () {
        const call = yield* cancelled(stubborn)
        assert.deepStrictEqual(yield* running(stubborn), [1, 1])
        assert.strictEqual(yield* call.phase, "dispatching")
        yield* stubborn.release
        return yield* call.result
      }).pipe(under(stubborn.tool))
      assert.deepInclude(result, { code: "ABORTED", body: "interrupted" })
      assert.deepStrictEqual(yield* running(stubborn), [1, 0])
    })
  )

  it.effect("cooperative ends with the reason of its signal", () =>
    Effect.gen(function* () {
      const cooperative = yield* Tools.cooperative()
      const result = yield* Effect.flatMap(cancelled(cooperative), (call) => call.result).pipe(under(cooperative.tool))
      assert.deepInclude(result, { code: "ABORTED", body: "interrupted" })
    })
  )

  it.effect("cooperative and late succeed when they are released, and leave no listener", () =>
    Effect.gen(function* () {
      for (const controlled of [yield* Tools.cooperative(), yield* Tools.late()]) {
        yield* Effect.gen(function* () {
          const { signal } = yield* Cancellation.Cancellation
          const fiber = yield* Effect.fork(controlled.tool.handler({ text: "done" }))
          yield* controlled.awaitStarted()
          yield* controlled.release
          assert.strictEqual(yield* Fiber.join(fiber), "done")
          assert.lengthOf(getEventListeners(signal, "abort"), 0)
        }).pipe(Cancellation.own)
      }
    })
  )

  it.effect("late fails in its own way although it was cancelled (L5)", () =>
    Effect.gen(function* () {
      const late = yield* Tools.late({ message: "disk full" })
      const result = yield* Effect.flatMap(cancelled(late), (call) => call.result).pipe(under(late.tool))
      assert.deepInclude(result, { code: "CONTROLLED_FAILURE", message: "disk full", body: "failed" })
    })
  )

  it.effect("failing fails, or dies", () =>
    Effect.gen(function* () {
      const failing = yield* Tools.failing({ message: "no" })
      const dying = yield* Tools.failing({ as: "defect" })
      const run = (controlled: Tools.Any) =>
        Effect.flatMap(start(controlled.tool), ({ result }) => result).pipe(under(controlled.tool))
      assert.deepInclude(yield* run(failing), { code: "CONTROLLED_FAILURE", message: "no", body: "failed" })
      assert.deepInclude(yield* run(dying), { code: "TOOL_FAILURE", message: "failed", body: "failed" })
    })
  )

  it.effect("leaky leaves an operation, which the runtime stops before it answers (L3)", () =>
    Effect.gen(function* () {
      const leaky = yield* Tools.leaky()
      yield* Effect.gen(function* () {
        const result = yield* Effect.flatMap(start(leaky.tool), (call) => call.result)
        assert.strictEqual(result._tag, "Success")
        assert.strictEqual(yield* leaky.left, 0)
      }).pipe(under(leaky.tool))
    })
  )

  it.effect("leaky leaves a stubborn operation, which holds the answer (L3)", () =>
    Effect.gen(function* () {
      const leaky = yield* Tools.leaky({ leaves: "stubborn operation" })
      yield* Effect.gen(function* () {
        const call = yield* start(leaky.tool)
        yield* settle
        assert.deepStrictEqual(yield* running(leaky), [1, 0])
        assert.notStrictEqual(yield* call.phase, "published")
        assert.strictEqual(yield* leaky.left, 1)
        yield* leaky.release
        assert.strictEqual((yield* call.result)._tag, "Success")
        assert.strictEqual(yield* leaky.left, 0)
      }).pipe(under(leaky.tool))
    })
  )

  it.effect.each(["fiber", "timer"] as const)(
    "leaky leaves a %s that no runtime sees, until it is released",
    (leaves) =>
      Effect.gen(function* () {
        const leaky = yield* Tools.leaky({ leaves })
        yield* Effect.flatMap(start(leaky.tool), (call) => call.result).pipe(under(leaky.tool))
        assert.strictEqual(yield* leaky.left, 1)
        yield* leaky.release
        yield* settle
        assert.strictEqual(yield* leaky.left, 0)
      })
  )

  it.effect("has the timeout that it is given", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Tools.gated({ timeout: "1 second" })).tool.timeoutMillis, 1000)
    })
  )
})
