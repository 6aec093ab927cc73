import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Content } from "quiesce"

describe("Content", () => {
  it("text is a frozen block", () => {
    const block = Content.text("done")
    assert.deepStrictEqual(block, { type: "text", text: "done" })
    assert.isFrozen(block)
  })

  it("toText puts each block on a line, and names those that are not text", () => {
    assert.strictEqual(Content.toText([]), "")
    assert.strictEqual(Content.toText([Content.text("a\nb"), Content.text("")]), "a\nb\n")
    assert.strictEqual(
      Content.toText([
        { type: "reasoning", text: "hm" },
        Content.text("so"),
        { type: "image", data: "AAAA", mediaType: "image/png" }
      ]),
      "[reasoning content]\nso\n[image content]"
    )
  })

  it.prop("survives a round trip through JSON", { content: Content.Content }, ({ content }) => {
    const json = JSON.parse(JSON.stringify(Schema.encodeSync(Content.Content)(content)))
    assert.deepStrictEqual(Schema.decodeUnknownSync(Content.Content)(json), content)
  })

  it("its schema tells blocks from what only looks like one", () => {
    const is = Schema.is(Content.Content)
    for (const block of [
      { type: "text", text: "" },
      { type: "reasoning", text: "" },
      { type: "image", data: "", mediaType: "image/png" }
    ]) {
      assert.isTrue(is(block))
    }
    for (const other of [
      null,
      "text",
      {},
      { type: "text" },
      { type: "video", text: "" },
      { type: "image", data: "" }
    ]) {
      assert.isFalse(is(other))
    }
  })
})
