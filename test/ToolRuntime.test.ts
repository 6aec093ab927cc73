import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, FiberRef, Option, Schema, Scope, TestClock } from "effect"
import { CancelCause, Cancellation, Policy, Tool, ToolContext, ToolError, Toolkit, ToolRuntime } from "quiesce"
import { aborted, callOf, denied, type Setup, settle, setup, succeeded, texts, user } from "./support/calls.js"

class Greeting extends Context.Tag("quiesce/test/ToolRuntime.test/Greeting")<Greeting, string>() {}

const Greet = Tool.make("greet", {
  description: "Greets somebody",
  parameters: { name: Schema.String, times: Schema.optional(Schema.Int) },
  success: Schema.String,
  timeout: "1 hour",
  concurrency: "parallel",
  handler: ({ name }) => Effect.map(Greeting, (greeting) => `${greeting}, ${name}`)
})
const greet = { id: "c1", name: "greet", parameters: { name: "Ada" } }

const messageOf = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isFailure(exit) && Cause.isDie(exit.cause) ? Cause.pretty(exit.cause) : assert.fail("it did not die")

describe("ToolRuntime", () => {
  describe("execute", () => {
    it.effect("runs a call through the runtime in context, with what the layer was built with", () =>
      Effect.gen(function* () {
        const result = yield* ToolRuntime.execute(greet)
        assert.deepStrictEqual(result, succeeded({ tool: "greet", value: "Hello, Ada", content: texts("Hello, Ada") }))
      }).pipe(
        Cancellation.own,
        Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(Greet) })),
        Effect.provideService(Greeting, "Hello")
      )
    )

    it.scoped("encodes the value by the tool's schema", () =>
      Effect.gen(function* () {
        const When = Tool.make("when", {
          description: "Tells when",
          parameters: { at: Schema.Date },
          success: Schema.Struct({ at: Schema.Date, tags: Schema.Set(Schema.String) }),
          handler: ({ at }) => Effect.succeed({ at, tags: new Set(["b", "a"]) })
        })
        const t = yield* setup({ tools: [When] })
        const at = "1970-01-01T00:00:00.000Z"
        const value = { at, tags: ["b", "a"] }
        assert.deepStrictEqual(
          yield* t.execute({ name: "when", parameters: { at } }),
          succeeded({ tool: "when", value, content: texts(JSON.stringify(value)) })
        )
      })
    )

    it.scoped("keeps calls apart that run at once", () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          body: (text) =>
            text === "fails"
              ? Effect.fail("no")
              : text === "waits"
                ? Effect.never
                : Effect.zipRight(ToolContext.concludeTurn, Effect.as(Effect.yieldNow(), text))
        })
        const waits = yield* t.start({ id: "w", name: "echo", parameters: { text: "waits" } })
        const [first, second] = yield* Effect.all(
          [
            t.execute({ id: "a", name: "echo", parameters: { text: "hi" } }),
            t.execute({ id: "b", name: "echo", parameters: { text: "fails" } })
          ],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(first, succeeded({ callId: "a", concludesTurn: true }))
        assert.strictEqual(second._tag === "Failure" && second.code, "TOOL_FAILURE")
        assert.deepStrictEqual(
          (yield* t.runtime.inFlight).map(({ callId }) => callId),
          ["w"]
        )
        yield* waits.cancel(user)
        assert.deepStrictEqual(yield* waits.result, aborted(user, { callId: "w" }))
      })
    )

    it.scoped("runs handlers and policies with the fiber refs of the caller", () =>
      Effect.gen(function* () {
        const ref = yield* FiberRef.make("default")
        const seen: Array<string> = []
        const see = Effect.map(FiberRef.get(ref), (value) => {
          seen.push(value)
        })
        const t = yield* setup({
          before: () => Effect.as(see, Policy.allow),
          around: (_, next) => Effect.zipRight(see, next),
          body: (text) => Effect.as(see, text),
          after: () => Effect.as(see, Policy.accept()),
          observe: () => see
        })
        yield* Effect.locally(t.execute(), ref, "caller")
        assert.deepStrictEqual(seen, new Array(5).fill("caller"))
      })
    )

    it.scoped("L14: dies under an owner that has ended, with a message that says what to do", () =>
      Effect.gen(function* () {
        const t = yield* setup()
        const owner = yield* Cancellation.own(Effect.context<Cancellation.Cancellation>())
        for (const call of [t.runtime.execute(callOf()), t.runtime.start(callOf())]) {
          const message = messageOf(
            yield* Effect.exit(Effect.provide(call as Effect.Effect<unknown, never, Cancellation.Cancellation>, owner))
          )
          assert.include(message, 'Call "c1" was started under an owner that has ended')
        }
        assert.deepStrictEqual(t.log, [])
        assert.deepStrictEqual(yield* t.runtime.inFlight, [])
      })
    )

    it.scoped("an owner that was cancelled interrupts its effect only after its calls have answered", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({ body: () => Effect.onInterrupt(Effect.never, () => Deferred.await(gate)) })
        const fiber = yield* Effect.fork(
          Cancellation.withDeadline(t.runtime.execute(callOf()), {
            duration: 100,
            onExpire: () => Effect.succeed("expired")
          })
        )
        yield* t.reached("body")
        yield* TestClock.adjust(100)
        yield* settle
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.await(fiber)
        assert.deepStrictEqual(t.observed, [aborted({ _tag: "Deadline", code: "DEADLINE", millis: 100 })])
      })
    )
  })

  describe("start", () => {
    it.scoped("goes on at once, and its result can be asked for again and again", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({ body: (text) => Effect.as(Deferred.await(gate), text) })
        const call = yield* t.start()
        assert.strictEqual(call.callId, "c1")
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body"])
        assert.strictEqual(yield* call.phase, "dispatching")
        const waits = yield* Effect.fork(call.result)
        yield* settle
        yield* Deferred.succeed(gate, undefined)
        const result = yield* call.result
        assert.deepStrictEqual(result, succeeded())
        assert.strictEqual(yield* Fiber.join(waits), result)
        assert.strictEqual(yield* call.result, result)
        assert.strictEqual(t.observed[0], result)
        assert.strictEqual(yield* call.phase, "published")
      })
    )

    it.scoped("an interrupted wait cancels nothing, and the call goes on", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({ body: (text) => Effect.as(Deferred.await(gate), text) })
        const call = yield* t.start()
        const waits = yield* Effect.fork(call.result)
        yield* settle
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(waits)))
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, succeeded())
      })
    )

    it.scoped("cancel says whether it was the one, and the first cause stays", () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({ body: () => Effect.never })
        const call = yield* t.start()
        assert.isTrue(yield* call.cancel(user))
        assert.isFalse(yield* call.cancel(CancelCause.parent()))
        assert.deepStrictEqual(yield* call.result, aborted(user))
        assert.isFalse(yield* call.cancel(CancelCause.parent()))
        const done = yield* setup()
        const finished = yield* done.start()
        assert.isFalse(yield* finished.cancel(user))
        assert.deepStrictEqual(yield* finished.result, succeeded())
      })
    )

    it.scoped("cancel is in time until the result is fixed, and says so in every phase", () =>
      Effect.gen(function* () {
        for (const stage of ["before", "around", "body", "after", "finalContent", "observe"] as const) {
          const answers: Array<boolean> = []
          const kept: { call?: ToolRuntime.RunningCall } = {}
          const cancel = Effect.suspend(() => kept.call?.cancel(user) ?? Effect.succeed(false)).pipe(
            Effect.map((answer) => answers.push(answer))
          )
          const once = (at: typeof stage) => (at === stage ? cancel : Effect.void)
          const t: Setup = yield* setup({
            before: () => Effect.zipRight(Effect.yieldNow(), Effect.as(once("before"), Policy.allow)),
            around: (_, next) => Effect.zipRight(once("around"), next),
            body: (text) => Effect.as(once("body"), text),
            after: () => Effect.as(once("after"), Policy.accept()),
            finalContent: () => {
              Effect.runSync(once("finalContent"))
              return undefined
            },
            observe: () => once("observe")
          })
          kept.call = yield* t.start()
          const result = yield* kept.call.result
          const isInTime = stage !== "finalContent" && stage !== "observe"
          assert.deepStrictEqual(answers, [isInTime], stage)
          assert.strictEqual(result._tag, isInTime ? "Failure" : "Success", stage)
        }
      })
    )

    it.scoped("a cancel between the review and the publication is in time, and counts", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const started = yield* Deferred.make<void>()
        let owned: Context.Context<Cancellation.Cancellation> | undefined
        const t: Setup = yield* setup({
          onCancel: "interrupt",
          before: () =>
            Effect.map(Effect.context<Cancellation.Cancellation>(), (context) => {
              owned = context
              return Policy.allow
            }),
          // Something new of the call's, which holds the publication: protected, or it would be stopped at once.
          after: () => {
            const holds = Effect.zipRight(Deferred.succeed(started, undefined), Deferred.await(gate))
            const operation = Effect.uninterruptible(Cancellation.operation(holds, "holds"))
            return Effect.as(
              Effect.zipRight(
                Effect.forkDaemon(Effect.provide(operation, owned as Context.Context<Cancellation.Cancellation>)),
                Deferred.await(started)
              ),
              Policy.accept({ contexts: texts("reviewed") })
            )
          }
        })
        const call = yield* t.start()
        yield* t.reached("after")
        yield* settle
        assert.isTrue(yield* call.cancel(user))
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, aborted(user, { body: "completed", contexts: texts("reviewed") }))
      })
    )

    it.scoped("a cause that somebody wrote down by hand is frozen with the result", () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({ body: () => Effect.never })
        const cause: { _tag: "User"; note: string } = { _tag: "User", note: "by hand" }
        const call = yield* t.start()
        yield* call.cancel(cause)
        const result = yield* call.result
        cause.note = "changed"
        assert.deepStrictEqual(result, aborted({ _tag: "User", note: "by hand" }))
        t.check(result)
      })
    )

    it.scoped("the call belongs to the owner in context, which cancels and awaits it when it ends", () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          body: () =>
            Effect.onInterrupt(Effect.never, () =>
              Effect.zipRight(
                settle,
                Effect.sync(() => t.log.push("stopped"))
              )
            )
        })
        const call = yield* Cancellation.own(t.runtime.start(callOf()))
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "stopped", "after", "observe"])
        assert.deepStrictEqual(yield* call.result, aborted({ _tag: "Parent" }))
      })
    )

    it.effect("there is an accessor for it", () =>
      Effect.gen(function* () {
        const call = yield* ToolRuntime.start(greet)
        assert.strictEqual((yield* call.result)._tag, "Success")
      }).pipe(
        Cancellation.own,
        Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(Greet) })),
        Effect.provideService(Greeting, "Hello")
      )
    )
  })

  describe("register", () => {
    it.scoped("adds a tool with what it needs, until the scope closes", () =>
      Effect.gen(function* () {
        const t = yield* setup()
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Effect.provideService(t.runtime.register(Greet), Greeting, "Ahoy")
            const result = yield* t.execute(greet)
            assert.strictEqual(result._tag === "Success" && result.value, "Ahoy, Ada")
          })
        )
        const after = yield* t.execute(greet)
        assert.strictEqual(after._tag === "Failure" && after.code, "UNKNOWN_TOOL")
      })
    )

    it.scoped("refuses a name that is taken, and leaves the tool that has it", () =>
      Effect.gen(function* () {
        const t = yield* setup()
        const Other = Tool.make("echo", {
          description: "Another echo",
          parameters: {},
          success: Schema.Null,
          handler: () => Effect.succeed(null)
        })
        const error = yield* Effect.flip(t.runtime.register(Other))
        assert.deepStrictEqual(error, new ToolError.DuplicateTool({ tool: "echo" }))
        assert.match(error.message, /^A tool named "echo" is registered already/)
        assert.deepStrictEqual(yield* t.execute(), succeeded())
      })
    )

    it.scoped("a call that runs when its tool goes away runs on", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const Slow = Tool.make("slow", {
          description: "Waits",
          parameters: {},
          success: Schema.String,
          handler: () => Effect.as(Deferred.await(gate), "hi")
        })
        const t = yield* setup()
        const scope = yield* Scope.make()
        yield* Scope.extend(t.runtime.register(Slow), scope)
        const call = yield* t.start({ name: "slow", parameters: {} })
        yield* Scope.close(scope, Exit.void)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, succeeded({ tool: "slow" }))
      })
    )
  })

  describe("registerPolicy", () => {
    it.scoped("adds a policy behind those that are there, with what it needs, until the scope closes", () =>
      Effect.gen(function* () {
        const t = yield* setup()
        const denies = Policy.before("denies", () => Effect.map(Greeting, Policy.deny))
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Effect.provideService(t.runtime.registerPolicy(denies), Greeting, "not today")
            assert.deepStrictEqual(yield* t.execute(), denied("not today"))
            assert.deepStrictEqual(t.log, ["before", "after", "observe"])
          })
        )
        assert.deepStrictEqual(yield* t.execute(), succeeded())
      })
    )

    it.scoped("a policy of one agent is asked for its calls only", () =>
      Effect.gen(function* () {
        const t = yield* setup()
        yield* t.runtime.registerPolicy(
          Policy.guard("not you", ({ agent }) => `not you, ${agent}`),
          { agent: "a1" }
        )
        assert.deepStrictEqual(yield* t.execute({ agent: "a1" }), denied("not you, a1"))
        assert.deepStrictEqual(yield* t.execute({ agent: "a2" }), succeeded())
        assert.deepStrictEqual(yield* t.execute(), succeeded())
      })
    )

    it.scoped("a call keeps the policies that it was accepted with", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({ before: () => Effect.as(Deferred.await(gate), Policy.allow) })
        const call = yield* t.start()
        yield* t.runtime.registerPolicy(Policy.guard("late", () => "late"))
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, succeeded())
      })
    )
  })
})
