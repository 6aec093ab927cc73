import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { CancelCause, Cancellation, Handoff } from "quiesce"

/** Work whose parts are seen from outside. */
class Seen {
  readonly events: Array<string> = []
  published: Handoff.HandedOver | undefined

  readonly note = (event: string) => Effect.sync(() => void this.events.push(event))

  readonly publish = (_work: unknown, handedOver: Handoff.HandedOver): string => {
    this.events.push("published")
    this.published = handedOver
    return "job-1"
  }

  /** A resource of the work whose release takes some steps. */
  readonly resource = Effect.acquireRelease(this.note("acquired"), () =>
    Effect.zipRight(Effect.yieldNow(), this.note("released"))
  )
}

const user = CancelCause.user("enough")

/** The owner of a service, and how that service is closed. */
const service = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const owner = yield* Scope.extend(Cancellation.ownScoped, scope)
  return { owner, close: Scope.close(scope, Exit.void) }
})

describe("Handoff", () => {
  it.effect("work that was handed over goes on when its caller has ended", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { close, owner } = yield* service
      const start = Effect.zipRight(seen.resource, Effect.forkScoped(Effect.never))
      const id = yield* Cancellation.own(Handoff.make({ owner, start, publish: seen.publish }))
      assert.strictEqual(id, "job-1")
      yield* Effect.yieldNow()
      assert.deepStrictEqual(seen.events, ["acquired", "published"])
      yield* close
      assert.deepStrictEqual(seen.events, ["acquired", "published", "released"])
      assert.strictEqual(seen.published?.cause()?._tag, "Disposed")
    })
  )

  it.effect("before the commit point the caller's cancellation rolls everything back, and is answered after that", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { owner } = yield* service
      const started = yield* Deferred.make<void>()
      const start = Effect.zipRight(seen.resource, Effect.zipRight(Deferred.succeed(started, undefined), Effect.never))
      const caller = yield* Effect.fork(Cancellation.own(Handoff.make({ owner, start, publish: seen.publish })))
      yield* Deferred.await(started)
      const exit = yield* Fiber.interrupt(caller)
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(seen.events, ["acquired", "released"])
    })
  )

  it.effect("before the commit point a signal of the caller rolls back too, also in a protected region", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { owner } = yield* service
      const controller = new AbortController()
      const start = Effect.zipRight(
        seen.resource,
        Effect.zipRight(
          Effect.sync(() => controller.abort("stop")),
          Effect.never
        )
      )
      const handoff = Effect.uninterruptible(Handoff.make({ owner, start, publish: seen.publish }))
      const exit = yield* Effect.exit(Cancellation.ownSignal(handoff, controller.signal))
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(seen.events, ["acquired", "released"])
    })
  )

  it.effect("from the commit point the caller's cancellation does not reach the work", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { close, owner } = yield* service
      const controller = new AbortController()
      const start = Effect.zipRight(seen.resource, Cancellation.signal)
      const handoff = Handoff.make({
        owner,
        start,
        publish: (signal, handedOver) => {
          seen.publish(signal, handedOver)
          return signal
        }
      })
      const program = Effect.flatMap(handoff, (signal) =>
        Effect.sync(() => {
          controller.abort("too late")
          return signal.aborted
        })
      )
      assert.isFalse(yield* Cancellation.ownSignal(program, controller.signal))
      assert.deepStrictEqual(seen.events, ["acquired", "published"])
      yield* close
    })
  )

  it.effect("an interruption between the commit and the caller's next step undoes nothing", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { close, owner } = yield* service
      let interruptCaller = () => {}
      const handoff = Handoff.make({
        owner,
        start: Effect.zipRight(seen.resource, Effect.yieldNow()),
        publish: (work, handedOver) => {
          interruptCaller()
          return seen.publish(work, handedOver)
        }
      })
      const caller = yield* Effect.fork(Cancellation.own(handoff))
      interruptCaller = () => caller.unsafeInterruptAsFork(caller.id())
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(caller)))
      assert.deepStrictEqual(seen.events, ["acquired", "published"])
      yield* close
      assert.deepStrictEqual(seen.events, ["acquired", "published", "released"])
    })
  )

  it.effect(
    "the work is an owner of its own: an operation under it outlives the caller, and is stopped with the work",
    () =>
      Effect.gen(function* () {
        const seen = new Seen()
        const { close, owner } = yield* service
        const body = Effect.never.pipe(
          Effect.onInterrupt(() => seen.note("stopped")),
          Cancellation.operation("wait")
        )
        yield* Cancellation.own(Handoff.make({ owner, start: Effect.forkScoped(body), publish: seen.publish }))
        yield* Effect.yieldNow()
        assert.isTrue(seen.published?.cancel(user))
        assert.isFalse(seen.published?.cancel(CancelCause.disposed()), "L6: the first cause stays")
        yield* seen.published?.awaitEnd ?? Effect.void
        assert.deepStrictEqual(seen.published?.cause(), user)
        assert.deepStrictEqual(seen.events, ["published", "stopped"])
        yield* close
      })
  )

  it.effect("work that ends by itself is not cancelled: its scope is closed, and its signal does not abort", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { owner } = yield* service
      const start = Effect.zipRight(seen.resource, Cancellation.signal)
      const signal = yield* Cancellation.own(
        Handoff.make({
          owner,
          start,
          publish: (signal, handedOver) => {
            seen.publish(signal, handedOver)
            return signal
          }
        })
      )
      seen.published?.finish()
      seen.published?.finish()
      yield* seen.published?.awaitEnd ?? Effect.void
      assert.deepStrictEqual(seen.events, ["acquired", "published", "released"])
      assert.isFalse(signal.aborted)
      assert.isUndefined(seen.published?.cause())
    })
  )

  it.effect("when the new owner is cancelled first, the work is rolled back and the caller is told", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { close, owner } = yield* service
      const started = yield* Deferred.make<void>()
      const start = Effect.zipRight(seen.resource, Effect.zipRight(Deferred.succeed(started, undefined), Effect.never))
      const caller = yield* Effect.fork(Cancellation.own(Handoff.make({ owner, start, publish: seen.publish })))
      yield* Deferred.await(started)
      yield* close
      const error = yield* Effect.flip(Fiber.join(caller))
      assert.deepStrictEqual([error._tag, error.code], ["OwnerEnded", "OWNER_ENDED"])
      assert.deepStrictEqual(seen.events, ["acquired", "released"])
      const again = yield* Effect.flip(
        Cancellation.own(Handoff.make({ owner, start: seen.resource, publish: seen.publish }))
      )
      assert.strictEqual(again._tag, "OwnerEnded")
      assert.lengthOf(seen.events, 2)
    })
  )

  it.effect("a caller that is cancelled already starts nothing", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { owner } = yield* service
      const handoff = Handoff.make({ owner, start: seen.resource, publish: seen.publish })
      const exit = yield* Effect.exit(Cancellation.ownSignal(handoff, AbortSignal.abort()))
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(seen.events, [])
    })
  )

  it.effect("a failure of the start stays what it is, and what had been started is undone", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { owner } = yield* service
      const start = Effect.zipRight(seen.resource, Effect.fail("no room"))
      const error = yield* Effect.flip(Cancellation.own(Handoff.make({ owner, start, publish: seen.publish })))
      assert.strictEqual(error, "no room")
      assert.deepStrictEqual(seen.events, ["acquired", "released"])
    })
  )

  it.effect("work that had started when the cancel came is undone by `rollback`, before its scope is closed", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { owner } = yield* service
      const controller = new AbortController()
      // The last step of the start: it cannot be stopped any more, and is not yet committed.
      const start = Effect.uninterruptible(
        Effect.zipRight(
          seen.resource,
          Effect.sync(() => {
            controller.abort("stop")
            return "work"
          })
        )
      )
      const handoff = Handoff.make({
        owner,
        start,
        publish: seen.publish,
        rollback: (work) => Effect.zipRight(Effect.yieldNow(), seen.note(`undo ${work}`))
      })
      const exit = yield* Effect.exit(Cancellation.ownSignal(handoff, controller.signal))
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(seen.events, ["acquired", "undo work", "released"])
    })
  )

  it.effect("a `publish` that throws is a defect, and the work is rolled back", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { owner } = yield* service
      const exit = yield* Effect.exit(
        Cancellation.own(
          Handoff.make({
            owner,
            start: seen.resource,
            publish: () => {
              throw new Error("the table is full")
            },
            rollback: () => seen.note("undo")
          })
        )
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
      assert.deepStrictEqual(seen.events, ["acquired", "undo", "released"])
    })
  )

  it.effect("a start that interrupts itself, with nobody cancelling, is no cancellation of an owner", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { owner } = yield* service
      const handoff = Handoff.make({ owner, start: Effect.interrupt, publish: seen.publish })
      assert.isTrue(Exit.isInterrupted(yield* Effect.exit(Cancellation.own(handoff))))
    })
  )

  it.effect("clean-up of a cancelled caller may hand work over", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { close, owner } = yield* service
      const controller = new AbortController()
      const handoff = Handoff.make({
        owner,
        start: Effect.zipRight(seen.resource, Effect.yieldNow()),
        publish: seen.publish
      })
      const program = Effect.ensuring(
        Effect.zipRight(
          Effect.sync(() => controller.abort("stop")),
          Effect.never
        ),
        Effect.orDie(handoff)
      )
      yield* Effect.exit(Cancellation.ownSignal(program, controller.signal))
      assert.deepStrictEqual(seen.events, ["acquired", "published"])
      yield* close
    })
  )

  it.effect("what could not be stopped in a rollback is known to the caller's owner, later than that to the work", () =>
    Effect.gen(function* () {
      const seen = new Seen()
      const { close, owner } = yield* service
      const escaping = Effect.acquireRelease(Effect.void, () =>
        Effect.flatMap(Effect.serviceOption(Cancellation.Cancellation), (owner) =>
          owner._tag === "None"
            ? Effect.void
            : Effect.provideService(Cancellation.recordEscape("process 7"), Cancellation.Cancellation, owner.value)
        )
      )
      yield* Cancellation.own(Handoff.make({ owner, start: escaping, publish: seen.publish }))
      seen.published?.finish()
      yield* seen.published?.awaitEnd ?? Effect.void
      assert.deepStrictEqual(seen.published?.escaped(), ["process 7"])
      yield* close
    })
  )
})
