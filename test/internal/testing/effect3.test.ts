import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import type { StepListener, Task } from "../../../src/internal/testing/driver.js"
import { Effect3Driver } from "../../../src/internal/testing/effect3.js"
import { takeTurn } from "../../../src/internal/testing/outside.js"
import { VirtualTime } from "../../../src/internal/testing/virtualTime.js"

/** Runs a program in the default order up to where nothing is ready, and what `then` makes ready. */
const touchedIn = async (program: Effect.Effect<unknown>, then: (driver: Effect3Driver<unknown, never>) => void) => {
  const ready: Array<Task> = []
  const touched: Array<string> = []
  let current = "main"
  const listener: StepListener = {
    beforeStep: () => false,
    resumed: () => {},
    scheduled: (task) => void ready.push(task),
    ended: () => {},
    touched: (fiber) => void touched.push(fiber?.label ?? "shared"),
    currentKey: () => current
  }
  const release = await takeTurn()
  const driver = new Effect3Driver<unknown, never>(listener, {
    granularity: "op",
    atomicAsync: true,
    reduction: true
  })
  const runAll = (): void => {
    for (let task = ready.shift(); task !== undefined; task = ready.shift()) {
      current = task.key
      task.run()
    }
  }
  try {
    driver.boot(program, { time: new VirtualTime(() => current), log: () => {} }, () => {})
    runAll()
    touched.splice(0)
    then(driver)
    const told = touched.splice(0)
    runAll()
    return told
  } finally {
    driver.dispose()
    release()
  }
}

describe("Effect3Driver", () => {
  it("says whom an interrupt is told, wherever it comes from (D6)", async () => {
    const program = Effect.zipRight(Effect.fork(Effect.never), Effect.never)
    assert.deepStrictEqual(await touchedIn(program, (driver) => driver.interruptAll()), ["main", "main.0"])
  })

  it("says whom something outside resumes (D6)", async () => {
    let open = (): void => {}
    const program = Effect.flatMap(Deferred.make<void>(), (gate) => {
      open = () => Deferred.unsafeDone(gate, Effect.void)
      return Deferred.await(gate)
    })
    assert.deepStrictEqual(await touchedIn(program, () => open()), ["main"])
  })
})
