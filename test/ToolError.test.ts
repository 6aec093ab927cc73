import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ToolError } from "quiesce"

describe("ToolError", () => {
  it.prop("an error survives a round trip through JSON", { error: ToolError.ToolError }, ({ error }) => {
    const json = JSON.parse(JSON.stringify(Schema.encodeSync(ToolError.ToolError)(error)))
    const back = Schema.decodeUnknownSync(ToolError.ToolError)(json)
    assert.strictEqual(back._tag, error._tag)
    assert.strictEqual(back.message, error.message)
    assert.isTrue(ToolError.isToolError(back))
    if (error._tag === "ToolFailure") assert.strictEqual((back as ToolError.ToolFailure).code, error.code)
  })

  it("a ToolFailure has the code TOOL_FAILURE unless it names one", () => {
    assert.strictEqual(new ToolError.ToolFailure({ message: "no" }).code, "TOOL_FAILURE")
    assert.strictEqual(new ToolError.ToolFailure({ code: "NO_SUCH_CITY", message: "no" }).code, "NO_SUCH_CITY")
    assert.strictEqual(
      Schema.decodeUnknownSync(ToolError.ToolFailure)({ _tag: "ToolFailure", message: "no" }).code,
      "TOOL_FAILURE"
    )
  })

  it("a DuplicateTool says which name, and what to do", () => {
    assert.strictEqual(
      new ToolError.DuplicateTool({ tool: "echo" }).message,
      'A tool named "echo" is registered already: give one of the two another name, or close the scope that the first was registered in'
    )
  })

  it("isToolError tells these errors from others", () => {
    assert.isTrue(ToolError.isToolError(new ToolError.ToolFailure({ message: "no" })))
    assert.isTrue(ToolError.isToolError(new ToolError.DuplicateTool({ tool: "echo" })))
    for (const other of [undefined, null, new Error("no"), { _tag: "ToolFailure", code: "X", message: "no" }]) {
      assert.isFalse(ToolError.isToolError(other))
    }
  })

  it("each code has a name, made for people who look at names", () => {
    assert.deepStrictEqual(Object.keys(ToolError.names), [...ToolError.Code.literals])
    assert.strictEqual(ToolError.names.ABORTED, "AbortError")
    assert.strictEqual(ToolError.names.ABORTED_BEFORE_DISPATCH, "AbortError")
    for (const [code, name] of Object.entries(ToolError.names)) {
      assert.match(code, /^[A-Z]+(_[A-Z]+)*$/)
      assert.match(name, /^[A-Z][A-Za-z]+Error$/)
    }
  })
})
