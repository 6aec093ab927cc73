import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Fiber, Stream } from "effect"
import { type AgentEvent, Session } from "quiesce"
import { Sim } from "quiesce/testing"
import { it } from "quiesce/testing/Vitest"

const turn = (turn: number): AgentEvent.AgentEvent => ({ _tag: "TurnStarted", turn })

/** One reads to the end, one may be interrupted anywhere, while events are appended and the session is closed. */
const following = () =>
  Effect.gen(function* () {
    const session = yield* Session.make()
    const follow = (seen: Array<number>) =>
      Stream.runForEach(session.follow(), ({ seq }) => Effect.sync(() => void seen.push(seq)))
    const [whole, begun]: readonly [Array<number>, Array<number>] = [[], []]
    const reader = yield* Sim.fork("reader")(follow(whole))
    const stopped = yield* Sim.fork("stopped")(follow(begun))
    yield* Sim.interrupt(stopped)
    for (const number of [1, 2]) {
      session.append(turn(number))
      yield* Effect.yieldNow()
    }
    session.close()
    yield* Fiber.join(reader)
    const exit = yield* Fiber.await(stopped)
    const numbers = session.events().map(({ seq }) => seq)
    assert.deepStrictEqual(numbers, [1, 2, 3, 4])
    assert.deepStrictEqual(whole, numbers)
    assert.deepStrictEqual(begun, numbers.slice(0, begun.length))
    if (Exit.isSuccess(exit)) assert.deepStrictEqual(begun, numbers)
    const outcome = Exit.isSuccess(exit) ? "read to the end" : `interrupted after ${begun.length}`
    yield* Sim.outcome(outcome)
    return outcome
  }).pipe(Effect.scoped)

describe("Session (explored)", () => {
  it.explore(
    "S5: whoever follows misses nothing, whenever others append, and whoever else is interrupted",
    following,
    {
      preemptions: 1,
      faults: 1,
      granularity: "suspension",
      expect: [
        "interrupted after 0",
        "interrupted after 2",
        "interrupted after 3",
        "interrupted after 4",
        "read to the end"
      ]
    },
    120_000
  )
})
