import { assert, describe, it } from "@effect/vitest"
import { placeIn } from "../../../../src/internal/node/code/stack.js"

describe("internal/node/code/stack", () => {
  it("keeps the frames of the code, and gives the line of the first", () => {
    const stack =
      "Error: no\nwhy\n    at f (code.js:3:7)\n    at code.js:4:1\n    at start (inside.js:9:1)\n    at node:events:1:1"
    assert.deepStrictEqual(placeIn(stack), {
      stack: "Error: no\nwhy\n    at f (code.js:3:7)\n    at code.js:4:1",
      line: 3
    })
  })

  it("an error of syntax has its place in front", () => {
    const stack =
      "code.js:2\nlet x = ;\n        ^\n\nSyntaxError: Unexpected token ';'\n    at new Script (node:vm:117:7)"
    assert.deepStrictEqual(placeIn(stack), {
      stack: "code.js:2\nlet x = ;\n        ^\n\nSyntaxError: Unexpected token ';'",
      line: 2
    })
  })

  it("what has no stack has no place", () => {
    assert.deepStrictEqual(placeIn(""), {})
    assert.deepStrictEqual(placeIn("Error: no"), { stack: "Error: no" })
  })
})
