import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Metric, Option, Schema, type Scope, TestClock, Tracer } from "effect"
import { Cancellation, Policy, Tool, ToolContext } from "quiesce"
import {
  callOf,
  collectWarnings,
  executeCancelled,
  failed,
  HarnessError,
  notDispatched,
  type Setup,
  settle,
  setup,
  succeeded,
  user
} from "./support/calls.js"

const stuck = (elapsed: number, phase: string, id = "c1") =>
  `A call was cancelled ${elapsed}ms ago and is still in phase "${phase}": something in it ignores the cancellation (call "${id}" of tool "echo")`

/** Runs `body` in the place where warnings are collected. */
const warned = <A, E>(body: (warnings: Array<string>) => Effect.Effect<A, E, Scope.Scope>) => {
  const warnings: Array<string> = []
  return Effect.scoped(Effect.suspend(() => body(warnings))).pipe(Effect.provide(collectWarnings(warnings)))
}

describe("ToolRuntime (what is told of calls)", () => {
  describe("a call that does not end after its cancel", () => {
    it.effect("L4: is warned about once, when it has been at that for ten seconds", () =>
      warned((warnings) =>
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void>()
          const t: Setup = yield* setup({ body: () => Effect.uninterruptible(Effect.as(Deferred.await(gate), "late")) })
          const call = yield* t.start()
          yield* TestClock.adjust("1 hour")
          yield* call.cancel(user)
          yield* TestClock.adjust(9_999)
          assert.deepStrictEqual(warnings, [])
          yield* TestClock.adjust(1)
          assert.deepStrictEqual(warnings, [stuck(10_000, "dispatching")])
          yield* TestClock.adjust("1 hour")
          assert.strictEqual(warnings.length, 1)
          yield* Deferred.succeed(gate, undefined)
          yield* call.result
        })
      )
    )

    it.effect("is warned about at its own time, whoever else is being stopped", () =>
      warned((warnings) =>
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void>()
          const t: Setup = yield* setup({
            body: () => Effect.uninterruptible(Effect.as(Deferred.await(gate), "late")),
            after: () => Effect.as(Deferred.await(gate), Policy.accept())
          })
          const first = yield* t.start()
          yield* first.cancel(user)
          yield* TestClock.adjust(4_000)
          const second = yield* t.start({ id: "c2", name: "echo", parameters: { text: "hi" } })
          yield* second.cancel(user)
          yield* TestClock.adjust(6_000)
          assert.deepStrictEqual(warnings, [stuck(10_000, "dispatching")])
          yield* TestClock.adjust(3_999)
          assert.strictEqual(warnings.length, 1)
          yield* TestClock.adjust(1)
          assert.deepStrictEqual(warnings.slice(1), [stuck(10_000, "dispatching", "c2")])
          yield* Deferred.succeed(gate, undefined)
          yield* Effect.zip(first.result, second.result)
        })
      )
    )

    it.effect("is warned about in a review or an observer too", () =>
      warned((warnings) =>
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void>()
          const reviews: Setup = yield* setup({ after: () => Effect.as(Deferred.await(gate), Policy.accept()) })
          const first = yield* reviews.start()
          yield* first.cancel(user)
          const observes: Setup = yield* setup({ observe: () => Deferred.await(gate) })
          const second = yield* observes.start()
          yield* second.cancel(user)
          yield* TestClock.adjust(10_000)
          assert.deepStrictEqual(warnings.sort(), [stuck(10_000, "reviewed"), stuck(10_000, "settled")])
          yield* Deferred.succeed(gate, undefined)
          yield* Effect.zip(first.result, second.result)
        })
      )
    )

    it.effect("is not warned about when it ends before that, nor is one that nobody cancelled", () =>
      warned((warnings) =>
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void>()
          const t: Setup = yield* setup({
            body: (text) =>
              text === "waits"
                ? Effect.as(Deferred.await(gate), text)
                : Effect.onInterrupt(Effect.never, () => Effect.sleep(9_999))
          })
          const waits = yield* t.start({ id: "c2", name: "echo", parameters: { text: "waits" } })
          const call = yield* t.start()
          yield* call.cancel(user)
          yield* TestClock.adjust(9_999)
          yield* call.result
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(warnings, [])
          yield* Deferred.succeed(gate, undefined)
          yield* waits.result
        })
      )
    )

    it.effect("a later call is watched as the first one was", () =>
      warned((warnings) =>
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void>()
          const t: Setup = yield* setup({
            body: (text) =>
              text === "hi" ? Effect.never : Effect.uninterruptible(Effect.as(Deferred.await(gate), text))
          })
          const quick = yield* t.start()
          yield* quick.cancel(user)
          yield* quick.result
          yield* TestClock.adjust(5_000)
          const slow = yield* t.start({ id: "c2", name: "echo", parameters: { text: "slow" } })
          yield* slow.cancel(user)
          yield* TestClock.adjust(10_000)
          assert.deepStrictEqual(warnings, [stuck(10_000, "dispatching", "c2")])
          yield* Deferred.succeed(gate, undefined)
          yield* slow.result
        })
      )
    )
  })

  it.effect("L5: a late failure that is not the one in the result is logged", () =>
    warned((warnings) =>
      Effect.gen(function* () {
        const failsLate = (code: string) =>
          Effect.uninterruptibleMask((restore) =>
            Effect.catchAllCause(restore(Effect.never), () => Effect.fail(new HarnessError({ message: code, code })))
          ).pipe(Cancellation.operation(code))
        const t: Setup = yield* setup({
          body: () => Effect.as(Effect.all([failsLate("FIRST"), failsLate("SECOND")], { concurrency: 2 }), "never")
        })
        const call = yield* t.start()
        yield* settle
        yield* call.cancel(user)
        const result = yield* call.result
        const other = result._tag === "Failure" && result.code === "FIRST" ? "SECOND" : "FIRST"
        assert.strictEqual(result._tag === "Failure" && result.name, "HarnessError")
        assert.strictEqual(warnings.length, 1)
        assert.match(
          warnings[0] ?? "",
          new RegExp(`^An operation failed while it was being cancelled .*HarnessError: ${other}$`)
        )
      })
    )
  )

  it.effect("L1: a call that cannot be driven to its end has a result all the same, and says that it is a bug", () =>
    warned((warnings) =>
      Effect.gen(function* () {
        // A tool that was not made by Tool.make, and breaks where nothing of a tool can.
        const inTime: Array<boolean> = []
        const observe = (): Effect.Effect<void> =>
          Effect.map(runtime.cancelCall("c1", user), (answer) => void inTime.push(answer))
        const { runtime, ...t }: Setup = yield* setup({ bare: true, observe })
        const plain = { description: "", parameters: {}, success: Schema.Null, handler: () => Effect.succeed(null) }
        yield* runtime.register({
          ...Tool.make("broken", plain),
          get timeoutMillis(): number {
            throw new Error("no time")
          }
        })
        const result = yield* t.execute({ name: "broken", parameters: {} })
        const message = "the outcome of the call is not known, because of a bug in quiesce"
        assert.deepStrictEqual(
          result,
          failed({ code: "OUTCOME_UNKNOWN", name: "OutcomeUnknownError", message }, { tool: "broken" })
        )
        assert.deepStrictEqual(t.log, ["observe"])
        assert.deepStrictEqual(inTime, [false])
        assert.deepStrictEqual(yield* runtime.inFlight, [])
        assert.strictEqual(warnings.length, 1)
        assert.match(warnings[0] ?? "", /^A call could not be driven to its end; .*no time$/)
      })
    )
  )

  describe("spans", () => {
    /** A tracer of a host, and what it was told. */
    const makeTracer = Effect.map(Effect.tracer, (native) => {
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (...args) => {
          const span = native.span(...args)
          spans.push(span)
          return span
        },
        context: (f) => f()
      })
      return { spans, tracer }
    })

    const spanName = Effect.map(
      Effect.option(Effect.currentSpan),
      Option.match({ onNone: () => "none", onSome: ({ name }) => name })
    )

    it.scoped("are not made where nobody would see them", () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          body: (text): Effect.Effect<string, unknown, Cancellation.Cancellation> =>
            text === "inner"
              ? spanName
              : Effect.map(t.runtime.execute(callOf({ id: "c2", parameters: { text: "inner" } })), (inner) =>
                  inner._tag === "Success" ? `${inner.value} within` : "failed"
                )
        })
        const result = yield* t.execute()
        assert.strictEqual(result._tag === "Success" && result.value, "none within")
      })
    )

    it.scoped("are made under a tracer of the host, one for each attempt", () =>
      Effect.gen(function* () {
        const { spans, tracer } = yield* makeTracer
        const t: Setup = yield* setup({
          around: (_, next) => Effect.zipRight(next, next),
          body: () =>
            Effect.flatMap(ToolContext.ToolContext, ({ attempt }) =>
              attempt === 1 ? new HarnessError({ message: "no", code: "NO" }) : spanName
            )
        })
        const result = yield* Effect.withTracer(t.execute(), tracer)
        assert.strictEqual(result._tag === "Success" && result.value, "tool echo")
        assert.deepStrictEqual(
          spans.map(({ attributes, name, status }) => ({
            name,
            attributes: Object.fromEntries([...attributes].filter(([key]) => key.startsWith("tool."))),
            ended: status._tag === "Ended" && status.exit._tag
          })),
          [1, 2].map((attempt) => ({
            name: "tool echo",
            attributes: { "tool.name": "echo", "tool.call.id": "c1", "tool.call.attempt": attempt },
            ended: attempt === 1 ? ("Failure" as const) : ("Success" as const)
          }))
        )
      })
    )

    it.scoped("L2: a tracer that cancels the call while it makes the span of the body is in time", () =>
      Effect.gen(function* () {
        const { tracer } = yield* makeTracer
        const cancels = Tracer.make({
          span: (...args) => {
            Effect.runFork(t.runtime.cancelCall("c1", user))
            return tracer.span(...args)
          },
          context: (f) => f()
        })
        const t: Setup = yield* setup({ bare: true })
        assert.deepStrictEqual(yield* Effect.withTracer(t.execute(), cancels), notDispatched(user))
        assert.deepStrictEqual(t.log, ["observe"])
      })
    )

    it.scoped("are made under a span of the caller, and continue it", () =>
      Effect.gen(function* () {
        let parent: string | undefined
        const t: Setup = yield* setup({
          body: (text) =>
            Effect.map(Effect.orDie(Effect.currentSpan), ({ name, parent: above }) => {
              parent = `${name} in ${Option.getOrThrow(above)._tag === "Span" ? (Option.getOrThrow(above) as Tracer.Span).name : "?"}`
              return text
            })
        })
        yield* Effect.withSpan(t.execute(), "step")
        assert.strictEqual(parent, "tool echo in step")
      })
    )

    it.scoped("policies continue the caller's span too", () =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        const see = Effect.map(spanName, (name) => {
          seen.push(name)
        })
        const t: Setup = yield* setup({
          before: () => Effect.as(see, Policy.allow),
          around: (_, next) => Effect.zipRight(see, next),
          after: () => Effect.as(see, Policy.accept()),
          observe: () => see
        })
        yield* Effect.withSpan(t.execute(), "step")
        assert.deepStrictEqual(seen, ["step", "step", "step", "step"])
      })
    )

    it.scoped("the span in which the runtime was built is not the span of its calls", () =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        const see = Effect.map(spanName, (name) => {
          seen.push(name)
        })
        const stages = {
          before: () => Effect.as(Effect.zipRight(Effect.yieldNow(), see), Policy.allow),
          around: (_: Policy.Call, next: Policy.Next) => Effect.zipRight(see, next),
          body: (text: string) => Effect.as(see, text),
          after: () => Effect.as(see, Policy.accept()),
          observe: () => see
        }
        const t = yield* Effect.withSpan(setup(stages), "start of the program")
        yield* Effect.withSpan(
          Effect.zipRight(
            t.runtime.registerPolicy(Policy.before("later", stages.before)),
            t.runtime.registerPolicy(Policy.after("later", stages.after))
          ),
          "registration"
        )
        yield* t.execute()
        assert.deepStrictEqual(seen, new Array(7).fill("none"))
      })
    )
  })

  describe("metrics", () => {
    const state = (name: string, code?: string) =>
      Effect.map(Metric.snapshot, (pairs) => {
        const found = pairs.find(
          ({ metricKey }) =>
            metricKey.name === name && (code === undefined || metricKey.tags.some(({ value }) => value === code))
        )
        return found?.metricState as { readonly count?: number; readonly value?: number } | undefined
      })
    const published = (code: string) => Effect.map(state("quiesce_calls", code), (counter) => counter?.count ?? 0)
    const inFlight = Effect.map(state("quiesce_calls_in_flight"), (gauge) => gauge?.value ?? 0)
    const quieted = Effect.map(state("quiesce_time_to_quiet_ms"), (histogram) => histogram?.count ?? 0)

    it.scoped("count published calls by code", () =>
      Effect.gen(function* () {
        const codes = ["OK", "DENIED", "TOOL_FAILURE", "ABORTED_BEFORE_DISPATCH"]
        const before = yield* Effect.forEach(codes, published)
        const t: Setup = yield* setup({
          guard: ({ agent }) => (agent === undefined ? undefined : "no"),
          body: (text) => (text === "hi" ? Effect.succeed(text) : Effect.fail("no"))
        })
        yield* t.execute()
        yield* t.execute()
        yield* t.execute({ agent: "a1" })
        yield* t.execute({ parameters: { text: "fails" } })
        yield* executeCancelled(t, "gone")
        const after = yield* Effect.forEach(codes, published)
        assert.deepStrictEqual(
          after.map((count, i) => count - (before[i] ?? 0)),
          [2, 1, 1, 1]
        )
      })
    )

    it.scoped("count calls in flight, up and down", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const before = yield* inFlight
        const t: Setup = yield* setup({ body: (text) => Effect.as(Deferred.await(gate), text) })
        const call = yield* t.start()
        yield* t.start({ id: "c2", name: "echo", parameters: { text: "hi" } })
        assert.strictEqual((yield* inFlight) - before, 2)
        yield* call.cancel(user)
        yield* call.result
        assert.strictEqual((yield* inFlight) - before, 1)
        yield* Deferred.succeed(gate, undefined)
        yield* t.runtime.awaitIdle
        assert.strictEqual((yield* inFlight) - before, 0)
      })
    )

    it.scoped("measure how long a cancelled call takes to be quiet, and only that", () =>
      Effect.gen(function* () {
        const before = yield* quieted
        const t: Setup = yield* setup({
          body: (text) =>
            text === "hi" ? Effect.succeed(text) : Effect.onInterrupt(Effect.never, () => Effect.sleep(500))
        })
        assert.deepStrictEqual(yield* t.execute(), succeeded())
        assert.strictEqual(yield* quieted, before)
        const call = yield* Cancellation.own(
          Effect.tap(t.runtime.start(callOf({ parameters: { text: "slow" } })), ({ cancel, result }) =>
            Effect.gen(function* () {
              yield* cancel(user)
              const waits = yield* Effect.fork(result)
              yield* settle
              yield* TestClock.adjust(500)
              yield* waits
            })
          )
        )
        yield* call.result
        assert.strictEqual((yield* quieted) - before, 1)
        const histogram = yield* state("quiesce_time_to_quiet_ms")
        assert.isAtLeast((histogram as { readonly max?: number }).max ?? 0, 500)
      })
    )
  })
})
