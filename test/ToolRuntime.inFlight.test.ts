import { assert, describe, it } from "@effect/vitest"
import {
  Cause,
  Chunk,
  Context,
  Deferred,
  Effect,
  Exit,
  Fiber,
  Layer,
  Option,
  Schema,
  Scope,
  Stream,
  TestClock
} from "effect"
import { Cancellation, Policy, Tool, ToolContext, Toolkit, ToolResult, ToolRuntime } from "quiesce"
import { aborted, callOf, notDispatched, type Setup, settle, setup, succeeded, texts, user } from "./support/calls.js"

const Greet = Tool.make("greet", {
  description: "Greets somebody",
  parameters: { name: Schema.String, times: Schema.optional(Schema.Int) },
  success: Schema.String,
  timeout: "1 hour",
  concurrency: "parallel",
  handler: ({ name }) => Effect.succeed(`Hello, ${name}`)
})

const More = Tool.make("more", {
  description: "Does more",
  parameters: {},
  success: Schema.Null,
  handler: () => Effect.succeed(null)
})

const messageOf = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isFailure(exit) && Cause.isDie(exit.cause) ? Cause.pretty(exit.cause) : assert.fail("it did not die")

describe("ToolRuntime (what is in flight)", () => {
  it.scoped("cancelCall says whether there was something to cancel", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({ body: () => Effect.never })
      assert.isFalse(yield* t.runtime.cancelCall("c1", user))
      const call = yield* t.start()
      assert.isFalse(yield* t.runtime.cancelCall("c2", user))
      assert.isTrue(yield* t.runtime.cancelCall("c1", user))
      assert.deepStrictEqual(yield* call.result, aborted(user))
    })
  )

  it.scoped("inFlight tells all of a call that it can", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const t: Setup = yield* setup({
        around: (_, next) => Effect.zipRight(next, next),
        body: (text) =>
          Effect.zipRight(
            ToolContext.progress("half way"),
            Effect.flatMap(ToolContext.ToolContext, ({ attempt }) =>
              attempt === 1 ? Effect.succeed(text) : Effect.uninterruptible(Effect.as(Deferred.await(gate), text))
            )
          )
      })
      yield* TestClock.adjust(1_000)
      const call = yield* t.start({ rootId: "root" })
      yield* settle
      yield* TestClock.adjust(500)
      const status: ToolRuntime.CallStatus = {
        callId: "c1",
        rootId: "root",
        parentId: undefined,
        tool: "echo",
        phase: "dispatching",
        dispatched: true,
        attempts: 2,
        startedAt: 1_000,
        cancelledAt: undefined,
        cause: undefined,
        progress: "half way"
      }
      assert.deepStrictEqual(yield* t.runtime.inFlight, [status])
      yield* call.cancel(user)
      assert.deepStrictEqual(yield* t.runtime.inFlight, [{ ...status, cancelledAt: 1_500, cause: user }])
      yield* Deferred.succeed(gate, undefined)
      yield* call.result
      assert.deepStrictEqual(yield* t.runtime.inFlight, [])
    })
  )

  it.scoped("changes tells the calls in flight now, and after each change", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        before: () => Effect.as(settle, Policy.allow),
        body: (text) => Effect.as(Effect.zipRight(ToolContext.progress("on it"), settle), text),
        after: () => Effect.as(settle, Policy.accept()),
        observe: () => settle
      })
      const seen: Array<string> = []
      const watcher = yield* Effect.fork(
        Stream.runForEach(t.runtime.changes, (calls) =>
          Effect.sync(() => {
            const words = calls.map(({ phase, progress }) => [phase, progress].filter(Boolean).join(" "))
            if (seen.at(-1) !== words.join()) seen.push(words.join())
          })
        )
      )
      yield* settle
      yield* t.execute()
      yield* settle
      yield* Fiber.interrupt(watcher)
      yield* t.execute()
      assert.deepStrictEqual(seen, [
        "",
        "received",
        "materialized",
        "decoded",
        "gated",
        "dispatching",
        "dispatching on it",
        "settled on it",
        "reviewed on it",
        "published on it",
        ""
      ])
    })
  )

  it.scoped("a slow reader of changes sees the latest states", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      const taken = yield* Effect.fork(
        Stream.runCollect(
          Stream.takeUntil(
            Stream.mapEffect(t.runtime.changes, (calls) => Effect.as(Effect.sleep(1_000), calls)),
            (calls) => calls.some(({ callId }) => callId === "last")
          )
        )
      )
      yield* settle
      for (let i = 0; i < 200; i++) yield* t.execute({ id: `c${i}`, name: "echo", parameters: { text: "hi" } })
      yield* t.execute({ id: "last", name: "echo", parameters: { text: "hi" } })
      yield* TestClock.adjust("1 hour")
      assert.isBelow(Chunk.size(yield* Fiber.join(taken)), 300)
    })
  )

  it.effect("schemas tells a model of the tools: name, description and parameters", () =>
    Effect.gen(function* () {
      const runtime = yield* ToolRuntime.ToolRuntime
      assert.deepStrictEqual(yield* runtime.schemas, [
        {
          name: "greet",
          description: "Greets somebody",
          parameters: {
            $schema: "http://json-schema.org/draft-07/schema#",
            type: "object",
            required: ["name"],
            properties: {
              name: { type: "string" },
              times: { $ref: "#/$defs/Int" }
            },
            additionalProperties: false,
            $defs: { Int: { type: "integer", title: "int", description: "an integer" } }
          }
        }
      ] as never)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* runtime.register(More)
          assert.deepStrictEqual(
            (yield* runtime.schemas).map(({ name }) => name),
            ["greet", "more"]
          )
        })
      )
      assert.deepStrictEqual(
        (yield* runtime.schemas).map(({ name }) => name),
        ["greet"]
      )
    }).pipe(Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(Greet) })))
  )

  it.scoped("awaitIdle waits until no call is in flight", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const t: Setup = yield* setup({ body: (text) => Effect.as(Deferred.await(gate), text) })
      yield* t.runtime.awaitIdle
      const first = yield* t.start()
      yield* t.start({ id: "c2", name: "echo", parameters: { text: "hi" } })
      const idle = yield* Effect.fork(t.runtime.awaitIdle)
      yield* first.cancel(user)
      yield* first.result
      yield* settle
      assert.isTrue(Option.isNone(yield* Fiber.poll(idle)))
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(idle)
      assert.strictEqual(t.observed.length, 2)
      yield* t.runtime.awaitIdle
    })
  )

  describe("layer", () => {
    const Waits = (log: Array<string>) =>
      Tool.make("waits", {
        description: "Waits, and takes its time to stop",
        parameters: {},
        success: Schema.Null,
        handler: () =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.zipRight(
              settle,
              Effect.sync(() => log.push("stopped"))
            )
          )
      })
    const call = { id: "c1", name: "waits", parameters: {} }

    it.scoped(
      "when it is released, calls in flight are cancelled with Disposed and awaited; later ones do not run",
      () =>
        Effect.gen(function* () {
          const log: Array<string> = []
          const scope = yield* Scope.make()
          const owner = yield* Cancellation.ownScoped
          const context = yield* Scope.extend(
            Layer.build(ToolRuntime.layer({ toolkit: Toolkit.make(Waits(log)) })),
            scope
          )
          const runtime = Context.get(context, ToolRuntime.ToolRuntime)
          const running = yield* Effect.provide(runtime.start(call), owner)
          yield* Scope.close(scope, Exit.void)
          assert.deepStrictEqual(log, ["stopped"])
          const changes = { tool: "waits" }
          assert.deepStrictEqual(yield* running.result, aborted({ _tag: "Disposed" }, changes))
          assert.deepStrictEqual(
            yield* Effect.provide(runtime.execute(call), owner),
            notDispatched({ _tag: "Disposed" }, changes)
          )
          assert.deepStrictEqual(log, ["stopped"])
          yield* runtime.awaitIdle
        })
    )

    it.effect("a runtime without tools knows none", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Effect.flatMap(ToolRuntime.ToolRuntime, ({ schemas }) => schemas), [])
        const result = yield* ToolRuntime.execute(callOf())
        assert.isTrue(ToolResult.isFailure(result))
      }).pipe(Cancellation.own, Effect.provide(ToolRuntime.layer()))
    )

    it.effect("a warnAfter that no timer can wait for is refused", () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(Effect.scoped(Layer.build(ToolRuntime.layer({ warnAfter: 0 }))))
        assert.include(messageOf(exit), "warnAfter must be a positive finite number")
      })
    )

    it.scoped("a handler reaches the runtime that runs it, and the owner of its own call", () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          body: (text) =>
            text === "outer"
              ? Effect.map(
                  ToolRuntime.execute(callOf({ id: "c2", name: "echo", parameters: { text: "inner" } })),
                  (inner) => (inner._tag === "Success" ? String(inner.value) : "failed")
                )
              : Effect.succeed(text)
        })
        const result = yield* t.execute({ parameters: { text: "outer" } })
        assert.deepStrictEqual(result, succeeded({ value: "inner", content: texts("inner") }))
      })
    )
  })
})
