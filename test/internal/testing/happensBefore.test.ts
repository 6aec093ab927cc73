import { assert, describe, it } from "@effect/vitest"
import { HappensBefore, Visited } from "../../../src/internal/testing/happensBefore.js"

type Event = readonly [actor: string, what: string, touches?: "shared" | { readonly tells: string }]

const none = { faults: 0, preemptions: 0, answers: 0 }

const happen = (order: HappensBefore, events: ReadonlyArray<Event>): void => {
  for (const [actor, what, touches] of events) {
    order.begin(actor, what)
    if (touches === "shared") order.touch()
    else if (touches !== undefined) order.tell(touches.tells)
  }
}

/** Whether the second order of events leads to where the first one led. */
const same = (first: ReadonlyArray<Event>, second: ReadonlyArray<Event>): boolean => {
  const visited = new Visited()
  return [first, second].map((events) => {
    const order = new HappensBefore(visited)
    happen(order, events)
    return order.meets("a", ["b"], 0, none)
  })[1] as boolean
}

describe("HappensBefore", () => {
  it("does not tell events apart by an order on which nothing depends", () => {
    const a: Event = ["a", "Success"]
    const b: Event = ["b", "Success"]
    assert.isTrue(same([a, b, a], [a, a, b]))
    assert.isTrue(same([["a", "Sync", "shared"], b], [b, ["a", "Sync", "shared"]]))
    assert.isFalse(same([a, b], [a, a]))
    assert.isFalse(same([a, b], [a, ["b", "Failure"]]))
  })

  it("tells them apart by the order in which they touch what fibers share (H1)", () => {
    const a: Event = ["a", "Sync", "shared"]
    const b: Event = ["b", "Sync", "shared"]
    assert.isFalse(same([a, b], [b, a]))
    assert.isFalse(same([a, b, ["b", "Success"]], [b, ["b", "Success"], a]))
  })

  it("tells them apart by which step of an actor sees what it was told", () => {
    const tells: Event = ["a", "Success", { tells: "b" }]
    const step: Event = ["b", "Success"]
    assert.isFalse(same([tells, step, step], [step, tells, step]))
    assert.isTrue(same([tells, ["c", "Success"], step], [["c", "Success"], tells, step]))
  })

  it("takes no notice of what an actor tells itself, nor of a wake-up in which nothing is done (H3)", () => {
    assert.isTrue(same([["a", "Success", { tells: "a" }]], [["a", "Success"]]))
    assert.isTrue(
      same(
        [["a", "Success"]],
        [
          ["b", "woken"],
          ["a", "woken"],
          ["a", "Success"]
        ]
      )
    )
    assert.isFalse(
      same(
        [["a", "Success"]],
        [
          ["b", "woken", "shared"],
          ["a", "Success"]
        ]
      )
    )
  })

  it("tells apart states with other turns to come, or another time", () => {
    const visited = new Visited()
    const meets = (current: string, toCome: ReadonlyArray<string>, time: number) =>
      new HappensBefore(visited).meets(current, toCome, time, none)
    assert.isFalse(meets("a", ["b", "c"], 0))
    assert.isTrue(meets("a", ["b", "c"], 0))
    assert.isFalse(meets("b", ["b", "c"], 0))
    assert.isFalse(meets("a", ["c", "b"], 0))
    assert.isFalse(meets("a", ["b"], 0))
    assert.isFalse(meets("a", ["b", "c"], 1))
  })

  it("gives up only what had used no less of each bound (H2)", () => {
    const visited = new Visited()
    const meets = (faults: number, preemptions: number, answers = 0) =>
      new HappensBefore(visited).meets("a", [], 0, { faults, preemptions, answers })
    assert.isFalse(meets(1, 1))
    assert.isTrue(meets(1, 1))
    assert.isTrue(meets(1, 2))
    assert.isFalse(meets(0, 2))
    assert.isFalse(meets(2, 0))
    assert.isTrue(meets(2, 1))
    assert.isFalse(meets(0, 0, 1))
    assert.isFalse(meets(0, 0))
    assert.isTrue(meets(9, 9, 9))
  })

  it("has hashes whose halves are both spread: no two of 100,000 states are taken for one", () => {
    const visited = new Visited()
    let met = 0
    for (let n = 0; n < 100_000; n++) {
      const order = new HappensBefore(visited)
      order.begin("a", `op ${n % 320}`)
      order.begin("b", `op ${Math.floor(n / 320)}`)
      if (order.meets("a", [], 0, none)) met++
    }
    assert.strictEqual(met, 0)
  })
})
