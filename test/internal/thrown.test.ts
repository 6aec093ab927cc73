import { assert, describe, it } from "@effect/vitest"
import { codeOfTag, describeThrown } from "../../src/internal/thrown.js"

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

  it("what has a tag names itself: by its tag and, where it has one, its code", () => {
    assert.deepStrictEqual(describeThrown({ _tag: "DiskFull", message: "full" }), {
      message: "full",
      name: "DiskFull",
      code: undefined
    })
    assert.deepStrictEqual(["DiskFull", "HTTPError"].map(codeOfTag), ["DISK_FULL", "HTTPERROR"])
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
