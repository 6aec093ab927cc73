import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as net from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Chunk, Deferred, Effect, ExecutionStrategy, Exit, Fiber, Runtime, Scope } from "effect"
import { Cancellation, Toolkit, ToolRuntime } from "quiesce"
import { Leaks, Tools } from "quiesce/testing"

const grace = "50 millis"

/** What is left, each in a word or two. */
const leftBy = <A, E, R>(self: Effect.Effect<A, E, R>, options: Leaks.Options = { grace }) =>
  Effect.map(Effect.flip(Leaks.check(self, options)), (failure) => {
    assert.instanceOf(failure, Leaks.LeakFailure)
    return (failure as Leaks.LeakFailure).leaks
  })

const onlyFiber = (leaks: ReadonlyArray<Leaks.Leak>) => {
  const [fiber] = leaks.filter((leak) => leak._tag === "Fiber")
  return fiber === undefined ? Effect.dieMessage("no fiber was left") : Effect.as(Fiber.interrupt(fiber.fiber), fiber)
}

const settle = Effect.repeatN(Effect.yieldNow(), 10)

/** As `Effect.never`, which holds a timer too. */
const waits = Effect.flatMap(Deferred.make<void>(), Deferred.await)

const startBeside = () => Effect.runFork(waits)

const named = (leaks: ReadonlyArray<Leaks.Leak>) =>
  leaks.map((leak) => (leak._tag === "Resource" ? leak.type : leak._tag))

const children = (pid: number) => Effect.map(Leaks.processes, (all) => all.filter((child) => child.pid === pid))

describe("Leaks", () => {
  describe("check", () => {
    it.effect("succeeds with what an effect succeeds with that leaves nothing", () =>
      Effect.gen(function* () {
        const { signal } = new AbortController()
        const tidy = Effect.gen(function* () {
          const fiber = yield* Effect.fork(Effect.never)
          yield* Fiber.interrupt(fiber)
          yield* Effect.acquireUseRelease(
            Effect.sync(() => {
              const listener = () => {}
              signal.addEventListener("abort", listener)
              return listener
            }),
            () => Effect.yieldNow(),
            (listener) => Effect.sync(() => signal.removeEventListener("abort", listener))
          )
          return 42
        })
        assert.strictEqual(yield* Leaks.check(tidy, { signals: [signal] }), 42)
        assert.strictEqual(yield* tidy.pipe(Leaks.check({ signals: [signal] })), 42)
        assert.strictEqual(yield* tidy.pipe(Leaks.check()), 42)
      })
    )

    it.effect("finds a scope that stays open, with what it holds and the span that it was made in", () =>
      Effect.gen(function* () {
        const kept: Array<Scope.CloseableScope> = []
        const opens = Effect.gen(function* () {
          const scope = yield* Scope.make()
          kept.push(scope)
          yield* Scope.addFinalizer(scope, Effect.void)
          yield* Scope.addFinalizer(scope, Effect.void)
        }).pipe(Effect.withSpan("opening"))
        assert.deepStrictEqual(yield* leftBy(opens), [{ _tag: "Scope", finalizers: 2, span: "opening" }])
        const forked = Effect.flatMap(Effect.fork(opens), Fiber.join)
        const failure = yield* Effect.flip(Leaks.check(forked, { grace }))
        assert.include(String(failure.message), 'a scope is still open, with 2 finalizers (made in span "opening")')
        assert.strictEqual(kept.length, 2)
      })
    )

    it.effect("takes a scope that is closed, one that holds nothing, and one of somebody else for none", () =>
      Effect.gen(function* () {
        const outer = yield* Scope.make()
        const tidy = Effect.gen(function* () {
          yield* Effect.scoped(Effect.addFinalizer(() => Effect.void))
          yield* Scope.make()
          yield* Scope.addFinalizer(outer, Effect.void)
          const own = yield* Scope.make()
          yield* Scope.addFinalizer(own, Effect.void)
          yield* Scope.close(yield* Scope.fork(own, ExecutionStrategy.sequential), Exit.void)
          yield* Scope.close(own, Exit.void)
        })
        const beside = Effect.forEach(
          [1, 2, 3],
          () =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.flatMap(Scope.make(), (scope) => Scope.addFinalizer(scope, Effect.void))
            ),
          { discard: true }
        )
        const [, , nested] = yield* Effect.all([Leaks.check(tidy), beside, Leaks.check(Leaks.check(tidy))], {
          concurrency: 3
        })
        assert.isUndefined(nested)
        // When nobody watches any more, scopes are what they were.
        const after = yield* Scope.make()
        assert.notProperty(Object.getPrototypeOf(after), "strategy")
        assert.deepStrictEqual(after.strategy, ExecutionStrategy.sequential)
      })
    )

    it.effect("finds a child that lives on in the calling fiber", () =>
      Effect.gen(function* () {
        const leaks = yield* leftBy(Effect.zipLeft(Effect.fork(Effect.withSpan(waits, "watch the disk")), settle))
        assert.lengthOf(leaks, 1)
        assert.strictEqual((yield* onlyFiber(leaks)).span, "watch the disk")
      })
    )

    it.effect("finds daemons, and fibers that were started beside any runtime", () =>
      Effect.gen(function* () {
        yield* Effect.flatMap(leftBy(Effect.forkDaemon(waits)), onlyFiber)
        yield* Effect.flatMap(leftBy(Effect.sync(startBeside)), onlyFiber)
        const captured = Effect.map(Effect.runtime<never>(), (runtime) => Runtime.runFork(runtime)(waits))
        yield* Effect.flatMap(leftBy(captured), onlyFiber)
      })
    )

    it.effect("does not count fibers that others start meanwhile as children of theirs", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const checked = yield* Effect.fork(Leaks.check(Deferred.await(gate)))
        yield* Effect.yieldNow()
        const other = yield* Effect.fork(Deferred.await(yield* Deferred.make<void>()))
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(checked)
        yield* Fiber.interrupt(other)
      })
    )

    it.effect("finds listeners, and says on which signal and how many", () =>
      Effect.gen(function* () {
        const signals = [new AbortController().signal, new AbortController().signal]
        signals[1]?.addEventListener("abort", () => {})
        const listen = Effect.sync(() => {
          for (let i = 0; i < 2; i++) signals[1]?.addEventListener("abort", () => {})
        })
        const failure = yield* Effect.flip(Leaks.check(listen, { signals }))
        assert.deepStrictEqual(failure.leaks, [
          { _tag: "Listeners", signal: signals[1] as AbortSignal, index: 1, count: 2 }
        ])
        assert.strictEqual(
          failure.message,
          "Something was left behind:\n  signal 1 has 2 more abort listeners than before"
        )
      })
    )

    it.effect("finds a timer, and waits for one that is about to fire", () =>
      Effect.gen(function* () {
        let timer: NodeJS.Timeout | undefined
        const leaks = yield* leftBy(
          Effect.sync(() => {
            timer = setTimeout(() => {}, 60_000)
          })
        )
        clearTimeout(timer)
        assert.deepStrictEqual(named(leaks), ["Timeout"])
        assert.match(String(leaks[0]?._tag === "Resource" && leaks[0].at), /Leaks\.test\.ts:\d+/)
        yield* Leaks.check(Effect.sync(() => setTimeout(() => {}, 5)))
      })
    )

    it.effect("finds an open handle", () =>
      Effect.gen(function* () {
        const server = net.createServer()
        const listening = Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening"))
        const leaks = yield* leftBy(listening)
        yield* Effect.promise(() => new Promise((resolve) => server.close(resolve)))
        assert.deepStrictEqual(named(leaks), ["TCPSERVERWRAP"])
      })
    )

    it.effect.skipIf(process.platform !== "linux")("finds a process, and a process of that process", () =>
      Effect.gen(function* () {
        let child: ChildProcess | undefined
        const starts = Effect.promise(() => {
          const script = "sleep 60 & echo started; wait"
          const started = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"], detached: true })
          child = started
          return once(started.stdout, "data")
        })
        const leaks = yield* leftBy(starts)
        process.kill(-(child?.pid ?? 0), "SIGKILL")
        yield* Effect.promise(() => once(child as ChildProcess, "close"))
        const found = leaks.filter((leak) => leak._tag === "Process")
        assert.deepStrictEqual(found.map(({ name }) => name).sort(), ["sh", "sleep"])
        assert.include(
          found.map(({ pid }) => pid),
          child?.pid
        )
      })
    )

    it.effect("keeps the failure of an effect that fails and leaves something, and adds what it left", () =>
      Effect.gen(function* () {
        const { signal } = new AbortController()
        const listens = Effect.sync(() => signal.addEventListener("abort", () => {}))
        const exit = yield* Effect.exit(Leaks.check(Effect.zipRight(listens, Effect.fail("no")), { signals: [signal] }))
        assert.isTrue(Exit.isFailure(exit))
        const failures = Exit.isFailure(exit) ? Chunk.toReadonlyArray(Cause.failures(exit.cause)) : []
        assert.deepStrictEqual(
          failures.map((error) => (typeof error === "string" ? error : error._tag)),
          ["no", "LeakFailure"]
        )
        assert.strictEqual(yield* Effect.flip(Leaks.check(Effect.fail("no"))), "no")
      })
    )

    it.effect("looks after an interruption too", () =>
      Effect.gen(function* () {
        const { signal } = new AbortController()
        const listens = Effect.sync(() => signal.addEventListener("abort", () => {}))
        const fiber = yield* Effect.fork(
          Leaks.check(Effect.zipRight(listens, Effect.never), { signals: [signal], grace: 0 })
        )
        yield* Effect.yieldNow()
        const exit = yield* Fiber.interrupt(fiber)
        assert.match(String(exit), /LeakFailure/)
      })
    )

    it.effect(
      "finds nothing behind a call whose tool leaves an operation, and the fiber that no runtime sees (L3)",
      () =>
        Effect.gen(function* () {
          const run = (leaky: Tools.Leaky<"leaky">) =>
            ToolRuntime.execute({ id: "c1", name: "leaky", parameters: {} }).pipe(
              Cancellation.own,
              Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(leaky.tool) }))
            )
          yield* Leaks.check(run(yield* Tools.leaky()))
          const unseen = yield* Tools.leaky({ leaves: "fiber" })
          yield* Effect.flatMap(leftBy(run(unseen)), onlyFiber)
          const timer = yield* Tools.leaky({ leaves: "timer" })
          assert.deepStrictEqual(named(yield* leftBy(run(timer))), ["Timeout"])
          yield* timer.release
        })
    )
  })

  it.effect("listeners counts those for the abort of a signal", () =>
    Effect.gen(function* () {
      const { signal } = new AbortController()
      assert.strictEqual(yield* Leaks.listeners(signal), 0)
      signal.addEventListener("abort", () => {})
      signal.addEventListener("other", () => {})
      assert.strictEqual(yield* Leaks.listeners(signal), 1)
    })
  )

  it.effect("resources does not count what ends by itself in the next turn", () =>
    Effect.gen(function* () {
      const immediate = setImmediate(() => {})
      assert.isFalse((yield* Leaks.resources).has("Immediate"))
      clearImmediate(immediate)
    })
  )

  it.effect.skipIf(process.platform !== "linux")("processes has those of this process, and no zombies", () =>
    Effect.gen(function* () {
      const child = spawn("sleep", ["60"])
      const { pid = 0 } = child
      assert.lengthOf(yield* children(pid), 1)
      child.kill("SIGKILL")
      yield* Effect.promise(() => once(child, "exit"))
      assert.lengthOf(yield* children(pid), 0)
    })
  )
})
