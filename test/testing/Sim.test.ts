import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { Explore, type Invariant, Sim } from "quiesce/testing"

const outcomesOf = (report: Explore.Report): ReadonlyArray<string> => [...report.outcomes.keys()].sort()

describe("Sim", () => {
  it.effect("interrupts a fiber once, wherever it is", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const fiber = yield* Sim.fork("call")(Sim.external("answer", { yes: Effect.succeed("answered") }))
        yield* Sim.interrupt(fiber)
        const exit = yield* Fiber.await(fiber)
        return Exit.match(exit, {
          onSuccess: (value) => value,
          onFailure: (cause) => (Cause.isInterruptedOnly(cause) ? "interrupted" : "failed")
        })
      })
      assert.deepStrictEqual(outcomesOf(yield* Explore.check(scenario)), ["answered", "interrupted"])
    })
  )

  it.effect("aborts a controller with a reason, at any step of any fiber", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const controller = new AbortController()
        yield* Sim.abort(controller, "user")
        yield* Effect.yieldNow()
        const before = controller.signal.aborted
        yield* Effect.yieldNow()
        const after = controller.signal.aborted
        return before === after ? (before ? "before" : "never") : `between, by ${controller.signal.reason}`
      })
      assert.deepStrictEqual(outcomesOf(yield* Explore.check(scenario)), ["before", "between, by user", "never"])
    })
  )

  it.effect("interrupts no fiber that has ended: what comes behind it costs no schedules", () =>
    Effect.gen(function* () {
      const followedBy = (steps: number) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(Effect.void)
          yield* Sim.interrupt(fiber)
          yield* Fiber.await(fiber)
          for (let i = 0; i < steps; i++) yield* Effect.sync(() => i)
        })
      const [short, long] = [yield* Explore.check(followedBy(1)), yield* Explore.check(followedBy(20))]
      assert.isAbove(long.steps, short.steps)
      assert.strictEqual(long.schedules, short.schedules)
    })
  )

  it.effect("lets a fault strike or not, and two faults only within the bound", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const struck: Array<string> = []
        yield* Sim.fault("crash", () => struck.push("crash"))
        yield* Sim.fault("close", () => struck.push("close"))
        yield* Effect.yieldNow()
        return struck.sort().join("+") || "calm"
      })
      const one = yield* Explore.check(scenario)
      assert.deepStrictEqual(outcomesOf(one), ["calm", "close", "crash"])
      const two = yield* Explore.check(scenario, { faults: 2 })
      assert.deepStrictEqual(outcomesOf(two), ["calm", "close", "close+crash", "crash"])
      const none = yield* Explore.check(scenario, { faults: 0 })
      assert.deepStrictEqual(outcomesOf(none), ["calm"])
    })
  )

  it.effect("gives every outcome of an external, and never none", () =>
    Effect.gen(function* () {
      const scenario = Sim.external("http", {
        ok: Effect.succeed("200"),
        "server, error": Effect.fail("500"),
        slow: Effect.delay(Effect.succeed("200, late"), "1 hour")
      }).pipe(Effect.catchAll((error) => Effect.succeed(`error ${error}`)))
      const report = yield* Explore.check(scenario)
      assert.deepStrictEqual(outcomesOf(report), ["200", "200, late", "error 500"])
    })
  )

  it.effect("takes an answer for a choice of data, which costs no departure from the order", () =>
    Effect.gen(function* () {
      const ask = (name: string) =>
        Sim.external(name, { ok: Effect.succeed("o"), slow: Effect.succeed("s"), down: Effect.succeed("d") })
      const scenario = Effect.map(Effect.all([ask("first"), ask("second")]), (answers) => answers.join(""))
      const all = ["oo", "os", "od", "so", "ss", "sd", "do", "ds", "dd"]
      const report = yield* Explore.check(scenario, { faults: 0, preemptions: 0, expect: all })
      assert.deepStrictEqual([report.complete, report.schedules], [true, 9])
      const one = yield* Explore.check(scenario, { faults: 0, preemptions: 0, answers: 1 })
      assert.deepStrictEqual(outcomesOf(one), ["do", "od", "oo", "os", "so"])
      assert.strictEqual(
        one.bound,
        "at most 0 faults and 0 preemptions, at most 1 other answer of externals, cut at every op"
      )
    })
  )

  it.effect(
    "leaves the order between two externals a matter of order",
    () =>
      Effect.gen(function* () {
        const scenario = Effect.gen(function* () {
          const order: Array<string> = []
          const ask = (name: string) =>
            Sim.external(name, {
              ok: Effect.sync(() => order.push(name)),
              down: Effect.sync(() => order.push(name.toUpperCase()))
            })
          const asking = yield* Effect.all([Effect.fork(ask("a")), Effect.fork(ask("b"))])
          yield* Fiber.joinAll(asking)
          return order.join("")
        })
        const inOrder = yield* Explore.check(scenario, { preemptions: 0 })
        assert.deepStrictEqual(outcomesOf(inOrder), ["AB", "Ab", "aB", "ab"])
        const preempted = yield* Explore.check(scenario, { preemptions: 1 })
        assert.deepStrictEqual(outcomesOf(preempted), ["AB", "Ab", "BA", "Ba", "aB", "ab", "bA", "ba"])
      }),
    60_000
  )

  it.effect("ends where a scenario asks again and again, if answers are bounded", () =>
    Effect.gen(function* () {
      const ask = Sim.external("http", { ok: Effect.succeed("ok"), down: Effect.fail("down") })
      const scenario = Effect.gen(function* () {
        let tries = 0
        yield* Effect.retry(
          Effect.suspend(() => {
            tries++
            return ask
          }),
          { while: () => true }
        )
        return String(tries)
      })
      const report = yield* Explore.check(scenario, { answers: 3 })
      assert.isTrue(report.complete)
      assert.deepStrictEqual(outcomesOf(report), ["1", "2", "3", "4"])
      assert.isFalse((yield* Explore.check(scenario, { maxSchedules: 20, faults: 0, preemptions: 0 })).complete)
    })
  )

  it.effect("draws answers at random, each alike", () =>
    Effect.gen(function* () {
      const scenario = Sim.external("http", {
        ok: Effect.succeed("ok"),
        slow: Effect.succeed("slow"),
        down: Effect.succeed("down")
      })
      for (const strategy of ["uniform", { pct: 2 }] as const) {
        const { outcomes } = yield* Explore.check(scenario, { sample: { runs: 60, strategy } })
        assert.deepStrictEqual([...outcomes.keys()].sort(), ["down", "ok", "slow"])
        for (const times of outcomes.values()) assert.isAbove(times, 10)
      }
    })
  )

  it.effect("withdraws an external when whoever waits for it is interrupted", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const sim = yield* Sim.Sim
        const answer = Effect.sync(() => sim.event("answered"))
        const fiber = yield* Sim.fork("call")(Sim.external("answer", { yes: answer }))
        yield* Sim.interrupt(fiber)
        const exit = yield* Fiber.await(fiber)
        yield* Effect.yieldNow()
        return Exit.isSuccess(exit) ? "answered" : "withdrawn"
      })
      const truthful: Invariant.Invariant = ({ events, outcome }) =>
        outcome === "withdrawn" && events.length > 1 ? "answered twice" : undefined
      const report = yield* Explore.check(scenario, { invariants: [truthful] })
      assert.deepStrictEqual(outcomesOf(report), ["answered", "withdrawn"])
    })
  )

  it.effect("opens code with promises for other fibers at each await", () =>
    Effect.gen(function* () {
      const scenario = (opened: boolean) =>
        Effect.gen(function* () {
          const log: Array<string> = []
          const promise = (name: string) =>
            // @effect-diagnostics-next-line lazyPromiseInEffectSync:off
            opened ? Sim.promise(name, { ok: () => name }) : Effect.sync(() => Promise.resolve(name))
          const first = yield* promise("first")
          const second = yield* promise("second")
          const run = Effect.promise(async () => {
            log.push("start")
            await first
            log.push("middle")
            await second
            log.push("end")
          })
          const other = Effect.zipRight(
            Effect.yieldNow(),
            Effect.sync(() => log.push("other"))
          )
          yield* Effect.all([run, other], { concurrency: 2 })
          return log.join(" ")
        })
      const opened = yield* Explore.check(scenario(true))
      assert.include(outcomesOf(opened), "start other middle end")
      assert.include(outcomesOf(opened), "start middle other end")
      const closed = yield* Explore.check(scenario(false))
      assert.notInclude(outcomesOf(closed), "start middle other end")
    })
  )

  it.effect("rejects a promise whose outcome throws", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const promise = yield* Sim.promise("http", {
          ok: () => "200",
          down: (): string => {
            throw new Error("down")
          }
        })
        return yield* Effect.promise(() => promise.then(String, (error: Error) => error.message))
      })
      assert.deepStrictEqual(outcomesOf(yield* Explore.check(scenario)), ["200", "down"])
    })
  )

  it.effect("follows promise code through one await after the other", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        let n = 0
        for (let i = 0; i < 3; i++) n += yield* Effect.promise(async () => await Promise.resolve(1))
        return String(n)
      })
      assert.deepStrictEqual(outcomesOf(yield* Explore.check(scenario)), ["3"])
    })
  )

  it.effect("takes the word of a scenario for its outcome before its value", () =>
    Effect.gen(function* () {
      const report = yield* Explore.check(Effect.as(Sim.outcome("said"), "value"))
      assert.deepStrictEqual(outcomesOf(report), ["said"])
    })
  )

  it.effect("gives invariants the events in their order, with the fiber of each", () =>
    Effect.gen(function* () {
      const seen = new Set<string>()
      const scenario = Effect.gen(function* () {
        yield* Sim.event("begin")
        const fiber = yield* Sim.fork("worker")(Sim.event("work"))
        yield* Fiber.await(fiber)
        yield* Sim.event("end")
      })
      const look: Invariant.Invariant = ({ events }) => {
        seen.add(events.map(({ fiber, tag }) => `${fiber}:${tag}`).join(" "))
        return undefined
      }
      yield* Explore.check(scenario, { invariants: [look] })
      assert.deepStrictEqual([...seen], ["main:begin worker:work main:end"])
    })
  )

  it.effect("keeps fibers, faults and externals of one name apart, whatever signs are in it", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const name = "a, b>c@d=e"
        const ask = Sim.external(name, { "x,y": Effect.succeed("x"), "x=z": Effect.succeed("z") })
        const first = yield* Sim.fork(name)(ask)
        const second = yield* Sim.fork(name)(ask)
        const results = yield* Fiber.joinAll([first, second])
        if (results.join("") === "xz") return yield* Effect.die("told apart")
        return [...results].join("")
      })
      const failure = yield* Effect.flip(Explore.check(scenario))
      const again = yield* Effect.flip(Explore.check(scenario, { replay: failure.schedule }))
      assert.include(again.problem, "told apart")
      assert.include(again.message, "a-b-c-d-e.1")
    })
  )
})
