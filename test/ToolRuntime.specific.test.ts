import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Schedule, Schema } from "effect"
import { Abort, CancelCause, Cancellation, Tool, Toolkit, ToolRuntime } from "quiesce"

// L5: specific beats generic, however the body is composed. Effect strips the typed failures of an interrupted fiber at
// the next `mapError`, `retry`, `either` or concurrent `all`; a late failure is kept with the owner all the same.

class DiskFull extends Schema.TaggedError<DiskFull>("quiesce/test/ToolRuntime.specific.test/DiskFull")("DiskFull", {
  message: Schema.String
}) {}

type Body = Effect.Effect<string, DiskFull, Cancellation.Cancellation>

/** Fails in its own way once it is asked to stop. */
const failsLate = (started: Deferred.Deferred<void>): Body =>
  Abort.fromPromise({
    try: ({ signal }) =>
      new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => reject("ENOSPC"))
        Deferred.unsafeDone(started, Effect.void)
      }),
    catch: () => new DiskFull({ message: "the disk is full" })
  })

/** The same as an operation of a capability: it is stopped, and fails while it cleans up. */
const failsCleaning = (started: Deferred.Deferred<void>): Body =>
  Effect.uninterruptibleMask((restore) =>
    Effect.matchCauseEffect(restore(Effect.zipRight(Deferred.succeed(started, undefined), Effect.never)), {
      onSuccess: () => Effect.succeed("never"),
      onFailure: () => Effect.fail(new DiskFull({ message: "the disk is full" }))
    })
  ).pipe(Cancellation.operation("write"))

const compositions: ReadonlyArray<readonly [string, (body: Body) => Body]> = [
  ["bare", (body) => body],
  ["under mapError", (body) => Effect.mapError(body, (error) => error)],
  ["under retry", (body) => Effect.retry(body, Schedule.recurs(3))],
  ["under either", (body) => Effect.flatMap(Effect.either(body), (either) => either)],
  ["under catchTag", (body) => Effect.catchTag(body, "DiskFull", (error) => Effect.fail(error))],
  ["under exit", (body) => Effect.flatten(Effect.exit(body))],
  ["in a concurrent all", (body) => Effect.as(Effect.all([body, Effect.never], { concurrency: 2 }), "never")],
  ["forked and joined", (body) => Effect.flatMap(Effect.fork(body), (fiber) => fiber)],
  ["under a derived owner", (body) => Cancellation.own(Effect.mapError(body, (error) => error))],
  ["under a deadline", (body) => Cancellation.withDeadline(Effect.retry(body, Schedule.once), { duration: "1 hour" })]
]

const run = (body: (started: Deferred.Deferred<void>) => Body) =>
  Effect.gen(function* () {
    const started = yield* Deferred.make<void>()
    const Writes = Tool.make("writes", {
      description: "Writes",
      parameters: {},
      success: Schema.String,
      failure: DiskFull,
      handler: () => body(started)
    })
    const results = yield* Effect.gen(function* () {
      const call = yield* ToolRuntime.start({ id: "c1", name: "writes", parameters: {} })
      yield* Deferred.await(started)
      yield* call.cancel(CancelCause.user())
      return yield* call.result
    }).pipe(Cancellation.own, Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(Writes) })))
    return results
  })

describe("ToolRuntime (specific beats generic)", () => {
  for (const [kind, body] of [
    ["67, 70: a promise that rejects with its own failure", failsLate],
    ["70: an operation that fails while it cleans up", failsCleaning]
  ] as const) {
    for (const [composition, compose] of compositions) {
      it.effect(`${kind}, ${composition}`, () =>
        Effect.gen(function* () {
          const result = yield* run((started) => compose(body(started)))
          assert.ok(result._tag === "Failure")
          assert.strictEqual(result.code, "DISK_FULL")
          assert.strictEqual(result.name, "DiskFull")
          assert.strictEqual(result.message, "the disk is full")
          assert.strictEqual(result.body, "failed")
          assert.isTrue(result.dispatched)
          assert.isUndefined(result.cause)
        })
      )
    }
  }

  for (const [composition, compose] of compositions) {
    it.effect(`65, 69: a body that ends by the cancellation itself is ABORTED, ${composition}`, () =>
      Effect.gen(function* () {
        const cooperative = (started: Deferred.Deferred<void>): Body =>
          Abort.fromPromise({
            try: ({ signal }) =>
              new Promise<string>((_, reject) => {
                signal.addEventListener("abort", () => reject(signal.reason))
                Deferred.unsafeDone(started, Effect.void)
              }),
            catch: () => new DiskFull({ message: "not the cancellation" })
          })
        const result = yield* run((started) => compose(cooperative(started)))
        assert.ok(result._tag === "Failure")
        assert.strictEqual(result.code, "ABORTED")
        assert.strictEqual(result.body, "interrupted")
      })
    )
  }
})
