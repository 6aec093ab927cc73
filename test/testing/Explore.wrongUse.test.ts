/**
 * What people do wrong with the explorer, and what it tells them to do instead.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, TestClock, TestContext } from "effect"
import { Explore, Sim } from "quiesce/testing"

type Scenario = Effect.Effect<unknown, unknown, Sim.Sim>

const failureOf = (scenario: Scenario, options: Explore.Options<unknown, unknown> = {}) =>
  Effect.flip(Explore.check(scenario, options))

const worker = Effect.gen(function* () {
  const fiber = yield* Sim.fork("worker")(Sim.external("answer", { yes: Effect.void }))
  yield* Sim.interrupt(fiber)
  yield* Fiber.await(fiber)
})

describe("Explore, options that mean nothing", () => {
  const refused: ReadonlyArray<readonly [options: object, problem: string]> = [
    [{ faults: -1 }, "faults is -1, and must be a whole number of at least 0"],
    [{ faults: 1.5 }, "faults is 1.5, and must be a whole number of at least 0"],
    [{ preemptions: Number.NaN }, "preemptions is NaN, and must be a whole number of at least 0"],
    [{ preemptions: Number.POSITIVE_INFINITY }, "preemptions is Infinity, and must be a whole number of at least 0"],
    [{ answers: -2 }, "answers is -2, and must be a whole number of at least 0"],
    [{ maxSteps: 0 }, "maxSteps is 0, and must be a whole number of at least 1"],
    [{ maxSchedules: -4 }, "maxSchedules is -4, and must be a whole number of at least 1"],
    [{ sample: { runs: Number.NaN } }, "sample.runs is NaN, and must be a whole number of at least 1"],
    [{ sample: { runs: 1, seed: 0.5 } }, "sample.seed is 0.5, and must be a whole number of at least 0"],
    [
      { sample: { runs: 1, strategy: { pct: 0 } } },
      "sample.strategy.pct is 0, and must be a whole number of at least 1"
    ],
    [{ sample: { runs: 1, strategy: "pct" } }, `sample.strategy is "pct", and must be one of uniform`],
    [{ granularity: "ops" }, `granularity is "ops", and must be one of op, effect, suspension`],
    [{ timers: "never" }, `timers is "never", and must be one of quiescent, any`]
  ]
  it.effect.each(refused)("refuses $0", ([options, problem]) =>
    Effect.gen(function* () {
      let runs = 0
      const counted = Effect.sync(() => void runs++)
      const failure = yield* failureOf(counted, options)
      assert.strictEqual(failure.problem, problem)
      assert.strictEqual(failure.message, `Cannot explore: ${problem}`)
      assert.strictEqual(failure.schedule, "")
      const { sample: _, ...others } = options as Explore.Options<unknown, unknown>
      if (Object.keys(others).length > 0) {
        const drawn = yield* Effect.flip(Explore.run(counted, { seed: 1, text: undefined }, others))
        assert.strictEqual(drawn.problem, problem)
      }
      assert.strictEqual(runs, 0, "it was run")
    })
  )

  it.effect("takes the least that means something, and a search without a limit", () =>
    Effect.gen(function* () {
      const none = yield* Explore.check(worker, { faults: 0, preemptions: 0, maxSchedules: Number.POSITIVE_INFINITY })
      assert.strictEqual(none.schedules, 1)
      assert.isTrue(none.complete)
      const one = yield* Explore.check(worker, { sample: { runs: 1, seed: 0, strategy: { pct: 1 } } })
      assert.strictEqual(one.schedules, 1)
    })
  )
})

describe("Explore, a schedule that does not fit", () => {
  const diverging: ReadonlyArray<readonly [replay: string, why: RegExp]> = [
    ["x1/worker@0>!crash", /"!crash" cannot happen there any more, only !interrupt(, \S+)*$/],
    ["x1/worker@9999>!interrupt", /worker has taken \d+ steps only$/],
    ["x1/helper@1>!interrupt", /nothing called "helper" has taken a step; fibers are main, worker$/],
    ["x1/worker@1+>!interrupt", /worker does not wait behind its step 1 any more$/],
    ["x1/main@3>!interrupt", /at step 3 of main there is nothing to decide any more$/],
    ["x1/e:question@1+>main", /"e:question" does not happen so often any more$/],
    ["x1/worker@0>!interrupt,worker@9>!interrupt", /worker has taken \d+ steps only$/]
  ]
  it.effect.each(diverging)("says where and why $0 diverged", ([replay, why]) =>
    Effect.gen(function* () {
      const steps = replay.slice(3).split(",")
      const failure = yield* failureOf(worker, { replay })
      const begin = `the schedule no longer fits the program: step ${steps.length} of it, "${steps.at(-1)}", was never reached: `
      assert.strictEqual(failure.problem.slice(0, begin.length), begin)
      assert.match(failure.problem, why)
      assert.include(failure.message, `Cannot replay: ${failure.problem}\n  step  env`)
      assert.notMatch(failure.message, /found at schedule|ordinary race|single operations/, "it is no verdict")
      assert.strictEqual(failure.schedule, replay)
    })
  )

  const malformed: ReadonlyArray<readonly [replay: string, problem: string]> = [
    ["worker@2", `"worker@2" is not a schedule: it should begin with "x1/", as in x1/call@65>!interrupt`],
    [
      "x2/worker@2>main",
      `"x2/worker@2>main" is not a schedule: it should begin with "x1/", as in x1/call@65>!interrupt`
    ],
    ["x1/worker", `"worker" is not a step of a schedule: expected FIBER@STEP>CHOICE`],
    ["x1/worker@-1>main", `"worker@-1>main" is not a step of a schedule: expected FIBER@STEP>CHOICE`],
    ["x1/worker@1>main,", `"" is not a step of a schedule: expected FIBER@STEP>CHOICE`]
  ]
  it.effect.each(malformed)("says what is wrong with the string $0", ([replay, problem]) =>
    Effect.gen(function* () {
      const failure = yield* failureOf(worker, { replay })
      assert.strictEqual(failure.message, `Cannot replay: ${problem}`)
      const drawn = yield* Effect.flip(Explore.run(worker, { seed: 0, text: replay }))
      assert.strictEqual(drawn.message, `Cannot replay: ${problem}`)
    })
  )
})

describe("Explore, what it does not control", () => {
  it.effect("does not take for a verdict what changes only in the course of the exploration", () =>
    Effect.gen(function* () {
      let runs = 0
      const drifting = Effect.zipRight(
        worker,
        Effect.sync(() => (++runs < 10 ? "early" : "late"))
      )
      const { message } = yield* failureOf(drifting)
      assert.match(message, /^Cannot explore: two runs of one schedule differ/)
      assert.include(message, "module state, Math.random, Date.now")
      runs = 0
      const failing = Effect.flatMap(drifting, (when) => (when === "late" ? Effect.fail("late") : Effect.void))
      const failure = yield* failureOf(failing)
      assert.match(failure.message, /^Cannot explore: two runs of one schedule differ/)
    })
  )

  it.effect("says of a sleep on the test clock that time is virtual already", () =>
    Effect.gen(function* () {
      const slept = Effect.provide(Effect.sleep("1 second"), TestContext.TestContext)
      const adjusted = Effect.provide(TestClock.adjust("1 second"), TestContext.TestContext)
      for (const scenario of [slept, adjusted]) {
        const { message } = yield* failureOf(scenario)
        assert.match(message, /^Cannot explore: /)
        assert.include(message, "leave out TestClock and TestContext: time is virtual already")
        assert.notMatch(message, /ordinary race|single operations/, "it is no verdict")
      }
    })
  )

  it.effect("gives a hint where a deadlock may be a wait for something real", () =>
    Effect.gen(function* () {
      const elsewhere = new EventTarget()
      const told = Effect.async<void>((resume) => {
        elsewhere.addEventListener("done", () => resume(Effect.void))
      })
      const { message, problem } = yield* failureOf(told)
      assert.strictEqual(problem, "deadlock: main waits for a callback or promise")
      assert.include(message, "the explorer cannot control it: use Sim.external or Sim.promise instead")
      const semaphore = Effect.flatMap(Effect.makeSemaphore(0), (semaphore) => semaphore.take(1))
      assert.notInclude((yield* failureOf(semaphore)).message, "Sim.promise")
    })
  )

  it.effect(
    "says of an exploration inside of a scenario that it would wait for itself, and is of use again behind it",
    () =>
      Effect.gen(function* () {
        const inner = Explore.check(Effect.succeed("inner"))
        const drawn = Explore.run(Effect.void, { seed: 1, text: undefined })
        for (const scenario of [inner, drawn, Effect.promise(() => Effect.runPromise(inner))]) {
          const { problem } = yield* failureOf(scenario)
          assert.include(problem, "an exploration was started inside of a scenario")
        }
        const [left, right] = yield* Effect.all([inner, inner], { concurrency: "unbounded" })
        assert.deepStrictEqual([left.complete, right.complete], [true, true])
      })
  )

  it.effect("says of a fault that throws where it struck", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        yield* Sim.fault("unplug", () => {
          throw new Error("it is stuck")
        })
        yield* Effect.yieldNow()
      })
      const { problem, schedule } = yield* failureOf(scenario, { faults: 1, preemptions: 0 })
      assert.strictEqual(problem, `the fault "unplug" threw: it is stuck`)
      const again = yield* failureOf(scenario, { replay: schedule })
      assert.strictEqual(again.problem, problem)
    })
  )

  it.effect("says of an external without an outcome that it can never happen", () =>
    Effect.gen(function* () {
      for (const nothing of [Sim.external<void, never, never>("answer", {}), Sim.promise("answer", {})]) {
        const { problem } = yield* failureOf(nothing)
        assert.include(problem, `"answer" has no outcome: name at least one, such as { ok: ... }`)
      }
    })
  )
})
