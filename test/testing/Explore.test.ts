import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger, Random, Ref, Runtime, Schedule, TestClock, TestContext } from "effect"
import { Cancellation, Toolkit, ToolRuntime } from "quiesce"
import { Explore, Sim, Tools } from "quiesce/testing"
import { type Bug, bugs, pipeline, truths } from "./plantedBugs.js"

type Scenario = Effect.Effect<unknown, unknown, Sim.Sim>

const failureOf = (scenario: Scenario, options: Explore.Options<unknown, unknown> = {}) =>
  Effect.flip(Explore.check(scenario, options))

const explore = (bug?: Bug) => Explore.check(pipeline(bug), { invariants: truths })

/** How many departures from the default order a schedule has. */
const departures = (schedule: string): number => schedule.slice("x1/".length).split(",").length

const outcomesOf = (report: Explore.Report): ReadonlyArray<string> => [...report.outcomes.keys()].sort()

const slow = 120_000

describe("Explore, the seven bugs", () => {
  it.effect(
    "finds nothing in the correct pipeline, and sees all that can come of it",
    () =>
      Effect.gen(function* () {
        const report = yield* explore()
        assert.isTrue(report.complete)
        assert.strictEqual(report.bound, "at most 1 fault and 1 preemption, cut at every op")
        assert.deepStrictEqual(outcomesOf(report), [
          "done",
          "interrupted after dispatch",
          "interrupted before dispatch",
          "never started"
        ])
      }),
    slow
  )

  it.effect(
    "finds nothing where the settlement is atomic and a canceller races it",
    () =>
      Effect.gen(function* () {
        const options = { invariants: truths, granularity: "effect" } as const
        const report = yield* Explore.check(pipeline(undefined, true), options)
        assert.isTrue(report.complete)
        assert.include(outcomesOf(report), "cancelled")
        const failure = yield* Effect.flip(Explore.check(pipeline("check then act"), options))
        assert.strictEqual(departures(failure.schedule), 2)
      }),
    slow
  )

  const expected: { readonly [bug in Bug]: readonly [departures: number, problem: RegExp] } = {
    "late mark": [1, /^claimed not to have run$/],
    "double publish": [1, /^"publish" must happen at most once, and happened 2 times$/],
    "signal not restored": [1, /^the ambient signal was not restored$/],
    "abandoned body": [1, /^published while the body runs$/],
    "lost wake-up": [1, /^deadlock: main waits for the end of call; call waits for a Deferred/],
    "release gap": [1, /^1 times "acquire", but 0 times "release"$/],
    "check then act": [2, /^"publish" must happen at most once, and happened 2 times$/]
  }

  for (const bug of bugs) {
    it.effect(
      `finds "${bug}" with as few departures as can be, and replays it 100 times of 100`,
      () =>
        Effect.gen(function* () {
          const [minimum, problem] = expected[bug]
          const failure = yield* Effect.flip(explore(bug))
          assert.match(failure.problem, problem)
          assert.strictEqual(departures(failure.schedule), minimum, failure.schedule)
          for (let i = 0; i < 100; i++) {
            const schedule = { seed: 0, text: failure.schedule }
            const again = yield* Effect.flip(Explore.run(pipeline(bug), schedule, { invariants: truths }))
            assert.strictEqual(again.problem, failure.problem)
          }
          assert.strictEqual(
            (yield* Effect.flip(
              Explore.run(pipeline(bug), { seed: 0, text: failure.schedule }, { invariants: truths })
            )).schedule,
            failure.schedule
          )
        }),
      slow
    )
  }
})

describe("Explore, the failure message", () => {
  it.effect("says what broke, how to replay it, where else it breaks, what happened, and within which bound", () =>
    Effect.gen(function* () {
      const { message, schedule } = yield* Effect.flip(explore("release gap"))
      const lines = message.split("\n")
      assert.strictEqual(lines[0], `✗ 1 times "acquire", but 0 times "release"`)
      assert.include(message, `EXPLORE_REPLAY='${schedule}'`)
      assert.match(message, /fault "interrupt" just before step \d+ of call \(only there\)$/m)
      assert.match(message, /needs a switch or a fault between two (effects|single operations)/)
      assert.match(message, /^ {2}step +env +main +host +call +what happened$/m)
      assert.match(message, /● +"acquire"$/m)
      assert.match(message, /◆ .* external approve$/m)
      assert.match(message, /◌ .* waits for external approve$/m)
      assert.match(message, /⚡ .* FAULT interrupt, before step \d+ of call$/m)
      assert.match(message, /■ +ends$/m)
      assert.match(message, /found at schedule \d+ \(at most 1 fault and 1 preemption, cut at every op\)$/m)
    })
  )

  it.effect("shows of a stack only what is the scenario's own", () =>
    Effect.gen(function* () {
      const { message, problem } = yield* failureOf(Effect.sync((): void => assert.fail("no luck")))
      assert.match(problem, /^\s+at .*node_modules/m)
      assert.notInclude(message, "node_modules")
      assert.match(message, /^✗ the scenario failed: AssertionError: no luck\n\s+at .*Explore\.test\.ts/)
    })
  )

  it.effect("says between which steps a fault does the same harm", () =>
    Effect.gen(function* () {
      const { message, schedule } = yield* Effect.flip(explore("signal not restored"))
      const step = /@(\d+)>/.exec(schedule)?.[1]
      assert.match(
        message,
        new RegExp(`before step ${step} of call \\(anywhere before its steps ${step}\\.\\.\\d+ fails too`)
      )
    })
  )

  it.effect("tells an ordinary race from one that needs a switch between two operations", () =>
    Effect.gen(function* () {
      const ordinary = yield* Effect.flip(explore("abandoned body"))
      assert.notInclude(ordinary.message, "single operations")
      const lost = Effect.gen(function* () {
        let n = 0
        const add = Effect.flatMap(
          Effect.sync(() => n),
          (was) => Effect.yieldNow().pipe(Effect.map(() => (n = was + 1)))
        )
        yield* Effect.all([add, add], { concurrency: 2 })
        if (n !== 2) return yield* Effect.die("lost an update")
      })
      assert.include((yield* failureOf(lost)).message, "an ordinary race")
      const narrow = Effect.gen(function* () {
        let n = 0
        const add = Effect.flatMap(
          Effect.sync(() => n),
          (was) => Effect.sync(() => (n = was + 1))
        )
        yield* Effect.all([add, add], { concurrency: 2 })
        if (n !== 2) return yield* Effect.die("lost an update")
      })
      assert.include((yield* failureOf(narrow)).message, "between two effects that do not wait")
    })
  )

  it.effect("shows names of spans, notes, logs, protected regions and who gave way to whom", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        let open = true
        const close = Effect.sync(() => {
          open = false
        })
        const worker = yield* Sim.fork("worker")(
          Effect.uninterruptible(Effect.withSpan(Effect.zipRight(Effect.yieldNow(), close), "closing"))
        )
        yield* Sim.note("worker is there")
        yield* Effect.log("not on the console")
        yield* Effect.yieldNow()
        if (!open) return yield* Effect.die("closed too early")
        yield* Fiber.await(worker)
      })
      const { message } = yield* failureOf(scenario)
      assert.match(message, /↯ .* gives way to worker$/m)
      assert.match(message, /┃ +goes on, uninterruptible$/m)
      assert.match(message, /span closing$/m)
      assert.match(message, /worker is there$/m)
      assert.match(message, /log: not on the console$/m)
      assert.match(message, /the scenario failed: Error: closed too early/)
    })
  )
})

describe("Explore, what it controls", () => {
  it.effect("interrupts a fiber before its first operation, between any two, and while it waits", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const steps: Array<string> = []
        const step = (name: string) => Effect.sync(() => steps.push(name))
        const body = step("a").pipe(
          Effect.zipRight(Sim.external("answer", { yes: Effect.void })),
          Effect.zipRight(step("b")),
          Effect.zipRight(step("c"))
        )
        const fiber = yield* Sim.fork("call")(body)
        yield* Sim.interrupt(fiber)
        yield* Fiber.await(fiber)
        return steps.join("") || "none"
      })
      const report = yield* Explore.check(scenario, { preemptions: 0 })
      assert.deepStrictEqual(outcomesOf(report), ["a", "ab", "abc", "none"])
    })
  )

  /** Two fibers that read, then write; some interleaving loses an update. */
  const increments = (start: (add: Effect.Effect<void>, runtime: Runtime.Runtime<never>) => void) =>
    Effect.gen(function* () {
      const ref = yield* Ref.make(0)
      const done = yield* Ref.make(0)
      const ready = yield* Deferred.make<void>()
      const add = Effect.flatMap(Ref.get(ref), (n) => Ref.set(ref, n + 1)).pipe(
        Effect.zipRight(Ref.updateAndGet(done, (n) => n + 1)),
        Effect.flatMap((n) => (n === 2 ? Deferred.succeed(ready, undefined) : Effect.void))
      )
      const runtime = yield* Effect.runtime<never>()
      start(add, runtime)
      start(add, runtime)
      yield* Deferred.await(ready)
      return String(yield* Ref.get(ref))
    })

  it.effect("controls fibers that synchronous code starts with a runtime of the program", () =>
    Effect.gen(function* () {
      const report = yield* Explore.check(increments((add, runtime) => Runtime.runFork(runtime, add)))
      assert.deepStrictEqual(outcomesOf(report), ["1", "2"])
    })
  )

  it.effect("controls fibers that a callback starts with Effect.runFork", () =>
    Effect.gen(function* () {
      const report = yield* Explore.check(increments((add) => Effect.runFork(add)))
      assert.deepStrictEqual(outcomesOf(report), ["1", "2"])
      const later = yield* Explore.check(increments((add) => Effect.runFork(add, { immediate: false })))
      assert.deepStrictEqual(outcomesOf(later), ["1", "2"])
    })
  )

  it.effect("gives fibers that a callback starts virtual time, too", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const done = yield* Deferred.make<void>()
        Effect.runFork(Effect.zipRight(Effect.sleep("1 day"), Deferred.succeed(done, undefined)))
        yield* Deferred.await(done)
        return String(yield* Effect.clockWith((clock) => clock.currentTimeMillis))
      })
      const report = yield* Explore.check(scenario)
      assert.deepStrictEqual(outcomesOf(report), [String(24 * 60 * 60 * 1000)])
    })
  )

  it.effect(
    "takes what runSync runs for one step",
    () =>
      Effect.gen(function* () {
        const scenario = Effect.gen(function* () {
          const ref = yield* Ref.make(0)
          const runtime = yield* Effect.runtime<never>()
          const add = Effect.sync(() =>
            Runtime.runSync(
              runtime,
              Effect.flatMap(Ref.get(ref), (n) => Ref.set(ref, n + 1))
            )
          )
          yield* Effect.all([add, add], { concurrency: 2 })
          return String(yield* Ref.get(ref))
        })
        const report = yield* Explore.check(scenario, { preemptions: 2 })
        assert.isTrue(report.complete)
        assert.deepStrictEqual(outcomesOf(report), ["2"])
      }),
    slow
  )

  it.effect("lets time pass only when nothing else can happen, or, if asked, at any time", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const answer = Sim.external("answer", { yes: Effect.succeed("in time") })
        return yield* Effect.timeoutTo(answer, {
          duration: "1 minute",
          onSuccess: (value) => value,
          onTimeout: () => "too late"
        })
      })
      const quiescent = yield* Explore.check(scenario)
      assert.deepStrictEqual(outcomesOf(quiescent), ["in time"])
      const any = yield* Explore.check(scenario, { timers: "any" })
      assert.deepStrictEqual(outcomesOf(any), ["in time", "too late"])
    })
  )

  it.effect("never lets a later timer come before an earlier one", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const order: Array<string> = []
        const sleeper = (name: string, millis: number) =>
          Effect.delay(
            Effect.sync(() => order.push(name)),
            millis
          )
        yield* Effect.all([sleeper("a", 2), sleeper("b", 1), sleeper("c", 2)], { concurrency: 3 })
        return order.join("")
      })
      const report = yield* Explore.check(scenario)
      assert.deepStrictEqual(outcomesOf(report), ["bac", "bca"])
    })
  )

  it.effect("runs schedules of days in no time", () =>
    Effect.gen(function* () {
      let tries = 0
      const scenario = Effect.suspend(() => {
        tries = 0
        return Effect.sync(() => ++tries).pipe(
          Effect.flatMap((n) => (n < 5 ? Effect.fail("again") : Effect.succeed(`after ${n}`))),
          Effect.retry(Schedule.exponential("1 day"))
        )
      })
      const report = yield* Explore.check(scenario)
      assert.deepStrictEqual(outcomesOf(report), ["after 5"])
    })
  )

  it.effect("gives the same random numbers in each run", () =>
    Effect.gen(function* () {
      const report = yield* Explore.check(
        Effect.map(Random.nextInt, (n) => String(n)),
        { faults: 0 }
      )
      assert.strictEqual(report.outcomes.size, 1)
    })
  )

  /** Counts runs in which a callback was registered and neither called nor cancelled. */
  const registration = Effect.gen(function* () {
    const sim = yield* Sim.Sim
    const fiber = yield* Sim.fork("call")(
      Effect.async<void>((resume) => {
        sim.event("register")
        resume(Effect.void)
        return Effect.sync(() => sim.event("cancel"))
      }).pipe(Effect.zipRight(Effect.sync(() => sim.event("resumed"))))
    )
    yield* Sim.interrupt(fiber)
    yield* Fiber.await(fiber)
  })
  const lost: Explore.Options<unknown, unknown> = {
    preemptions: 0,
    invariants: [({ events }) => (events.length === 1 ? "the canceler was lost" : undefined)]
  }

  it.effect("takes a registration for one step, and shows the canceler that Effect.async loses when asked", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* Explore.check(registration, { ...lost, invariants: [] })).complete)
      const failure = yield* failureOf(registration, { ...lost, atomicAsync: false })
      assert.strictEqual(failure.problem, "the canceler was lost")
    })
  )

  it.effect("explores in the middle of other work, which goes on as ever", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        yield* Effect.promise(() => Promise.resolve())
        yield* Effect.all([Effect.yieldNow(), Effect.yieldNow()], { concurrency: 2 })
        return "done"
      })
      const [first, second, others] = yield* Effect.all(
        [Explore.check(scenario), Explore.check(scenario), Effect.repeatN(Effect.yieldNow({ priority: 1 }), 200)],
        { concurrency: 3 }
      )
      assert.deepStrictEqual(outcomesOf(first), ["done"])
      assert.strictEqual(first.schedules, second.schedules)
      assert.isUndefined(others)
    })
  )

  it.effect("takes nothing of the fibers that wake up in the middle of a run", () =>
    Effect.gen(function* () {
      const hops = Effect.repeatN(
        Effect.promise(() => Promise.resolve()),
        20
      )
      const fiber = yield* Sim.fork("call")(hops)
      yield* Sim.interrupt(fiber)
      yield* Fiber.await(fiber)
    }).pipe(
      (scenario) => Explore.check(scenario, { preemptions: 2 }),
      Effect.as("explored"),
      Effect.race(
        // A wake-up of the event loop, which turns in the middle of runs.
        Effect.repeatN(
          Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void))),
          30
        ).pipe(Effect.as("woken"))
      ),
      Effect.map((winner) => assert.strictEqual(winner, "woken"))
    )
  )

  it.effect("ends when it is interrupted", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Explore.check(pipeline(), { invariants: truths, preemptions: 3, faults: 2 }))
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      yield* Fiber.interrupt(fiber)
    })
  )
})

describe("Explore, its bound", () => {
  it.effect("says that it is not complete when it had to stop", () =>
    Effect.gen(function* () {
      const report = yield* Explore.check(pipeline(), { invariants: truths, maxSchedules: 50 })
      assert.isFalse(report.complete)
      assert.strictEqual(report.schedules, 50)
    })
  )

  it.effect("fails when an outcome that is expected was never seen", () =>
    Effect.gen(function* () {
      const failure = yield* failureOf(Effect.succeed("left"), { expect: ["left", "right"] })
      assert.strictEqual(failure.problem, "outcomes that were expected were never seen: right (seen: left)")
      assert.strictEqual(failure.schedule, "")
    })
  )

  it.effect("reaches fewer places where it cuts more coarsely", () =>
    Effect.gen(function* () {
      const schedules: Array<number> = []
      for (const granularity of ["op", "effect", "suspension"] as const) {
        const report = yield* Explore.check(pipeline(), { invariants: truths, granularity, preemptions: 0 })
        assert.isTrue(report.complete)
        schedules.push(report.schedules)
      }
      const [op = 0, effect = 0, suspension = 0] = schedules
      assert.isTrue(op > effect && effect > suspension && suspension > 1, schedules.join())
    })
  )

  it.effect("misses between two operations what it does not cut", () =>
    Effect.gen(function* () {
      const options = { invariants: truths, granularity: "suspension" } as const
      assert.isTrue((yield* Explore.check(pipeline("double publish"), options)).complete)
    })
  )
})

describe("Explore, replay", () => {
  it.effect("runs only the schedule it is given", () =>
    Effect.gen(function* () {
      const report = yield* Explore.check(pipeline(), { invariants: truths, replay: "x1/call@0+>!interrupt" }).pipe(
        Effect.orElse(() => Explore.check(pipeline(), { invariants: truths, replay: "x1/" }))
      )
      assert.strictEqual(report.schedules, 1)
      assert.isFalse(report.complete)
    })
  )

  it.effect("takes the schedule of the environment, and before it the one it is given", () =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        Object.assign(process.env, { EXPLORE_REPLAY: "x1/call@3>nobody" })
      }),
      () =>
        Effect.gen(function* () {
          assert.include((yield* failureOf(pipeline())).problem, `"call@3>nobody", was never reached`)
          assert.strictEqual((yield* Explore.check(pipeline(), { replay: "x1/" })).schedules, 1)
        }),
      () =>
        Effect.sync(() => {
          Reflect.deleteProperty(process.env, "EXPLORE_REPLAY")
        })
    )
  )

  it.effect("says where a schedule no longer fits the program", () =>
    Effect.gen(function* () {
      const failure = yield* failureOf(pipeline(), { replay: "x1/call@2>!interrupt,call@9999>host" })
      assert.include(failure.problem, "the schedule no longer fits the program")
      assert.include(failure.problem, `step 2 of it, "call@9999>host", was never reached`)
    })
  )

  it.effect("says what is wrong with a string that is no schedule", () =>
    Effect.gen(function* () {
      assert.include((yield* failureOf(pipeline(), { replay: "call@2" })).problem, `should begin with "x1/"`)
      assert.include((yield* failureOf(pipeline(), { replay: "x1/call" })).problem, "expected FIBER@STEP>CHOICE")
    })
  )
})

describe("Explore, what is no verdict", () => {
  let runs = 0
  let calls = 0
  const swerving: ReadonlyArray<readonly [what: string, scenario: Scenario]> = [
    ["module state", Effect.suspend(() => Effect.repeatN(Effect.void, runs++))],
    ["a value from module state", Effect.sync(() => `run ${calls++}`)],
    ["Math.random", Effect.suspend(() => Effect.repeatN(Effect.void, Math.floor(Math.random() * 1e6) % 997))],
    [
      "Date.now",
      Effect.flatMap(
        Effect.sync(() => performance.now()),
        (now) => Sim.outcome(`at ${now}`)
      )
    ]
  ]
  it.effect.each(swerving)("names $0 as the reason why two runs of one schedule differ", ([, scenario]) =>
    Effect.gen(function* () {
      const failure = yield* failureOf(scenario)
      assert.match(failure.message, /^Cannot explore: two runs of one schedule differ/)
      assert.include(failure.message, "module state, Math.random, Date.now, a native timer or I/O")
    })
  )

  const escaping: ReadonlyArray<readonly [what: string, scenario: Scenario]> = [
    // @effect-diagnostics-next-line globalTimers:off
    ["a native timer", Effect.async<void>((resume) => void setTimeout(() => resume(Effect.void), 20))],
    [
      "a timer that holds no process",
      Effect.async<void>((resume) => {
        AbortSignal.timeout(60_000).addEventListener("abort", () => resume(Effect.void))
      })
    ],
    ["a native immediate", Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))],
    [
      "a promise that a native timer settles",
      // @effect-diagnostics-next-line globalTimers:off
      Effect.promise(() => new Promise<void>((resolve) => void setTimeout(resolve, 20)))
    ],
    [
      "TestClock",
      Effect.zipRight(TestClock.adjust("1 second"), Effect.void).pipe(Effect.provide(TestContext.TestContext))
    ]
  ]
  it.effect.each(escaping)("names $0 instead of calling it a deadlock", ([, scenario]) =>
    Effect.gen(function* () {
      const { problem } = yield* failureOf(scenario)
      assert.notMatch(problem, /^deadlock/)
      assert.include(problem, "that the explorer cannot control")
      assert.include(problem, "leave out TestClock and TestContext")
    })
  )

  it.effect("names a native timer also where an older one ends meanwhile, so that there are as many as before", () =>
    Effect.gen(function* () {
      const older = setTimeout(() => {}, 60_000)
      const scenario = Effect.async<void>((resume) => {
        clearTimeout(older)
        // @effect-diagnostics-next-line globalTimers:off
        setTimeout(() => resume(Effect.void), 60_000).unref()
      })
      const { problem } = yield* failureOf(scenario)
      assert.notMatch(problem, /^deadlock/)
      assert.include(problem, "that the explorer cannot control")
    })
  )
})

describe("Explore, what is wrong with every scenario", () => {
  it.effect("reports who waits for what in a deadlock", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const semaphore = yield* Effect.makeSemaphore(1)
        yield* semaphore.take(1)
        yield* Sim.fork("left")(Deferred.await(gate))
        yield* Sim.fork("right")(semaphore.take(1))
        yield* Sim.fork("callback")(Effect.async<void>(() => {}))
        yield* Sim.fork("never")(Effect.never)
        const last = yield* Sim.fork("joined")(Effect.void)
        yield* Fiber.await(last)
        yield* Fiber.joinAll(yield* Fiber.roots.pipe(Effect.as([])))
        yield* Deferred.await(gate)
      })
      const { problem } = yield* failureOf(scenario)
      assert.strictEqual(
        problem,
        "deadlock: main waits for a Deferred, Queue or the like, made by main; " +
          "left waits for a Deferred, Queue or the like, made by main; right waits for a semaphore, latch or callback; " +
          "callback waits for a callback or promise; never waits for nothing (Effect.never)"
      )
    })
  )

  it.effect("reports a livelock, at every granularity", () =>
    Effect.gen(function* () {
      for (const granularity of ["op", "effect", "suspension"] as const) {
        const spin: Effect.Effect<void> = Effect.suspend(() => spin)
        for (const loop of [Effect.forever(Effect.void), spin]) {
          const { problem } = yield* failureOf(loop, { maxSteps: 200, granularity })
          assert.strictEqual(
            problem,
            "livelock: the run took more than 200 steps (if it only has much to do, raise maxSteps)"
          )
        }
      }
    })
  )

  it.effect("reports fibers that are left running", () =>
    Effect.gen(function* () {
      const waiting = Effect.zipRight(Deferred.make<void>(), Effect.flatMap(Deferred.make<void>(), Deferred.await))
      const { problem } = yield* failureOf(Effect.asVoid(Effect.forkDaemon(waiting)))
      assert.strictEqual(problem, "fibers are left running: main.0")
    })
  )

  it.effect("reports a scenario that fails", () =>
    Effect.gen(function* () {
      const { problem } = yield* failureOf(Effect.fail("no luck"))
      assert.match(problem, /^the scenario failed: Error: no luck/)
    })
  )

  it.effect("leaves no fiber of a run behind", () =>
    Effect.gen(function* () {
      const before = yield* Fiber.roots
      yield* failureOf(Effect.forkDaemon(Effect.never))
      yield* failureOf(Effect.never)
      yield* failureOf(Effect.forever(Effect.void), { maxSteps: 200 })
      assert.deepStrictEqual([...(yield* Fiber.roots)].length, [...before].length)
    })
  )
})

describe("Explore, when only timers go off", () => {
  const ticker = Effect.forever(Effect.sleep("10 seconds"))

  it.effect("reports a deadlock, and who waits for what, although something repeats in the background", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        yield* Sim.fork("ticker")(ticker)
        const gate = yield* Deferred.make<void>()
        const call = yield* Sim.fork("call")(Deferred.await(gate))
        yield* Fiber.await(call)
      })
      const { problem } = yield* failureOf(scenario, { maxSteps: 2_000 })
      assert.match(
        problem,
        /^deadlock: main waits for the end of call; call waits for a Deferred, Queue or the like, made by main; ticker only sleeps and wakes up again, for \d+0000 ms$/
      )
    })
  )

  it.effect("reports the call that a tool which ignores its cancellation keeps waiting", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const { awaitStarted, tool } = yield* Tools.stubborn()
        const layer = ToolRuntime.layer({ toolkit: Toolkit.make(tool) })
        const call = yield* Sim.fork("call")(
          Cancellation.own(ToolRuntime.execute({ id: "c1", name: "stubborn", parameters: {} })).pipe(
            Effect.provide(layer)
          )
        )
        yield* awaitStarted()
        yield* Fiber.interrupt(call)
      })
      const { problem } = yield* failureOf(scenario, { faults: 0, preemptions: 0 })
      assert.match(
        problem,
        /^deadlock: main waits for the end of call; call waits for .*only sleeps and wakes up again/
      )
    })
  )

  it.effect("reports a livelock where the main fiber goes on, or something that no timer brought about", () =>
    Effect.gen(function* () {
      const polling = yield* failureOf(ticker, { maxSteps: 2_000 })
      assert.strictEqual(
        polling.problem,
        "livelock: the run took more than 2000 steps (if it only has much to do, raise maxSteps)"
      )
      const spinning = Effect.zipRight(Sim.fork("spin")(Effect.forever(Effect.yieldNow())), Effect.never)
      assert.strictEqual((yield* failureOf(spinning, { maxSteps: 2_000 })).problem, polling.problem)
      const asking = Effect.forever(Sim.external("answer", { no: Effect.sleep("1 second") }))
      const asked = Effect.zipRight(Sim.fork("asking")(asking), Effect.never)
      assert.strictEqual((yield* failureOf(asked, { maxSteps: 2_000 })).problem, polling.problem)
    })
  )

  it.effect("lets a repeated timer end what it is waited for", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const tick = Effect.zipRight(Effect.repeatN(Effect.sleep("10 seconds"), 100), Deferred.succeed(gate, undefined))
        yield* Sim.fork("ticker")(tick)
        yield* Deferred.await(gate)
        return "ended"
      })
      assert.deepStrictEqual(outcomesOf(yield* Explore.check(scenario, { preemptions: 0 })), ["ended"])
    })
  )
})

describe("Explore, two runs that differ", () => {
  it.effect("names the first step in which they do, with its fiber, operation and place", () =>
    Effect.gen(function* () {
      let runs = 0
      const swerves = Effect.suspend(() => (runs++ % 2 === 0 ? Effect.yieldNow() : Effect.sync(() => {})))
      const scenario = Effect.gen(function* () {
        const worker = yield* Sim.fork("worker")(Effect.zipRight(Effect.void, swerves))
        yield* Fiber.await(worker)
      })
      const { problem } = yield* failureOf(scenario)
      assert.match(
        problem,
        /^two runs of one schedule differ \(\d+ and \d+ steps\), first at step 2 of worker, Yield in one, step 2 of worker, Sync in the other, both after step 1 of worker, Commit: the scenario depends/
      )
    })
  )

  it.effect("names what they said or came to, where their steps are the same", () =>
    Effect.gen(function* () {
      let notes = 0
      const said = yield* failureOf(Effect.suspend(() => Sim.note(`note ${notes++}`)))
      assert.match(
        said.problem,
        /, first at note "note 0" in main in one, note "note 1" in main in the other, both after /
      )
      let ends = 0
      const came = yield* failureOf(Effect.sync(() => `run ${ends++}`))
      assert.match(came.problem, /, first at end "run 0" in main in one, end "run 1" in main in the other, both after /)
    })
  )

  it.effect("names where they differ also when only a failing run does", () =>
    Effect.gen(function* () {
      let odd = false
      const scenario = Effect.gen(function* () {
        yield* Sim.fault("crash", () => {
          odd = !odd
        })
        yield* Effect.yieldNow()
        if (odd) return yield* Effect.die("crashed")
      })
      const { problem } = yield* failureOf(scenario)
      assert.match(problem, /^two runs of one schedule differ .*, first at .* in one, .* in the other, both after /)
    })
  )

  it.effect("are the same where a logger is added that fails, or is made anew in each run", () =>
    Effect.gen(function* () {
      const broken = () =>
        Logger.make<unknown, void>(() => {
          throw new Error("the log is broken")
        })
      const once = broken()
      for (const logger of [() => once, broken]) {
        const scenario = Effect.suspend(() =>
          Effect.sandbox(Effect.log("a line")).pipe(
            Effect.ignore,
            Effect.provide(Logger.replace(Logger.defaultLogger, logger()))
          )
        )
        // The order of two loggers was a matter of chance, one to one.
        for (let i = 0; i < 10; i++) yield* Explore.check(scenario, { faults: 0, preemptions: 0 })
      }
    })
  )
})
