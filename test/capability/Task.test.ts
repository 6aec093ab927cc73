import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Duration, Effect, Exit, Fiber, Layer, Scope, TestClock } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import { Task } from "quiesce/capability"

/** A layer of tasks whose closing is in the test's hands. */
const tasks = (options?: Task.LayerOptions) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(Task.layer(options), scope)
    return { context, close: Scope.close(scope, Exit.void) }
  })

/** A task that goes on until it is stopped, and takes a step for that. */
const untilStopped = (events: Array<string>) => () =>
  Effect.zipRight(
    Effect.sync(() => void events.push("running")),
    Effect.never
  ).pipe(
    Effect.onInterrupt(() =>
      Effect.zipRight(
        Effect.yieldNow(),
        Effect.sync(() => void events.push("stopped"))
      )
    )
  )

describe("Task", () => {
  it.effect("a task goes on when the caller that started it has ended, and settles as what it came to", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const id = yield* Cancellation.own(
        Task.start({
          label: "count",
          run: (task) =>
            Effect.zipRight(
              Deferred.await(gate),
              Effect.sync(() => task.write(`${task.id} counts`))
            )
        })
      )
      assert.strictEqual(id, "task-1")
      assert.deepStrictEqual(
        (yield* Task.list).map(({ id, label, status }) => [id, label, status]),
        [["task-1", "count", "running"]]
      )
      yield* TestClock.adjust("3 seconds")
      yield* Deferred.succeed(gate, undefined)
      const snapshot = yield* Cancellation.own(Task.wait(id))
      assert.deepStrictEqual(snapshot, {
        id,
        label: "count",
        status: "completed",
        startedAt: 0,
        endedAt: 3000,
        escaped: []
      })
      assert.deepStrictEqual(yield* Task.read(id), { text: "task-1 counts", next: 13, missed: 0 })
      assert.strictEqual(yield* Task.kill(id), "already-finished")
    }).pipe(Effect.provide(Task.layer()))
  )

  it.effect("a failure of a task is told with its message", () =>
    Effect.gen(function* () {
      const failing = yield* Cancellation.own(
        Task.start({ label: "a", run: () => Effect.fail({ message: "no disk", _tag: "Disk" }) })
      )
      const dying = yield* Cancellation.own(Task.start({ label: "b", run: () => Effect.dieMessage("a bug") }))
      const throwing = yield* Cancellation.own(
        Task.start({
          label: "c",
          run: (): Effect.Effect<void> => {
            throw new Error("thrown")
          }
        })
      )
      const itself = yield* Cancellation.own(Task.start({ label: "d", run: () => Effect.interrupt }))
      const seen = yield* Effect.forEach([failing, dying, throwing, itself], (id) => Cancellation.own(Task.wait(id)))
      assert.deepStrictEqual(
        seen.map(({ error, status }) => [status, error]),
        [
          ["failed", "no disk"],
          ["failed", "a bug"],
          ["failed", "thrown"],
          ["failed", "the task interrupted itself"]
        ]
      )
    }).pipe(Effect.provide(Task.layer()))
  )

  it.effect("219. what cannot be started starts nothing and takes no id and no place", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const error = yield* Effect.flip(Cancellation.own(Task.start({ label: " ", run: untilStopped(events) })))
      assert.deepStrictEqual([error.reason, error.code], ["InvalidOptions", "TASK_INVALID_OPTIONS"])
      assert.match(error.message, /label is empty/)
      const exit = yield* Effect.exit(
        Cancellation.ownSignal(Task.start({ label: "late", run: untilStopped(events) }), AbortSignal.abort())
      )
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(yield* Task.list, [])
      const id = yield* Cancellation.own(Task.start({ label: "first", run: untilStopped(events) }))
      assert.strictEqual(id, "task-1")
    }).pipe(Effect.provide(Task.layer({ maxRunning: 1 })))
  )

  it.effect("220. kill: stopping until it is quiet, then killed, with the first cause", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const id = yield* Cancellation.own(Task.start({ label: "watch", run: untilStopped(events) }))
      yield* Effect.yieldNow()
      assert.strictEqual(yield* Task.kill(id, CancelCause.user("enough")), "requested")
      assert.strictEqual((yield* Task.list)[0]?.status, "stopping")
      assert.strictEqual(yield* Task.kill(id, CancelCause.disposed()), "requested")
      const snapshot = yield* Cancellation.own(Task.wait(id))
      assert.strictEqual(snapshot.status, "killed")
      assert.deepStrictEqual(snapshot.cause, CancelCause.user("enough"))
      assert.deepStrictEqual(events, ["running", "stopped"])
      assert.strictEqual(yield* Task.kill(id), "already-finished")
    }).pipe(Effect.provide(Task.layer()))
  )

  it.effect(
    "a task that had finished all the same is not called killed, and one that failed on its own has failed",
    () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const left = Cancellation.operation(
          Effect.onInterrupt(Effect.never, () => Deferred.await(gate)),
          "left behind"
        )
        const finishing = yield* Cancellation.own(
          Task.start({ label: "finishes", run: () => Effect.zipRight(Effect.forkDaemon(left), Effect.yieldNow()) })
        )
        const failing = yield* Cancellation.own(
          Task.start({
            label: "fails",
            run: () => Effect.onInterrupt(Effect.never, () => Effect.dieMessage("could not clean up"))
          })
        )
        yield* Effect.repeatN(Effect.yieldNow(), 5)
        yield* Task.kill(finishing)
        assert.strictEqual((yield* Task.list)[0]?.status, "stopping")
        yield* Task.kill(failing)
        yield* Deferred.succeed(gate, undefined)
        assert.strictEqual((yield* Cancellation.own(Task.wait(finishing))).status, "completed")
        const failed = yield* Cancellation.own(Task.wait(failing))
        assert.deepStrictEqual([failed.status, failed.error], ["failed", "could not clean up"])
      }).pipe(Effect.provide(Task.layer()))
  )

  it.effect("221. a wait that is over its time gives what is known by then, and leaves the task alone", () =>
    Effect.gen(function* () {
      const id = yield* Cancellation.own(Task.start({ label: "watch", run: untilStopped([]) }))
      const waiting = yield* Effect.fork(Cancellation.own(Task.wait(id, { timeout: "1 minute" })))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(waiting)).status, "running")
      assert.strictEqual((yield* Cancellation.own(Task.wait(id, { timeout: 0 }))).status, "running")
      const error = yield* Effect.flip(Cancellation.own(Task.wait(id, { timeout: Duration.days(30) })))
      assert.strictEqual(error.reason, "InvalidOptions")
    }).pipe(Effect.provide(Task.layer()))
  )

  it.effect("221. an interrupted wait leaves the task alone; a task that has settled is answered at once", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const id = yield* Cancellation.own(Task.start({ label: "watch", run: untilStopped(events) }))
      const controller = new AbortController()
      const waiting = yield* Effect.fork(Cancellation.ownSignal(Task.wait(id), controller.signal))
      yield* Effect.yieldNow()
      controller.abort("stop")
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(waiting)))
      assert.strictEqual((yield* Task.list)[0]?.status, "running")
      yield* Task.kill(id)
      yield* Cancellation.own(Task.wait(id))
      assert.strictEqual((yield* Cancellation.own(Task.wait(id))).status, "killed")
    }).pipe(Effect.provide(Task.layer()))
  )

  it.effect("223. closing the layer stops its tasks, waits for them, and nothing starts after it", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const { close, context } = yield* tasks()
      const start = Cancellation.own(Effect.provide(Task.start({ label: "watch", run: untilStopped(events) }), context))
      const id = yield* start
      yield* Effect.yieldNow()
      yield* close
      assert.deepStrictEqual(events, ["running", "stopped"])
      const settled = yield* Cancellation.own(Effect.provide(Task.wait(id), context))
      assert.deepStrictEqual([settled.status, settled.cause?._tag], ["killed", "Disposed"])
      const error = yield* Effect.flip(start)
      assert.deepStrictEqual([error.reason, error.code], ["OwnerEnded", "TASK_OWNER_ENDED"])
      assert.lengthOf(events, 2)
    })
  )

  it.effect(
    "224. no more tasks than the limit: those that are stopping count, and a place is free once one has settled",
    () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const start = Cancellation.own(
          Task.start({ label: "work", run: () => Effect.onInterrupt(Effect.never, () => Deferred.await(gate)) })
        )
        const first = yield* start
        yield* start
        assert.strictEqual((yield* Effect.flip(start)).code, "TASK_TOO_MANY")
        yield* Effect.yieldNow()
        yield* Task.kill(first)
        assert.strictEqual((yield* Effect.flip(start)).reason, "TooMany")
        yield* Deferred.succeed(gate, undefined)
        yield* Cancellation.own(Task.wait(first))
        assert.strictEqual(yield* start, "task-3")
      }).pipe(Effect.provide(Task.layer({ maxRunning: 2 })))
  )

  it.effect("a reader gets what is new to it, and is told how much of it is not kept any more", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const id = yield* Cancellation.own(
        Task.start({
          label: "log",
          run: (task) =>
            Effect.zipRight(
              Effect.sync(() => {
                for (let i = 0; i < 10; i++) task.write(`${i}`)
              }),
              Effect.zipRight(
                Deferred.await(gate),
                Effect.sync(() => task.write("ab😀"))
              )
            )
        })
      )
      yield* Effect.yieldNow()
      assert.deepStrictEqual(yield* Task.read(id), { text: "6789", next: 10, missed: 6 })
      assert.deepStrictEqual(yield* Task.read(id, 8), { text: "89", next: 10, missed: 0 })
      assert.deepStrictEqual(yield* Task.read(id, 10), { text: "", next: 10, missed: 0 })
      yield* Deferred.succeed(gate, undefined)
      yield* Cancellation.own(Task.wait(id))
      assert.deepStrictEqual(yield* Task.read(id, 10), { text: "ab😀", next: 14, missed: 0 })
    }).pipe(Effect.provide(Task.layer({ maxOutput: 4 })))
  )

  it.effect("a task that ended long ago is forgotten", () =>
    Effect.gen(function* () {
      for (let i = 0; i < 3; i++) {
        yield* Cancellation.own(
          Effect.flatMap(Task.start({ label: "short", run: () => Effect.void }), (id) => Task.wait(id))
        )
      }
      assert.deepStrictEqual(
        (yield* Task.list).map(({ id }) => id),
        ["task-2", "task-3"]
      )
      const error = yield* Effect.flip(Task.read("task-1"))
      assert.strictEqual(error.code, "TASK_NOT_FOUND")
      assert.match(error.message, /List the tasks/)
    }).pipe(Effect.provide(Task.layer({ maxEnded: 2 })))
  )

  it.effect("the work has the context that it was started in, and an owner of its own", () =>
    Effect.gen(function* () {
      const signals: Array<AbortSignal> = []
      const own = yield* Cancellation.own(
        Effect.gen(function* () {
          signals.push(yield* Cancellation.signal)
          const id = yield* Task.start({
            label: "look",
            run: () => Effect.map(Cancellation.signal, (signal) => void signals.push(signal))
          })
          yield* Task.wait(id)
          return yield* Cancellation.cause
        })
      )
      assert.isTrue(own._tag === "None")
      assert.notStrictEqual(signals[0], signals[1])
    }).pipe(Effect.provide(Task.layer()))
  )

  it.effect("limits that cannot work are refused when the layer is built", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(Task.layer({ maxRunning: Number.NaN }))))
      assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /maxRunning must be an integer/)
    })
  )
})
