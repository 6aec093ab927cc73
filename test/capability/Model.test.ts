import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Content, type ToolResult } from "quiesce"
import { Model } from "quiesce/capability"

const text = (text: string) => Model.Text.make({ text })
const reasoning = (text: string) => Model.Reasoning.make({ text })
const start = (id: string, name = "read_file") => Model.ToolCallStart.make({ id, name })
const args = (id: string, text: string) => Model.ToolCallArguments.make({ id, text })
const usage = Model.Usage.make({ inputTokens: 12, outputTokens: 3 })
const finish = (reason: Model.FinishReason) => Model.Finish.make({ reason })

const blocksOf = (...chunks: ReadonlyArray<Model.Chunk>) => Model.assemble(chunks).blocks
const prefixOf = (...chunks: ReadonlyArray<Model.Chunk>) => Model.prefix(Model.assemble(chunks))

describe("Model", () => {
  it.prop("chunks survive a round trip through JSON", { chunk: Model.Chunk }, ({ chunk }) => {
    const back = Schema.decodeUnknownSync(Model.Chunk)(JSON.parse(JSON.stringify(chunk)))
    assert.deepStrictEqual(JSON.stringify(back), JSON.stringify(chunk))
  })

  it.prop("messages survive a round trip through JSON", { message: Model.Message }, ({ message }) => {
    const back = Schema.decodeUnknownSync(Model.Message)(JSON.parse(JSON.stringify(message)))
    assert.deepStrictEqual(back, message)
  })

  it("a result renders as a message", () => {
    const message: ToolResult.Message = {
      role: "tool",
      toolCallId: "call_1",
      toolName: "read_file",
      isError: false,
      content: [Content.text("hello")]
    }
    assert.isTrue(Schema.is(Model.Message)(message))
  })

  describe("assemble", () => {
    it("joins pieces of one kind, and begins a block where the kind changes", () => {
      assert.deepStrictEqual(blocksOf(reasoning("a"), reasoning("b"), text("c"), text("d"), reasoning("e")), [
        { block: { type: "reasoning", text: "ab" }, isOpen: false },
        { block: { type: "text", text: "cd" }, isOpen: false },
        { block: { type: "reasoning", text: "e" }, isOpen: true }
      ])
    })

    it("makes no block of an empty piece", () => {
      assert.deepStrictEqual(blocksOf(text(""), reasoning("")), [])
      assert.strictEqual(blocksOf(text("a"), reasoning(""), text("b")).length, 1)
    })

    it("lets calls grow side by side, each open until the end", () => {
      const chunks = [
        start("a"),
        start("b", "list_files"),
        args("a", "{"),
        args("b", "[1"),
        args("a", "}"),
        args("b", "]")
      ]
      const block = (id: string, name: string, text: string) =>
        ({ type: "tool-call", id, name, arguments: text }) as const
      assert.deepStrictEqual(blocksOf(...chunks), [
        { block: block("a", "read_file", "{}"), isOpen: true },
        { block: block("b", "list_files", "[1]"), isOpen: true }
      ])
      assert.isFalse(blocksOf(...chunks, finish("tool-calls")).some(({ isOpen }) => isOpen))
    })

    it("gives arguments to the latest call of that id, and to none where none has begun", () => {
      const [first, second] = blocksOf(start("a"), args("a", "1"), start("a"), args("a", "2"), args("nobody", "3"))
      assert.deepInclude(first?.block, { arguments: "1" })
      assert.deepInclude(second?.block, { arguments: "2" })
    })

    it("closes nothing when the answer failed, everything when it ended", () => {
      const isOpen = (reason: Model.FinishReason) =>
        blocksOf(text("a"), start("b"), finish(reason)).map((b) => b.isOpen)
      for (const reason of ["stop", "tool-calls", "length", "content-filter"] as const) {
        assert.deepStrictEqual(isOpen(reason), [false, false])
      }
      for (const reason of ["aborted", "error"] as const) assert.deepStrictEqual(isOpen(reason), [false, true])
    })

    it("keeps the last usage, and takes nothing behind the end", () => {
      const draft = Model.assemble([
        { ...usage, outputTokens: 1 },
        usage,
        finish("stop"),
        text("late"),
        finish("error")
      ])
      assert.deepStrictEqual(draft, { blocks: [], usage, finish: finish("stop") })
    })
  })

  describe("prefix", () => {
    it("185: keeps partial text", () => {
      assert.deepStrictEqual(prefixOf(text("par"), text("tial")), [Content.text("partial")])
    })

    it("186: keeps reasoning alone, beside the usage", () => {
      const draft = Model.assemble([reasoning("hm"), usage])
      assert.deepStrictEqual(Model.prefix(draft), [{ type: "reasoning", text: "hm" }])
      assert.deepStrictEqual(draft.usage, usage)
    })

    it("187: keeps closed text and drops the call behind it, half or whole", () => {
      assert.deepStrictEqual(prefixOf(text("a"), start("c"), args("c", "{")), [Content.text("a")])
      assert.deepStrictEqual(prefixOf(text("a"), start("c"), args("c", "{}"), finish("tool-calls")), [
        Content.text("a")
      ])
    })

    it("188: keeps nothing of a call, or of whitespace", () => {
      assert.deepStrictEqual(prefixOf(start("c"), args("c", "{")), [])
      assert.deepStrictEqual(prefixOf(text(" \n\t"), reasoning("  ")), [])
    })

    it("keeps the order of the stream", () => {
      const kept = prefixOf(text("a"), reasoning("b"), start("c"), text("d"))
      assert.deepStrictEqual(
        kept.map((block) => block.type === "image" || block.text),
        ["a", "b", "d"]
      )
    })
  })

  describe("toToolCall", () => {
    it.each([
      { written: "", parameters: {} },
      { written: " \n", parameters: {} },
      { written: `{"path":"a"}`, parameters: { path: "a" } },
      { written: `"text"`, parameters: "text" },
      { written: `{"path":`, parameters: `{"path":` }
    ])("reads $written", ({ parameters, written }) => {
      const call = Model.toToolCall({ type: "tool-call", id: "c", name: "read_file", arguments: written })
      assert.deepStrictEqual(call, { id: "c", name: "read_file", parameters })
    })
  })
})
