import { assert, describe, it } from "@effect/vitest"
import { describeThrown } from "../../src/internal/thrown.js"

describe("describeThrown", () => {
  it("72: reads whatever was thrown", () => {
    const cases: ReadonlyArray<readonly [unknown, string]> = [
      ["s", "s"],
      [new Error("e"), "e"],
      [{ message: "m" }, "m"],
      [{}, "[object Object]"],
      [undefined, "undefined"],
      [null, "null"],
      [42, "42"],
      [new TypeError(""), "TypeError"]
    ]
    for (const [thrown, message] of cases) {
      assert.deepStrictEqual(describeThrown(thrown), { message, name: undefined, code: undefined })
    }
  })

  it("a typed failure names itself: its tag, its code or the tag in upper snake case", () => {
    assert.deepStrictEqual(describeThrown({ _tag: "DiskFull", message: "full" }), {
      message: "full",
      name: "DiskFull",
      code: "DISK_FULL"
    })
    assert.deepStrictEqual(describeThrown({ _tag: "HTTPError", code: "E404", message: "gone" }), {
      message: "gone",
      name: "HTTPError",
      code: "E404"
    })
  })

  it("72: does not trust what it looks at", () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("hostile")
        },
        has: () => true
      }
    )
    assert.strictEqual(describeThrown(hostile).message, "<unprintable thrown value>")
    const lying = {
      toString: () => {
        throw new Error("no")
      }
    }
    assert.strictEqual(describeThrown(lying).message, "<unprintable thrown value>")
  })
})
