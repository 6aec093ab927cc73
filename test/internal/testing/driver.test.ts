/**
 * A second driver, for a runtime of generators: the engine and the search know nothing of Effect.
 */
import { assert, describe, it } from "@effect/vitest"
import type { ControlledFiber, Driver, MakeDriver, StepListener } from "../../../src/internal/testing/driver.js"
import { Engine } from "../../../src/internal/testing/engine.js"
import type { EngineOptions, RunOf } from "../../../src/internal/testing/run.js"
import { type Schedule, show } from "../../../src/internal/testing/schedule.js"
import { exhaustive, type Searched } from "../../../src/internal/testing/search.js"

/** What a fiber does: it yields the name of each operation before it does it. */
type Body = Generator<string, void>

/** Bodies by the names of their fibers, and what they came to when all have ended. */
interface Program {
  readonly bodies: { readonly [name: string]: Body }
  readonly result: () => string
}

class ToyFiber implements ControlledFiber {
  steps = 0
  isDone = false
  readonly isWaiting = false
  readonly isMasked = false
  readonly span = undefined
  /** The operation in front of which it gave way. */
  op: string | undefined
  readonly label: string
  readonly body: Body

  constructor(label: string, body: Body) {
    this.label = label
    this.body = body
  }
}

class ToyDriver implements Driver<Program, string> {
  readonly live = new Set<ToyFiber>()
  readonly heldTimers = 0
  readonly flaws = []
  private readonly listener: StepListener
  private allEnded = (): void => {}

  constructor(listener: StepListener) {
    this.listener = listener
  }

  boot({ bodies, result }: Program, _world: unknown, ended: (exit: string, inAWord: string) => void): void {
    this.allEnded = () => ended(result(), result())
    for (const [name, body] of Object.entries(bodies)) {
      const fiber = new ToyFiber(name, body)
      this.live.add(fiber)
      this.schedule(fiber)
    }
  }

  private schedule(fiber: ToyFiber): void {
    this.listener.scheduled({ key: fiber.label, fiber, run: () => this.run(fiber) })
  }

  private run(fiber: ToyFiber): void {
    let { op } = fiber
    fiber.op = undefined
    if (op !== undefined) this.listener.resumed(fiber, op)
    for (;;) {
      if (op !== undefined && op !== "rest") this.listener.touched()
      if (op !== undefined) fiber.steps++
      const next = fiber.body.next()
      if (next.done === true) break
      op = next.value
      if (this.listener.beforeStep(fiber, op, true)) {
        fiber.op = op
        this.schedule(fiber)
        return
      }
    }
    fiber.isDone = true
    this.live.delete(fiber)
    this.listener.ended(fiber, undefined)
    if (this.live.size === 0) this.allEnded()
  }

  find(label: string): ToyFiber | undefined {
    return [...this.live].find((fiber) => fiber.label === label)
  }

  interruptAll(): void {
    for (const { body } of this.live) body.return()
  }

  nameNext(): void {}
  waitsFor = () => "nothing"
  dispose(): void {}
}

const makeToy: MakeDriver<Program, string> = (listener) => new ToyDriver(listener)

/** A caller and a canceller that both look whether a call is settled, and settle it if not. */
const checkThenAct = (atomic: boolean) => (): Program => {
  const published: Array<string> = []
  function* settle(result: string): Body {
    yield "check"
    const settled = published.length > 0
    if (!atomic) yield "act"
    if (!settled) published.push(result)
    yield "rest"
    yield "rest"
    yield "rest"
  }
  return { bodies: { main: settle("done"), canceller: settle("cancelled") }, result: () => published.join("+") }
}

const options: Omit<EngineOptions, "points" | "reduction"> = {
  granularity: "op",
  atomicAsync: true,
  timers: "quiescent",
  maxSteps: 100,
  trace: false
}

const run = (make: () => Program, schedule: Schedule, more: Partial<EngineOptions> = {}): Promise<RunOf<string>> =>
  new Engine(makeToy, schedule, { ...options, points: false, ...more }).run(make())

const explore = (
  make: () => Program,
  reduction = false
): Promise<Searched<RunOf<string>> & { outcomes: Set<string> }> => {
  const outcomes = new Set<string>()
  return exhaustive<RunOf<string>>({
    bound: { faults: 0, preemptions: 2 },
    maxSchedules: 1_000,
    reduction,
    run: (schedule, points, reduced) => run(make, schedule, { points, reduction: reduced }),
    fails: ({ exit = "no exit" }) => {
      outcomes.add(exit)
      return exit.includes("+") || exit === "no exit"
    }
  }).then((searched) => ({ ...searched, outcomes }))
}

describe("Driver", () => {
  it("lets another runtime be explored: check, then act, loses to one preemption", async () => {
    for (const reduction of [false, true]) {
      const { failing } = await explore(checkThenAct(false), reduction)
      assert.strictEqual(failing?.exit, "done+cancelled".split("+").reverse().join("+"))
      assert.strictEqual(show(failing?.schedule ?? []), "x1/main@1>canceller")
      const again = await run(checkThenAct(false), failing?.schedule ?? [])
      assert.deepStrictEqual([again.exit, again.hash, again.taken], [failing?.exit, failing?.hash, 1])
    }
  })

  it("finds nothing where check and act are one operation, and sees both winners", async () => {
    const all = await explore(checkThenAct(true))
    const reduced = await explore(checkThenAct(true), true)
    for (const { complete, failing, outcomes } of [all, reduced]) {
      assert.isTrue(complete)
      assert.isUndefined(failing)
      assert.sameMembers([...outcomes], ["done", "cancelled"])
    }
    assert.deepStrictEqual([all.pruned, reduced.pruned > 0], [0, true])
  })

  it("stops a run that is too long, and whatever is left", async () => {
    const spin = (): Program => {
      function* forever(): Body {
        for (;;) yield "spin"
      }
      return { bodies: { main: forever() }, result: () => "never" }
    }
    const { exit, livelock } = await run(spin, [])
    assert.deepStrictEqual([exit, livelock], [undefined, true])
  })
})
