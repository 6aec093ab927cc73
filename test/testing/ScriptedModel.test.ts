import { assert, describe, it } from "@effect/vitest"
import { Chunk, Deferred, Effect, Exit, Fiber, HashMap, Layer, Logger, Stream, TestClock } from "effect"
import { Cancellation } from "quiesce"
import { Model } from "quiesce/capability"
import { Leaks, ScriptedModel } from "quiesce/testing"
import { modelContract, request, type World } from "../support/contracts/model.js"

const makeWorld = (answer: ReadonlyArray<Model.Chunk>): Effect.Effect<World, never, import("effect").Scope.Scope> =>
  Effect.gen(function* () {
    const gates = yield* Effect.forEach(answer, () => ScriptedModel.gate)
    const steps = answer.flatMap((chunk, i): ScriptedModel.Script => [gates[i]?.wait ?? Effect.never, chunk])
    const scripted = yield* ScriptedModel.make([steps])
    return {
      model: yield* Layer.build(scripted.layer),
      requests: Effect.map(scripted.requests, (requests) => requests.length),
      awaitRequest: Effect.asVoid(scripted.awaitRequest()),
      sendUpTo: (index) => Effect.forEach(gates.slice(0, index), (gate) => gate.open, { discard: true }),
      closed: Effect.map(scripted.running, (running) => assert.strictEqual(running, 0)),
      open: scripted.running
    }
  })

modelContract("scripted", makeWorld)

const text = (text: string) => Model.Text.make({ text })
const finish = Model.Finish.make({ reason: "stop" })

/** All chunks of the answer to one request. */
const ask = (...answers: ReadonlyArray<ScriptedModel.Script>) =>
  Effect.gen(function* () {
    const model = yield* ScriptedModel.make(answers)
    const chunks = yield* Cancellation.own(Effect.provide(Stream.runCollect(Model.stream(request)), model.layer))
    assert.strictEqual(yield* model.running, 0)
    return Chunk.toReadonlyArray(chunks)
  })

const errorOf = (chunks: ReadonlyArray<Model.Chunk>): Model.Problem | undefined => {
  const last = chunks.at(-1)
  assert.strictEqual(chunks.filter(({ _tag }) => _tag === "Finish").length, 1)
  return last?._tag === "Finish" ? last.error : undefined
}

describe("ScriptedModel", () => {
  it.effect("gives one answer after the other, and keeps what it was asked", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel.make([ScriptedModel.reply("one"), ScriptedModel.reply("two")])
      const read = (name: string) => Stream.runCollect(Model.stream({ ...request, model: name }))
      const program = Effect.all([read("a"), read("b"), read("c")])
      const answers = yield* Cancellation.own(Effect.provide(program, model.layer))
      const said = answers.map((chunks) => Model.prefix(Model.assemble(chunks)))
      assert.deepStrictEqual(said, [[{ type: "text", text: "one" }], [{ type: "text", text: "two" }], []])
      assert.deepStrictEqual(
        (yield* model.requests).map(({ model }) => model),
        ["a", "b", "c"]
      )
      assert.match(errorOf([...(answers[2] ?? [])])?.message ?? "", /the script has no answer to request 3/)
    })
  )

  it.effect("answers by what it is asked, if it is given a function", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel.make(({ model }, index) => ScriptedModel.reply(`${model} ${index}`))
      const chunks = yield* Cancellation.own(Effect.provide(Stream.runCollect(Model.stream(request)), model.layer))
      assert.deepStrictEqual([...chunks], [text("test-model 0"), finish])
    })
  )

  it.effect("waits on the clock", () =>
    Effect.gen(function* () {
      const asking = yield* Effect.fork(ask([text("a"), Effect.sleep("1 hour"), ...ScriptedModel.reply("b")]))
      yield* TestClock.adjust("59 minutes")
      assert.isNull(asking.unsafePoll())
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(asking)).length, 3)
    })
  )

  it.effect("stalls until it is stopped", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel.make([[Effect.never]])
      const reading = Effect.provide(Stream.runDrain(Model.stream(request)), model.layer)
      const fiber = yield* Effect.fork(Cancellation.own(reading))
      yield* model.awaitRequest()
      assert.strictEqual(yield* model.running, 1)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      assert.strictEqual(yield* model.running, 0)
    })
  )
})

describe("Model.layer", () => {
  it.effect("ends an answer that has no Finish with one that says so", () =>
    Effect.gen(function* () {
      for (const script of [[text("a")], []]) {
        const chunks = yield* ask(script)
        assert.deepStrictEqual(chunks.slice(0, -1), script)
        assert.deepInclude(errorOf(chunks), { code: "INVALID_RESPONSE", isRetryable: true })
      }
    })
  )

  it.effect("reads nothing behind the first Finish, also when it came in one piece with it", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* ask([text("a"), finish, text("late"), finish]), [text("a"), finish])
      const atOnce = Model.layer(() => Stream.fromChunk(Chunk.make(text("a"), finish, finish, text("late"))))
      const chunks = yield* Cancellation.own(Effect.provide(Stream.runCollect(Model.stream(request)), atOnce))
      assert.deepStrictEqual([...chunks], [text("a"), finish])
    })
  )

  it.effect("228: makes a Finish of a provider that throws or interrupts itself, and logs what it threw", () =>
    Effect.gen(function* () {
      let logged = 0
      const counting = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ logLevel }) => {
          if (logLevel._tag === "Warning") logged++
        })
      )
      const thrown = yield* Effect.provide(ask([text("a"), Effect.die(new Error("no luck"))]), counting)
      assert.deepInclude(errorOf(thrown), { code: "PROVIDER_FAILURE", isRetryable: false })
      assert.match(errorOf(thrown)?.message ?? "", /no luck/)
      assert.strictEqual(logged, 1)
      const interrupted = yield* Effect.provide(ask([Effect.interrupt]), counting)
      assert.match(errorOf(interrupted)?.message ?? "", /interrupted itself/)
      const atOnce = Model.layer(() => {
        throw new Error("no stream at all")
      })
      const none = yield* Cancellation.own(Effect.provide(Stream.runCollect(Model.stream(request)), atOnce))
      assert.match(errorOf([...none])?.message ?? "", /no stream at all/)
    })
  )

  it.effect("228: takes what a provider throws while it is cancelled for no answer", () =>
    Effect.gen(function* () {
      const gate = yield* ScriptedModel.gate
      const model = yield* ScriptedModel.make([[Effect.onInterrupt(gate.wait, () => Effect.die("thrown too late"))]])
      const reading = Effect.provide(Stream.runCollect(Model.stream(request)), model.layer)
      const fiber = yield* Effect.fork(Cancellation.own(reading))
      yield* gate.reached
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
      assert.strictEqual(yield* model.running, 0)
    })
  )

  it.effect("hands on a provider that finishes as aborted although its owner lives", () =>
    Effect.gen(function* () {
      const aborted = Model.Finish.make({ reason: "aborted" })
      assert.deepStrictEqual(yield* ask([text("a"), aborted]), [text("a"), aborted])
    })
  )

  it.effect("228: waits for finalizers that take their time, whoever stops", () =>
    Effect.gen(function* () {
      type Answer = Stream.Stream<Model.Chunk, never, Model.Model | Cancellation.Cancellation>
      const byConsumer = (answer: Answer) => Stream.runDrain(Stream.take(answer, 1))
      const byProvider = (answer: Answer) => Stream.runDrain(answer)
      for (const stop of [byConsumer, byProvider]) {
        const closing = yield* ScriptedModel.gate
        const model = yield* ScriptedModel.make([
          [Effect.addFinalizer(() => closing.wait), ...ScriptedModel.reply("a")]
        ])
        const fiber = yield* Effect.fork(Cancellation.own(Effect.provide(stop(Model.stream(request)), model.layer)))
        yield* closing.reached
        yield* Effect.yieldNow()
        assert.isNull(fiber.unsafePoll(), "ended before the provider")
        yield* closing.open
        yield* Fiber.join(fiber)
      }
    })
  )

  it.effect("191: delivers nothing that comes after the cancellation, while the provider cleans up", () =>
    Effect.gen(function* () {
      const gate = yield* ScriptedModel.gate
      const received: Array<Model.Chunk> = []
      // Deaf to its stop: it goes on sending until it has sent all.
      const deaf = Model.layer(() =>
        Stream.make(text("a"), text("b"), finish).pipe(
          Stream.mapEffect((chunk) =>
            chunk._tag === "Finish" || chunk.text === "a"
              ? Effect.succeed(chunk)
              : Effect.as(Effect.uninterruptible(gate.wait), chunk)
          )
        )
      )
      const controller = new AbortController()
      const reading = Stream.runForEach(Model.stream(request), (chunk) => Effect.sync(() => void received.push(chunk)))
      const ended = yield* Deferred.make<Exit.Exit<void>>()
      const inside = Effect.flatMap(Effect.exit(Effect.provide(reading, deaf)), (exit) => Deferred.succeed(ended, exit))
      const fiber = yield* Effect.fork(Cancellation.ownSignal(Effect.uninterruptible(inside), controller.signal))
      yield* gate.reached
      controller.abort()
      yield* Effect.yieldNow()
      assert.isNull(fiber.unsafePoll(), "the provider still runs")
      yield* gate.open
      assert.isTrue(Exit.isInterrupted(yield* Deferred.await(ended)))
      yield* Fiber.await(fiber)
      assert.deepStrictEqual(received, [text("a")])
    })
  )

  it.effect("191: delivers nothing after the cancellation of what has come before it", () =>
    Effect.gen(function* () {
      const received: Array<Model.Chunk> = []
      const atOnce = Model.layer(() =>
        Stream.fromChunk(Chunk.fromIterable<Model.Chunk>([text("a"), text("b"), finish]))
      )
      const controller = new AbortController()
      const reading = Stream.runForEach(Model.stream(request), (chunk) =>
        Effect.sync(() => {
          received.push(chunk)
          controller.abort()
        })
      )
      const inside = Effect.uninterruptible(Effect.provide(reading, atOnce))
      const exit = yield* Effect.exit(Cancellation.ownSignal(inside, controller.signal))
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(received, [text("a")])
    })
  )

  it.effect("does not pull the provider while the consumer thinks", () =>
    Effect.gen(function* () {
      let pulled = 0
      const counting = Model.layer(() =>
        Stream.make(text("a"), text("b"), finish).pipe(
          Stream.rechunk(1),
          Stream.tap(() => Effect.sync(() => pulled++))
        )
      )
      const seen: Array<number> = []
      const reading = Stream.runForEach(Model.stream(request), () =>
        Effect.zipRight(
          Effect.repeatN(Effect.yieldNow(), 20),
          Effect.sync(() => seen.push(pulled))
        )
      )
      yield* Cancellation.own(Effect.provide(reading, counting))
      assert.deepStrictEqual(seen, [1, 2, 3])
    })
  )

  it.effect(
    "229: does not charge the provider for the time that the consumer thinks, and begins anew with each chunk",
    () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel.make(
          [
            [
              Effect.sleep("50 seconds"),
              text("a"),
              Effect.sleep("50 seconds"),
              ...ScriptedModel.reply("b"),
              Effect.never
            ]
          ],
          { idleTimeout: "1 minute" }
        )
        const reading = Model.stream(request).pipe(
          Stream.tap(() => Effect.sleep("10 minutes")),
          Stream.runCollect
        )
        const fiber = yield* Effect.fork(Cancellation.own(Effect.provide(reading, model.layer)))
        yield* Effect.repeat(TestClock.adjust("10 seconds"), { until: () => fiber.unsafePoll() !== null })
        assert.deepStrictEqual([...(yield* Fiber.join(fiber))], [text("a"), text("b"), finish])
      })
  )

  it.effect("229: stops a provider that is silent, and awaits it", () =>
    Effect.gen(function* () {
      const closing = yield* ScriptedModel.gate
      const model = yield* ScriptedModel.make([[Effect.addFinalizer(() => closing.wait), text("a"), Effect.never]], {
        idleTimeout: "1 minute"
      })
      const reading = Effect.provide(Stream.runCollect(Model.stream(request)), model.layer)
      const fiber = yield* Effect.fork(Cancellation.own(reading))
      yield* model.awaitRequest()
      yield* Effect.repeat(TestClock.adjust("10 seconds"), { times: 12 })
      yield* closing.reached
      assert.isNull(fiber.unsafePoll(), "the provider has not ended")
      yield* closing.open
      const chunks = [...(yield* Fiber.join(fiber))]
      assert.deepStrictEqual(chunks.slice(0, -1), [text("a")])
      assert.deepInclude(errorOf(chunks), { code: "TIMEOUT", isRetryable: true })
      assert.match(errorOf(chunks)?.message ?? "", /nothing for 60000 milliseconds/)
    })
  )

  it.live("leaves no timer, no fiber and no listener", () =>
    Effect.gen(function* () {
      const controller = new AbortController()
      const gate = yield* ScriptedModel.gate
      const model = yield* ScriptedModel.make([ScriptedModel.reply("a"), [gate.wait], [text("a"), Effect.never]], {
        idleTimeout: "1 hour"
      })
      const read = Effect.provide(Model.stream(request).pipe(Stream.take(1), Stream.runDrain), model.layer)
      yield* Leaks.check(Cancellation.own(read))
      const stopped = Effect.gen(function* () {
        const fiber = yield* Effect.fork(Cancellation.ownSignal(read, controller.signal))
        yield* gate.reached
        controller.abort()
        yield* Fiber.await(fiber)
      })
      yield* Leaks.check(stopped, { signals: [controller.signal] })
      yield* Leaks.check(Cancellation.own(read))
    })
  )

  it.effect("runs the provider under the owner and the span of the caller, and what it was built with", () =>
    Effect.gen(function* () {
      let spans: ReadonlyArray<string> = []
      const spying = Model.layer(() =>
        Stream.unwrap(
          Effect.gen(function* () {
            const owner = yield* Cancellation.cause
            assert.strictEqual(owner._tag, "None")
            const span = yield* Effect.currentSpan
            spans = [span.name]
            return Stream.make(finish)
          }).pipe(Effect.orDie)
        )
      )
      yield* Stream.runDrain(Model.stream(request)).pipe(
        Effect.withSpan("the caller's"),
        Cancellation.own,
        Effect.provide(spying)
      )
      assert.deepStrictEqual(spans, ["the caller's"])
    })
  )

  it.effect("says of what a provider throws when its reader goes away that it failed", () =>
    Effect.gen(function* () {
      const messages: Array<unknown> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ annotations, message }) => void messages.push(message, HashMap.size(annotations)))
      )
      const gate = yield* ScriptedModel.gate
      const model = yield* ScriptedModel.make([[Effect.onInterrupt(gate.wait, () => Effect.die("stuck"))]])
      yield* Effect.gen(function* () {
        const reader = yield* Effect.fork(Stream.runDrain(Model.stream(request)))
        yield* gate.reached
        yield* Fiber.interrupt(reader)
      }).pipe(Cancellation.own, Effect.provide(Layer.merge(model.layer, logger)))
      assert.match(String(messages[0]), /"ask a model" failed/)
    })
  )
})
