import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { findSyntaxProblem } from "../support/cli.js"

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe("findSyntaxProblem", () => {
  it.each([
    ["", 1, 1, "a value", "the end of the file"],
    [`{"steps": [`, 1, 12, "a value", "the end of the file"],
    [`{"a": 1,}`, 1, 9, "a name in double quotes", `"}"`],
    [`{\n  "a": 1\n  "b": 2\n}`, 3, 3, `"," or "}"`, `"\\""`],
    [`[1 2]`, 1, 4, `"," or "]"`, `"2"`],
    [`{'a': 1}`, 1, 2, "a name in double quotes", `"'"`],
    [`{"a" 1}`, 1, 6, `":"`, `"1"`],
    [`["a\nb"]`, 1, 4, "the end of the string", `"\\n"`],
    [`["\\x"]`, 1, 3, "an escape sequence of JSON", `"\\\\"`],
    [`{} // done`, 1, 4, "the end of the file", `"/"`],
    [`[nul]`, 1, 2, "a value", `"n"`],
    [`[01]`, 1, 3, `"," or "]"`, `"1"`]
  ])("%j fails at %i:%i", (text, line, column, expected, found) => {
    assert.isFalse(isJson(text))
    assert.deepStrictEqual(findSyntaxProblem(text), { line, column, expected, found })
  })

  it("counts lines however they end", () => {
    const { column, line } = findSyntaxProblem(`{\r\n\r"a": x`) ?? assert.fail("no problem found")
    assert.deepStrictEqual([line, column], [3, 6])
  })

  it("does not exhaust the stack on deep nesting or long strings", () => {
    assert.strictEqual(findSyntaxProblem("[".repeat(100_000))?.expected, "at most 1000 levels")
    assert.strictEqual(findSyntaxProblem(`"${"x".repeat(5_000_000)}`)?.expected, "the end of the string")
  })

  it("finds a problem exactly when the host's parser does", () => {
    const texts = FastCheck.json().chain((json) =>
      FastCheck.tuple(
        FastCheck.nat(json.length),
        FastCheck.nat(2),
        FastCheck.constantFrom("", ...'{}[],:"\\-+.0e tn/\n')
      ).map(([at, removed, inserted]) => json.slice(0, at) + inserted + json.slice(at + removed))
    )
    const seen = new Set<boolean>()
    FastCheck.assert(
      FastCheck.property(texts, (text) => {
        seen.add(isJson(text))
        assert.strictEqual(findSyntaxProblem(text) === undefined, isJson(text), text)
      }),
      { numRuns: 2000 }
    )
    assert.strictEqual(seen.size, 2)
  })
})
