/**
 * What the explorer relies on in effect 3.22, which is not all public: these tests fail when an upgrade moves it.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Cache,
  Chunk,
  Context,
  Deferred,
  Effect,
  Exit,
  Fiber,
  Layer,
  Mailbox,
  PubSub,
  Queue,
  Ref,
  Schedule,
  STM,
  Stream,
  TRef
} from "effect"
import { Explore, Sim } from "quiesce/testing"

const outcomesOf = (report: Explore.Report): ReadonlyArray<string> => [...report.outcomes.keys()].sort()

const slow = 60_000

/** Nine steps over what programs consist of; says which of them were taken. */
const nineSteps = Effect.gen(function* () {
  const steps: Array<string> = []
  const step = (name: string) => Effect.sync(() => steps.push(name))
  const ref = yield* Ref.make(0)
  const queue = yield* Queue.unbounded<number>()
  const body = Effect.gen(function* () {
    yield* step("a")
    yield* Ref.update(ref, (n) => n + 1)
    yield* step("b")
    const deferred = yield* Deferred.make<void>()
    yield* Deferred.succeed(deferred, undefined)
    yield* Deferred.await(deferred)
    yield* step("c")
    yield* Queue.offer(queue, 1)
    yield* Queue.take(queue)
    yield* step("d")
    yield* Effect.uninterruptible(Effect.zipRight(step("1"), step("2")))
    yield* Effect.promise(() => Promise.resolve())
    yield* step("e")
    yield* Effect.yieldNow()
    yield* step("f")
  }).pipe(Effect.ensuring(step("z")))
  const fiber = yield* Sim.fork("call")(body)
  yield* Sim.interrupt(fiber)
  const exit = yield* Fiber.await(fiber)
  return `${steps.join("") || "-"} ${Exit.isSuccess(exit) ? "done" : "interrupted"}`
})

const prefixes = ["-", "z", "az", "abz", "abcz", "abcdz", "abcd12z", "abcd12ez", "abcd12efz"]

describe("canary: prefixes", () => {
  it.effect("an interrupt lands before each operation, and never splits a protected pair", () =>
    Effect.gen(function* () {
      const report = yield* Explore.check(nineSteps, { preemptions: 0 })
      assert.isTrue(report.complete)
      const expected = [...prefixes.map((prefix) => `${prefix} interrupted`), "abcd12efz done"].sort()
      assert.deepStrictEqual(outcomesOf(report), expected)
    })
  )

  it.effect("real suspensions alone reach only some of them", () =>
    Effect.gen(function* () {
      const report = yield* Explore.check(nineSteps, { preemptions: 0, granularity: "suspension" })
      assert.isTrue(report.complete)
      assert.isBelow(report.outcomes.size, prefixes.length)
      assert.includeMembers([...outcomesOf(report)], ["- interrupted", "abcd12efz done", "abcd12z interrupted"])
    })
  )
})

/** Two fibers, or what does the work of two, over each feature that queues fibers in a way of its own. */
const zoo: { readonly [feature: string]: Effect.Effect<string, unknown, Sim.Sim> } = {
  Deferred: Effect.gen(function* () {
    const deferred = yield* Deferred.make<string>()
    yield* Effect.fork(Deferred.succeed(deferred, "left"))
    yield* Effect.fork(Deferred.succeed(deferred, "right"))
    return yield* Deferred.await(deferred)
  }),
  Queue: Effect.gen(function* () {
    const queue = yield* Queue.bounded<number>(1)
    const offer = (n: number) => Effect.fork(Queue.offer(queue, n))
    yield* offer(1)
    yield* offer(2)
    return `${yield* Queue.take(queue)}${yield* Queue.take(queue)}`
  }),
  Semaphore: Effect.gen(function* () {
    const semaphore = yield* Effect.makeSemaphore(1)
    const log: Array<number> = []
    const worker = (n: number) =>
      Effect.zipRight(
        Effect.sync(() => log.push(n)),
        Effect.zipRight(
          Effect.yieldNow(),
          Effect.sync(() => log.push(n))
        )
      ).pipe(semaphore.withPermits(1))
    yield* Effect.all([worker(1), worker(2)], { concurrency: 2 })
    return log.join("")
  }),
  PubSub: Effect.scoped(
    Effect.gen(function* () {
      const pubsub = yield* PubSub.unbounded<number>()
      const subscription = yield* PubSub.subscribe(pubsub)
      yield* Effect.fork(PubSub.publish(pubsub, 1))
      yield* Effect.fork(PubSub.publish(pubsub, 2))
      return `${yield* Queue.take(subscription)}${yield* Queue.take(subscription)}`
    })
  ),
  Mailbox: Effect.gen(function* () {
    const mailbox = yield* Mailbox.make<number>(1)
    const offer = (n: number) => Effect.fork(mailbox.offer(n))
    yield* offer(1)
    yield* offer(2)
    return `${yield* mailbox.take}${yield* mailbox.take}`
  }),
  STM: Effect.gen(function* () {
    const ref = yield* STM.commit(TRef.make(0))
    const once = (to: number) =>
      STM.commit(
        TRef.get(ref).pipe(
          STM.tap((n) => (n === to - 1 ? STM.void : STM.retry)),
          STM.zipRight(TRef.set(ref, to))
        )
      )
    yield* Effect.all([once(2), once(1)], { concurrency: 2, discard: true })
    return String(yield* STM.commit(TRef.get(ref)))
  }),
  "Stream.merge": Effect.gen(function* () {
    const stream = Stream.merge(Stream.make("a"), Stream.make("b"))
    return Chunk.join(yield* Stream.runCollect(stream), "")
  }),
  forEach: Effect.gen(function* () {
    const log: Array<number> = []
    yield* Effect.forEach([1, 2, 3], (n) => Effect.sync(() => log.push(n)), { concurrency: 2, discard: true })
    return log.join("")
  }),
  race: Effect.race(
    Effect.zipRight(Effect.yieldNow(), Effect.succeed("left")),
    Effect.zipRight(Effect.yieldNow(), Effect.succeed("right"))
  ),
  timeout: Effect.gen(function* () {
    const answer = Effect.delay(Effect.succeed("in time"), "1 minute")
    return yield* Effect.timeoutTo(answer, {
      duration: "1 minute",
      onSuccess: (value) => value,
      onTimeout: () => "too late"
    })
  }),
  Layer: Effect.gen(function* () {
    class Left extends Context.Tag("quiesce/test/testing/canary.test/Left")<Left, string>() {}
    class Right extends Context.Tag("quiesce/test/testing/canary.test/Right")<Right, string>() {}
    const log: Array<string> = []
    const made = (name: string) =>
      Effect.sync(() => {
        log.push(name)
        return name
      })
    const layer = Layer.merge(Layer.effect(Left, made("l")), Layer.effect(Right, made("r")))
    yield* Effect.provide(Effect.all([Left, Right]), layer)
    return log.join("")
  }),
  Cache: Effect.gen(function* () {
    let lookups = 0
    const cache = yield* Cache.make({
      capacity: 10,
      timeToLive: "1 hour",
      lookup: (key: string) => Effect.as(Effect.yieldNow(), `${key}${++lookups}`)
    })
    const both = yield* Effect.all([cache.get("k"), cache.get("k")], { concurrency: 2 })
    return both.join("")
  }),
  Schedule: Effect.gen(function* () {
    const log: Array<string> = []
    const tick = (name: string) =>
      Effect.repeat(
        Effect.sync(() => log.push(name)),
        Schedule.recurs(1)
      )
    yield* Effect.all([tick("a"), tick("b")], { concurrency: 2 })
    return log.join("")
  }),
  promise: Effect.gen(function* () {
    const log: Array<string> = []
    const run = (name: string) => Effect.promise(async () => log.push(name))
    yield* Effect.all([run("a"), run("b")], { concurrency: 2 })
    return log.join("")
  })
}

/** What the zoo must show with one preemption. A feature with one outcome is one that keeps its order on purpose. */
const seen: { readonly [feature in keyof typeof zoo]: ReadonlyArray<string> } = {
  Deferred: ["left", "right"],
  Queue: ["12", "21"],
  Semaphore: ["1122", "2211"],
  PubSub: ["12", "21"],
  Mailbox: ["12", "21"],
  STM: ["2"],
  "Stream.merge": ["ab", "ba"],
  forEach: ["123", "132", "213"],
  race: ["left", "right"],
  timeout: ["in time", "too late"],
  Layer: ["lr", "rl"],
  Cache: ["k1k1"],
  Schedule: ["aabb", "abba", "bbaa"],
  promise: ["ab", "ba"]
}

describe("canary: zoo", () => {
  for (const [feature, scenario] of Object.entries(zoo)) {
    it.effect(
      `${feature}: every interleaving with one preemption ends, and replays to the same steps and outcome`,
      () =>
        Effect.gen(function* () {
          const runs: Array<{ readonly schedule: string; readonly outcome: string | undefined }> = []
          const report = yield* Explore.check(scenario, {
            invariants: [
              ({ outcome, schedule }) => {
                runs.push({ schedule, outcome })
                return undefined
              }
            ]
          })
          assert.isTrue(report.complete)
          assert.deepStrictEqual(outcomesOf(report), seen[feature])
          const every = Math.max(1, Math.floor(runs.length / 40))
          for (let i = 0; i < runs.length; i += every) {
            const { outcome, schedule: replay = "" } = runs[i] ?? {}
            const first = yield* Explore.check(scenario, { replay })
            const second = yield* Explore.check(scenario, { replay })
            assert.deepStrictEqual([...first.outcomes.keys()], [outcome], replay)
            assert.deepStrictEqual(first, second, replay)
          }
        }),
      slow
    )
  }
})

/** What starts fibers in more than one operation: effect 3.22 hangs when it is interrupted in between. */
const starting: { readonly [combinator: string]: Effect.Effect<unknown, unknown, Sim.Sim> } = {
  "Effect.all": Effect.all([Effect.yieldNow(), Effect.yieldNow()], { concurrency: 2 }),
  "Effect.forEach": Effect.forEach([1, 2, 3], () => Effect.yieldNow(), { concurrency: 2, discard: true }),
  "Effect.zip": Effect.zip(Sim.external("left", { ok: Effect.void }), Effect.yieldNow(), { concurrent: true }),
  "Effect.race": Effect.race(Sim.external("left", { ok: Effect.void }), Effect.yieldNow()),
  "Effect.raceFirst": Effect.raceFirst(Sim.external("left", { ok: Effect.void }), Effect.yieldNow())
}

const interrupted = (effect: Effect.Effect<unknown, unknown, Sim.Sim>) =>
  Effect.gen(function* () {
    const fiber = yield* Sim.fork("call")(effect)
    yield* Sim.interrupt(fiber)
    return Exit.isSuccess(yield* Fiber.await(fiber)) ? "done" : "interrupted"
  })

describe("canary: starts of fibers", () => {
  for (const [combinator, effect] of Object.entries(starting)) {
    it.effect(`${combinator} starts in one step, and is interrupted before and after it`, () =>
      Effect.gen(function* () {
        const everywhere = yield* Explore.check(interrupted(effect), { preemptions: 0 })
        // With another order, too: the interrupted fiber may come before those that it started.
        const preempted = yield* Explore.check(interrupted(effect), { granularity: "suspension", preemptions: 2 })
        for (const report of [everywhere, preempted]) {
          assert.isTrue(report.complete)
          assert.deepStrictEqual(outcomesOf(report), ["done", "interrupted"])
        }
      })
    )

    it.effect(`${combinator} hangs when it is interrupted within its start, and the report says why`, () =>
      Effect.gen(function* () {
        const options = { preemptions: 0, atomicAsync: false } as const
        const { problem } = yield* Effect.flip(Explore.check(interrupted(effect), options))
        assert.match(problem, /^deadlock: main waits for the end of call; call waits for /)
        assert.include(problem, ". Note: call was interrupted while Effect started the fibers of its concurrent")
      })
    )
  }
})
