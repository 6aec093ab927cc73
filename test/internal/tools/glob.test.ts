import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { matches } from "../../../src/internal/tools/glob.js"

describe("glob", () => {
  it("one star stays in its folder, two do not, and two with a slash are folders or none", () => {
    const yes = [
      ["*.ts", "a.ts"],
      ["**/*.ts", "a.ts"],
      ["**/*.ts", "src/deep/a.ts"],
      ["src/**", "src/deep/a.ts"],
      ["src/**/a.ts", "src/a.ts"],
      ["a?c", "abc"],
      ["😀?", "😀😀"],
      ["", ""],
      ["[a](b).c+", "[a](b).c+"]
    ]
    const no = [
      ["*.ts", "src/a.ts"],
      ["*.ts", "a.tsx"],
      ["a?c", "a/c"],
      ["src/**/a.ts", "src/ba.ts"],
      ["**/a.ts", "ba.ts"],
      ["a", ""],
      ["", "a"]
    ]
    for (const [pattern, path] of yes) assert.isTrue(matches(pattern as string, path as string), `${pattern} ${path}`)
    for (const [pattern, path] of no) assert.isFalse(matches(pattern as string, path as string), `${pattern} ${path}`)
  })

  it("is the same as the regular expression that it stands for", () => {
    const part = fc.constantFrom("*", "**", "**/", "?", "a", "b", "/", ".")
    const path = fc.array(fc.constantFrom("a", "b", "/", "."), { maxLength: 8 })
    const source: Record<string, string> = { "*": "[^/]*", "**": ".*", "**/": "(?:.*/)?", "?": "[^/]", ".": "\\." }
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), path, (parts, path) => {
        const pattern = parts.join("")
        const tokens = pattern.match(/\*\*\/|\*\*|\*|[^*]/g) ?? []
        const expected = new RegExp(`^${tokens.map((token) => source[token] ?? token).join("")}$`, "s")
        assert.strictEqual(matches(pattern, path.join("")), expected.test(path.join("")), `${pattern} ${path.join("")}`)
      }),
      { numRuns: 2000 }
    )
  })

  it("a pattern that makes an engine backtrack is answered at once", () => {
    assert.isFalse(matches("*a".repeat(200), `${"a".repeat(2000)}b`))
  })
})
