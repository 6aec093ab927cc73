import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { CodedError, createRuntime, defineTool } from "quiesce/promise"

const fails = (error: unknown) => {
  const tool = defineTool({
    name: "fails",
    description: "Fails",
    parameters: Schema.standardSchemaV1(Schema.Struct({})),
    execute: async () => {
      throw error
    }
  })
  const { signal } = new AbortController()
  return createRuntime({ tools: [tool] }).call({ callId: "c1", name: "fails", arguments: {}, signal })
}

describe("CodedError", () => {
  it("names itself in the result", async () => {
    const result = await fails(new CodedError("no calls left", "QUOTA"))
    assert.ok(result.isError)
    assert.deepStrictEqual(result.error, { message: "no calls left", info: { name: "CodedError", code: "QUOTA" } })
    assert.strictEqual(result.report.code, "QUOTA")
  })

  it("keeps its cause, and takes another name", () => {
    const cause = new Error("429")
    const error = new CodedError("no calls left", "QUOTA", { cause, name: "QuotaError" })
    assert.strictEqual(error.cause, cause)
    assert.strictEqual(String(error), "QuotaError: no calls left")
  })

  it("cannot claim what only the runtime knows (L2)", async () => {
    const result = await fails(new CodedError("nothing ran", "ABORTED_BEFORE_DISPATCH"))
    assert.strictEqual(result.report.code, "TOOL_FAILURE")
  })

  it("what else is thrown has a message, and no name", async () => {
    const result = await fails(Object.assign(new Error("no such file"), { code: "ENOENT" }))
    assert.ok(result.isError)
    assert.deepStrictEqual(result.error, { message: "no such file" })
    assert.strictEqual(result.report.code, "TOOL_FAILURE")
  })
})
