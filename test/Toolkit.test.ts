import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "quiesce"

const named = <const Name extends string>(name: Name) =>
  Tool.make(name, { description: "", parameters: {}, success: Schema.Null, handler: () => Effect.succeed(null) })

const A = named("a")
const B = named("b")
const C = named("c")

describe("Toolkit", () => {
  it("make keeps the tools by name, in order", () => {
    const kit = Toolkit.make(B, A)
    assert.deepStrictEqual(
      [...kit.tools],
      [
        ["b", B],
        ["a", A]
      ]
    )
    assert.strictEqual(Toolkit.make().tools.size, 0)
  })

  it("make refuses two tools with one name, and says which", () => {
    assert.throws(
      () => Toolkit.make(A, B, named("a")),
      'Two tools of a toolkit are named "a": give one of them another name'
    )
  })

  it("merge puts toolkits into one, and leaves them as they are", () => {
    const left = Toolkit.make(A)
    const right = Toolkit.make(C, B)
    assert.deepStrictEqual([...Toolkit.merge(left, right).tools.keys()], ["a", "c", "b"])
    assert.strictEqual(left.tools.size, 1)
    assert.strictEqual(Toolkit.merge().tools.size, 0)
    assert.throws(() => Toolkit.merge(left, left), /are named "a"/)
  })

  it("isToolkit tells toolkits from what only looks like one", () => {
    assert.isTrue(Toolkit.isToolkit(Toolkit.make()))
    for (const other of [undefined, null, { tools: new Map() }, A, [A]]) assert.isFalse(Toolkit.isToolkit(other))
  })

  it("can be piped", () => {
    assert.strictEqual(
      Toolkit.make(A, B).pipe((kit) => kit.tools.size),
      2
    )
  })
})
