import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { Explore, Invariant, Sim } from "quiesce/testing"

const runOf = (...tags: ReadonlyArray<string>): Invariant.Run<void, never> => ({
  exit: Exit.void,
  events: tags.map((tag) => ({ tag, fiber: "call" })),
  outcome: undefined,
  schedule: "x1/"
})

describe("Invariant", () => {
  it("exactlyOnce refuses none and two", () => {
    const once = Invariant.exactlyOnce("publish")
    assert.strictEqual(once(runOf()), `"publish" must happen exactly once, and happened 0 times`)
    assert.isUndefined(once(runOf("publish", "other")))
    assert.strictEqual(once(runOf("publish", "publish")), `"publish" must happen exactly once, and happened 2 times`)
  })

  it("atMostOnce refuses two", () => {
    const once = Invariant.atMostOnce("publish")
    assert.isUndefined(once(runOf()))
    assert.isUndefined(once(runOf("publish")))
    assert.strictEqual(once(runOf("publish", "publish")), `"publish" must happen at most once, and happened 2 times`)
  })

  it("never refuses what comes after, and nothing that came before", () => {
    const never = Invariant.never("write", { after: "closed" })
    assert.isUndefined(never(runOf("write")))
    assert.isUndefined(never(runOf("write", "closed")))
    assert.strictEqual(never(runOf("closed", "write")), `"write" happened in call after "closed"`)
    assert.strictEqual(never(runOf("write", "closed", "write")), `"write" happened in call after "closed"`)
  })

  it("never takes the same event twice for what comes after itself", () => {
    const never = Invariant.never("close", { after: "close" })
    assert.isUndefined(never(runOf("close")))
    assert.isDefined(never(runOf("close", "close")))
  })

  it("balanced wants as many releases as acquisitions, and none ahead of its acquisition", () => {
    const balanced = Invariant.balanced("open", "close")
    assert.isUndefined(balanced(runOf()))
    assert.isUndefined(balanced(runOf("open", "open", "close", "close")))
    assert.strictEqual(balanced(runOf("open", "open", "close")), `2 times "open", but 1 times "close"`)
    assert.strictEqual(balanced(runOf("close", "open")), `"close" happened more often than "open"`)
    assert.strictEqual(balanced(runOf("open", "close", "close")), `"close" happened more often than "open"`)
  })

  it.effect("is asked of each run, in the order of the list, and a run that deadlocks is not shown to it", () =>
    Effect.gen(function* () {
      let asked = 0
      const first: Invariant.Invariant = () => {
        asked++
        return "first"
      }
      const failure = yield* Effect.flip(Explore.check(Effect.void, { invariants: [first, () => "second"] }))
      assert.strictEqual(failure.problem, "first")
      assert.isAbove(asked, 0)
      asked = 0
      const stuck = yield* Effect.flip(Explore.check(Effect.never, { invariants: [first] }))
      assert.match(stuck.problem, /^deadlock/)
      assert.strictEqual(asked, 0)
    })
  )

  it.effect("may be made of assertions: what it throws is what does not hold, with the schedule that shows it", () =>
    Effect.gen(function* () {
      const asserting: Invariant.Invariant = ({ events }) => {
        assert.lengthOf(events, 1, "one mark")
        return undefined
      }
      const failure = yield* Effect.flip(Explore.check(Effect.void, { invariants: [asserting] }))
      assert.include(failure.problem, "an invariant threw: one mark")
      assert.strictEqual(failure.schedule, "x1/")
      yield* Explore.check(Sim.event("mark"), { invariants: [asserting] })
    })
  )

  it.effect("sees the exit and the outcome of a run", () =>
    Effect.gen(function* () {
      const told = yield* Effect.flip(
        Explore.check(Effect.as(Sim.outcome("said"), 42), {
          invariants: [({ exit, outcome, schedule }) => `${Exit.getOrElse(exit, () => 0)} ${outcome} ${schedule}`]
        })
      )
      assert.strictEqual(told.problem, "42 said x1/")
    })
  )
})
