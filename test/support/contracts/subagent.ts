/**
 * What every `Subagent` keeps to, seen from outside: by whose turn runs.
 *
 * Over the keys of the service: an operation without a case here does not compile, and one that a layer has in excess fails.
 */
import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import { Subagent } from "quiesce/capability"
import { Leaks } from "quiesce/testing"
import { settle } from "../agents.js"
import { sweep, sweepWith } from "../sweep.js"

/** A provider whose children rest when the world says so. It has one profile, `worker`. */
export interface World {
  readonly layer: Layer.Layer<Subagent.Subagent>
  /** Lets the turn that has read `message` end with a result. */
  readonly end: (message: string, result: Subagent.Result) => Effect.Effect<unknown>
  /** The messages whose turns run, their clean-up included. */
  readonly running: () => ReadonlyArray<string>
  /** How many children there is anything left of. */
  readonly alive: () => number
}

export interface Setup {
  readonly maxChildren?: number
  /** What a start does before its commit point. */
  readonly whenStarted?: Effect.Effect<void>
  /** What a turn does between being asked to stop and its end. */
  readonly whenStopped?: Effect.Effect<void>
  /** What the disposal of a child does last. */
  readonly whenDisposed?: Effect.Effect<void>
}

export type Make = (setup: Setup) => World

type Needs = Subagent.Subagent | Cancellation.Cancellation
type Run = Effect.Effect<unknown, Subagent.SubagentError, Needs>

const user = CancelCause.user("enough")
const worker = { profile: "worker", task: "work" }
const done: Subagent.Result = { outcome: "completed", output: "Done." }

/** The operations that can wait, each of the child `id`; the others answer at once. */
export const waiting: { readonly [K in Exclude<keyof Subagent.Service, "interrupt" | "list">]: (id: string) => Run } = {
  start: () => Subagent.start({ ...worker, attachment: "detached" }),
  send: (id) => Subagent.send(id, "more"),
  wait: (id) => Subagent.wait(id),
  dispose: (id) => Subagent.dispose(id)
}

const isClean = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)

const detached = (task: string) => Cancellation.own(Subagent.start({ ...worker, task, attachment: "detached" }))
const awaited = (id: string) => Cancellation.own(Subagent.wait(id))
const statuses = Effect.map(Subagent.list, (children) => children.map(({ status }) => status))

/** Runs `body` with a service that is closed afterwards: then nothing of a child is left. */
const withService = <A, E>(
  { alive, layer, running }: World,
  body: (subagents: Context.Context<Subagent.Subagent>, close: Effect.Effect<void>) => Effect.Effect<A, E>
) =>
  Effect.acquireUseRelease(
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      return { subagents: yield* Layer.buildWithScope(layer, scope), close: Scope.close(scope, Exit.void) }
    }),
    ({ close, subagents }) => body(subagents, close),
    ({ close }) => close
  ).pipe(
    Effect.tap(() =>
      Effect.sync(() => {
        assert.deepStrictEqual(running(), [], "after its layer was closed")
        assert.strictEqual(alive(), 0, "after its layer was closed")
      })
    )
  )

const provided = (world: World, body: Effect.Effect<unknown, unknown, Subagent.Subagent>) =>
  withService(world, (subagents) => Effect.provide(body, subagents))

/** Disposes of every child. Gives how many there were that had not ended. */
const endAll = Effect.gen(function* () {
  const children = (yield* Subagent.list).filter(({ status }) => status !== "disposed")
  for (const { id } of children) yield* Cancellation.own(Subagent.dispose(id))
  return children.length
})

/** The tests. `make` gives a world of its own to each. */
export const itKeepsTheContract = (make: Make): void => {
  it.effect("has these operations and no others", () =>
    withService(make({}), (subagents) =>
      Effect.sync(() => {
        const names = Object.keys(Context.get(subagents, Subagent.Subagent)).sort()
        assert.deepStrictEqual(names, [...Object.keys(waiting), "interrupt", "list"].sort())
      })
    )
  )

  describe.each(Object.entries(waiting))("%s", (name, operation) => {
    it.effect("under a cancelled owner does nothing, under an ended one dies", () => {
      const world = make({})
      return provided(
        world,
        Effect.gen(function* () {
          const id = name === "start" ? "" : yield* detached("first")
          yield* settle
          const before = [world.running(), yield* statuses]
          const run = operation(id)
          const exit = yield* Effect.exit(Cancellation.ownSignal(run, AbortSignal.abort()))
          assert.isTrue(Exit.isInterrupted(exit))
          const ended = yield* Effect.scoped(Cancellation.ownScoped)
          const late = yield* Effect.exit(Effect.provide(run, ended))
          assert.isTrue(Exit.isFailure(late) && Cause.isDie(late.cause))
          assert.deepStrictEqual([world.running(), yield* statuses], before)
        })
      )
    })

    it.live("leaves no fiber, timer or listener, done or stopped", () => {
      const world = make({})
      const { signal } = new AbortController()
      const controller = new AbortController()
      const program = provided(
        world,
        Effect.gen(function* () {
          const id = yield* detached("first")
          const stopped = yield* Effect.fork(Cancellation.ownSignal(operation(id), controller.signal))
          yield* settle
          controller.abort()
          yield* Fiber.await(stopped)
          yield* world.end("first", done)
          yield* world.end("more", done)
          yield* awaited(id)
          if (name !== "send" || (yield* statuses)[0] !== "disposed")
            yield* Cancellation.ownSignal(operation(id), signal)
          yield* endAll
        })
      )
      return Leaks.check(program, { signals: [signal, controller.signal] })
    })

    if (name === "start") return
    it.effect("of a child that there is not fails", () =>
      provided(
        make({}),
        Effect.gen(function* () {
          const error = yield* Effect.flip(Cancellation.own(operation("worker-9")))
          assert.strictEqual(error.code, "SUBAGENT_NOT_FOUND")
        })
      )
    )
  })

  describe("start", () => {
    it.effect("231. interrupted before any one of its operations, it has published, or left nothing", () => {
      const world = make({ maxChildren: 1, whenStarted: Effect.yieldNow() })
      const seen = new Set<string>()
      return provided(
        world,
        Effect.gen(function* () {
          const subagents = yield* Effect.context<Subagent.Subagent>()
          const program = Effect.uninterruptibleMask((restore) =>
            Effect.gen(function* () {
              const exit = yield* Effect.exit(restore(detached("work")))
              const listed = (yield* Subagent.list).filter(({ status }) => status !== "disposed")
              assert.strictEqual(world.alive(), listed.length, "L9: what is there is known")
              if (Exit.isSuccess(exit)) assert.strictEqual(listed[0]?.id, exit.value)
              seen.add(`${exit._tag} ${listed.length}`)
              yield* endAll
              return yield* exit
            }).pipe(Effect.provide(subagents))
          )
          // Each run needs the only place there is: a start that took it and did not give it back would fail the next.
          const exits = yield* sweep(program)
          assert.deepStrictEqual(
            exits.filter((exit) => !isClean(exit)),
            []
          )
          assert.includeMembers([...seen], ["Success 1", "Failure 0"])
        })
      )
    })

    it.effect("231. cancelled by its owner before any one of its operations, an attached child is gone with it", () => {
      const world = make({ maxChildren: 1, whenStarted: Effect.yieldNow() })
      const published = new Set<number>()
      return provided(
        world,
        Effect.gen(function* () {
          const subagents = yield* Effect.context<Subagent.Subagent>()
          let known = 0
          const exits = yield* sweepWith(() => {
            const controller = new AbortController()
            const { signal } = controller
            const program = Effect.uninterruptible(
              Effect.gen(function* () {
                const run = Effect.zipRight(Subagent.start(worker), settle)
                const exit = yield* Effect.exit(Effect.interruptible(Cancellation.ownSignal(run, signal)))
                assert.strictEqual(getEventListeners(signal, "abort").length, 0, "L10")
                assert.strictEqual(world.alive(), 0, "L3: it is gone before its owner has ended")
                const children = yield* Subagent.list
                published.add(children.length - known)
                known = children.length
                return yield* exit
              }).pipe(Effect.provide(subagents))
            )
            return { program, fault: () => controller.abort() }
          })
          assert.deepStrictEqual(
            exits.filter((exit) => !isClean(exit)),
            []
          )
          assert.sameMembers([...published], [0, 1])
          const aborted = (yield* Subagent.list).filter(({ result }) => result?.outcome === "aborted")
          assert.strictEqual(aborted.length, known)
        })
      )
    })

    it.effect("an attached child ends with its owner, a detached one goes on", () => {
      const world = make({})
      return provided(
        world,
        Effect.gen(function* () {
          yield* Cancellation.own(
            Effect.gen(function* () {
              yield* Subagent.start({ ...worker, task: "attached" })
              yield* Subagent.start({ ...worker, task: "detached", attachment: "detached" })
              yield* settle
              assert.sameMembers([...world.running()], ["attached", "detached"])
            })
          )
          assert.deepStrictEqual(world.running(), ["detached"])
          const [attached, detached] = yield* Subagent.list
          assert.deepInclude(attached, { status: "disposed", cause: CancelCause.parent() })
          assert.strictEqual(detached?.status, "running")
          yield* world.end("detached", done)
          assert.deepInclude(yield* awaited(detached?.id ?? ""), { status: "idle", result: done })
        })
      )
    })

    it.effect("no more at once than the limit: those that rest or are stopping count", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const world = make({ maxChildren: 2, whenStopped: Deferred.await(gate) })
        yield* provided(
          world,
          Effect.gen(function* () {
            const first = yield* detached("first")
            const second = yield* detached("second")
            yield* settle
            yield* world.end("second", done)
            yield* awaited(second)
            assert.strictEqual((yield* Effect.flip(detached("third"))).code, "SUBAGENT_TOO_MANY")
            const disposing = yield* Effect.fork(Cancellation.own(Subagent.dispose(first)))
            yield* settle
            assert.deepStrictEqual(yield* statuses, ["stopping", "idle"])
            assert.strictEqual((yield* Effect.flip(detached("third"))).code, "SUBAGENT_TOO_MANY")
            yield* Deferred.succeed(gate, undefined)
            yield* Fiber.join(disposing)
            yield* detached("third")
          })
        )
      })
    )

    it.effect("what cannot work is refused, and takes no place", () =>
      provided(
        make({ maxChildren: 1 }),
        Effect.gen(function* () {
          assert.strictEqual((yield* Effect.flip(detached("  "))).code, "SUBAGENT_INVALID_OPTIONS")
          const poet = Cancellation.own(Subagent.start({ profile: "poet", task: "Write." }))
          assert.strictEqual((yield* Effect.flip(poet)).code, "SUBAGENT_UNKNOWN_PROFILE")
          assert.deepStrictEqual(yield* Subagent.list, [])
          yield* detached("work")
        })
      )
    )

    it.effect("one that is to be disposed of at rest is, by itself, and what it came to is known", () => {
      const world = make({ maxChildren: 1 })
      return provided(
        world,
        Effect.gen(function* () {
          const start = Subagent.start({ ...worker, attachment: "detached", disposeAtRest: true })
          const id = yield* Cancellation.own(start)
          yield* settle
          yield* Cancellation.own(Subagent.send(id, "more"))
          yield* world.end("work", done)
          yield* settle
          assert.deepStrictEqual(world.running(), ["more"])
          yield* world.end("more", { outcome: "refusal", output: "No." })
          const snapshot = yield* awaited(id)
          assert.deepInclude(snapshot, { status: "disposed", result: { outcome: "refusal", output: "No." } })
          assert.isUndefined(snapshot.cause)
          assert.strictEqual(world.alive(), 0)
          assert.strictEqual((yield* Effect.flip(Cancellation.own(Subagent.send(id, "x")))).code, "SUBAGENT_DISPOSED")
        })
      )
    })
  })

  describe("send", () => {
    it.effect("cancelled before any one of its operations, the child has the message, or it was never sent", () => {
      const world = make({})
      const seen = new Set<string>()
      return provided(
        world,
        Effect.gen(function* () {
          const subagents = yield* Effect.context<Subagent.Subagent>()
          const id = yield* detached("work")
          yield* world.end("work", done)
          yield* awaited(id)
          let sent = 0
          const exits = yield* sweepWith(() => {
            const message = `more-${++sent}`
            const controller = new AbortController()
            const program = Effect.uninterruptible(
              Effect.gen(function* () {
                const send = Cancellation.ownSignal(Subagent.send(id, message), controller.signal)
                const exit = yield* Effect.exit(Effect.interruptible(send))
                yield* Effect.repeatN(Effect.yieldNow(), 10)
                const has = world.running().includes(message)
                if (Exit.isSuccess(exit)) assert.isTrue(has, "it said that it has it")
                seen.add(`${exit._tag} ${has}`)
                yield* world.end(message, done)
                yield* awaited(id)
                return yield* exit
              }).pipe(Effect.provide(subagents))
            )
            return { program, fault: () => controller.abort() }
          })
          assert.deepStrictEqual(
            exits.filter((exit) => !isClean(exit)),
            []
          )
          assert.includeMembers([...seen], ["Success true", "Failure false"])
        })
      )
    })

    it.effect("to a child that rests begins a turn, to one that runs comes behind it", () => {
      const world = make({})
      return provided(
        world,
        Effect.gen(function* () {
          const id = yield* detached("one")
          yield* settle
          yield* Cancellation.own(Subagent.send(id, "two"))
          assert.deepStrictEqual(world.running(), ["one"])
          yield* world.end("one", done)
          yield* settle
          assert.deepStrictEqual(world.running(), ["two"])
          yield* world.end("two", { outcome: "completed", output: "Two." })
          assert.strictEqual((yield* awaited(id)).result?.output, "Two.")
          yield* Cancellation.own(Subagent.send(id, "three"))
          yield* settle
          assert.deepStrictEqual([world.running(), yield* statuses], [["three"], ["running"]])
          assert.strictEqual(
            (yield* Effect.flip(Cancellation.own(Subagent.send(id, "")))).code,
            "SUBAGENT_INVALID_OPTIONS"
          )
        })
      )
    })
  })

  describe("wait", () => {
    it.effect.each([
      { outcome: "completed", output: "Done." },
      { outcome: "max-tokens", output: "Don" },
      { outcome: "refusal", output: "No." },
      { outcome: "error", output: "", error: { code: "INVALID_REQUEST", message: "no such model" } }
    ] as ReadonlyArray<Subagent.Result>)("does not fail for a child that ends with $outcome", (result) => {
      const world = make({})
      return provided(
        world,
        Effect.gen(function* () {
          const id = yield* detached("work")
          yield* world.end("work", result)
          assert.deepStrictEqual((yield* awaited(id)).result, result)
          assert.deepStrictEqual((yield* awaited(id)).result, result)
          yield* Cancellation.own(Subagent.dispose(id))
          assert.deepStrictEqual((yield* awaited(id)).result, result)
        })
      )
    })

    it.effect("interrupted or cancelled before any one of its operations, it leaves the child alone", () => {
      const world = make({})
      return provided(
        world,
        Effect.gen(function* () {
          const subagents = yield* Effect.context<Subagent.Subagent>()
          const id = yield* detached("work")
          yield* settle
          const exits = yield* sweepWith(() => {
            const controller = new AbortController()
            const { signal } = controller
            const wait = Effect.provide(Subagent.wait(id, { timeout: "1 millis" }), subagents)
            const program = Effect.uninterruptible(
              Effect.gen(function* () {
                const exit = yield* Effect.exit(Effect.interruptible(Cancellation.ownSignal(wait, signal)))
                assert.strictEqual(getEventListeners(signal, "abort").length, 0, "L10")
                assert.deepStrictEqual(world.running(), ["work"])
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
          const now = yield* Cancellation.own(Subagent.wait(id, { timeout: 0 }))
          assert.deepStrictEqual([now.status, now.result], ["running", undefined])
          const tooLong = Subagent.wait(id, { timeout: "30 days" })
          assert.strictEqual((yield* Effect.flip(Cancellation.own(tooLong))).code, "SUBAGENT_INVALID_OPTIONS")
        })
      )
    })
  })

  it.effect("interrupt stops the turn, keeps the child, and parks what waits until the next message", () => {
    const world = make({})
    return provided(
      world,
      Effect.gen(function* () {
        const id = yield* detached("one")
        yield* settle
        yield* Cancellation.own(Subagent.send(id, "two"))
        assert.strictEqual(yield* Subagent.interrupt(id, user), "requested")
        assert.strictEqual((yield* awaited(id)).result?.outcome, "aborted")
        yield* settle
        assert.deepStrictEqual([world.running(), yield* statuses], [[], ["idle"]])
        assert.strictEqual(yield* Subagent.interrupt(id), "already-resting")
        yield* Cancellation.own(Subagent.send(id, "three"))
        yield* settle
        assert.deepStrictEqual(world.running(), ["two"])
        assert.strictEqual((yield* Effect.flip(Subagent.interrupt("worker-9"))).code, "SUBAGENT_NOT_FOUND")
      })
    )
  })

  describe("dispose", () => {
    it.effect("232. completes when the child is quiet, and again is the same as once", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const world = make({ whenStopped: Deferred.await(gate) })
        yield* provided(
          world,
          Effect.gen(function* () {
            const id = yield* detached("work")
            yield* settle
            const first = yield* Effect.fork(Cancellation.own(Subagent.dispose(id)))
            const second = yield* Effect.fork(Cancellation.own(Subagent.dispose(id)))
            const waiter = yield* Effect.fork(awaited(id))
            yield* settle
            assert.deepStrictEqual([yield* statuses, world.running()], [["stopping"], ["work"]])
            assert.isNull(first.unsafePoll())
            // Whoever gives up leaves it to end.
            yield* Fiber.interrupt(second)
            yield* Deferred.succeed(gate, undefined)
            yield* Fiber.join(first)
            assert.strictEqual(world.alive(), 0)
            const snapshot = yield* Fiber.join(waiter)
            assert.deepInclude(snapshot, { status: "disposed", cause: CancelCause.disposed() })
            assert.strictEqual(snapshot.result?.outcome, "aborted")
            yield* Cancellation.own(Subagent.dispose(id))
            assert.strictEqual((yield* Effect.flip(Cancellation.own(Subagent.send(id, "x")))).reason, "Disposed")
            assert.strictEqual(yield* Subagent.interrupt(id), "already-resting")
          })
        )
      })
    )

    it.effect("232. fails when what the child was made with cannot be given back, and the child has ended", () => {
      const world = make({ whenDisposed: Effect.dieMessage("no space left") })
      return provided(
        world,
        Effect.gen(function* () {
          const id = yield* detached("work")
          yield* world.end("work", done)
          yield* awaited(id)
          const error = yield* Effect.flip(Cancellation.own(Subagent.dispose(id)))
          assert.strictEqual(error.code, "SUBAGENT_DISPOSAL_FAILED")
          assert.match(error.message, /no space left/)
          assert.deepInclude(yield* awaited(id), { status: "disposed", result: done, disposal: "no space left" })
        })
      )
    })
  })

  it.effect("closing the layer stops the children, waits for them, and nothing starts after it", () => {
    const world = make({})
    return withService(world, (subagents, close) =>
      Effect.gen(function* () {
        yield* detached("work")
        yield* settle
        yield* close
        assert.strictEqual(world.alive(), 0)
        assert.deepInclude((yield* Subagent.list)[0], { status: "disposed", cause: CancelCause.disposed() })
        assert.strictEqual((yield* Effect.flip(detached("late"))).code, "SUBAGENT_OWNER_ENDED")
      }).pipe(Effect.provide(subagents))
    )
  })
}
