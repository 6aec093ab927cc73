import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import { materialize } from "../../src/internal/json.js"

const lossy = (value: unknown): string => {
  const result = materialize(value)
  assert.ok(Either.isLeft(result) && result.left._tag === "Lossy", "should not be lossless")
  return `${result.left.path} is ${result.left.found}`
}

const isDeepFrozen = (value: unknown): boolean =>
  typeof value !== "object" ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value as object).every(isDeepFrozen))

describe("materialize", () => {
  it.prop("copies and freezes every JSON value", { value: fc.jsonValue({ noUnicodeString: false }) }, ({ value }) => {
    const json = JSON.parse(JSON.stringify(value)) as unknown
    const copy = Either.getOrThrow(materialize(json))
    assert.deepStrictEqual(copy, json)
    assert.isTrue(isDeepFrozen(copy))
  })

  it("names where and what is not JSON", () => {
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    assert.strictEqual(lossy({ a: [1, undefined] }), "$.a[1] is undefined")
    assert.strictEqual(lossy({ f: () => 1 }), "$.f is a function")
    assert.strictEqual(lossy(Symbol("s")), "$ is a symbol")
    assert.strictEqual(lossy(1n), "$ is a bigint")
    assert.strictEqual(lossy(-0), "$ is the number -0")
    assert.strictEqual(lossy({ n: Number.NaN }), "$.n is the number NaN")
    assert.strictEqual(lossy(new Array(2)), "$ is an array with holes or extra properties")
    assert.strictEqual(lossy(Object.assign([1], { extra: 1 })), "$ is an array with holes or extra properties")
    assert.strictEqual(lossy(cycle), "$.self is a cycle")
    assert.strictEqual(lossy(new Map()), "$ is an object that is not plain")
    assert.strictEqual(lossy({ [Symbol("s")]: 1 }), "$ is an object with symbols or hidden properties")
    assert.strictEqual(
      lossy(Object.defineProperty({}, "hidden", { value: 1, enumerable: false })),
      "$ is an object with symbols or hidden properties"
    )
  })

  it("takes one value twice, which is no cycle", () => {
    const shared = { a: 1 }
    assert.deepStrictEqual(Either.getOrThrow(materialize([shared, shared])), [{ a: 1 }, { a: 1 }])
  })

  it("keeps a property named __proto__ a property", () => {
    const copy = Either.getOrThrow(materialize(JSON.parse(`{"__proto__": {"polluted": true}}`))) as object
    assert.deepStrictEqual(Object.keys(copy), ["__proto__"])
    assert.isUndefined((copy as { polluted?: unknown }).polluted)
  })

  it("reads each property once", () => {
    let reads = 0
    const value = {
      get a() {
        reads++
        return "x"
      }
    }
    assert.deepStrictEqual(Either.getOrThrow(materialize(value)), { a: "x" })
    assert.strictEqual(reads, 1)
  })

  it("gives back what a getter or a proxy throws, and does not throw itself", () => {
    const error = new Error("g")
    const thrower = {
      get a(): never {
        throw error
      }
    }
    assert.deepStrictEqual(materialize(thrower), Either.left({ _tag: "Threw", error }))
    const hostile = new Proxy(
      {},
      {
        ownKeys: () => {
          throw error
        }
      }
    )
    assert.deepStrictEqual(materialize(hostile), Either.left({ _tag: "Threw", error }))
  })

  it("refuses what is nested too deeply to be written again", () => {
    let deep: unknown = 1
    for (let i = 0; i < 100_000; i++) deep = [deep]
    assert.match(lossy(deep), /more than 1000 levels$/)
  })
})
