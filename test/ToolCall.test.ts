import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ToolCall } from "quiesce"

const isCall = Schema.is(ToolCall.ToolCall)

describe("ToolCall", () => {
  it("make takes a call as it is: parameters are read when it is accepted, not here", () => {
    let reads = 0
    const call = Object.defineProperty({ id: "c1", name: "echo", parameters: {} }, "parameters", {
      get: () => {
        reads++
        return {}
      }
    })
    assert.strictEqual(ToolCall.make(call), call)
    assert.strictEqual(reads, 0)
  })

  it.prop("survives a round trip through JSON", { call: ToolCall.ToolCall }, ({ call }) => {
    const plain = { ...call, parameters: { text: "hi", list: [1, null] } }
    const json = JSON.parse(JSON.stringify(Schema.encodeSync(ToolCall.ToolCall)(plain)))
    assert.deepStrictEqual({ ...Schema.decodeUnknownSync(ToolCall.ToolCall)(json) }, JSON.parse(JSON.stringify(plain)))
  })

  it("its schema asks for an id and a name, and for nothing of the parameters", () => {
    assert.isTrue(isCall({ id: "c1", name: "echo", parameters: "not even an object" }))
    assert.isTrue(isCall({ id: "c1", name: "echo", parameters: null, rootId: "c0", agent: "a1" }))
    for (const other of [null, {}, { id: "c1", parameters: {} }, { id: 1, name: "echo", parameters: {} }]) {
      assert.isFalse(isCall(other))
    }
    assert.isFalse(isCall({ id: "c1", name: "echo", parameters: {}, agent: 7 }))
  })
})
