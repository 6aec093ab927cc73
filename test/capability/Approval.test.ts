import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { Cancellation } from "quiesce"
import { Approval } from "quiesce/capability"

const question = Approval.request({ callId: "c1", tool: "write_file", parameters: { path: "a" }, reason: "writes" })

describe("Approval", () => {
  it("an answer survives a round trip through JSON, and nothing else is one", () => {
    for (const answer of Approval.Answer.literals) {
      assert.strictEqual(Schema.decodeUnknownSync(Approval.Answer)(JSON.parse(JSON.stringify(answer))), answer)
    }
    assert.isFalse(Schema.is(Approval.Answer)("maybe"))
  })

  it.effect("layerConst gives every question the same answer", () =>
    Effect.gen(function* () {
      const answers = yield* Cancellation.own(Effect.all([question, question]))
      assert.deepStrictEqual(answers, ["rejected", "rejected"])
    }).pipe(Effect.provide(Approval.layerConst("rejected")))
  )

  it.effect("layer shows the whole question to whoever answers", () =>
    Effect.gen(function* () {
      const seen: Array<Approval.Request> = []
      const layer = Approval.layer((request) =>
        Effect.as(
          Effect.sync(() => seen.push(request)),
          "allowed-once" as const
        )
      )
      assert.strictEqual(yield* Cancellation.own(question).pipe(Effect.provide(layer)), "allowed-once")
      assert.deepStrictEqual(seen, [{ callId: "c1", tool: "write_file", parameters: { path: "a" }, reason: "writes" }])
    })
  )

  it.effect("40: a cancel withdraws the question, and waits until it is withdrawn", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const asked = yield* Deferred.make<void>()
      const controller = new AbortController()
      const layer = Approval.layer(() =>
        Deferred.succeed(asked, undefined).pipe(
          Effect.zipRight(Effect.never),
          Effect.onInterrupt(() =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => log.push("withdrawn"))
            )
          )
        )
      )
      const fiber = yield* Effect.fork(Cancellation.ownSignal(question, controller.signal).pipe(Effect.provide(layer)))
      yield* Deferred.await(asked)
      controller.abort()
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
      assert.deepStrictEqual(log, ["withdrawn"])
    })
  )

  it.effect("L10: under an owner that was cancelled before, nobody is asked", () =>
    Effect.gen(function* () {
      let asked = 0
      const layer = Approval.layer(() =>
        Effect.as(
          Effect.sync(() => asked++),
          "allowed-once" as const
        )
      )
      const exit = yield* Effect.exit(Cancellation.ownSignal(question, AbortSignal.abort()).pipe(Effect.provide(layer)))
      assert.isTrue(Exit.isInterrupted(exit))
      assert.strictEqual(asked, 0)
    })
  )
})
