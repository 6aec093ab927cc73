import { assert, describe, it } from "@effect/vitest"
import { Cause, type Context, Deferred, Effect, Exit, Fiber } from "effect"
import { Cancellation, Content, Policy, ToolContext, ToolResult } from "quiesce"
import {
  aborted,
  failed,
  HarnessError,
  hostile,
  policyFailed,
  roads,
  type Setup,
  settle,
  setup,
  succeeded,
  texts,
  unprintable,
  user
} from "./support/calls.js"

const boom = new HarnessError({ message: "kaboom", code: "BOOM" })
const boomReported = { code: "BOOM", name: "HarnessError", message: "kaboom" }
const authored = ToolResult.success("authored")
const authoredAfter = (body: ToolResult.BodyEnd) => succeeded({ value: "authored", content: texts("authored"), body })

/** A body that takes its time to stop. */
const slowToStop = (log: Array<string>) =>
  Effect.onInterrupt(Effect.never, () =>
    Effect.zipRight(
      settle,
      Effect.sync(() => log.push("stopped"))
    )
  )

describe("ToolRuntime (next)", () => {
  for (const road of roads) {
    it.scoped(`60: a second attempt that the cancel stops is an aborted call: the first one ran, ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({
          body: () => Effect.fail(boom),
          around: (_, next) =>
            Effect.zipRight(
              Effect.tap(next, () => Effect.sync(() => t.log.push("first"))),
              Effect.zipRight(Deferred.await(gate), next)
            )
        })
        const call = yield* road.begin(t)
        yield* t.reached("first")
        yield* call.cancel
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, aborted(road.cause, { body: "failed", bodyFailure: boomReported }))
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "first", "after", "observe"])
      })
    )

    it.scoped(`a wrapper cannot turn a cancelled call into a success, only into a failure, ${road.name}`, () =>
      Effect.gen(function* () {
        const mine = ToolResult.failure({ code: "MINE", message: "stopped, and I say so" })
        for (const answer of [authored, mine]) {
          const t = yield* setup({ around: (_, next) => Effect.as(next, answer), body: () => Effect.never })
          const call = yield* road.begin(t)
          yield* t.reached("body")
          yield* call.cancel
          assert.deepStrictEqual(
            yield* call.result,
            answer === authored
              ? aborted(road.cause)
              : failed(
                  { code: "MINE", name: "Error", message: "stopped, and I say so" },
                  { dispatched: true, body: "interrupted" }
                )
          )
        }
      })
    )
  }

  it.scoped("61: what a failed attempt deferred and concluded does not leak into the next", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        around: (_, next) => Effect.zipRight(next, next),
        body: (text) =>
          Effect.gen(function* () {
            const { attempt } = yield* ToolContext.ToolContext
            if (attempt === 1) {
              yield* ToolContext.deferContext(Content.text("first"))
              yield* ToolContext.concludeTurn
              return yield* boom
            }
            return text
          })
      })
      assert.deepStrictEqual(yield* t.execute(), succeeded())
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "body", "after", "observe"])
    })
  )

  // Ways in which a wrapper leaves a running `next` behind and answers by itself.
  const walksAway: ReadonlyArray<
    readonly [string, (next: Policy.Next) => Effect.Effect<unknown, never, Cancellation.Cancellation>]
  > = [
    ["forks it as a daemon", (next) => Effect.zipRight(Effect.forkDaemon(next), settle)],
    ["forks it as a child", (next) => Effect.zipRight(Effect.fork(next), settle)],
    ["lets something else win a race", (next) => Effect.race(next, settle)],
    ["disconnects it and is faster", (next) => Effect.race(Effect.disconnect(next), settle)],
    [
      "interrupts it and does not wait",
      (next) => Effect.flatMap(Effect.zipLeft(Effect.forkDaemon(next), settle), Fiber.interruptFork)
    ],
    ["stops it with a deadline of its own", (next) => Effect.exit(Effect.race(Cancellation.own(next), settle))]
  ]
  for (const [name, leave] of walksAway) {
    for (const onCancel of ["interrupt", "finish"] as const) {
      it.scoped(`62: a wrapper that ${name} does not end the call before the body has ended (${onCancel})`, () =>
        Effect.gen(function* () {
          const t: Setup = yield* setup({
            onCancel,
            around: (_, next) => Effect.as(leave(next), authored),
            body: () => slowToStop(t.log)
          })
          assert.deepStrictEqual(yield* t.execute(), authoredAfter("interrupted"))
          assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "stopped", "after", "observe"])
          assert.deepStrictEqual(yield* t.runtime.inFlight, [])
        })
      )
    }
  }

  it.scoped("62: what a body defers after its wrapper has answered is kept, before what the wrapper adds", () =>
    Effect.gen(function* () {
      for (const onCancel of ["interrupt", "finish"] as const) {
        const t: Setup = yield* setup({
          onCancel,
          around: (_, next) =>
            Effect.zipRight(
              Effect.forkDaemon(next),
              Effect.as(settle, ToolResult.withContexts(authored, texts("wrapper")))
            ),
          body: () =>
            Effect.zipRight(
              ToolContext.deferContext(Content.text("early")),
              Effect.onInterrupt(Effect.never, () => ToolContext.deferContext(Content.text("late")))
            )
        })
        assert.deepStrictEqual(yield* t.execute(), {
          ...authoredAfter("interrupted"),
          contexts: texts("early", "late", "wrapper")
        })
      }
    })
  )

  it.scoped("62: a body that a wrapper left, and that fails while it is stopped, is told as it was", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        around: (_, next) => Effect.zipRight(Effect.forkDaemon(next), Effect.as(settle, authored)),
        body: () => Effect.onInterrupt(Effect.never, () => Effect.zipRight(settle, Effect.die(boom)))
      })
      assert.deepStrictEqual(yield* t.execute(), authoredAfter("failed"))
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "after", "observe"])
    })
  )

  for (const onCancel of ["interrupt", "finish"] as const) {
    it.scoped(`62: a wrapper that forks its next and is gone at once does not run the body unseen (${onCancel})`, () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          onCancel,
          around: (_, next) => Effect.as(Effect.forkDaemon(next), authored),
          body: () => slowToStop(t.log)
        })
        const result = yield* t.execute()
        yield* settle
        // Whether the handler was called may depend on the scheduler. That the result says so does not.
        assert.strictEqual(result.dispatched, t.log.includes("body"))
        assert.deepStrictEqual(
          result,
          t.log.includes("body") ? authoredAfter("interrupted") : { ...authoredAfter("not-started"), dispatched: false }
        )
      })
    )
  }

  it.scoped("a next that is run after its wrapper had returned dies, and runs nothing", () =>
    Effect.gen(function* () {
      const kept: Array<readonly [Policy.Next, Context.Context<Cancellation.Cancellation>]> = []
      const t = yield* setup({
        around: (_, next) =>
          Effect.flatMap(Effect.context<Cancellation.Cancellation>(), (context) => {
            kept.push([next, context])
            return next
          }),
        after: () =>
          Effect.gen(function* () {
            for (const [next, context] of kept) yield* Effect.provide(next, context)
            return Policy.accept()
          })
      })
      const message = '"next" of call "c1" was run after its wrapper had returned'
      assert.deepStrictEqual(yield* t.execute(), policyFailed(message, { dispatched: true, body: "completed" }))
      for (const [next, context] of kept) {
        const exit = yield* Effect.exit(Effect.provide(next, context))
        assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
        assert.include(Cause.pretty((exit as Exit.Failure<never, never>).cause), message)
      }
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "after", "observe"])
    })
  )

  it.scoped("a next that is run twice at once is two attempts, and the returned one counts", () =>
    Effect.gen(function* () {
      for (const pick of [0, 1]) {
        const gate = yield* Deferred.make<void>()
        let running = 0
        const t = yield* setup({
          around: (_, next) =>
            Effect.map(
              Effect.all([next, Effect.zipRight(settle, next)], { concurrency: "unbounded" }),
              (results) => results[pick] as ToolResult.ToolResult
            ),
          body: () =>
            Effect.gen(function* () {
              const { attempt } = yield* ToolContext.ToolContext
              if (++running === 2) yield* Deferred.succeed(gate, undefined)
              yield* Deferred.await(gate)
              yield* ToolContext.deferContext(Content.text(`from ${attempt}`))
              if (attempt === 1) yield* ToolContext.concludeTurn
              return String(attempt)
            })
        })
        assert.deepStrictEqual(
          yield* t.execute(),
          succeeded({
            value: String(pick + 1),
            content: texts(String(pick + 1)),
            contexts: texts(`from ${pick + 1}`),
            concludesTurn: pick === 0
          })
        )
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "body", "after", "observe"])
      }
    })
  )

  it.scoped("L12: contexts of a failing wrapper's call are those of the attempt that its next returned", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        around: (_, next) => Effect.zipRight(next, Effect.fail(boom)),
        policies: [
          Policy.around("returns the first", (_, next) => Effect.flatMap(next, (first) => Effect.as(next, first)))
        ],
        body: (text) =>
          Effect.flatMap(ToolContext.ToolContext, ({ attempt }) =>
            Effect.as(ToolContext.deferContext(Content.text(`from ${attempt}`)), text)
          )
      })
      assert.deepStrictEqual(
        yield* t.execute(),
        failed(boomReported, { dispatched: true, body: "completed", contexts: texts("from 1") })
      )
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "body", "observe"])
    })
  )

  it.scoped("a result that a wrapper got before the body ran, and returns after it, says that the body ran", () =>
    Effect.gen(function* () {
      let entered = 0
      const t = yield* setup({
        around: (_, next) => Effect.flatMap(next, (first) => Effect.as(next, first)),
        policies: [
          Policy.around("refuses the first time", (_, next) =>
            ++entered === 1 ? Effect.succeed(ToolResult.failure({ code: "NOT_YET", message: "later" })) : next
          )
        ]
      })
      assert.deepStrictEqual(
        yield* t.execute(),
        failed({ code: "NOT_YET", name: "Error", message: "later" }, { dispatched: true })
      )
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "after", "observe"])
    })
  )

  it.scoped("a wrapper may recover from a failed body", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        around: (_, next) => Effect.map(next, (result) => (ToolResult.isFailure(result) ? authored : result)),
        body: () => Effect.zipRight(ToolContext.deferContext(Content.text("tried")), Effect.fail(boom))
      })
      assert.deepStrictEqual(yield* t.execute(), { ...authoredAfter("failed"), contexts: texts("tried") })
    })
  )

  it.scoped("contexts that a wrapper adds come behind the body's, and are added once", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        around: (_, next) => Effect.map(next, (result) => ToolResult.withContexts(result, texts("wrapper"))),
        body: (text) => Effect.as(ToolContext.deferContext(Content.text("body")), text)
      })
      assert.deepStrictEqual(yield* t.execute(), succeeded({ contexts: texts("body", "wrapper") }))
    })
  )

  it.scoped("a wrapper that returns something that is not a result is a failing policy", () =>
    Effect.gen(function* () {
      const message = "a wrapper returned something that is not a ToolResult"
      const garbage = [undefined, null, 7, "Success", {}, { _tag: "Perhaps" }, hostile, unprintable]
      for (const onCancel of ["interrupt", "finish"] as const) {
        for (const answer of garbage as unknown as ReadonlyArray<ToolResult.ToolResult>) {
          const t = yield* setup({ onCancel, around: (_, next) => Effect.as(next, answer) })
          assert.deepStrictEqual(yield* t.execute(), policyFailed(message, { dispatched: true, body: "completed" }))
          assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "observe"])
        }
      }
    })
  )

  it.scoped("a wrapper that returns half a result is answered with a whole one", () =>
    Effect.gen(function* () {
      const half = (result: object) => result as ToolResult.ToolResult
      const throwing = Object.defineProperty({ _tag: "Failure", name: "Error", message: "m" }, "code", {
        get: () => {
          throw new Error("looked at")
        }
      })
      const halves: ReadonlyArray<readonly [ToolResult.ToolResult, string]> = [
        [half({ _tag: "Success" }), "INVALID_TOOL_OUTPUT"],
        [half({ _tag: "Success", value: () => 1 }), "INVALID_TOOL_OUTPUT"],
        [half({ _tag: "Success", value: "ok", contexts: [{ type: "none" }] }), "OK"],
        [half({ _tag: "Failure", code: "HALF", message: "m", name: "Error", content: "none" }), "HALF"],
        [half({ ...ToolResult.failure({ code: "CAUSE", message: "m" }), cause: { _tag: "Odd", f: () => 1 } }), "CAUSE"],
        [half({ ...ToolResult.failure({ code: "OWN", message: "m" }), bodyFailure: { code: 1, more: [] } }), "OWN"],
        [half({ ...ToolResult.failure({ code: "USER", message: "m" }), cause: { _tag: "User" } }), "USER"],
        [half(throwing), "POLICY_FAILURE"],
        [half({ _tag: "Failure", code: Symbol("s"), name: hostile, message: hostile }), "POLICY_FAILURE"]
      ]
      for (const [answer, code] of halves) {
        const t = yield* setup({ around: () => Effect.succeed(answer) })
        const result = yield* t.execute()
        assert.strictEqual(result._tag === "Success" ? "OK" : result.code, code)
        assert.deepStrictEqual(t.log.slice(0, 3), ["before", "guard", "around"])
      }
    })
  )

  it.scoped("a wrapper that interrupts itself is a failing policy, and nothing was cancelled", () =>
    Effect.gen(function* () {
      for (const onCancel of ["interrupt", "finish"] as const) {
        const t = yield* setup({ onCancel, around: () => Effect.interrupt })
        assert.deepStrictEqual(yield* t.execute(), policyFailed("a wrapper interrupted itself"))
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "observe"])
      }
    })
  )

  it.scoped("wrappers of both modes can be mixed, and the body is stopped under all of them", () =>
    Effect.gen(function* () {
      const pass = (name: string, onCancel: Policy.OnCancel) =>
        Policy.around(
          name,
          (_, next) =>
            Effect.onExit(next, (exit) =>
              Effect.sync(() => t.log.push(`${name} ${Exit.isInterrupted(exit) ? "interrupted" : "finished"}`))
            ),
          { onCancel }
        )
      const t: Setup = yield* setup({
        policies: [pass("a", "interrupt"), pass("b", "finish"), pass("c", "interrupt"), pass("d", "interrupt")],
        body: () => Effect.never
      })
      const call = yield* t.start()
      yield* t.reached("body")
      yield* call.cancel(user)
      assert.deepStrictEqual(yield* call.result, aborted(user))
      assert.deepStrictEqual(t.log.slice(4, 8).sort(), [
        "a interrupted",
        "b finished",
        "c interrupted",
        "d interrupted"
      ])
      assert.deepStrictEqual(t.log.slice(8), ["after", "observe"])
    })
  )

  it.scoped("a wrapper that is to finish does so under one that is interrupted, and its failure counts", () =>
    Effect.gen(function* () {
      for (const outer of ["interrupt", "finish"] as const) {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({
          onCancel: outer,
          policies: [
            Policy.around(
              "inner",
              (_, next) => Effect.zipRight(next, Effect.zipRight(Deferred.await(gate), Effect.fail(boom))),
              { onCancel: "finish" }
            )
          ],
          body: () => Effect.never
        })
        const call = yield* t.start()
        yield* t.reached("body")
        yield* call.cancel(user)
        yield* settle
        assert.strictEqual((yield* t.runtime.inFlight).length, 1)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, failed(boomReported, { dispatched: true, body: "interrupted" }))
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "observe"])
      }
    })
  )
})
