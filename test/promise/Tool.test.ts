import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type BodyContext, createRuntime, defineTool, type StandardSchema, type ToolResult } from "quiesce/promise"
import * as z from "zod"
import { abortOf, gate, isPending, settle } from "../support/scenarios/driver.js"

const Text = Schema.standardSchemaV1(Schema.Struct({ text: Schema.String }))

/** Accepts text, and takes its time. */
const slow: StandardSchema<unknown, string> = {
  "~standard": {
    version: 1,
    vendor: "by hand",
    validate: async (value) =>
      typeof value === "string"
        ? { value: value.toUpperCase() }
        : { issues: [{ message: "no text", path: ["a", { key: 0 }] }, { message: "nothing at all" }] }
  }
}

const echo = (execute: (parameters: { readonly text: string }, context: BodyContext) => any, more: object = {}) =>
  defineTool({ name: "echo", description: "Says it again", parameters: Text, execute, ...more })

const start = (tool: ReturnType<typeof echo>, given: unknown = { text: "hi" }) => {
  const controller = new AbortController()
  const runtime = createRuntime({ tools: [tool] })
  const result = runtime.call({ callId: "c1", name: "echo", arguments: given, signal: controller.signal })
  return { controller, runtime, result }
}

const valueOf = async (tool: ReturnType<typeof echo>, given?: unknown): Promise<unknown> => {
  const result = await start(tool, given).result
  return result.isError ? result.error.message : result.value
}

describe("defineTool", () => {
  it("describes parameters that can describe themselves", () => {
    const ofZod = defineTool({
      name: "zod",
      description: "",
      parameters: z.object({ n: z.number() }),
      execute: ({ n }) => n
    })
    assert.deepInclude(ofZod.jsonSchema, { type: "object", required: ["n"] })
    assert.deepInclude(echo(() => "").jsonSchema, { type: "object", required: ["text"] })
  })

  it("refuses parameters that nobody has described, unless it is told", () => {
    const options = { name: "by_hand", description: "", parameters: slow, execute: () => "" }
    assert.throws(() => defineTool(options), /Say what it is told, in "jsonSchema"/)
    const jsonSchema = { type: "string" }
    assert.deepInclude(defineTool({ ...options, jsonSchema }).jsonSchema, jsonSchema)
    const date = { ...options, parameters: z.date() }
    assert.throws(() => defineTool(date), /cannot be described to a model: Date/)
  })

  it("validates parameters of any library, and says what is wrong and where", async () => {
    const tool = defineTool({
      name: "echo",
      description: "",
      parameters: z.object({ list: z.array(z.coerce.number()).default([7]) }),
      execute: ({ list }) => list.map((n) => n + 1)
    })
    assert.deepStrictEqual(await valueOf(tool, { list: ["1", 2] }), [2, 3])
    assert.deepStrictEqual(await valueOf(tool, {}), [8])
    assert.match(String(await valueOf(tool, { list: "no" })), /^invalid arguments: list: .*expected array/)
  })

  it("refuses parameters that only a promise could tell", async () => {
    const tool = defineTool({
      name: "echo",
      description: "",
      parameters: slow,
      jsonSchema: {},
      execute: () => ""
    })
    assert.match(String(await valueOf(tool, "hi")), /cannot be decoded synchronously/)
  })

  it("validates what a body returns, also where that takes its time", async () => {
    assert.strictEqual(await valueOf(echo(({ text }) => text, { output: slow })), "HI")
    assert.strictEqual(
      await valueOf(echo(async () => 1, { output: slow })),
      'tool "echo" returned invalid output: a.0: no text; nothing at all'
    )
    const trimmed = echo(async () => " hi ", { output: z.string().trim(), render: (value: string) => `<${value}>` })
    const result = await start(trimmed).result
    assert.deepStrictEqual(result.content, [{ type: "text", text: "<hi>" }])
    assert.deepInclude(result, { value: "hi" })
  })

  it("a validation that throws is a failure", async () => {
    const broken: StandardSchema = {
      "~standard": {
        version: 1,
        vendor: "by hand",
        validate: () => {
          throw new Error("a bug")
        }
      }
    }
    assert.strictEqual(await valueOf(echo(() => 1, { output: broken })), "a bug")
    const tool = defineTool({ name: "echo", description: "", parameters: broken, jsonSchema: {}, execute: () => 1 })
    assert.strictEqual(await valueOf(tool), "invalid arguments: a bug")
  })

  it("without an output schema a body may return any JSON, and nothing else", async () => {
    assert.deepStrictEqual(await valueOf(echo(() => ({ a: [1] }))), { a: [1] })
    assert.match(String(await valueOf(echo(() => undefined))), /value is not lossless JSON/)
  })

  it("shows what a body yields as its progress", async () => {
    const wait = gate()
    const tool = echo(async function* () {
      yield "half"
      await wait.promise
      return "done"
    })
    const { result, runtime } = start(tool)
    await settle()
    assert.strictEqual(runtime.inFlight()[0]?.progress, "half")
    wait.open()
    assert.deepInclude(await result, { value: "done" })
    assert.deepStrictEqual(runtime.inFlight(), [])
  })

  it("L3: a body that yields is ended at its next yield, and that is awaited", async () => {
    const [wait, cleanUp] = [gate(), gate()]
    const seen: Array<string> = []
    const tool = echo(async function* () {
      try {
        yield "one"
        await wait.promise
        yield "two"
        seen.push("went on")
      } finally {
        await cleanUp.promise
        seen.push("clean")
      }
      return "done"
    })
    const { controller, result } = start(tool)
    await settle()
    controller.abort(new Error("stop"))
    wait.open()
    assert.isTrue(await isPending(result))
    cleanUp.open()
    assert.strictEqual((await result).report.code, "ABORTED")
    assert.deepStrictEqual(seen, ["clean"])
  })

  it("a body's context is frozen, and too late once the body has settled", async () => {
    let context: BodyContext | undefined
    const tool = echo((text, given) => {
      context = given
      assert.isTrue(Object.isFrozen(given))
      assert.deepInclude(given, { callId: "c1", rootCallId: "c1", name: "echo", attempt: 1, parentId: undefined })
      assert.strictEqual(given.remaining, undefined)
      given.deferContext({ type: "text", text: "kept" })
      assert.throws(() => given.deferContext({} as any), /not content/)
      return text.text
    })
    const result = await start(tool).result
    assert.deepStrictEqual(result.additionalContexts, [{ type: "text", text: "kept" }])
    assert.throws(() => context?.deferContext("late"), /had settled/)
    assert.throws(() => context?.concludeTurn(), /had settled/)
    assert.throws(() => context?.progress("late"), /had settled/)
    void context?.call("echo", { text: "late" }) // L10: reaches nobody
    const message = await context?.call("echo", { text: "late" }).catch(({ message }) => message)
    assert.match(String(message), /call was used after attempt 1 of call "c1" had settled/)
  })

  it("a body knows the time it has", async () => {
    let remaining: number | undefined
    const tool = echo(
      async ({ text }, context) => {
        remaining = context.remaining
        return text
      },
      { timeout: 60_000 }
    )
    await start(tool).result
    assert.isAtMost(remaining ?? Number.NaN, 60_000)
    assert.isAbove(remaining ?? 0, 50_000)
  })

  it("L3: calls that a body does not wait for are stopped with it, and have their results first", async () => {
    const codes: Array<string | undefined> = []
    const inner = defineTool({
      name: "inner",
      description: "",
      parameters: Text,
      execute: async (_, { signal }) => {
        await abortOf(signal)
        await settle()
        return "stopped"
      }
    })
    const outer = echo(async ({ text }, { call }) => {
      for (let i = 0; i < 3; i++) {
        const note = ({ report }: ToolResult) => void codes.push(report.code)
        call("inner", { text }).then(note, ({ message }) => codes.push(message))
      }
      await settle()
      return text
    })
    const runtime = createRuntime({ tools: [inner, outer] })
    const { signal } = new AbortController()
    const result = await runtime.call({ callId: "c1", name: "echo", arguments: { text: "hi" }, signal })
    assert.isFalse(result.isError)
    // They run one after another: the others had not begun.
    assert.deepStrictEqual(codes, ["ABORTED", "ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"])
  })
})
