import { assert, describe, it } from "@effect/vitest"
import { Output, Text, Written } from "../support/cli.js"

// A command to a terminal in each form that there is: C0, C1, DEL, and what turns the direction of writing.
const evil = "a\x1b[2J\x9b2J\x07\x7f\r\u202Ee\u2066"

describe("text for a terminal", () => {
  it("keeps signs, ends of lines and tabs, and no commands", () => {
    assert.strictEqual(Text.printable("é 日本 🎉\n\tb"), "é 日本 🎉\n\tb")
    assert.strictEqual(Text.printable(evil), "a[2J2Je")
    assert.strictEqual(Text.oneLine("a\r\n\tb\x1b"), "a b")
    assert.strictEqual(JSON.parse(Text.escaped(JSON.stringify(evil))), evil)
    assert.strictEqual(Text.printable(Text.escaped(JSON.stringify(evil))), Text.escaped(JSON.stringify(evil)))
  })

  it("counts columns, not characters", () => {
    for (const [line, width] of [
      ["abc", 3],
      ["日本", 4],
      ["🎉", 2],
      ["e\u0301", 1],
      ["", 0]
    ] as const) {
      assert.strictEqual(Text.widthOf(line), width, line)
      assert.strictEqual(Text.widthOf(Text.pad(line, 7)), 7)
    }
    assert.strictEqual(Text.cut("日本語", 5), "日本")
    assert.strictEqual(Text.cut("a🎉b", 2), "a")
    assert.strictEqual(Text.cut("abc", 3), "abc")
  })

  it("is all that an output writes, whoever said it", () => {
    const out = new Written({ columns: 11, rows: 10 })
    const err = new Written()
    const output = new Output(out, err)
    output.write(evil)
    output.complain(evil)
    assert.deepStrictEqual([out.text, err.text], ["a[2J2Je\n", "a[2J2Je\n"])
    out.text = ""
    output.draw(["日本語日本語\nx"])
    assert.strictEqual(out.text, "日本語日本\n")
  })
})
