import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Content, ToolError, ToolResult } from "quiesce"
import { aborted, failed, notDispatched, succeeded, texts, timedOut, user } from "./support/calls.js"

const linesOf = (result: ToolResult.ToolResult): ReadonlyArray<string> =>
  ToolResult.toMessage(result).content.map((block) => (block.type === "text" ? block.text : block.type))

describe("ToolResult", () => {
  it("success is what a wrapper answers by itself", () => {
    assert.deepStrictEqual(ToolResult.success({ total: 3 }), {
      _tag: "Success",
      callId: "",
      tool: "",
      value: { total: 3 },
      content: [],
      contexts: [],
      dispatched: false,
      body: "not-started",
      escaped: [],
      concludesTurn: false
    })
  })

  it("failure has the name that belongs to its code, or the one that it is given", () => {
    assert.deepStrictEqual(ToolResult.failure({ code: "QUOTA", message: "none left" }), {
      _tag: "Failure",
      callId: "",
      tool: "",
      code: "QUOTA",
      name: "Error",
      message: "none left",
      content: [{ type: "text", text: "Error: none left" }],
      contexts: [],
      dispatched: false,
      body: "not-started",
      escaped: []
    })
    assert.strictEqual(ToolResult.failure({ code: "QUOTA", name: "QuotaError", message: "" }).name, "QuotaError")
    for (const code of ToolError.Code.literals) {
      assert.strictEqual(ToolResult.failure({ code, message: "" }).name, ToolError.names[code])
    }
    // Not a code of ours, although every object has it.
    assert.strictEqual(ToolResult.failure({ code: "toString", message: "" }).name, "Error")
  })

  it("errorContent is frozen, and says Error", () => {
    const content = ToolResult.errorContent("no")
    assert.deepStrictEqual(content, texts("Error: no"))
    assert.isFrozen(content)
    assert.isFrozen(content[0])
  })

  it("withContexts adds behind what is there, and changes nothing in place", () => {
    const result = succeeded({ contexts: texts("a") })
    const more = ToolResult.withContexts(result, texts("b", "c"))
    assert.deepStrictEqual(more, succeeded({ contexts: texts("a", "b", "c") }))
    assert.deepStrictEqual(result.contexts, texts("a"))
    assert.strictEqual(ToolResult.withContexts(failed({ code: "X", name: "X", message: "" }), [])._tag, "Failure")
  })

  it("isSuccess and isFailure tell the two apart", () => {
    const success = succeeded()
    const failure = failed({ code: "X", name: "X", message: "x" })
    assert.deepStrictEqual([success, failure].map(ToolResult.isSuccess), [true, false])
    assert.deepStrictEqual([success, failure].map(ToolResult.isFailure), [false, true])
  })

  it("its schema takes each kind of result, through JSON and back", () => {
    const results: ReadonlyArray<ToolResult.ToolResult> = [
      succeeded({ meta: { shown: true }, contexts: texts("a"), concludesTurn: true }),
      failed({ code: "X", name: "X", message: "x" }, { escaped: ["pid 7"] }),
      aborted({ _tag: "HostSignal", reason: "tab closed" }, { bodyFailure: { code: "B", name: "B", message: "b" } }),
      notDispatched({ _tag: "Interrupted", by: "#7" }),
      timedOut(100)
    ]
    for (const result of results) {
      const json = JSON.parse(JSON.stringify(Schema.encodeSync(ToolResult.ToolResult)(result)))
      assert.deepStrictEqual<unknown>(Schema.decodeUnknownSync(ToolResult.ToolResult)(json), result)
    }
  })

  it.prop("any result survives a round trip through JSON", { result: ToolResult.ToolResult }, ({ result }) => {
    const { meta: _, ...plain } = { ...result, ...(result._tag === "Success" ? { value: [1, { a: null }] } : {}) }
    const { cause: __, ...rest } = plain as typeof plain & { cause?: unknown }
    const json = JSON.parse(JSON.stringify(Schema.encodeUnknownSync(ToolResult.ToolResult)(rest)))
    assert.deepStrictEqual(JSON.parse(JSON.stringify(Schema.decodeUnknownSync(ToolResult.ToolResult)(json))), json)
    assert.deepStrictEqual(json, JSON.parse(JSON.stringify(rest)))
  })

  it("its schema refuses what is no result", () => {
    const is = Schema.is(ToolResult.ToolResult)
    assert.isTrue(is(succeeded()))
    for (const other of [
      null,
      {},
      { ...succeeded(), _tag: "Perhaps" },
      { ...succeeded(), body: "running" },
      { ...succeeded(), content: [{ type: "video" }] },
      { ...failed({ code: "X", name: "X", message: "x" }), message: undefined },
      { ...aborted(user), cause: { _tag: "Odd" } }
    ]) {
      assert.isFalse(is(other))
    }
  })

  describe("toMessage", () => {
    it("shows a model the content, and whose it is", () => {
      assert.deepStrictEqual(ToolResult.toMessage(succeeded()), {
        role: "tool",
        toolCallId: "c1",
        toolName: "echo",
        isError: false,
        content: texts("hi")
      })
      assert.deepStrictEqual(ToolResult.toMessage(failed({ code: "X", name: "X", message: "no" })), {
        role: "tool",
        toolCallId: "c1",
        toolName: "echo",
        isError: true,
        content: texts("Error: no")
      })
    })

    it("says of a stopped call what is known of its effects", () => {
      assert.deepStrictEqual(linesOf(notDispatched(user)), [
        "Error: tool call aborted before dispatch",
        "It never ran."
      ])
      assert.deepStrictEqual(linesOf(aborted(user)), [
        "Error: tool call aborted",
        "It was stopped while it ran and may have had effects."
      ])
      assert.deepStrictEqual(linesOf(aborted(user, { body: "completed" })), [
        "Error: tool call aborted",
        "It had already completed: its effects stand, its output was discarded."
      ])
      assert.deepStrictEqual(linesOf(aborted(user, { body: "failed" })), [
        "Error: tool call aborted",
        "It ran and failed by itself; it may have had effects."
      ])
      assert.deepStrictEqual(linesOf(aborted(user, { body: "not-started" })), [
        "Error: tool call aborted",
        "An earlier attempt ran and may have had effects."
      ])
      assert.deepStrictEqual(linesOf(timedOut(100, { dispatched: false, body: "not-started" })), [
        "Error: tool call timed out after 100ms",
        "It never ran."
      ])
    })

    it("says nothing of the effects of a call that was not stopped", () => {
      for (const body of ToolResult.BodyEnd.literals) {
        assert.deepStrictEqual(linesOf(failed({ code: "X", name: "X", message: "no" }, { body, dispatched: true })), [
          "Error: no"
        ])
        assert.deepStrictEqual(linesOf(succeeded({ body })), ["hi"])
      }
    })

    it("names what could not be stopped, of a success as of a failure", () => {
      const escaped = ["process 7 (left its group)", "legacy driver (abandoned)"]
      const line = "Still running: process 7 (left its group); legacy driver (abandoned)."
      assert.deepStrictEqual(linesOf(succeeded({ escaped })), ["hi", line])
      assert.deepStrictEqual(linesOf(aborted(user, { escaped })).slice(1), [
        "It was stopped while it ran and may have had effects.",
        line
      ])
    })

    it("keeps blocks that are not text", () => {
      const content: ReadonlyArray<Content.Content> = [
        { type: "image", data: "", mediaType: "image/png" },
        Content.text("x")
      ]
      assert.deepStrictEqual(linesOf(succeeded({ content })), ["image", "x"])
    })
  })
})
