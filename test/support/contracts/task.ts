/**
 * What every `Task` keeps to, seen from outside: by whose work runs.
 *
 * Over the keys of the service: an operation without a case here does not compile, and one that a layer has in excess fails.
 */
import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import { Task } from "quiesce/capability"
import { Leaks } from "quiesce/testing"
import { sweep, sweepWith } from "../sweep.js"

/** A provider whose tasks end when the world says so. */
export interface World {
  readonly layer: Layer.Layer<Task.Task>
  /** The work of the task that is started with it. It goes on until one of the next two ends it, or it is stopped. */
  readonly work: (task: Task.Running) => Effect.Effect<unknown, unknown>
  readonly write: (id: string, text: string) => Effect.Effect<unknown>
  readonly complete: (id: string) => Effect.Effect<unknown>
  readonly fail: (id: string, message: string) => Effect.Effect<unknown>
  /** The ids of the tasks whose work runs, its clean-up included. */
  readonly running: () => ReadonlyArray<string>
}

/** `whenStopped`: what the work does between being asked to stop and its end. */
export type Make = (limits: Task.LayerOptions, whenStopped: Effect.Effect<void>) => World

type Needs = Task.Task | Cancellation.Cancellation
type Run = Effect.Effect<unknown, Task.TaskError, Needs>

const user = CancelCause.user("enough")

/** The operations that can wait, each of the task `id`; the others answer at once. */
export const waiting: {
  readonly [K in Exclude<keyof Task.Service, "read" | "kill" | "list">]: (world: World, id: string) => Run
} = {
  start: (world) => Task.start({ label: "work", run: world.work }),
  wait: (_world, id) => Task.wait(id)
}

const isClean = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)

/** Runs `body` with a service that is closed afterwards: then no work runs. */
const withService = <A, E>(
  { layer, running }: World,
  body: (tasks: Context.Context<Task.Task>, close: Effect.Effect<void>) => Effect.Effect<A, E>
) =>
  Effect.acquireUseRelease(
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      return { tasks: yield* Layer.buildWithScope(layer, scope), close: Scope.close(scope, Exit.void) }
    }),
    ({ close, tasks }) => body(tasks, close),
    ({ close }) => close
  ).pipe(Effect.tap(() => Effect.sync(() => assert.deepStrictEqual(running(), [], "after its layer was closed"))))

/** Kills every task and waits for it. Gives how many there were that had not settled. */
const endAll = (tasks: Context.Context<Task.Task>) =>
  Effect.gen(function* () {
    const { kill, list, wait } = Context.get(tasks, Task.Task)
    const alive = (yield* list).filter(({ status }) => status === "running" || status === "stopping")
    for (const { id } of alive) {
      yield* kill(id)
      yield* Cancellation.own(wait(id))
    }
    return alive.length
  })

/** The tests. `make` gives a world of its own to each. */
export const itKeepsTheContract = (make: Make): void => {
  const started = (world: World) => Cancellation.own(Task.start({ label: "work", run: world.work }))

  it.effect("has these operations and no others", () =>
    withService(make({}, Effect.void), (tasks) =>
      Effect.sync(() => {
        const names = Object.keys(Context.get(tasks, Task.Task)).sort()
        assert.deepStrictEqual(names, [...Object.keys(waiting), "read", "kill", "list"].sort())
      })
    )
  )

  describe.each(Object.entries(waiting))("%s", (name, operation) => {
    it.effect("under a cancelled owner starts nothing, under an ended one dies, in a protected region too", () => {
      const world = make({}, Effect.void)
      return withService(world, (tasks) =>
        Effect.gen(function* () {
          const id = name === "wait" ? yield* started(world) : ""
          yield* Effect.yieldNow()
          const before = world.running()
          const run = operation(world, id)
          for (const each of [run, Effect.uninterruptible(run)]) {
            const exit = yield* Effect.exit(Cancellation.ownSignal(each, AbortSignal.abort()))
            assert.isTrue(Exit.isInterrupted(exit))
            const ended = yield* Effect.scoped(Cancellation.ownScoped)
            const late = yield* Effect.exit(Effect.provide(each, ended))
            assert.isTrue(Exit.isFailure(late) && Cause.isDie(late.cause))
          }
          assert.deepStrictEqual(world.running(), before)
          assert.strictEqual((yield* Task.list).length, before.length)
        }).pipe(Effect.provide(tasks))
      )
    })

    it.live("leaves no fiber, timer or listener, done or stopped", () => {
      const world = make({}, Effect.void)
      const { signal } = new AbortController()
      const controller = new AbortController()
      const program = withService(world, (tasks) =>
        Effect.gen(function* () {
          const id = yield* started(world)
          const stopped = yield* Effect.fork(Cancellation.ownSignal(operation(world, id), controller.signal))
          yield* Effect.repeatN(Effect.yieldNow(), 10)
          controller.abort()
          yield* Fiber.await(stopped)
          yield* world.complete(id)
          yield* Cancellation.ownSignal(operation(world, id), signal)
        }).pipe(Effect.provide(tasks))
      )
      return Leaks.check(program, { signals: [signal, controller.signal] })
    })
  })

  describe("start", () => {
    it.effect("interrupted before any one of its operations, it has handed over, or started nothing", () => {
      const world = make({ maxRunning: 1 }, Effect.void)
      const seen = new Set<string>()
      return withService(world, (tasks) =>
        Effect.gen(function* () {
          const program = Effect.uninterruptibleMask((restore) =>
            Effect.gen(function* () {
              const exit = yield* Effect.exit(restore(Effect.provide(started(world), tasks)))
              yield* Effect.repeatN(Effect.yieldNow(), 5)
              const listed = (yield* Context.get(tasks, Task.Task).list).filter(({ status }) => status === "running")
              assert.deepStrictEqual(
                world.running(),
                listed.map(({ id }) => id),
                "L9: what runs is known"
              )
              if (Exit.isSuccess(exit)) assert.strictEqual(listed[0]?.id, exit.value)
              seen.add(`${exit._tag} ${listed.length}`)
              yield* endAll(tasks)
              return yield* exit
            })
          )
          // Each run needs the only place there is: a start that took it and did not give it back would fail the next.
          const exits = yield* sweep(program)
          assert.deepStrictEqual(
            exits.filter((exit) => !isClean(exit)),
            []
          )
          // Both sides of the commit point.
          assert.includeMembers([...seen], ["Success 1", "Failure 0"])
        })
      )
    })

    it.effect("cancelled by its owner before any one of its operations, the same, and no listener is left", () => {
      const world = make({ maxRunning: 1 }, Effect.void)
      const alive = new Set<number>()
      return withService(world, (tasks) =>
        Effect.gen(function* () {
          const exits = yield* sweepWith(() => {
            const controller = new AbortController()
            const { signal } = controller
            const start = Task.start({ label: "work", run: world.work })
            const program = Effect.uninterruptible(
              Effect.gen(function* () {
                const exit = yield* Effect.exit(
                  Effect.interruptible(Effect.provide(Cancellation.ownSignal(start, signal), tasks))
                )
                assert.strictEqual(getEventListeners(signal, "abort").length, 0, "L10")
                const count = yield* endAll(tasks)
                if (Exit.isSuccess(exit)) assert.strictEqual(count, 1)
                alive.add(count)
                return yield* exit
              })
            )
            return { program, fault: () => controller.abort() }
          })
          assert.deepStrictEqual(
            exits.filter((exit) => !isClean(exit)),
            []
          )
          assert.sameMembers([...alive], [0, 1])
        })
      )
    })

    it.effect("from its commit point the cancellation of who started it does not reach it", () => {
      const world = make({}, Effect.void)
      const controller = new AbortController()
      return withService(world, (tasks) =>
        Effect.gen(function* () {
          let id = ""
          const caller = Effect.gen(function* () {
            id = yield* Task.start({ label: "work", run: world.work })
            controller.abort("too late")
            return yield* Effect.never
          })
          assert.isTrue(Exit.isInterrupted(yield* Effect.exit(Cancellation.ownSignal(caller, controller.signal))))
          yield* Effect.yieldNow()
          assert.deepStrictEqual(world.running(), [id])
          yield* world.complete(id)
          const snapshot = yield* Cancellation.own(Task.wait(id))
          assert.strictEqual(snapshot.status, "completed")
          assert.isUndefined(snapshot.cause)
        }).pipe(Effect.provide(tasks))
      )
    })

    it.effect("no more at once than the limit of its owner: what is stopping counts, another owner's do not", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const world = make({ maxRunning: 2 }, Deferred.await(gate))
        const other = make({ maxRunning: 1 }, Effect.void)
        yield* withService(world, (tasks) =>
          Effect.gen(function* () {
            const first = yield* started(world)
            yield* started(world)
            yield* Effect.yieldNow()
            assert.strictEqual((yield* Effect.flip(started(world))).code, "TASK_TOO_MANY")
            yield* Task.kill(first)
            yield* Effect.yieldNow()
            assert.strictEqual((yield* Effect.flip(started(world))).code, "TASK_TOO_MANY")
            yield* withService(other, (theirs) => Effect.provide(started(other), theirs))
            yield* Deferred.succeed(gate, undefined)
            yield* Cancellation.own(Task.wait(first))
            yield* started(world)
          }).pipe(Effect.provide(tasks))
        )
      })
    )

    it.effect("what cannot work is refused, and takes no id and no place", () => {
      const world = make({ maxRunning: 1 }, Effect.void)
      return withService(world, (tasks) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(Cancellation.own(Task.start({ label: "  ", run: world.work })))
          assert.strictEqual(error.code, "TASK_INVALID_OPTIONS")
          assert.deepStrictEqual(yield* Task.list, [])
          assert.strictEqual(yield* started(world), "task-1")
        }).pipe(Effect.provide(tasks))
      )
    })
  })

  describe("wait", () => {
    it.effect("interrupted or cancelled before any one of its operations, it leaves the task alone", () => {
      const world = make({}, Effect.void)
      return withService(world, (tasks) =>
        Effect.gen(function* () {
          const id = yield* Effect.provide(started(world), tasks)
          yield* Effect.yieldNow()
          const exits = yield* sweepWith(() => {
            const controller = new AbortController()
            const { signal } = controller
            const wait = Effect.provide(Task.wait(id, { timeout: "1 millis" }), tasks)
            const program = Effect.uninterruptible(
              Effect.gen(function* () {
                const exit = yield* Effect.exit(Effect.interruptible(Cancellation.ownSignal(wait, signal)))
                assert.strictEqual(getEventListeners(signal, "abort").length, 0, "L10")
                assert.deepStrictEqual(world.running(), [id])
                return yield* exit
              })
            )
            return {
              program,
              fault: (main) => {
                controller.abort()
                main.unsafeInterruptAsFork(main.id())
              }
            }
          })
          assert.isTrue(exits.some(Exit.isInterrupted))
          assert.deepStrictEqual(
            exits.filter((exit) => !isClean(exit)),
            []
          )
          yield* world.complete(id)
          const { status } = yield* Cancellation.own(Effect.provide(Task.wait(id), tasks))
          assert.strictEqual(status, "completed")
        })
      )
    })

    it.effect("all who wait are told once it has settled, and who comes later at once", () => {
      const world = make({}, Effect.void)
      return withService(world, (tasks) =>
        Effect.gen(function* () {
          const id = yield* started(world)
          const waiters = yield* Effect.forEach([1, 2, 3], () => Effect.fork(Cancellation.own(Task.wait(id))))
          yield* Effect.repeatN(Effect.yieldNow(), 5)
          assert.deepStrictEqual(
            waiters.map((fiber) => fiber.unsafePoll()),
            [null, null, null]
          )
          yield* world.fail(id, "no disk")
          for (const waiter of waiters) {
            assert.deepInclude(yield* Fiber.join(waiter), { id, status: "failed", error: "no disk" })
          }
          assert.strictEqual((yield* Cancellation.own(Task.wait(id))).status, "failed")
          assert.strictEqual((yield* Effect.flip(Cancellation.own(Task.wait("task-99")))).code, "TASK_NOT_FOUND")
        }).pipe(Effect.provide(tasks))
      )
    })
  })

  it.effect("kill asks, the first cause stays, and it is killed when nothing of it runs any more", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const world = make({}, Deferred.await(gate))
      yield* withService(world, (tasks) =>
        Effect.gen(function* () {
          const id = yield* started(world)
          yield* Effect.yieldNow()
          assert.strictEqual(yield* Task.kill(id, user), "requested")
          assert.strictEqual(yield* Task.kill(id, CancelCause.disposed()), "requested")
          const waiter = yield* Effect.fork(Cancellation.own(Task.wait(id)))
          yield* Effect.repeatN(Effect.yieldNow(), 5)
          assert.isNull(waiter.unsafePoll())
          assert.strictEqual((yield* Task.list)[0]?.status, "stopping")
          assert.deepStrictEqual(world.running(), [id])
          yield* Deferred.succeed(gate, undefined)
          assert.deepInclude(yield* Fiber.join(waiter), { status: "killed", cause: user })
          assert.deepStrictEqual(world.running(), [])
          assert.strictEqual(yield* Task.kill(id), "already-finished")
          assert.strictEqual((yield* Effect.flip(Task.kill("task-99"))).code, "TASK_NOT_FOUND")
        }).pipe(Effect.provide(tasks))
      )
    })
  )

  it.effect("read gives what is new to its reader", () => {
    const world = make({ maxOutput: 4 }, Effect.void)
    return withService(world, (tasks) =>
      Effect.gen(function* () {
        const id = yield* started(world)
        yield* world.write(id, "abcdef")
        yield* Effect.yieldNow()
        assert.deepStrictEqual(yield* Task.read(id), { text: "cdef", next: 6, missed: 2 })
        yield* world.write(id, "gh")
        assert.deepStrictEqual(yield* Task.read(id, 6), { text: "gh", next: 8, missed: 0 })
        assert.strictEqual((yield* Effect.flip(Task.read("task-99"))).code, "TASK_NOT_FOUND")
      }).pipe(Effect.provide(tasks))
    )
  })

  it.effect("closing the layer stops every task, waits for it, and nothing starts after that", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const world = make({}, Deferred.await(gate))
      yield* withService(world, (tasks, close) =>
        Effect.gen(function* () {
          const id = yield* started(world)
          yield* Effect.yieldNow()
          const closing = yield* Effect.fork(close)
          yield* Effect.repeatN(Effect.yieldNow(), 5)
          assert.isNull(closing.unsafePoll())
          assert.deepStrictEqual(world.running(), [id])
          yield* Deferred.succeed(gate, undefined)
          yield* Fiber.join(closing)
          assert.deepStrictEqual(world.running(), [])
          const snapshot = yield* Cancellation.own(Task.wait(id))
          assert.deepStrictEqual([snapshot.status, snapshot.cause?._tag], ["killed", "Disposed"])
          assert.strictEqual((yield* Effect.flip(started(world))).code, "TASK_OWNER_ENDED")
        }).pipe(Effect.provide(tasks))
      )
    })
  )
}
