/**
 * What every `Process` keeps to, seen from outside: by which processes there are.
 *
 * Over the keys of the service, of a process in the background and of a session: an operation without a case here does not
 * compile, and one that a layer has in excess fails.
 */
import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import { Process } from "quiesce/capability"
import { sweep, sweepWith } from "../sweep.js"

/** A provider, and the view from outside. */
export interface World {
  readonly layer: Layer.Layer<Process.Process>
  /** Given to whatever is started: so it is found again. */
  readonly env: Readonly<Record<string, string>>
  /** Which processes there are of those that were given `env`. */
  readonly alive: () => ReadonlyArray<number>
  /** How many operations a sweep goes on at a time. */
  readonly stride: number
  /** Whether a process is listed with another handle than the one that `start` gave, as behind a seam. Default: false. */
  readonly listsCopies?: boolean
}

type Needs = Process.Process | Cancellation.Cancellation
type Run = Effect.Effect<unknown, Process.ProcessError, Needs>

const user = CancelCause.user("enough")

/** Programs that every world knows, also by these names in a session. */
const programs = ({ env }: World) => {
  const common = { env, grace: "2 seconds" } as const
  return {
    common,
    greets: { ...common, command: "echo", args: ["hello"] },
    sleeps: { ...common, command: "sleep", args: ["60"] },
    echoes: { ...common, command: "cat", keepStdinOpen: true },
    missing: { ...common, command: "no-such-command-of-quiesce" }
  }
}

interface Operation {
  /** Does its work and ends. */
  readonly quick: (world: World) => Run
  /** Goes on until it is stopped, or leaves something that does. */
  readonly slow: (world: World) => Run
  /** Whether what it starts outlives it. */
  readonly handsOver: boolean
}

/** The operations that can wait; `list` cannot. */
export const operations: { readonly [K in Exclude<keyof Process.Service, "list">]: Operation } = {
  run: {
    quick: (world) => Process.run(programs(world).greets),
    slow: (world) => Process.run(programs(world).sleeps),
    handsOver: false
  },
  start: {
    quick: (world) => Process.start(programs(world).sleeps),
    slow: (world) => Process.start(programs(world).sleeps),
    handsOver: true
  },
  openSession: {
    quick: (world) => Process.openSession(programs(world).common),
    slow: (world) => Process.openSession(programs(world).common),
    handsOver: true
  }
}

type Of<A> = (handle: A, world: World) => Effect.Effect<unknown, Process.ProcessError, Cancellation.Cancellation>

/** What can be done with a process in the background. `still`: it runs when the operation has been interrupted. */
export const ofBackground: {
  readonly [K in Exclude<keyof Process.Background, "pid" | "command">]: {
    readonly use: Of<Process.Background>
    readonly still: boolean
  }
} = {
  status: { use: ({ status }) => status, still: true },
  kill: { use: ({ kill }) => kill(user), still: false },
  awaitExit: { use: (handle) => Effect.zipRight(Effect.yieldNow(), handle.awaitExit), still: true },
  read: { use: ({ read }) => read(), still: true },
  write: { use: (handle) => handle.write("text"), still: true },
  closeStdin: { use: (handle) => handle.closeStdin, still: false }
}

/** What can be done with a session. */
export const ofSession: {
  readonly [K in Exclude<keyof Process.Session, "pid">]: { readonly use: Of<Process.Session>; readonly still: boolean }
} = {
  status: { use: ({ status }) => status, still: true },
  send: { use: (session) => session.send("echo hello"), still: true },
  close: { use: ({ close }) => close, still: false }
}

/** Whether an exit is a success or nothing but an interruption: a failed assertion is neither. */
const isClean = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)

/** A service of its own, and how it is closed. */
const open = ({ layer }: World) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const processes = yield* Layer.buildWithScope(layer, scope)
    return { processes, close: Scope.close(scope, Exit.void) }
  })

/** Runs `body` with a service that is closed afterwards: then nothing is alive. */
const withService = <A, E>(
  world: World,
  body: (processes: Context.Context<Process.Process>, close: Effect.Effect<void>) => Effect.Effect<A, E>
) =>
  Effect.acquireUseRelease(
    open(world),
    ({ close, processes }) => body(processes, close),
    ({ close }) => close
  ).pipe(Effect.tap(() => Effect.sync(() => assert.deepStrictEqual(world.alive(), [], "after its layer was closed"))))

const endAll = (processes: Context.Context<Process.Process>, ended: Exit.Exit<unknown, unknown>) =>
  Effect.gen(function* () {
    for (const handle of yield* Context.get(processes, Process.Process).list) {
      yield* handle.kill(user)
      yield* Cancellation.own(handle.awaitExit)
    }
    const session = Exit.isSuccess(ended) ? ended.value : undefined
    if (typeof session === "object" && session !== null && "close" in session) {
      yield* Cancellation.own((session as Process.Session).close)
    }
  })

/** The tests. `make` gives a world of its own to each. */
export const itKeepsTheContract = (make: () => World): void => {
  it.live("has these operations and no others", () => {
    const world = make()
    return withService(world, (processes) =>
      Effect.sync(() => {
        const names = Object.keys(Context.get(processes, Process.Process)).sort()
        assert.deepStrictEqual(names, [...Object.keys(operations), "list"].sort())
      })
    )
  })

  describe.each(Object.entries(operations))("%s", (_name, { handsOver, quick, slow }) => {
    it.live("under a cancelled owner starts nothing, under an ended one dies", () => {
      const world = make()
      return withService(world, (processes) =>
        Effect.gen(function* () {
          const run = Effect.provide(slow(world), processes)
          const exit = yield* Effect.exit(Cancellation.ownSignal(run, AbortSignal.abort()))
          assert.isTrue(Exit.isInterrupted(exit))
          const ended = yield* Effect.scoped(Cancellation.ownScoped)
          const late = yield* Effect.exit(Effect.provide(run, ended))
          assert.isTrue(Exit.isFailure(late) && Cause.isDie(late.cause))
          assert.deepStrictEqual(world.alive(), [])
        })
      )
    })

    it.live(
      "interrupted before any one of its operations, it has handed over or nothing of it is left",
      () => {
        const world = make()
        return withService(world, (processes) =>
          Effect.gen(function* () {
            const seen = new Set<string>()
            const program = Effect.uninterruptibleMask((restore) =>
              Effect.gen(function* () {
                const exit = yield* Effect.exit(restore(Cancellation.own(Effect.provide(quick(world), processes))))
                const listed = (yield* Context.get(processes, Process.Process).list).length
                const alive = world.alive().length
                if (!handsOver) assert.strictEqual(alive, 0, "L3")
                else if (Exit.isSuccess(exit)) assert.isAbove(alive, 0, "L9: it has been handed over")
                else assert.isAtMost(listed, 1)
                seen.add(`${exit._tag} ${alive > 0}`)
                yield* endAll(processes, exit)
                return yield* exit
              })
            )
            const exits = yield* sweep(program, world.stride)
            assert.deepStrictEqual(
              exits.filter((exit) => !isClean(exit)),
              []
            )
            assert.include([...seen], `Success ${handsOver}`)
            assert.include([...seen], "Failure false")
          })
        )
      },
      60_000
    )

    it.live(
      "cancelled by its owner before any one of its operations, the same, and no listener stays on the signal",
      () => {
        const world = make()
        return withService(world, (processes) =>
          Effect.gen(function* () {
            const exits = yield* sweepWith(() => {
              const controller = new AbortController()
              const { signal } = controller
              const operation = Cancellation.ownSignal(Effect.provide(quick(world), processes), signal)
              const program = Effect.uninterruptible(
                Effect.gen(function* () {
                  const exit = yield* Effect.exit(Effect.interruptible(operation))
                  if (!handsOver) assert.deepStrictEqual(world.alive(), [], "L3")
                  assert.strictEqual(getEventListeners(signal, "abort").length, 0, "L10")
                  yield* endAll(processes, exit)
                  return yield* exit
                })
              )
              return { program, fault: () => controller.abort() }
            }, world.stride)
            assert.deepStrictEqual(
              exits.filter((exit) => !isClean(exit)),
              []
            )
          })
        )
      },
      60_000
    )

    it.live("closing the layer ends it, and after that it starts nothing that would outlive its caller", () => {
      const world = make()
      return withService(world, (processes, close) =>
        Effect.gen(function* () {
          const run = Cancellation.own(Effect.provide(slow(world), processes))
          if (!handsOver) return
          yield* run
          assert.isAbove(world.alive().length, 0)
          yield* close
          assert.deepStrictEqual(world.alive(), [])
          const late = yield* Effect.flip(run)
          assert.strictEqual((late as Process.ProcessError).code, "PROCESS_SERVICE_CLOSED")
        })
      )
    })
  })

  it.live("what does not exist is a failure that says so, and starts nothing", () => {
    const world = make()
    return withService(world, (processes) =>
      Effect.gen(function* () {
        const { missing } = programs(world)
        const starts: ReadonlyArray<Run> = [Process.run(missing), Process.start(missing)]
        for (const start of starts) {
          const error = yield* Effect.flip(Cancellation.own(Effect.provide(start, processes)))
          assert.strictEqual(error.code, "PROCESS_COMMAND_NOT_FOUND")
        }
        assert.deepStrictEqual(world.alive(), [])
      })
    )
  })

  it.live("run tells output and exit code, and is stopped by its timeout", () => {
    const world = make()
    return withService(world, (processes) =>
      Effect.gen(function* () {
        const { greets, sleeps } = programs(world)
        assert.deepInclude(yield* Process.run(greets), { stdout: "hello\n", exitCode: 0, timedOut: false, escaped: [] })
        const late = yield* Process.run({ ...sleeps, timeout: "50 millis" })
        assert.deepInclude(late, { signal: "SIGTERM", exitCode: undefined, timedOut: true })
      }).pipe(Effect.provide(processes), Cancellation.own)
    )
  })

  it.live("what runs in the background is listed, read with a cursor, written to, killed and awaited", () => {
    const world = make()
    return withService(world, (processes) =>
      Effect.gen(function* () {
        const { echoes, sleeps } = programs(world)
        const sleeper = yield* Process.start(sleeps)
        const cat = yield* Process.start({ ...echoes, stdin: "one " })
        const listed = yield* Process.list
        if (world.listsCopies !== true) assert.deepStrictEqual(listed, [sleeper, cat])
        assert.deepStrictEqual(
          listed.map(({ pid }) => pid),
          [sleeper.pid, cat.pid]
        )
        assert.sameMembers([...world.alive()], [sleeper.pid, cat.pid])
        yield* cat.write("two")
        yield* cat.closeStdin
        assert.deepInclude(yield* cat.awaitExit, { pid: cat.pid, exitCode: 0 })
        const { cursor, stdout } = yield* cat.read()
        assert.strictEqual(stdout, "one two")
        assert.strictEqual((yield* cat.read(cursor)).stdout, "")
        assert.isTrue(yield* sleeper.kill(user))
        assert.isFalse(yield* sleeper.kill(user))
        assert.strictEqual((yield* sleeper.awaitExit).signal, "SIGTERM")
        assert.deepInclude(yield* sleeper.status, { _tag: "Ended", cause: user })
        assert.deepStrictEqual(yield* Process.list, [])
      }).pipe(Effect.provide(processes), Cancellation.own)
    )
  })

  it.live("a session runs one command at a time, stops the one that is interrupted, and ends with `exit`", () => {
    const world = make()
    return withService(world, (processes) =>
      Effect.gen(function* () {
        const session = yield* Process.openSession(programs(world).common)
        assert.deepInclude(yield* session.send("echo hello"), { stdout: "hello\n", exitCode: 0, stoppedBy: undefined })
        assert.deepInclude(yield* session.send("no-such-command-of-quiesce"), { exitCode: 127 })
        assert.deepInclude(yield* session.send("sleep 60", { timeout: "50 millis" }), {
          timedOut: true,
          stoppedBy: "SIGINT",
          exitCode: 130
        })
        const first = yield* Effect.fork(session.send("sleep 60"))
        const second = yield* Effect.fork(session.send("echo hello"))
        yield* Effect.sleep("20 millis")
        assert.isNull(second.unsafePoll())
        yield* Fiber.interrupt(first)
        assert.strictEqual((yield* Fiber.join(second)).stdout, "hello\n")
        assert.deepStrictEqual(world.alive(), [session.pid])
        const error = yield* Effect.flip(session.send("exit 5"))
        assert.deepInclude(error, { code: "PROCESS_SESSION_ENDED", detail: "its shell exited with 5" })
        assert.deepStrictEqual(world.alive(), [])
      }).pipe(Effect.provide(processes), Cancellation.own)
    )
  })

  const handles = [
    ...Object.entries(ofBackground).map(([name, { still, use }]) => ({
      name: `background ${name}`,
      still,
      prepare: (world: World) =>
        Effect.map(Process.start(programs(world).echoes), (handle) => ({
          use: use(handle, world),
          check: Effect.succeed(true),
          end: Effect.zipRight(handle.kill(user), handle.awaitExit),
          pid: handle.pid
        }))
    })),
    ...Object.entries(ofSession).map(([name, { still, use }]) => ({
      name: `session ${name}`,
      still,
      prepare: (world: World) =>
        Effect.map(Process.openSession(programs(world).common), (session) => ({
          use: use(session, world),
          check: Effect.map(session.send("echo on"), ({ stdout }) => stdout === "on\n"),
          end: session.close,
          pid: session.pid
        }))
    }))
  ]

  describe.each(handles)("$name", ({ name, prepare, still }) => {
    it.live(
      "interrupted before any one of its operations, it leaves what it belongs to as it is, or ends it",
      () => {
        const world = make()
        return withService(world, (processes) =>
          Effect.gen(function* () {
            const owner = yield* Scope.make()
            const context = Context.merge(processes, yield* Scope.extend(Cancellation.ownScoped, owner))
            const prepared = prepare(world)
            // What it leaves as it is serves all runs.
            const lasting = still ? yield* Effect.provide(prepared, context) : undefined
            const exits = yield* sweep(
              Effect.uninterruptibleMask((restore) =>
                Effect.gen(function* () {
                  const { check, end, pid, use } = lasting ?? (yield* prepared)
                  // `awaitExit` ends with a process only: it is what the others are not.
                  const ends = name.endsWith("awaitExit") ? Effect.timeoutOption(use, "10 millis") : use
                  const exit = yield* Effect.exit(restore(ends))
                  if (still) {
                    assert.deepStrictEqual(world.alive(), [pid])
                    assert.isTrue(yield* check)
                  } else {
                    yield* end
                    assert.deepStrictEqual(world.alive(), [])
                  }
                  return yield* exit
                }).pipe(Effect.provide(context))
              ),
              world.stride
            )
            if (lasting !== undefined) yield* Effect.provide(lasting.end, context)
            yield* Scope.close(owner, Exit.void)
            assert.isAbove(exits.length, 2)
            assert.deepStrictEqual(
              exits.filter((exit) => !isClean(exit)),
              []
            )
          })
        )
      },
      120_000
    )
  })
}
