import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Content, Policy, Tool, ToolContext, type ToolResult } from "quiesce"
import { failed, hostile, setup, succeeded, texts, toolFailed, unprintable } from "./support/calls.js"

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

describe("ToolRuntime (what a body ends with)", () => {
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
        for (const body of [
          () => Effect.fail(value),
          () => Effect.die(value),
          () => Effect.suspend((): Effect.Effect<never> => throwing()),
          throwing
        ]) {
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
})
