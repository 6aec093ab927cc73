import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { Sim } from "quiesce/testing"
import { it } from "quiesce/testing/Vitest"
import { TargetQueue } from "../../../../src/internal/capability/fileSystem/targetQueue.js"

/** A change in turn: it takes two steps, and nobody else of its target may be in between. */
const change = (queue: TargetQueue, target: string, name: string, log: Array<string>) =>
  Effect.uninterruptibleMask((restore) =>
    queue.inTurn(restore, [target], () =>
      Effect.gen(function* () {
        log.push(`+${name}`)
        yield* restore(Effect.yieldNow())
        log.push(`-${name}`)
        return name
      })
    )
  )

/** Whether no two changes overlap: each `+x` is followed by `-x`, or by nothing of x where it was stopped. */
const assertExclusive = (log: ReadonlyArray<string>, stopped: ReadonlySet<string>): void => {
  let inside: string | undefined
  for (const entry of log) {
    const name = entry.slice(1)
    if (entry.startsWith("+")) {
      assert.isTrue(inside === undefined || stopped.has(inside), `${log}: ${name} came in beside ${inside}`)
      inside = name
    } else inside = undefined
  }
}

const outcomeOf = (exits: ReadonlyArray<Exit.Exit<string>>): string =>
  exits.map((exit) => (Exit.isSuccess(exit) ? exit.value : "-")).join(" ")

describe("TargetQueue (races)", () => {
  it.explore(
    "Q1 to Q4: three changes of one target, any one of them interrupted at any instant: in order, one at a time, none stuck, nothing kept",
    () =>
      Effect.gen(function* () {
        const queue = new TargetQueue()
        const log: Array<string> = []
        const names = ["a", "b", "c"]
        const fibers = yield* Effect.forEach(names, (name) => Sim.fork(name)(change(queue, "target", name, log)))
        for (const [i, fiber] of fibers.entries()) yield* Sim.interrupt(fiber, `interrupt ${names[i]}`)
        const exits = yield* Effect.forEach(fibers, Fiber.await)
        const stopped = new Set(names.filter((_, i) => Exit.isFailure(exits[i] ?? Exit.succeed(""))))
        assertExclusive(log, stopped)
        const entered = log.filter((entry) => entry.startsWith("+")).map((entry) => entry.slice(1))
        for (const name of names) if (!stopped.has(name)) assert.include(entered, name)
        assert.strictEqual(queue.size, 0, "Q3")
        const outcome = outcomeOf(exits)
        yield* Sim.outcome(outcome)
        return outcome
      }),
    { preemptions: 1, faults: 1, granularity: "effect", expect: ["a b c", "- b c", "a - c", "a b -"] },
    180_000
  )

  it.explore(
    "Q2: a waiter that is interrupted ends while the one before it still runs, and who is behind it gets its turn",
    () =>
      Effect.gen(function* () {
        const queue = new TargetQueue()
        const log: Array<string> = []
        let ended = false
        const first = yield* Effect.uninterruptibleMask((restore) =>
          queue.inTurn(restore, ["target"], () =>
            Effect.gen(function* () {
              const waiter = yield* Sim.fork("waiter")(Effect.interruptible(change(queue, "target", "waiter", log)))
              const behind = yield* Sim.fork("behind")(Effect.interruptible(change(queue, "target", "behind", log)))
              yield* Sim.external("both wait", { yes: Effect.void })
              yield* Fiber.interrupt(waiter) // would never complete, if it waited for its turn
              ended = true
              return behind
            })
          )
        )
        assert.isTrue(ended)
        assert.strictEqual(yield* Fiber.join(first), "behind")
        assert.deepStrictEqual(log, ["+behind", "-behind"])
        assert.strictEqual(queue.size, 0)
        yield* Sim.outcome("left at once")
        return "left at once"
      }),
    { preemptions: 1, faults: 0, expect: ["left at once"] }
  )

  it.explore(
    "changes of several targets at once take their turns without a deadlock",
    () =>
      Effect.gen(function* () {
        const queue = new TargetQueue((one, other) => one.startsWith(other) || other.startsWith(one))
        const log: Array<string> = []
        const both = (targets: ReadonlyArray<string>, name: string) =>
          Effect.uninterruptibleMask((restore) =>
            queue.inTurn(restore, targets, () =>
              Effect.gen(function* () {
                log.push(`+${name}`)
                yield* restore(Effect.yieldNow())
                log.push(`-${name}`)
                return name
              })
            )
          )
        const fibers = [
          yield* Sim.fork("a")(both(["x", "y"], "a")),
          yield* Sim.fork("b")(both(["y", "x"], "b")),
          yield* Sim.fork("c")(both(["y/z"], "c"))
        ]
        for (const [i, fiber] of fibers.entries()) yield* Sim.interrupt(fiber, `interrupt ${i}`)
        const exits = yield* Effect.forEach(fibers, Fiber.await)
        assertExclusive(log, new Set(["a", "b", "c"].filter((_, i) => Exit.isFailure(exits[i] ?? Exit.succeed("")))))
        assert.strictEqual(queue.size, 0)
        const outcome = outcomeOf(exits)
        yield* Sim.outcome(outcome)
        return outcome
      }),
    { preemptions: 1, faults: 1, granularity: "effect", expect: ["a b c", "- b c", "a - c", "a b -"] },
    180_000
  )
})
