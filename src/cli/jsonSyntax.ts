/**
 * Says where a text stops being JSON, and what was expected there.
 *
 * `JSON.parse` says it differently in each version of the host, in many cases without a position.
 */

/** Where a text stops being JSON. Lines and columns count from 1. */
export interface SyntaxProblem {
  readonly line: number
  readonly column: number
  readonly expected: string
  readonly found: string
}

const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y
const space = /[ \t\n\r]*/y
// The host has a limit of its own. Nothing that people write is near this.
const maxDepth = 1000

class Scanner {
  at = 0
  expected: string | undefined
  private readonly text: string
  private depth = 0

  constructor(text: string) {
    this.text = text
  }

  document(): boolean {
    return this.value() && (this.next() === "" || this.fail("the end of the file"))
  }

  private value(): boolean {
    switch (this.next()) {
      case "{":
        return this.list("}", () => this.member())
      case "[":
        return this.list("]", () => this.value())
      case `"`:
        return this.string()
      default:
        return this.take(scalar) || this.fail("a value")
    }
  }

  private list(end: "}" | "]", item: () => boolean): boolean {
    if (++this.depth > maxDepth) return this.fail(`at most ${maxDepth} levels`)
    this.at++
    if (this.next() !== end) {
      for (let more = true; more; ) {
        if (!item()) return false
        more = this.next() === ","
        if (more) this.at++
      }
      if (this.next() !== end) return this.fail(`"," or "${end}"`)
    }
    this.at++
    this.depth--
    return true
  }

  private member(): boolean {
    if (this.next() !== `"`) return this.fail("a name in double quotes")
    if (!this.string()) return false
    if (this.next() !== ":") return this.fail(`":"`)
    this.at++
    return this.value()
  }

  // A loop and not one expression, which would exhaust its stack on a long string.
  private string(): boolean {
    this.at++
    for (let char = this.text[this.at]; char !== `"`; char = this.text[this.at]) {
      if (char === "\\") {
        if (!this.take(escape)) return this.fail("an escape sequence of JSON")
      } else if (char === undefined || char < " ") return this.fail("the end of the string")
      else this.at++
    }
    this.at++
    return true
  }

  /** The next character that is not a space, or nothing at the end. */
  private next(): string {
    this.take(space)
    return this.text[this.at] ?? ""
  }

  private take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    const [taken = ""] = pattern.exec(this.text) ?? []
    this.at += taken.length
    return taken !== ""
  }

  private fail(expected: string): false {
    this.expected = expected
    return false
  }
}

/** Finds the first place at which `text` is not JSON. `undefined` when it is. */
export const findSyntaxProblem = (text: string): SyntaxProblem | undefined => {
  const scanner = new Scanner(text)
  if (scanner.document()) return undefined
  const lines = text.slice(0, scanner.at).split(/\r\n|\r|\n/)
  const { at, expected = "JSON" } = scanner
  const found =
    at < text.length ? JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0)) : "the end of the file"
  return { line: lines.length, column: (lines.at(-1) ?? "").length + 1, expected, found }
}
