import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { type Deviation, isFault, parse, type Schedule, show } from "../../../src/internal/testing/schedule.js"

// What a name may consist of: the engine replaces the signs that a schedule is made of.
const name = FastCheck.stringMatching(/^[a-zA-Z.:#_-][a-zA-Z0-9.:#_-]{0,8}$/)

const deviation: FastCheck.Arbitrary<Deviation> = FastCheck.record({
  place: FastCheck.record({ key: name, count: FastCheck.nat(), waiting: FastCheck.boolean() }),
  choice: FastCheck.oneof(
    name,
    name.map((fault) => `!${fault}`),
    FastCheck.tuple(name, name).map(([external, outcome]) => `e:${external}=${outcome}`),
    FastCheck.tuple(name, FastCheck.nat()).map(([fiber, n]) => `${fiber}~${n}`)
  )
})

describe("schedule", () => {
  it("is read as it was shown", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(deviation, { maxLength: 5 }), (schedule) => {
        assert.deepStrictEqual(parse(show(schedule)), schedule)
      })
    )
  })

  it("shows the default order as the empty schedule", () => {
    assert.strictEqual(show([]), "x1/")
    assert.deepStrictEqual(parse("x1/"), [])
  })

  it("reads what messages show", () => {
    const schedule = parse("x1/call@65>!interrupt,main.0@7+>e:http=e500") as Schedule
    assert.deepStrictEqual(schedule, [
      { place: { key: "call", count: 65, waiting: false }, choice: "!interrupt" },
      { place: { key: "main.0", count: 7, waiting: true }, choice: "e:http=e500" }
    ])
    assert.deepStrictEqual(
      schedule.map(({ choice }) => isFault(choice)),
      [true, false]
    )
  })

  it("says of any other string what is wrong with it", () => {
    for (const text of ["", "x1", "x2/call@1>main", "call@1>main"]) {
      assert.match((parse(text) as { readonly problem: string }).problem, /should begin with "x1\/"/)
    }
    for (const text of ["x1/call", "x1/call@1", "x1/call@one>main", "x1/call@1>main,", "x1/@1>main", "x1/call@1>"]) {
      assert.match((parse(text) as { readonly problem: string }).problem, /is not a step of a schedule/, text)
    }
  })
})
