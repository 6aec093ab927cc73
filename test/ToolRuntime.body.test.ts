import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, FiberId, Schema } from "effect"
import { Abort, Cancellation, Content, Policy, Tool, ToolContext, type ToolResult } from "quiesce"
import {
  aborted,
  executeCancelled,
  failed,
  HarnessError,
  hostile,
  notDispatched,
  roads,
  type Setup,
  settle,
  setup,
  succeeded,
  texts,
  toolFailed,
  unprintable,
  user
} from "./support/calls.js"

const whole = ["before", "guard", "around", "body", "after", "observe"]

const invalidOutput = (violation: string, changes: Partial<ToolResult.Failure> = {}) =>
  failed(
    {
      code: "INVALID_TOOL_OUTPUT",
      name: "ToolOutputError",
      message: `tool "echo" returned invalid output: ${violation}`
    },
    { dispatched: true, body: "completed", ...changes }
  )

const ran = { dispatched: true, body: "failed" } as const

/** Runs a promise that does `onAbort` when it is asked to stop, and fails with exactly what that throws. */
const promise = (onAbort: (signal: AbortSignal) => string) =>
  Abort.fromPromise({
    try: ({ signal }) =>
      new Promise<string>((resolve, reject) => {
        signal.addEventListener("abort", () => {
          try {
            resolve(onAbort(signal))
          } catch (error) {
            reject(error)
          }
        })
      }),
    catch: (error) => error
  })

describe("ToolRuntime (body)", () => {
  for (const road of roads) {
    it.scoped(`65: a body that stops when it is asked to is an aborted call ${road.name}`, () =>
      Effect.gen(function* () {
        for (const body of [Effect.never, promise(() => "partly done")]) {
          const t = yield* setup({ body: () => body })
          const call = yield* road.begin(t)
          yield* t.reached("body")
          yield* call.cancel
          assert.deepStrictEqual(yield* call.result, aborted(road.cause))
          assert.deepStrictEqual(t.log, whole)
        }
      })
    )

    it.scoped(`66: a body that ignores the cancel holds the call, and its contexts are kept, ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t = yield* setup({
          body: (text) =>
            Effect.uninterruptible(
              Deferred.await(gate).pipe(
                Effect.zipRight(ToolContext.deferContext(Content.text("child"))),
                Effect.zipRight(ToolContext.concludeTurn),
                Effect.as(text)
              )
            )
        })
        const call = yield* road.begin(t)
        yield* t.reached("body")
        yield* call.cancel
        assert.isTrue(yield* call.isPending)
        assert.deepStrictEqual(
          (yield* t.runtime.inFlight).map(({ cause, dispatched, phase }) => ({ cause, dispatched, phase })),
          [{ cause: road.cause, dispatched: true, phase: "dispatching" }]
        )
        yield* Deferred.succeed(gate, undefined)
        // Effect drops the value of an interrupted fiber, so that the body completed cannot be known.
        assert.deepStrictEqual(yield* call.result, aborted(road.cause, { contexts: texts("child") }))
        assert.deepStrictEqual(t.log, whole)
      })
    )

    it.scoped(`67: a promise that rejects with a failure of its own keeps it ${road.name}`, () =>
      Effect.gen(function* () {
        const failure = new HarnessError({ message: "tool failed", code: "TOOL_FAILURE" })
        const t = yield* setup({
          body: () =>
            promise(() => {
              throw failure
            })
        })
        const call = yield* road.begin(t)
        yield* t.reached("body")
        yield* call.cancel
        const reported = { code: "TOOL_FAILURE", name: "HarnessError", message: "tool failed" }
        assert.deepStrictEqual(yield* call.result, failed(reported, ran))
        assert.deepStrictEqual(t.log, whole)
      })
    )

    it.scoped(`68: the finalizers of a body are awaited ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({
          body: () =>
            Effect.onInterrupt(Effect.never, () =>
              Effect.zipRight(
                Deferred.await(gate),
                Effect.sync(() => t.log.push("finalized"))
              )
            )
        })
        const call = yield* road.begin(t)
        yield* t.reached("body")
        yield* call.cancel
        assert.isTrue(yield* call.isPending)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, aborted(road.cause))
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "finalized", "after", "observe"])
      })
    )

    it.scoped(`69: a body that fails with the cancellation itself is an aborted call ${road.name}`, () =>
      Effect.gen(function* () {
        const throws = (error: (signal: AbortSignal) => unknown) =>
          promise((signal) => {
            throw error(signal)
          })
        const onceStopped = (fail: (reason: unknown) => Effect.Effect<string, unknown>) =>
          Effect.uninterruptible(
            Effect.flatMap(Cancellation.signal, (signal) =>
              Effect.zipRight(
                settle,
                Effect.suspend(() => fail(signal.reason))
              )
            )
          )
        const bodies: ReadonlyArray<Effect.Effect<string, unknown, Cancellation.Cancellation>> = [
          promise((signal) => {
            signal.throwIfAborted()
            return "not stopped"
          }),
          throws((signal) => signal.reason),
          throws(() => new DOMException("The operation was aborted", "AbortError")),
          throws(() => Object.assign(new Error("The operation was aborted"), { name: "AbortError" })),
          onceStopped(Effect.fail),
          onceStopped(Effect.die),
          onceStopped((reason) => Effect.fail(new Cause.UnknownException(reason))),
          onceStopped(() => Effect.interrupt)
        ]
        for (const body of bodies) {
          const t = yield* setup({ body: () => body })
          const call = yield* road.begin(t)
          yield* t.reached("body")
          yield* call.cancel
          assert.deepStrictEqual(yield* call.result, aborted(road.cause))
        }
      })
    )

    it.scoped(`70: a body that fails otherwise while it is stopped keeps that failure ${road.name}`, () =>
      Effect.gen(function* () {
        const failure = new HarnessError({ message: "disk full", code: "DISK_FULL" })
        const reported = { code: "DISK_FULL", name: "HarnessError", message: "disk full" }
        const cleaning = Effect.uninterruptibleMask((restore) =>
          Effect.catchAllCause(restore(Effect.never), () => Effect.fail(failure))
        )
        const operation = Cancellation.operation(cleaning, "write")
        const bodies: ReadonlyArray<Effect.Effect<never, unknown, Cancellation.Cancellation>> = [
          cleaning,
          Effect.onInterrupt(Effect.never, () => Effect.die(failure)),
          // Effect strips the failure here; the operation has kept it.
          Effect.mapError(operation, () => "mapped"),
          Effect.flatMap(Effect.either(operation), () => Effect.never),
          Effect.retry(operation, { times: 3 }),
          Effect.zipRight(Effect.all([operation, Effect.never], { concurrency: "unbounded" }), Effect.never),
          Effect.catchAll(operation, () => Effect.never)
        ]
        for (const [i, body] of bodies.entries()) {
          const t = yield* setup({ body: () => body })
          const call = yield* road.begin(t)
          yield* t.reached("body")
          yield* settle
          yield* call.cancel
          assert.deepStrictEqual(yield* call.result, failed(reported, ran), `body ${i}`)
          assert.deepStrictEqual(t.log, whole)
        }
      })
    )
  }

  it.scoped("an AbortError of a call that nobody cancelled is a failure like any other", () =>
    Effect.gen(function* () {
      const t = yield* setup({ body: () => Effect.fail(new DOMException("no", "AbortError")) })
      assert.deepStrictEqual(yield* t.execute(), toolFailed("no"))
    })
  )

  it.scoped("71: a handler that throws instead of returning an effect fails", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        body: () => {
          throw new Error("at once")
        }
      })
      assert.deepStrictEqual(yield* t.execute(), toolFailed("at once"))
      assert.deepStrictEqual(t.log, whole)
    })
  )

  it.scoped("71: a handler that returns something that is not an effect fails", () =>
    Effect.gen(function* () {
      for (const garbage of [undefined, null, 7, "hi", {}, Promise.resolve("hi")]) {
        const Garbage = Tool.make("garbage", {
          description: "Returns garbage",
          parameters: {},
          success: Schema.String,
          handler: () => garbage as never
        })
        const t = yield* setup({ tools: [Garbage] })
        const result = yield* t.execute({ name: "garbage", parameters: {} })
        assert.strictEqual(result._tag, "Failure")
        assert.strictEqual(result.body, "failed")
        assert.isTrue(result.dispatched)
      }
    })
  )

  const thrown: ReadonlyArray<readonly [string, unknown, string]> = [
    ["a string", "s", "s"],
    ["an object with a message", { message: "m" }, "m"],
    ["an empty object", {}, "[object Object]"],
    ["a proxy that throws when it is read", unprintable, "<unprintable thrown value>"],
    ["an error without a message", new RangeError(), "RangeError"],
    ["undefined", undefined, "undefined"],
    ["null", null, "null"]
  ]
  for (const [name, value, message] of thrown) {
    it.scoped(`72: a body that throws ${name} fails with what can be said of it`, () =>
      Effect.gen(function* () {
        const throwing = () => {
          throw value
        }
        for (const body of [() => Effect.fail(value), () => Effect.die(value), () => Effect.sync(throwing), throwing]) {
          const t = yield* setup({ body })
          assert.deepStrictEqual(yield* t.execute(), toolFailed(message))
          assert.deepStrictEqual(t.log, whole)
        }
      })
    )
  }

  it.scoped("72: a handler that throws something hostile in every way is answered", () =>
    Effect.gen(function* () {
      const throwing = () => {
        throw hostile
      }
      const t = yield* setup({ body: throwing })
      assert.deepStrictEqual(yield* t.execute(), toolFailed("<unprintable thrown value>"))
      assert.deepStrictEqual(t.log, whole)
    })
  )

  it.scoped("73: a value that does not fit the schema of the tool is invalid, and reviewed", () =>
    Effect.gen(function* () {
      const reviewed: Array<ToolResult.ToolResult> = []
      const t = yield* setup({
        body: () => Effect.as(ToolContext.deferContext(Content.text("child")), 7 as never),
        after: (_, result) =>
          Effect.as(
            Effect.sync(() => reviewed.push(result)),
            Policy.accept()
          )
      })
      const expected = invalidOutput("Expected string, actual 7", { contexts: texts("child") })
      assert.deepStrictEqual(yield* t.execute(), expected)
      assert.deepStrictEqual(reviewed, [expected])
      assert.deepStrictEqual(t.log, whole)
    })
  )

  const anything = (value: unknown, success: Schema.Schema.AnyNoContext = Schema.Unknown) =>
    Effect.gen(function* () {
      const Any = Tool.make("any", {
        description: "Returns anything",
        parameters: { text: Schema.String },
        success,
        handler: () => Effect.succeed(value)
      })
      const t = yield* setup({ tools: [Any] })
      const result = yield* t.execute({ name: "any" })
      assert.deepStrictEqual(t.log.slice(-2), ["after", "observe"])
      return result
    })

  it.scoped("73: a value that is not lossless JSON is invalid, and it is said where", () =>
    Effect.gen(function* () {
      const cycle: { self?: unknown } = {}
      cycle.self = cycle
      const violations: ReadonlyArray<readonly [unknown, string]> = [
        [undefined, "value is not lossless JSON ($ is undefined)"],
        [{ list: [1, { f: () => 1 }] }, "value is not lossless JSON ($.list[1].f is a function)"],
        [-0, "value is not lossless JSON ($ is the number -0)"],
        [cycle, "value is not lossless JSON ($.self is a cycle)"],
        [hostile, "value snapshot failed: looked at"]
      ]
      for (const [value, violation] of violations) {
        const message = `tool "any" returned invalid output: ${violation}`
        assert.deepStrictEqual(yield* anything(value), {
          ...invalidOutput(""),
          tool: "any",
          message,
          content: texts(`Error: ${message}`)
        })
      }
    })
  )

  it.scoped("73: a value that throws when it is encoded is invalid", () =>
    Effect.gen(function* () {
      const Breaks = Schema.transform(Schema.String, Schema.String, {
        strict: true,
        decode: (text) => text,
        encode: () => {
          throw new Error("cannot encode")
        }
      })
      const Point = Schema.Struct({ x: Schema.Number })
      const unprintableText = { toString: () => Symbol("not text") }
      const cases: ReadonlyArray<readonly [unknown, Schema.Schema.AnyNoContext]> = [
        ["hi", Breaks],
        [hostile, Point],
        [unprintable, Point],
        [unprintableText, Schema.String]
      ]
      for (const [value, success] of cases) {
        const result = yield* anything(value, success)
        assert.strictEqual(result._tag === "Failure" && result.code, "INVALID_TOOL_OUTPUT")
        assert.strictEqual(result.body, "completed")
      }
    })
  )

  it.scoped("74: a rendering that throws or is not content is invalid output", () =>
    Effect.gen(function* () {
      const throwing = () => {
        throw new Error("no ink")
      }
      const cases: ReadonlyArray<readonly [Parameters<typeof setup>[0], string]> = [
        [{ render: throwing }, "output.render failed: no ink"],
        [{ render: () => [{ type: "text", text: undefined }] as never }, "output.render returned non-lossless JSON"],
        [{ render: () => [{ type: "video" }] as never }, "output.render returned something that is not content"],
        [{ render: () => hostile as never }, "output.render failed: looked at"],
        [{ meta: throwing }, "output.presentationMeta failed: no ink"],
        [{ meta: () => throwing as never }, "output.presentationMeta returned non-lossless JSON"]
      ]
      for (const [stages, violation] of cases) {
        const t = yield* setup(stages)
        assert.deepStrictEqual(yield* t.execute(), invalidOutput(violation))
        assert.deepStrictEqual(t.log, whole)
      }
    })
  )

  it.scoped("75: what is shown to people is made for calls of the model, not for parts of other calls", () =>
    Effect.gen(function* () {
      let made = 0
      const t = yield* setup({
        meta: (value) => {
          made++
          return { length: value.length }
        }
      })
      assert.deepStrictEqual(yield* t.execute(), succeeded({ meta: { length: 2 } }))
      assert.deepStrictEqual(yield* t.execute({ rootId: "c1" }), succeeded({ meta: { length: 2 } }))
      assert.deepStrictEqual(yield* t.execute({ rootId: "outer" }), succeeded())
      assert.strictEqual(made, 2)
    })
  )

  it.scoped("77: a cancel in the last step before the body is in time", () =>
    Effect.gen(function* () {
      const cancels = yield* setup({
        guard: () => {
          Effect.runFork(cancels.runtime.cancelCall("c1", user))
          return undefined
        }
      })
      assert.deepStrictEqual(yield* cancels.execute(), notDispatched(user))
      assert.deepStrictEqual(cancels.log, ["before", "guard", "after", "observe"])
      const wraps: Setup = yield* setup({
        around: (_, next) => Effect.zipRight(wraps.runtime.cancelCall("c1", user), next)
      })
      assert.deepStrictEqual(yield* wraps.execute(), notDispatched(user))
      assert.deepStrictEqual(wraps.log, ["before", "guard", "around", "after", "observe"])
    })
  )

  for (const asked of [true, false]) {
    it.scoped(
      `77: an interrupt in the last step before the body is in time ${asked ? "" : "without other policies"}`,
      () =>
        Effect.gen(function* () {
          const t = yield* setup({ bare: !asked })
          let caller: Fiber.RuntimeFiber<unknown, unknown> | undefined
          yield* t.runtime.registerPolicy(
            Policy.guard("interrupts the caller", () => {
              caller?.unsafeInterruptAsFork(FiberId.make(7, 0))
              return undefined
            })
          )
          const fiber = yield* Effect.fork(
            Effect.withFiberRuntime<ToolResult.ToolResult>((fiber) => {
              caller = fiber
              return t.execute()
            })
          )
          assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
          assert.deepStrictEqual(t.observed, [notDispatched({ _tag: "Interrupted", by: "#7" })])
          assert.notInclude(t.log, "body")
        })
    )
  }

  it.scoped("78: parameters that do not decode are told by each violation; nobody is asked, and it is reviewed", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      const reported = { code: "INVALID_ARGS", name: "ToolArgsError" }
      assert.deepStrictEqual(
        yield* t.execute({ parameters: { text: 1 } }),
        failed({ ...reported, message: "invalid arguments: text: Expected string, actual 1" })
      )
      assert.deepStrictEqual(
        yield* t.execute({ parameters: {} }),
        failed({ ...reported, message: "invalid arguments: text: is missing" })
      )
      assert.deepStrictEqual(t.log, ["after", "observe", "after", "observe"])
    })
  )

  it.scoped("78: parameters that do not decode lose to a cancellation and to an unknown name", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      const parameters = { text: 1 }
      assert.deepStrictEqual(
        yield* executeCancelled(t, new Error("gone"), { parameters }),
        notDispatched({ _tag: "HostSignal", reason: "gone" })
      )
      const result = yield* t.execute({ name: "nope", parameters })
      assert.strictEqual(result._tag === "Failure" && result.code, "UNKNOWN_TOOL")
    })
  )

  it.scoped("78: parameters whose schema throws or waits are refused, and nobody is asked", () =>
    Effect.gen(function* () {
      const Throws = Schema.transform(Schema.String, Schema.String, {
        strict: true,
        decode: () => {
          throw new Error("no")
        },
        encode: (text) => text
      })
      const Waits = Schema.transformOrFail(Schema.String, Schema.String, {
        strict: true,
        decode: () => Effect.async<string>(() => {}),
        encode: (text) => Effect.succeed(text)
      })
      for (const [schema, message] of [
        [Throws, /^invalid arguments: /],
        [Waits, /^the parameters of tool "odd" cannot be decoded synchronously/]
      ] as const) {
        const Odd = Tool.make("odd", {
          description: "Has an odd schema",
          parameters: { text: schema },
          success: Schema.Null,
          handler: () => Effect.succeed(null)
        })
        const t = yield* setup({ tools: [Odd] })
        const result = yield* t.execute({ name: "odd" })
        assert.strictEqual(result._tag === "Failure" && result.code, "INVALID_ARGS")
        assert.match(result._tag === "Failure" ? result.message : "", message)
        assert.isFalse(result.dispatched)
        assert.deepStrictEqual(t.log, ["after", "observe"])
        assert.deepStrictEqual(yield* t.runtime.inFlight, [])
      }
    })
  )
})
