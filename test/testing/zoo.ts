/**
 * Programs over what queues fibers in a way of its own, and what must be seen of each with one preemption.
 */
import {
  Cache,
  Chunk,
  Context,
  Deferred,
  Effect,
  Layer,
  Mailbox,
  PubSub,
  Queue,
  Schedule,
  STM,
  Stream,
  TRef
} from "effect"
import type { Sim } from "quiesce/testing"

/** Two fibers, or what does the work of two, over each feature that queues fibers in a way of its own. */
export const zoo: { readonly [feature: string]: Effect.Effect<string, unknown, Sim.Sim> } = {
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
    class Left extends Context.Tag("quiesce/test/testing/zoo/Left")<Left, string>() {}
    class Right extends Context.Tag("quiesce/test/testing/zoo/Right")<Right, string>() {}
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
export const seen: { readonly [feature in keyof typeof zoo]: ReadonlyArray<string> } = {
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
