/**
 * What every `CodeRuntime` keeps to, seen from outside: by what runs.
 *
 * Each program is there twice: as JavaScript, and as a script that does the same.
 */
import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, type Layer, Option } from "effect"
import { Cancellation } from "quiesce"
import { CodeRuntime } from "quiesce/capability"
import { Leaks, type ScriptedCode } from "quiesce/testing"
import { sweepWith } from "../sweep.js"

/** A provider, and the view from outside. */
export interface World {
  readonly layer: Layer.Layer<CodeRuntime.CodeRuntime>
  /** The memory of each run: tells those of this world from others. */
  readonly maxMemoryMb: number
  /** How much runs. */
  readonly alive: () => number
  /** How many operations a sweep goes on at a time. */
  readonly stride: number
}

interface Program {
  readonly js: string
  readonly script: ScriptedCode.Script
}

const all = <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) => Effect.all(effects, { concurrency: "unbounded" })

const programs = {
  works: {
    js: `console.log("one"); console.warn("two"); return { sum: (await double(1)) + (await double(2)) }`,
    script: ({ call, log }) =>
      Effect.gen(function* () {
        yield* log("one")
        yield* log("two", "warn")
        return { sum: Number(yield* call("double", 1)) + Number(yield* call("double", 2)) }
      })
  },
  nothing: { js: "", script: () => Effect.void },
  throws: {
    js: `console.log("one"); throw new Error("no")`,
    script: ({ log }) => Effect.zipRight(log("one"), Effect.fail({ message: "Error: no" }))
  },
  gives: { js: "return () => 1", script: () => Effect.succeed(() => 1) },
  floods: {
    js: `for (let i = 0; i < 1000; i++) console.log("0123456789"); return 1`,
    script: ({ log }) => Effect.as(Effect.repeatN(log("0123456789"), 999), 1)
  },
  long: { js: `return "x".repeat(5000)`, script: () => Effect.succeed("x".repeat(5000)) },
  loops: {
    js: `console.log("one"); while (true) {}`,
    script: ({ log }) => Effect.zipRight(log("one"), Effect.never)
  },
  waits: { js: "return await wait()", script: ({ call }) => call("wait") },
  leaves: {
    js: `wait(); wait(); wait(); await double(1); return "done"`,
    script: ({ call }) =>
      Effect.gen(function* () {
        for (let i = 0; i < 3; i++) yield* Effect.fork(call("wait"))
        yield* Effect.yieldNow()
        yield* call("double", 1)
        return "done"
      })
  },
  many: {
    js: "return (await Promise.all(Array.from({ length: 50 }, (_, i) => double(i)))).length",
    script: ({ call }) => Effect.map(all(Array.from({ length: 50 }, (_, i) => call("double", i))), (all) => all.length)
  },
  catches: {
    js: `
      const caught = []
      for (const f of [fails, throws, wrong]) await f().catch(({ code, message, name }) => caught.push([name, code, message]))
      return caught.map(([name, code = null, message]) => [name === "Error" ? null : name, code, message])`,
    script: ({ call }) =>
      Effect.forEach(["fails", "throws", "wrong"], (name) =>
        Effect.match(call(name), {
          onFailure: ({ code = null, message, name = null }) => [name, code, message],
          onSuccess: () => null
        })
      )
  }
} satisfies Record<string, Program>

/** The scripts, for a provider that runs those. */
export const scripts: { readonly [code: string]: ScriptedCode.Script } = Object.fromEntries(
  Object.values(programs).map(({ js, script }) => [js, script])
)

const isClean = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)

/** Bindings that are seen from outside. */
class Bindings {
  running = 0
  peak = 0
  calls = 0
  readonly entered = Effect.runSync(Deferred.make<void>())

  private readonly counted = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        this.calls++
        this.peak = Math.max(this.peak, ++this.running)
      }),
      () => effect,
      () =>
        Effect.zipRight(
          Effect.yieldNow(),
          Effect.sync(() => this.running--)
        )
    )

  readonly double = (n: unknown) => this.counted(Effect.as(Effect.yieldNow(), Number(n) * 2))
  readonly wait = () => this.counted(Effect.zipRight(Deferred.succeed(this.entered, undefined), Effect.never))
  readonly fails = () => this.counted(Effect.fail({ _tag: "Busy", code: "E_BUSY", message: "later" }))
  readonly throws = () => {
    throw new Error("at once")
  }
  readonly wrong = () => this.counted(Effect.succeed(1n))

  get all() {
    const { double, fails, throws, wait, wrong } = this
    return { double, fails, throws, wait, wrong }
  }
}

/** The tests. `make` gives a world of its own to each. */
export const itKeepsTheContract = (make: () => World): void => {
  const setUp = () => {
    const world = make()
    const bindings = new Bindings()
    const run = (name: keyof typeof programs, options: Partial<CodeRuntime.RunOptions> = {}) =>
      CodeRuntime.run({
        code: programs[name].js,
        bindings: bindings.all,
        maxMemoryMb: world.maxMemoryMb,
        timeout: "30 seconds",
        ...options
      }).pipe(
        Effect.onExit(() =>
          Effect.sync(() => {
            assert.strictEqual(world.alive(), 0, "L3: it was alive when it was answered")
            assert.strictEqual(bindings.running, 0, "L3: a call ran when it was answered")
          })
        ),
        Effect.provide(world.layer)
      )
    return { ...world, bindings, run }
  }

  it.live("gives the value, the log, and nothing of it runs any more", () => {
    const { run } = setUp()
    return Effect.gen(function* () {
      const result = yield* Cancellation.own(run("works"))
      assert.deepStrictEqual(result, {
        value: { sum: 6 },
        logs: [
          { level: "log", text: "one" },
          { level: "warn", text: "two" }
        ],
        logsTruncated: false
      })
      assert.isTrue(Object.isFrozen(result.value))
      assert.strictEqual((yield* Cancellation.own(run("nothing"))).value, null)
    })
  })

  it.live("what is thrown, is not JSON, or is too long fails with its reason, and keeps the log", () => {
    const { run } = setUp()
    return Effect.gen(function* () {
      const thrown = yield* Effect.flip(Cancellation.own(run("throws")))
      assert.deepInclude(thrown, { reason: "Exception", code: "CODE_EXCEPTION", detail: "Error: no" })
      assert.deepStrictEqual(thrown.logs, [{ level: "log", text: "one" }])
      assert.strictEqual((yield* Effect.flip(Cancellation.own(run("gives")))).reason, "InvalidOutput")
      const limited = yield* Effect.flip(Cancellation.own(run("long", { maxOutputBytes: 5001 })))
      assert.strictEqual(limited.code, "CODE_OUTPUT_LIMIT")
      yield* Cancellation.own(run("long", { maxOutputBytes: 5002 }))
    })
  })

  it.live("of a flood of logs the first part is kept", () => {
    const { run } = setUp()
    return Effect.gen(function* () {
      const result = yield* Cancellation.own(run("floods", { maxLogBytes: 25 }))
      assert.isTrue(result.logsTruncated)
      assert.deepStrictEqual(
        result.logs.map(({ text }) => text),
        ["0123456789", "0123456789", "012"]
      )
    })
  })

  it.live("what a binding fails with is thrown in the code, also where it throws at once or gives no JSON", () => {
    const { run } = setUp()
    return Effect.gen(function* () {
      assert.deepStrictEqual((yield* Cancellation.own(run("catches"))).value, [
        ["Busy", "E_BUSY", "later"],
        [null, null, "at once"],
        ["NotJson", "NOT_JSON", "What it gave is not JSON"]
      ])
    })
  })

  it.live("no more calls run at once than may, and all of them do", () => {
    const { bindings, run } = setUp()
    return Effect.gen(function* () {
      assert.strictEqual((yield* Cancellation.own(run("many", { maxCalls: 3 }))).value, 50)
      assert.strictEqual(bindings.peak, 3)
      assert.strictEqual(bindings.calls, 50)
    })
  })

  it.live(
    "L3: calls that run when the code has settled are interrupted and awaited, and those that wait are not made",
    () => {
      const { bindings, run } = setUp()
      return Effect.gen(function* () {
        assert.strictEqual((yield* Cancellation.own(run("leaves", { maxCalls: 4 }))).value, "done")
        assert.strictEqual(bindings.calls, 4)
        assert.strictEqual(bindings.running, 0)
      })
    }
  )

  it.live("L7: its own time limit is a failure, and no cancellation", () => {
    const { bindings, run } = setUp()
    return Effect.gen(function* () {
      const told: Array<string> = []
      const options = { timeout: "700 millis", onLog: ({ text }: CodeRuntime.Log) => void told.push(text) } as const
      const looping = yield* Effect.flip(Cancellation.own(run("loops", options)))
      assert.deepInclude(looping, { reason: "Timeout", code: "CODE_TIMEOUT" })
      assert.deepStrictEqual(told, ["one"])
      assert.strictEqual(looping.logs.length, 1)
      const waiting = yield* Effect.flip(Cancellation.own(run("waits", { timeout: "700 millis" })))
      assert.strictEqual(waiting.reason, "Timeout")
      assert.strictEqual(bindings.running, 0)
    })
  })

  it.live("238: a cancel ends an endless loop, is an interruption, and the log up to then was told", () => {
    const { run } = setUp()
    return Effect.gen(function* () {
      const logged = yield* Deferred.make<CodeRuntime.Log>()
      const owner = new AbortController()
      const options = { onLog: (log: CodeRuntime.Log) => Deferred.unsafeDone(logged, Effect.succeed(log)) }
      const fiber = yield* Effect.fork(Cancellation.ownSignal(run("loops", options), owner.signal))
      assert.deepStrictEqual(yield* Deferred.await(logged), { level: "log", text: "one" })
      owner.abort(new Error("enough"))
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
      assert.strictEqual(getEventListeners(owner.signal, "abort").length, 0, "L10")
    })
  })

  it.live("a cancel reaches the calls that run, and waits for their end", () => {
    const { bindings, run } = setUp()
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(Cancellation.own(run("waits")))
      yield* Deferred.await(bindings.entered)
      assert.strictEqual(bindings.running, 1)
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
      assert.strictEqual(bindings.running, 0)
    })
  })

  it.live(
    "238: under a cancelled owner nothing is started, under an ended one it dies, in a protected region too",
    () => {
      const { bindings, run } = setUp()
      return Effect.gen(function* () {
        for (const each of [run("waits"), Effect.uninterruptible(run("waits"))]) {
          assert.isTrue(Exit.isInterrupted(yield* Effect.exit(Cancellation.ownSignal(each, AbortSignal.abort()))))
          const ended = yield* Effect.scoped(Cancellation.ownScoped)
          const late = yield* Effect.exit(Effect.provide(each, ended))
          assert.isTrue(Exit.isFailure(late) && Option.isSome(Cause.dieOption(late.cause)))
        }
        assert.strictEqual(bindings.calls, 0)
      })
    }
  )

  it.live("238: the end of its owner waits for it, also where it is finishing", () => {
    const { alive, bindings, run } = setUp()
    return Effect.gen(function* () {
      const scoped = Effect.gen(function* () {
        const owner = yield* Cancellation.ownScoped
        // A daemon: nothing but the owner knows of it.
        yield* Effect.forkDaemon(Effect.provide(run("waits"), owner))
        yield* Deferred.await(bindings.entered)
        assert.isAbove(alive(), 0)
      })
      yield* Effect.scoped(scoped)
      assert.strictEqual(alive(), 0)
      assert.strictEqual(bindings.running, 0)
    })
  })

  it.live("options that cannot work are refused, and nothing is started", () => {
    const { run } = setUp()
    return Effect.gen(function* () {
      for (const options of [
        { timeout: 0 },
        { maxMemoryMb: 1 },
        { maxCalls: 0 },
        { maxOutputBytes: -1 },
        { bindings: { "not a name": () => Effect.void } },
        { bindings: { console: () => Effect.void } }
      ]) {
        assert.strictEqual((yield* Effect.flip(Cancellation.own(run("works", options)))).reason, "InvalidOptions")
      }
    })
  })

  it.live("a listener to the log that throws harms nobody", () => {
    const { run } = setUp()
    const options = {
      onLog: () => {
        throw new Error("no")
      }
    }
    return Effect.map(Cancellation.own(run("works", options)), ({ logs }) => assert.lengthOf(logs, 2))
  })

  describe("cancelled", () => {
    it.live("before any one of its operations, it has its value or is interrupted, and nothing is left", () => {
      const { run, stride } = setUp()
      return Effect.gen(function* () {
        const exits = yield* sweepWith(() => {
          const controller = new AbortController()
          const { signal } = controller
          const program = Effect.onExit(Cancellation.ownSignal(run("works"), signal), () =>
            Effect.sync(() => assert.strictEqual(getEventListeners(signal, "abort").length, 0, "L10"))
          )
          return {
            program,
            fault: (main) => {
              controller.abort()
              main.unsafeInterruptAsFork(main.id())
            }
          }
        }, stride)
        assert.isTrue(exits.some(Exit.isInterrupted))
        assert.deepStrictEqual(
          exits.filter((exit) => !isClean(exit)),
          []
        )
        assert.isTrue(exits.at(-1)?._tag === "Success")
      })
    })

    it.live("it leaves no fiber, timer, handle, process or listener", () => {
      const { bindings, run } = setUp()
      const { signal } = new AbortController()
      const program = Effect.gen(function* () {
        yield* Cancellation.ownSignal(run("works"), signal)
        const fiber = yield* Effect.fork(Cancellation.ownSignal(run("waits"), signal))
        yield* Deferred.await(bindings.entered)
        yield* Fiber.interrupt(fiber)
      })
      return Leaks.check(program, { signals: [signal] })
    })
  })
}
