/**
 * What every `Model` keeps to, seen from outside: by what the other side of the provider sees of it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, type Scope, Stream } from "effect"
import { Cancellation } from "quiesce"
import { Model } from "quiesce/capability"

/** A model whose answer comes chunk by chunk, as the test lets it. */
export interface World {
  readonly model: Context.Context<Model.Model>
  /** How many requests have come to the other side. */
  readonly requests: Effect.Effect<number>
  /** Waits until there is a request. */
  readonly awaitRequest: Effect.Effect<void>
  /** Lets the chunks before the one at `index` be sent. */
  readonly sendUpTo: (index: number) => Effect.Effect<void>
  /** Waits until the other side sees that nothing is open any more, and gives what it has seen until then. */
  readonly closed: Effect.Effect<void>
  /** What is open now, as far as this side can tell: when a stream has ended it must be nothing. */
  readonly open: Effect.Effect<number>
}

export const request: Model.Request = {
  model: "test-model",
  messages: [{ role: "user", content: [{ type: "text", text: "What is in a.txt?" }] }]
}

/** An answer with a chunk of each kind. */
export const answer: ReadonlyArray<Model.Chunk> = [
  Model.Reasoning.make({ text: "I should look." }),
  Model.Text.make({ text: "Let me " }),
  Model.Text.make({ text: "look." }),
  Model.ToolCallStart.make({ id: "call_1", name: "read_file" }),
  Model.ToolCallArguments.make({ id: "call_1", text: `{"path":` }),
  Model.ToolCallArguments.make({ id: "call_1", text: `"a.txt"}` }),
  Model.Usage.make({ inputTokens: 10, outputTokens: 7 }),
  Model.Finish.make({ reason: "tool-calls" })
]

const boundaries = answer.map((chunk, index) => ({ index, next: chunk._tag }))

/** A consumer that writes down what it gets, and waits before what would come behind `count` chunks. */
const read = (world: World, count: number) =>
  Effect.gen(function* () {
    const received: Array<Model.Chunk> = []
    const arrived = yield* Deferred.make<void>()
    if (count === 0) yield* Deferred.succeed(arrived, undefined)
    const reading = Stream.runForEach(Model.stream(request), (chunk) => {
      received.push(chunk)
      return received.length === count ? Deferred.succeed(arrived, undefined) : Effect.void
    })
    yield* world.sendUpTo(count)
    return { received, reading: Effect.provide(reading, world.model), arrived: Deferred.await(arrived) }
  })

export const modelContract = (
  name: string,
  make: (answer: ReadonlyArray<Model.Chunk>) => Effect.Effect<World, never, Scope.Scope>
): void => {
  describe(`the contract of Model: ${name}`, () => {
    it.scopedLive("streams an answer, and is quiet when its Finish is delivered", () =>
      Effect.gen(function* () {
        const world = yield* make(answer)
        yield* world.sendUpTo(answer.length)
        const received = yield* Stream.mapEffect(Model.stream(request), (chunk) =>
          Effect.map(world.open, (open) => {
            if (chunk._tag === "Finish") assert.strictEqual(open, 0, "the Finish is delivered, and something is open")
            else assert.strictEqual(open, 1)
            return chunk
          })
        ).pipe(Stream.runCollect, Cancellation.own, Effect.provide(world.model))
        assert.deepStrictEqual([...received], answer)
        assert.strictEqual(yield* world.requests, 1)
        yield* world.closed
      })
    )

    it.scopedLive("sends nothing under an owner that is cancelled already", () =>
      Effect.gen(function* () {
        const world = yield* make(answer)
        const reading = Effect.provide(Stream.runDrain(Model.stream(request)), world.model)
        const exit = yield* Effect.exit(Cancellation.ownSignal(reading, AbortSignal.abort()))
        assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
        // In a protected region, too: whoever wants an answer for its clean-up shields it.
        const controller = new AbortController()
        const late = Effect.uninterruptible(
          Effect.zipRight(
            Effect.sync(() => controller.abort()),
            Effect.exit(reading)
          )
        )
        const inside = yield* Cancellation.ownSignal(late, controller.signal).pipe(Effect.exit)
        assert.isTrue(Exit.isFailure(inside) || Exit.isFailure(inside.value))
        assert.strictEqual(yield* world.requests, 0)
        assert.strictEqual(yield* world.open, 0)
      })
    )

    it.scopedLive("sends nothing as long as nobody waits for a chunk", () =>
      Effect.gen(function* () {
        const world = yield* make(answer)
        const taken = yield* Model.stream(request).pipe(
          Stream.take(0),
          Stream.runCollect,
          Cancellation.own,
          Effect.provide(world.model)
        )
        assert.strictEqual(taken.length, 0)
        assert.strictEqual(yield* world.requests, 0)
      })
    )

    describe.each(boundaries)("before chunk $index, $next", ({ index }) => {
      const expectStopped = (world: World, received: ReadonlyArray<Model.Chunk>, exit: Exit.Exit<unknown, unknown>) =>
        Effect.gen(function* () {
          assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause), "a stop is an interruption")
          assert.strictEqual(yield* world.open, 0, "it has ended, and something is open")
          assert.deepStrictEqual(received, answer.slice(0, index))
          yield* world.closed
          yield* world.sendUpTo(answer.length)
          assert.deepStrictEqual(received, answer.slice(0, index), "a chunk came behind the end")
        })

      it.scopedLive("a cancellation of the owner stops it and waits for that", () =>
        Effect.gen(function* () {
          const world = yield* make(answer)
          const controller = new AbortController()
          const { arrived, reading, received } = yield* read(world, index)
          const owned = yield* Effect.fork(Effect.exit(Cancellation.ownSignal(reading, controller.signal)))
          yield* world.awaitRequest
          yield* arrived
          controller.abort()
          yield* expectStopped(world, received, yield* Fiber.join(owned))
        })
      )

      it.scopedLive("an interruption of the consumer stops it and waits for that", () =>
        Effect.gen(function* () {
          const world = yield* make(answer)
          const { arrived, reading, received } = yield* read(world, index)
          const owned = yield* Effect.fork(Cancellation.own(reading))
          yield* world.awaitRequest
          yield* arrived
          yield* expectStopped(world, received, yield* Fiber.interrupt(owned))
        })
      )

      it.scopedLive("a cancellation stops it also where its consumer is in a protected region", () =>
        Effect.gen(function* () {
          const world = yield* make(answer)
          const controller = new AbortController()
          const { arrived, reading, received } = yield* read(world, index)
          const ended = yield* Deferred.make<Exit.Exit<void>>()
          const inside = Effect.flatMap(Effect.exit(reading), (exit) => Deferred.succeed(ended, exit))
          const owned = yield* Effect.fork(Cancellation.ownSignal(Effect.uninterruptible(inside), controller.signal))
          yield* world.awaitRequest
          yield* arrived
          controller.abort()
          yield* expectStopped(world, received, yield* Deferred.await(ended))
          yield* Fiber.await(owned)
        })
      )

      it.scopedLive("the end of the owner stops what a daemon reads, also while it thinks", () =>
        Effect.gen(function* () {
          const world = yield* make(answer)
          const received: Array<Model.Chunk> = []
          yield* world.sendUpTo(index)
          let daemon: Fiber.RuntimeFiber<void> | undefined
          const program = Effect.gen(function* () {
            const thinking = yield* Deferred.make<void>()
            daemon = yield* Model.stream(request).pipe(
              Stream.runForEach((chunk) => {
                received.push(chunk)
                if (received.length < index) return Effect.void
                return Effect.zipRight(Deferred.succeed(thinking, undefined), Effect.never)
              }),
              Effect.forkDaemon
            )
            yield* index === 0 ? world.awaitRequest : Deferred.await(thinking)
          })
          yield* Cancellation.own(Effect.provide(program, world.model))
          assert.strictEqual(yield* world.open, 0, "the owner has ended, and something is open")
          yield* world.closed
          assert.deepStrictEqual(received, answer.slice(0, index))
          if (daemon === undefined) return assert.fail("it was not started")
          // One that waits is told; one that thinks would never look.
          const exit = yield* index === 0 ? Fiber.await(daemon) : Fiber.interrupt(daemon)
          assert.isTrue(Exit.isInterrupted(exit))
          assert.deepStrictEqual(received, answer.slice(0, index))
        })
      )

      it.scopedLive("a consumer that takes no more stops it and waits for that", () =>
        Effect.gen(function* () {
          const world = yield* make(answer)
          yield* world.sendUpTo(index)
          const taken = yield* Model.stream(request).pipe(
            Stream.take(index),
            Stream.runCollect,
            Effect.zipLeft(Effect.map(world.open, (open) => assert.strictEqual(open, 0))),
            Cancellation.own,
            Effect.provide(world.model)
          )
          assert.deepStrictEqual([...taken], answer.slice(0, index))
          yield* world.closed
        })
      )
    })

    it.scopedLive("dies under an owner that has ended, and sends nothing", () =>
      Effect.gen(function* () {
        const world = yield* make(answer)
        const context = yield* Cancellation.own(Effect.context<Cancellation.Cancellation>())
        const exit = yield* Model.stream(request).pipe(
          Stream.runDrain,
          Effect.provide(Context.merge(world.model, context)),
          Effect.exit
        )
        assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /under an owner that has ended/)
        assert.strictEqual(yield* world.requests, 0)
      })
    )

    it.scopedLive("the first cause stays, and is the owner's", () =>
      Effect.gen(function* () {
        const world = yield* make(answer)
        const cause = yield* Cancellation.own(
          Effect.gen(function* () {
            const fiber = yield* Effect.fork(Effect.provide(Stream.runDrain(Model.stream(request)), world.model))
            yield* world.awaitRequest
            yield* Fiber.interrupt(fiber)
            return yield* Cancellation.cause
          })
        )
        assert.strictEqual(cause._tag, "None", "an interruption of a reader is none of its owner")
      })
    )
  })
}
