import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Exit, Fiber, Layer, Option, Schedule, Schema } from "effect"
import { Abort, CancelCause, Cancellation, Policy, Tool, ToolError, Toolkit, ToolResult, ToolRuntime } from "quiesce"
import { Approval } from "quiesce/capability"

// What begins late: after a cancel, while its owner ends, or behind a wrapper that is gone. It is told at once, awaited,
// or not begun at all, and it never changes what is true of the call.

type Body = Effect.Effect<unknown, unknown, Cancellation.Cancellation>

const toolOf = (body: () => Body, timeout?: number) =>
  Tool.make("t", {
    description: "",
    parameters: {},
    success: Schema.Unknown,
    failure: Schema.Unknown,
    timeout,
    handler: body
  })

const call = { id: "c", name: "t", parameters: {} }

const withTool = <P extends Policy.Any>(
  body: () => Body,
  policies: ReadonlyArray<P> = [],
  timeout?: number
): Layer.Layer<ToolRuntime.ToolRuntime, never, Exclude<Policy.Requirements<P>, ToolRuntime.Provided>> =>
  ToolRuntime.layer({ toolkit: Toolkit.make(toolOf(body, timeout)), policies })

/** Starts the call, waits until `begun`, cancels it, lets `go` on, and gives the result. */
const cancelled = (begun: Deferred.Deferred<void>, go: Effect.Effect<unknown> = Effect.void) =>
  Effect.gen(function* () {
    const running = yield* ToolRuntime.start(call)
    yield* Deferred.await(begun)
    yield* running.cancel(CancelCause.user())
    yield* go
    return yield* running.result
  }).pipe(Cancellation.own)

const codeOf = (result: ToolResult.ToolResult): string => (result._tag === "Success" ? "OK" : result.code)

const pass = Policy.around("pass", (_call, next) => next)

describe("ToolRuntime (late)", () => {
  it.effect("C3: behind a policy that finished although the call was cancelled, nobody else is asked", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const asked: Array<string> = []
      const first = Policy.before(
        "finishes",
        () => Effect.zipRight(Deferred.succeed(begun, undefined), Effect.as(Deferred.await(gate), Policy.ask("sure?"))),
        { onCancel: "finish" }
      )
      const second = Policy.before("next", () =>
        Effect.as(
          Effect.sync(() => asked.push("next")),
          Policy.allow
        )
      )
      const approver = Approval.layer(() =>
        Effect.zipRight(
          Effect.sync(() => asked.push("person")),
          Effect.never
        )
      )
      const result = yield* cancelled(begun, Deferred.succeed(gate, undefined)).pipe(
        // @effect-diagnostics-next-line multipleEffectProvide:off
        Effect.provide(withTool(() => Effect.void, [first, second])),
        Effect.provide(approver)
      )
      assert.strictEqual(codeOf(result), "ABORTED_BEFORE_DISPATCH")
      assert.deepStrictEqual(asked, [])
    })
  )

  it.effect(
    "C3: a wrapper that finishes gets ABORTED_BEFORE_DISPATCH from its next, and no other wrapper is begun",
    () =>
      Effect.gen(function* () {
        const begun = yield* Deferred.make<void>()
        const gate = yield* Deferred.make<void>()
        let inner = 0
        const outer = Policy.around(
          "finishes",
          (_call, next) =>
            Deferred.succeed(begun, undefined).pipe(Effect.zipRight(Deferred.await(gate)), Effect.zipRight(next)),
          { onCancel: "finish" }
        )
        const waits = Policy.around("waits", () =>
          Effect.zipRight(
            Effect.sync(() => inner++),
            Effect.never
          )
        )
        const result = yield* cancelled(begun, Deferred.succeed(gate, undefined)).pipe(
          Effect.provide(withTool(() => Effect.void, [outer, waits]))
        )
        assert.strictEqual(codeOf(result), "ABORTED_BEFORE_DISPATCH")
        assert.strictEqual(inner, 0)
      })
  )

  it.effect("L14: what a daemon begins under an ending owner is refused or stopped, and awaited", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const ending = yield* Deferred.make<void>()
      const slow = Effect.onInterrupt(Effect.never, () =>
        Effect.zipRight(Deferred.succeed(ending, undefined), Deferred.await(gate))
      )
      const exits: Array<string> = []
      const late = (name: string, effect: Effect.Effect<unknown, unknown, Cancellation.Cancellation>) =>
        Effect.forkDaemon(
          Effect.zipRight(
            Deferred.await(ending),
            Effect.onExit(effect, (exit) =>
              Effect.zipRight(
                Effect.sync(() => exits.push(`${name} ${Exit.isInterrupted(exit)}`)),
                Effect.suspend(() => (exits.length === 2 ? Deferred.succeed(gate, undefined) : Effect.void))
              )
            )
          )
        )
      let begun = 0
      const body = Effect.gen(function* () {
        yield* Effect.forkDaemon(Cancellation.operation(slow, "slow"))
        yield* late(
          "promise",
          Abort.fromPromise(() => new Promise(() => begun++))
        )
        yield* late(
          "own",
          Cancellation.own(
            Effect.zipRight(
              Effect.sync(() => begun++),
              Effect.never
            )
          )
        )
        yield* Effect.yieldNow()
        yield* Effect.yieldNow()
      })
      yield* Cancellation.own(body)
      assert.sameMembers(exits, ["promise true", "own true"])
      assert.strictEqual(begun, 0)
    })
  )

  it.effect("an owner with a scope of its own ends with the owner above at the latest", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Effect.scoped(Cancellation.own(Effect.asVoid(Cancellation.ownScoped))))
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(fiber)))
    })
  )

  it.effect("L3: what a daemon begins during the review is ended before the call returns", () =>
    Effect.gen(function* () {
      const reviewing = yield* Deferred.make<void>()
      let runs = 0
      const daemon = Effect.zipRight(
        Deferred.await(reviewing),
        Abort.fromPromise(({ signal }) => {
          runs++
          return new Promise<void>((resolve) => {
            const end = () => {
              runs--
              resolve()
            }
            if (signal.aborted) end()
            else signal.addEventListener("abort", end)
          })
        })
      )
      const review = Policy.after("reviews", () =>
        Effect.zipRight(
          Deferred.succeed(reviewing, undefined),
          Effect.as(Effect.repeatN(Effect.yieldNow(), 5), Policy.accept())
        )
      )
      const result = yield* ToolRuntime.execute(call).pipe(
        Cancellation.own,
        Effect.provide(withTool(() => Effect.as(Effect.forkDaemon(daemon), 1), [review]))
      )
      assert.strictEqual(codeOf(result), "OK")
      assert.strictEqual(runs, 0)
    })
  )

  it.effect("L14: work that toPromiseWith runs with a captured runtime is the owner's, and ends with it", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const work = Cancellation.operation(
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => log.push("stopped"))),
        "work"
      )
      const body = () =>
        Effect.map(Effect.runtime<Cancellation.Cancellation>(), (runtime) => {
          Abort.toPromiseWith(runtime)(work).catch(() => log.push("rejected"))
          return 1
        })
      const result = yield* ToolRuntime.execute(call).pipe(Cancellation.own, Effect.provide(withTool(body)))
      assert.strictEqual(codeOf(result), "OK")
      assert.strictEqual(log[0], "stopped")
    })
  )

  it.effect("L3: a late value has been released when the call returns, also on a daemon", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const begun = yield* Deferred.make<void>()
      const connect = Abort.fromPromise({
        try: ({ signal }) => {
          Deferred.unsafeDone(begun, Effect.void)
          return new Promise<string>((resolve) => {
            signal.addEventListener("abort", () => resolve("connection"))
          })
        },
        catch: (error) => error,
        release: () =>
          Effect.zipRight(
            Effect.repeatN(Effect.yieldNow(), 5),
            Effect.sync(() => log.push("released"))
          )
      })
      yield* ToolRuntime.execute(call).pipe(
        Cancellation.own,
        Effect.provide(withTool(() => Effect.zipRight(Effect.forkDaemon(connect), Deferred.await(begun))))
      )
      assert.deepStrictEqual(log, ["released"])
    })
  )

  it.effect("L1: parameters that decode to a cycle, and a message that throws, are answered", () =>
    Effect.gen(function* () {
      const cycle: { self?: unknown } = {}
      cycle.self = cycle
      const Cyclic = Tool.make("t", {
        description: "",
        parameters: {
          p: Schema.transform(Schema.String, Schema.Unknown, { decode: () => cycle, encode: () => "p" }).annotations({
            jsonSchema: { type: "string" }
          })
        },
        success: Schema.Null,
        handler: () => Effect.succeed(null)
      })
      const Throwing = Tool.make("u", {
        description: "",
        parameters: {
          name: Schema.String.annotations({
            message: () => {
              throw new Error("no words")
            }
          })
        },
        success: Schema.Null,
        handler: () => Effect.succeed(null)
      })
      const results = yield* Effect.all([
        ToolRuntime.execute({ id: "a", name: "t", parameters: { p: "x" } }),
        ToolRuntime.execute({ id: "b", name: "u", parameters: { name: null } })
      ]).pipe(Cancellation.own, Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(Cyclic, Throwing) })))
      assert.deepStrictEqual(results.map(codeOf), ["OK", "INVALID_ARGS"])
    })
  )

  it.effect("a call whose fields throw is not accepted, and leaves nothing in flight", () =>
    Effect.gen(function* () {
      const hostile = {
        get id(): string {
          throw new Error("g")
        },
        name: "t",
        parameters: {}
      }
      const inFlight = yield* Effect.gen(function* () {
        const runtime = yield* ToolRuntime.ToolRuntime
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Cancellation.own(runtime.execute(hostile)))))
        return yield* runtime.inFlight
      }).pipe(Effect.provide(withTool(() => Effect.void)))
      assert.deepStrictEqual(inFlight, [])
    })
  )

  it.effect(
    "L5: a wrapper that only passes on changes nothing of what the body failed with, and the review is asked",
    () =>
      Effect.gen(function* () {
        let reviews = 0
        const review = Policy.after("redacts", () =>
          Effect.as(
            Effect.sync(() => reviews++),
            Policy.accept()
          )
        )
        const begun = yield* Deferred.make<void>()
        const body = () =>
          Abort.fromPromise({
            try: ({ signal }) => {
              Deferred.unsafeDone(begun, Effect.void)
              return new Promise((_, reject) => {
                signal.addEventListener("abort", () => reject(new Error("token=SECRET")))
              })
            },
            catch: (error) => error
          })
        const result = yield* cancelled(begun).pipe(Effect.provide(withTool(body, [pass, review])))
        assert.strictEqual(codeOf(result), "TOOL_FAILURE")
        assert.strictEqual(reviews, 1)
      })
  )

  it.effect("L7: a cancel during the clean-up after a timeout does not take it back, under a wrapper either", () =>
    Effect.gen(function* () {
      const stopping = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const body = () =>
        Effect.onInterrupt(Effect.never, () =>
          Effect.zipRight(Deferred.succeed(stopping, undefined), Deferred.await(gate))
        )
      const result = yield* cancelled(stopping, Deferred.succeed(gate, undefined)).pipe(
        Effect.provide(withTool(body, [pass], 20))
      )
      assert.strictEqual(codeOf(result), "TOOL_TIMEOUT")
    }).pipe(Effect.withClock(Clock.make()))
  )

  it.effect("L5: what an inner wrapper that finishes answers counts, although the outer one was stopped", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const quota = Policy.around(
        "quota",
        () =>
          Effect.zipRight(
            Deferred.succeed(begun, undefined),
            Effect.as(Deferred.await(gate), ToolResult.failure({ code: "QUOTA", message: "none left" }))
          ),
        { onCancel: "finish" }
      )
      const result = yield* cancelled(begun, Deferred.succeed(gate, undefined)).pipe(
        Effect.provide(withTool(() => Effect.void, [pass, quota]))
      )
      assert.strictEqual(codeOf(result), "QUOTA")
    })
  )

  it.effect("L2: a tool cannot claim that it never ran", () =>
    Effect.gen(function* () {
      const lie = new ToolError.ToolFailure({ code: "ABORTED_BEFORE_DISPATCH", message: "never ran" })
      const result = yield* ToolRuntime.execute(call).pipe(
        Cancellation.own,
        Effect.provide(withTool(() => Effect.fail(lie)))
      )
      assert.strictEqual(codeOf(result), "TOOL_FAILURE")
      assert.isTrue(result.dispatched)
    })
  )

  it.effect("D1: attempts of a retry never overlap, although an inner wrapper left its next running", () =>
    Effect.gen(function* () {
      let running = 0
      let most = 0
      const leaves = Policy.around("leaves", (_call, next) =>
        Effect.zipRight(
          Effect.forkDaemon(next),
          Effect.as(Effect.repeatN(Effect.yieldNow(), 5), ToolResult.failure({ code: "GAVE_UP", message: "left" }))
        )
      )
      const body = () =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            most = Math.max(most, ++running)
          }),
          () => Effect.never,
          () =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => running--)
            )
        )
      yield* ToolRuntime.execute(call).pipe(
        Cancellation.own,
        Effect.provide(withTool(body, [Policy.retry({ schedule: Schedule.recurs(3), while: () => true }), leaves]))
      )
      assert.strictEqual(most, 1)
      assert.strictEqual(running, 0)
    })
  )

  it.effect("an approver keeps the services that it was built with, whatever its caller has", () =>
    Effect.gen(function* () {
      class Who extends Context.Tag("quiesce/test/ToolRuntime.late.test/Who")<Who, string>() {}
      const seen: Array<string> = []
      const approver = Approval.layer(() =>
        Effect.map(Who, (who) => {
          seen.push(who)
          return "rejected" as const
        })
      ).pipe(Layer.provide(Layer.succeed(Who, "approver")))
      yield* Approval.request({ callId: "c", tool: "t", parameters: {} }).pipe(
        Cancellation.own,
        Effect.provide(approver),
        Effect.provideService(Who, "caller")
      )
      assert.deepStrictEqual(seen, ["approver"])
    })
  )

  it.effect("a promise whose own then throws is a failure", () =>
    Effect.gen(function* () {
      const promise = Promise.resolve(1)
      // biome-ignore lint/suspicious/noThenProperty: a lying promise is the case
      Object.defineProperty(promise, "then", {
        value: () => {
          throw new Error("lies")
        }
      })
      const exit = yield* Effect.exit(Cancellation.own(Abort.fromPromise(() => promise)))
      assert.isTrue(Option.isSome(Exit.causeOption(exit)))
    })
  )
})
