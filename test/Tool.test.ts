import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Cancellation, Content, Tool, Toolkit, ToolResult, ToolRuntime } from "quiesce"

const handler = () => Effect.succeed(null)
const minimal = { description: "", parameters: {}, success: Schema.Null, handler }

describe("Tool", () => {
  it.effect("make keeps what it was given, and runs nothing", () =>
    Effect.gen(function* () {
      let ran = 0
      const Double = Tool.make("double", {
        description: "Doubles a number",
        parameters: { n: Schema.NumberFromString },
        success: Schema.Number,
        failure: Schema.String,
        timeout: "2 seconds",
        concurrency: "parallel",
        meta: (value) => ({ value }),
        handler: ({ n }) =>
          Effect.sync(() => {
            ran++
            return n * 2
          })
      })
      assert.strictEqual(Double.name, "double")
      assert.strictEqual(Double.description, "Doubles a number")
      assert.strictEqual(Double.success, Schema.Number)
      assert.strictEqual(Double.failure, Schema.String)
      assert.strictEqual(Double.timeoutMillis, 2_000)
      assert.strictEqual(Double.concurrency({ n: 1 }), "parallel")
      assert.deepStrictEqual(Double.meta?.(4), { value: 4 })
      assert.isUndefined(Double.finalContent)
      assert.isFrozen(Double)
      assert.strictEqual(ran, 0)
      assert.strictEqual(yield* Double.handler({ n: 21 }), 42)
      assert.strictEqual(ran, 1)
    })
  )

  it("has no timeout and runs alone unless it says otherwise", () => {
    const Plain = Tool.make("plain", minimal)
    assert.isUndefined(Plain.timeoutMillis)
    assert.strictEqual(Plain.concurrency({}), "exclusive")
    assert.strictEqual<unknown>(Plain.failure, Schema.Never)
    const Choosy = Tool.make("choosy", {
      ...minimal,
      parameters: { write: Schema.Boolean },
      concurrency: ({ write }) => (write ? "exclusive" : "parallel")
    })
    assert.deepStrictEqual(
      [true, false].map((write) => Choosy.concurrency({ write })),
      ["exclusive", "parallel"]
    )
  })

  it("describes its parameters to a model by their encoded side, without what is its own affair", () => {
    const Read = Tool.make("read", {
      ...minimal,
      parameters: {
        path: Schema.String.annotations({ description: "Where the file is" }),
        limit: Schema.optionalWith(Schema.Number, { default: () => 10 })
      },
      timeout: "1 second",
      concurrency: "parallel"
    })
    assert.deepStrictEqual(Read.jsonSchema, {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      required: ["path"],
      properties: { path: { type: "string", description: "Where the file is" }, limit: { type: "number" } },
      additionalProperties: false
    } as never)
  })

  it("takes a whole schema as parameters", () => {
    const Point = Schema.Struct({ x: Schema.Number })
    const Move = Tool.make("move", { ...minimal, parameters: Point })
    assert.strictEqual(Move.parameters, Point as never)
  })

  it("117: refuses a timeout that is no time", () => {
    for (const timeout of [
      0,
      -1,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      "0 millis",
      "-1 millis",
      "Infinity millis"
    ] as const) {
      assert.throws(
        () => Tool.make("slow", { ...minimal, timeout: timeout as never }),
        /^(The timeout of tool "slow" must be a positive finite number no greater than 2147483647 milliseconds, not|Invalid)/
      )
    }
  })

  it("118: refuses a timeout that no timer can wait for, and takes the longest that one can", () => {
    assert.throws(
      () => Tool.make("slow", { ...minimal, timeout: 2_147_483_648 }),
      'The timeout of tool "slow" must be a positive finite number no greater than 2147483647 milliseconds, not 2147483648'
    )
    assert.strictEqual(Tool.make("slow", { ...minimal, timeout: 2_147_483_647 }).timeoutMillis, 2_147_483_647)
  })

  it("refuses a name that a provider would refuse", () => {
    for (const name of ["", "two words", "dot.ted", "ümlaut", "a".repeat(65), "slash/ed"]) {
      assert.throws(() => Tool.make(name, minimal), `"${name}" cannot be the name of a tool`)
    }
    for (const name of ["a", "read_file", "Read-File2", "a".repeat(64)]) {
      assert.strictEqual(Tool.make(name, minimal).name, name)
    }
  })

  it("refuses parameters that cannot be described to a model, and says what to do", () => {
    assert.throws(
      () => Tool.make("odd", { ...minimal, parameters: { size: Schema.BigIntFromSelf } }),
      /^The parameters of tool "odd" cannot be described to a model: [\s\S]*\nGive the schema a "jsonSchema" annotation$/
    )
    const Described = Tool.make("odd", {
      ...minimal,
      parameters: { size: Schema.BigIntFromSelf.annotations({ jsonSchema: { type: "integer" } }) }
    })
    assert.deepInclude(Described.jsonSchema, { properties: { size: { type: "integer" } } } as never)
  })

  it.effect("shows a model text as it is, and anything else as JSON, unless it renders by itself", () =>
    Effect.gen(function* () {
      const Text = Tool.make("text", { ...minimal, success: Schema.String, handler: () => Effect.succeed("a\nb") })
      const Data = Tool.make("data", {
        ...minimal,
        success: Schema.Struct({ at: Schema.DateFromNumber }),
        handler: () => Effect.succeed({ at: Schema.decodeSync(Schema.DateFromNumber)(7) })
      })
      const Own = Tool.make("own", {
        ...minimal,
        parameters: { n: Schema.Number },
        success: Schema.Number,
        render: (n) => (n === 0 ? "nothing" : [Content.text(`${n}`), { type: "reasoning", text: "counted" }]),
        handler: ({ n }) => Effect.succeed(n)
      })
      const contentOf = (name: string, parameters = {}) =>
        Effect.map(ToolRuntime.execute({ id: name, name, parameters }), (result) => result.content)
      const contents = yield* Effect.all([
        contentOf("text"),
        contentOf("data"),
        contentOf("own", { n: 0 }),
        contentOf("own", { n: 2 })
      ]).pipe(Cancellation.own, Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(Text, Data, Own) })))
      assert.deepStrictEqual(contents, [
        [{ type: "text", text: "a\nb" }],
        [{ type: "text", text: `{"at":7}` }],
        [{ type: "text", text: "nothing" }],
        [
          { type: "text", text: "2" },
          { type: "reasoning", text: "counted" }
        ]
      ])
    })
  )

  it("isTool tells tools from what only looks like one", () => {
    const Plain = Tool.make("plain", minimal)
    assert.isTrue(Tool.isTool(Plain))
    for (const other of [undefined, null, "plain", minimal, { ...minimal, name: "plain" }, Toolkit.make(Plain)]) {
      assert.isFalse(Tool.isTool(other))
    }
  })

  it("can be piped", () => {
    const Plain = Tool.make("plain", minimal)
    assert.strictEqual(
      Plain.pipe((tool) => tool.name.length),
      5
    )
    assert.isTrue(Plain.pipe(Toolkit.make, Toolkit.isToolkit))
  })

  it("its last word sees the result and may keep it", () => {
    const Last = Tool.make("last", {
      ...minimal,
      finalContent: (result) => (ToolResult.isFailure(result) ? [] : undefined)
    })
    assert.deepStrictEqual(Last.finalContent?.(ToolResult.failure({ code: "X", message: "x" })), [])
    assert.isUndefined(Last.finalContent?.(ToolResult.success(null)))
  })
})
