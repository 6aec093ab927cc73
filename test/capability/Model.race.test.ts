import { assert, describe } from "@effect/vitest"
import { Cause, Chunk, Effect, Exit, Fiber, Stream } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import { Model } from "quiesce/capability"
import { ScriptedModel, Sim } from "quiesce/testing"
import { it } from "quiesce/testing/Vitest"
import { request } from "../support/contracts/model.js"

/** A provider that is seen from outside: it opens something, and takes a step to close it. */
class Provider {
  open = 0

  readonly connect = Effect.acquireRelease(
    Effect.sync(() => void this.open++),
    () =>
      Effect.zipRight(
        Effect.yieldNow(),
        Effect.sync(() => void this.open--)
      )
  )
}

type Fault = (context: {
  readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
  readonly controller: AbortController
}) => Effect.Effect<void, never, Sim.Sim>

/** The exit of a reader, in which an assertion may have failed. */
const awaitClean = (fiber: Fiber.RuntimeFiber<void>): Effect.Effect<Exit.Exit<void>> =>
  Effect.flatMap(Fiber.await(fiber), (exit) =>
    Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause) ? Effect.failCause(exit.cause) : Effect.succeed(exit)
  )

/** A chunk and a Finish, each nearly as late as the watchdog barks, and somebody who may stop it. */
const scenario = (fault: Fault) =>
  Effect.gen(function* () {
    const provider = new Provider()
    const controller = new AbortController()
    const late = Effect.sleep("9 millis")
    const model = yield* ScriptedModel.make(
      [[provider.connect, late, Model.Text.make({ text: "a" }), late, Model.Finish.make({ reason: "stop" })]],
      {
        idleTimeout: "10 millis"
      }
    )
    const received: Array<Model.Chunk> = []
    let openAtEnd: number | undefined
    const reading = Stream.runForEach(Model.stream(request), (chunk) =>
      Effect.sync(() => {
        assert.isFalse(controller.signal.aborted, "D3: a chunk came after the cancellation")
        if (chunk._tag === "Finish") assert.strictEqual(provider.open, 0, "D4: the Finish came before the end")
        received.push(chunk)
      })
    ).pipe(
      Effect.onExit(() =>
        Effect.sync(() => {
          openAtEnd = provider.open
        })
      )
    )
    const fiber = yield* Sim.fork("reader")(
      Cancellation.ownSignal(Effect.provide(reading, model.layer), controller.signal)
    )
    yield* fault({ fiber, controller })
    const exit = yield* awaitClean(fiber)
    assert.strictEqual(provider.open, 0, "L3: it has ended, and the provider has not")
    assert.strictEqual(openAtEnd ?? 0, 0, "D5: the stream has ended before the provider")
    const ends = received.flatMap((chunk) => (chunk._tag === "Finish" ? [chunk.error?.code ?? chunk.reason] : []))
    assert.isAtMost(ends.length, 1)
    if (ends.length > 0) assert.strictEqual(received.at(-1)?._tag, "Finish", "D4: something came behind the Finish")
    else assert.isTrue(Exit.isInterrupted(exit), "D4: it has ended without a Finish")
    return `${ends[0] ?? "stopped"} after ${received.length - ends.length}`
  })

/** All of an answer in one piece, for a reader that no interruption reaches. */
const atOnce = Effect.gen(function* () {
  const chunks = Chunk.fromIterable<Model.Chunk>([
    Model.Text.make({ text: "a" }),
    Model.Text.make({ text: "b" }),
    Model.Finish.make({ reason: "stop" })
  ])
  const controller = new AbortController()
  const received: Array<Model.Chunk> = []
  let wasCancelled = false
  const reading = Stream.runForEach(Model.stream(request), (chunk) =>
    Effect.sync(() => {
      assert.isFalse(wasCancelled, "D3: a chunk was handed over that was asked for after the cancellation")
      received.push(chunk)
      wasCancelled = controller.signal.aborted
    })
  )
  const layer = Model.layer(() => Stream.fromChunk(chunks), { idleTimeout: Number.POSITIVE_INFINITY })
  const owned = Cancellation.ownSignal(Effect.uninterruptible(Effect.provide(reading, layer)), controller.signal)
  const fiber = yield* Sim.fork("reader")(owned)
  yield* Sim.abort(controller, CancelCause.user())
  yield* awaitClean(fiber)
  return `${received.length} of 3`
})

describe("Model (races)", () => {
  const byOwner = () => scenario(({ controller }) => Sim.abort(controller, CancelCause.user()))
  const byFiber = () => scenario(({ fiber }) => Sim.interrupt(fiber))
  const inTime = ["stop after 1", "stopped after 0", "stopped after 1"]

  it.explore(
    "229: a chunk, a Finish, the watchdog and a cancellation of the owner, in every order",
    byOwner,
    // Timers fire in their order, at any time: two of them have to fire early for the watchdog to be first.
    {
      timers: "any",
      preemptions: 2,
      granularity: "suspension",
      expect: ["TIMEOUT after 0", "TIMEOUT after 1", ...inTime]
    },
    { timeout: 180_000 }
  )

  it.explore(
    "the owner is cancelled before every operation",
    byOwner,
    { preemptions: 0, expect: inTime },
    { timeout: 180_000 }
  )

  it.explore("the owner is cancelled while a piece of several chunks is handed over", () => atOnce, {
    preemptions: 0,
    expect: ["0 of 3", "1 of 3", "2 of 3", "3 of 3"]
  })

  it.explore("the reader is interrupted wherever a fiber waits", byFiber, { granularity: "suspension", expect: inTime })
})
