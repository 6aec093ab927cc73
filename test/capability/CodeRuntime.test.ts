import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Schema, TestClock } from "effect"
import { Cancellation, Tool, Toolkit, ToolRuntime } from "quiesce"
import { CodeRuntime } from "quiesce/capability"
import { ScriptedCode } from "quiesce/testing"
import { settle, user } from "../support/calls.js"

const runIn = (code: CodeRuntime.Service) => Effect.provideService(CodeRuntime.CodeRuntime, code)

class Greeting extends Context.Tag("quiesce/test/capability/CodeRuntime.test/Greeting")<Greeting, string>() {}

describe("CodeRuntime", () => {
  it.effect("a binding has the context of who runs the code, and an owner of its own", () =>
    Effect.gen(function* () {
      const { code } = ScriptedCode.make({ greet: ({ call }) => call("greet", "you") })
      const outer = yield* Deferred.make<Cancellation.Service>()
      const program = Effect.gen(function* () {
        const owner = yield* Cancellation.Cancellation
        const greet = (name: unknown) =>
          Effect.gen(function* () {
            yield* Deferred.succeed(outer, yield* Cancellation.Cancellation)
            return `${yield* Greeting}, ${name}`
          })
        const result = yield* CodeRuntime.run({ code: "greet", bindings: { greet } })
        assert.notStrictEqual(yield* Deferred.await(outer), owner)
        return result.value
      })
      const value = yield* program.pipe(runIn(code), Effect.provideService(Greeting, "hello"), Cancellation.own)
      assert.strictEqual(value, "hello, you")
    })
  )

  it.scoped("L5: a failure that came first stays one, and L4: its end is awaited, however long that takes", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { code, running } = ScriptedCode.make({ slow: () => Effect.ensuring(Effect.never, Deferred.await(gate)) })
      const Slow = Tool.make("slow", {
        description: "Runs code",
        parameters: {},
        success: Schema.Unknown,
        failure: CodeRuntime.CodeError,
        handler: () => code.run({ code: "slow", timeout: "1 second" })
      })
      const runtime = Context.get(
        yield* Layer.build(ToolRuntime.layer({ toolkit: Toolkit.make(Slow) })),
        ToolRuntime.ToolRuntime
      )
      const owner = yield* Cancellation.ownScoped
      const call = yield* Effect.provide(runtime.start({ id: "c", name: "slow", parameters: {} }), owner)
      yield* settle
      yield* TestClock.adjust("1 second")
      yield* call.cancel(user)
      yield* settle
      assert.strictEqual(yield* running, 1)
      assert.lengthOf(yield* runtime.inFlight, 1)
      yield* Deferred.succeed(gate, undefined)
      const result = yield* call.result
      assert.strictEqual(result._tag === "Failure" && result.code, "CODE_TIMEOUT")
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect("L5: a call that fails because of a cancel is not made an exception of the code", () =>
    Effect.gen(function* () {
      const { code } = ScriptedCode.make({ wait: ({ call }) => call("wait") })
      const entered = yield* Deferred.make<void>()
      const wait = () =>
        Effect.zipRight(Deferred.succeed(entered, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.void),
          Effect.catchAllCause(() => Effect.fail("it was stopped"))
        )
      const controller = new AbortController()
      const fiber = yield* Effect.fork(
        Cancellation.ownSignal(code.run({ code: "wait", bindings: { wait } }), controller.signal)
      )
      yield* Deferred.await(entered)
      controller.abort()
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
    })
  )

  it.effect("a binding that cancels the run in its first step is awaited", () =>
    Effect.gen(function* () {
      const { code } = ScriptedCode.make({ stop: ({ call }) => call("stop") })
      const controller = new AbortController()
      let hasEnded = false
      const stop = () => {
        controller.abort()
        return Effect.ensuring(
          Effect.never,
          Effect.zipRight(
            Effect.yieldNow(),
            Effect.sync(() => (hasEnded = true))
          )
        )
      }
      const run = Cancellation.ownSignal(code.run({ code: "stop", bindings: { stop } }), controller.signal)
      assert.isTrue(Exit.isInterrupted(yield* Effect.exit(run)))
      assert.isTrue(hasEnded)
    })
  )

  it("names what happened and what to do", () => {
    const error = new CodeRuntime.CodeError({ reason: "OutputLimit", logs: [], logsTruncated: false })
    assert.strictEqual(error.code, "CODE_OUTPUT_LIMIT")
    assert.strictEqual(error.message, "The code returned more than it may: Return a part, or raise `maxOutputBytes`.")
  })
})
