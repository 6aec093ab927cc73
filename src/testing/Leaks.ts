/**
 * Finds what an effect leaves behind: fibers, listeners on signals, open scopes, timers, handles and child processes.
 *
 * Fibers, listeners and scopes are counted at once. Timers, handles and processes count as left only if they are still there
 * after a grace, since they are the whole process's: what other code (the reports of a test runner, say) starts in the
 * meantime is among them. So check one effect at a time.
 *
 * What it does not do: it does not see listeners of signals that it was not given, scopes that hold no finalizer, timers and
 * handles that do not keep the process alive (`unref`), requests under way such as a read of a file, a timer that fires
 * within the grace, or a process whose parent has ended. Processes are read from `/proc`: elsewhere than on Linux only
 * their handles are seen. It stops nothing. Node only.
 *
 * @since 0.1.0
 */
import { getEventListeners } from "node:events"
import * as fs from "node:fs"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { dual } from "effect/Function"
import * as Supervisor from "effect/Supervisor"
import { lookUp } from "../internal/node/processTable.js"
import { OpenResources } from "../internal/testing/openResources.js"
import { OpenScopes } from "../internal/testing/openScopes.js"

/**
 * Something that was left.
 *
 * @since 0.1.0
 * @category models
 */
export type Leak =
  | {
      readonly _tag: "Fiber"
      /** The number of the fiber, as logs have it. */
      readonly id: string
      /** The span that it is in, if it is in one. */
      readonly span: string | undefined
      readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
    }
  | {
      readonly _tag: "Listeners"
      readonly signal: AbortSignal
      /** The place of the signal in the options. */
      readonly index: number
      readonly count: number
    }
  | {
      readonly _tag: "Scope"
      /** How many finalizers it holds. */
      readonly finalizers: number
      /** The span that it was made in, if it was in one. */
      readonly span: string | undefined
    }
  | {
      readonly _tag: "Resource"
      /** As `node:async_hooks` calls it: `Timeout`, `PIPEWRAP`, `TCPSERVERWRAP`, ... */
      readonly type: string
      /** The line of the stack that made it, as good as there is. */
      readonly at: string | undefined
    }
  | { readonly _tag: "Process"; readonly pid: number; readonly name: string }

const describe = (leak: Leak): string => {
  switch (leak._tag) {
    case "Fiber":
      return `fiber ${leak.id} still runs${leak.span === undefined ? "" : ` (in span "${leak.span}")`}`
    case "Listeners":
      return `signal ${leak.index} has ${leak.count} more abort listener${leak.count === 1 ? "" : "s"} than before`
    case "Scope":
      return `a scope is still open, with ${leak.finalizers} finalizer${leak.finalizers === 1 ? "" : "s"}${leak.span === undefined ? "" : ` (made in span "${leak.span}")`}`
    case "Resource":
      return `${leak.type} is still open${leak.at === undefined ? "" : ` (made at ${leak.at})`}`
    case "Process":
      return `process ${leak.pid} still runs (${leak.name})`
  }
}

/**
 * An effect left something behind.
 *
 * @since 0.1.0
 * @category errors
 */
export class LeakFailure extends Data.TaggedError("LeakFailure")<{
  readonly leaks: ReadonlyArray<Leak>
}> {
  override get message(): string {
    return `Something was left behind:\n${this.leaks.map((leak) => `  ${describe(leak)}`).join("\n")}`
  }
}

/**
 * How to check for leaks.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Signals that must have no more listeners afterwards than before. */
  readonly signals?: ReadonlyArray<AbortSignal> | undefined
  /** How long timers, handles and processes have to go. Only spent when some are left. Default: 250 milliseconds. */
  readonly grace?: Duration.DurationInput | undefined
}

/**
 * A process that this one has started, directly or not.
 *
 * @since 0.1.0
 * @category models
 */
export interface Process {
  readonly pid: number
  readonly name: string
}

/**
 * How many listeners a signal has for its abort.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Leaks } from "quiesce/testing"
 *
 * const { signal } = new AbortController()
 * signal.addEventListener("abort", () => {})
 * assert.strictEqual(await Effect.runPromise(Leaks.listeners(signal)), 1)
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const listeners = (signal: AbortSignal): Effect.Effect<number> =>
  Effect.sync(() => getEventListeners(signal, "abort").length)

/**
 * The fibers that run and have no parent: those that were started with `Effect.runFork` and the like, and daemons.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Leaks } from "quiesce/testing"
 *
 * const before = (await Effect.runPromise(Leaks.roots)).length
 * const fiber = Effect.runFork(Effect.never)
 * assert.strictEqual((await Effect.runPromise(Leaks.roots)).length, before + 1)
 * fiber.unsafeInterruptAsFork(fiber.id())
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const roots: Effect.Effect<ReadonlyArray<Fiber.RuntimeFiber<unknown, unknown>>> = Fiber.roots

/**
 * How many timers and handles of each type keep this process alive. What ends in the next turn of the event loop by
 * itself is left out.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Leaks } from "quiesce/testing"
 *
 * const timers = Effect.map(Leaks.resources, (resources) => resources.get("Timeout") ?? 0)
 * const before = await Effect.runPromise(timers)
 * const timer = setTimeout(() => {}, 60_000)
 * assert.strictEqual(await Effect.runPromise(timers), before + 1)
 * clearTimeout(timer)
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const resources: Effect.Effect<ReadonlyMap<string, number>> = Effect.sync(() => {
  const counts = new Map<string, number>()
  for (const type of process.getActiveResourcesInfo()) {
    if (type !== "Immediate") counts.set(type, (counts.get(type) ?? 0) + 1)
  }
  return counts
})

/**
 * The processes that this one has started, directly or not, and that run. Linux only: empty elsewhere.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Leaks } from "quiesce/testing"
 *
 * const own = await Effect.runPromise(Leaks.processes)
 * assert.ok(own.every(({ pid }) => pid !== process.pid))
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const processes: Effect.Effect<ReadonlyArray<Process>> = Effect.sync(() => {
  if (!fs.existsSync("/proc/self/stat")) return []
  const all = fs.readdirSync("/proc").flatMap((name) => (/^\d/.test(name) ? (lookUp(name) ?? []) : []))
  const tree = new Set([process.pid])
  let size = 0
  while (size < tree.size) {
    size = tree.size
    for (const { pid, parent } of all) if (tree.has(parent)) tree.add(pid)
  }
  return all
    .filter(({ pid, isAlive }) => isAlive && pid !== process.pid && tree.has(pid))
    .map(({ pid, name }) => ({ pid, name }))
})

const leakOf = (fiber: Fiber.RuntimeFiber<any, any>): Leak => ({
  _tag: "Fiber",
  id: `#${fiber.id().id}`,
  span: fiber.currentSpan?._tag === "Span" ? fiber.currentSpan.name : undefined,
  fiber
})

/** Remembers what is there now. `exact` says what the effect left, `ofProcess` what is left that others may have made. */
const watch = (signals: ReadonlyArray<AbortSignal>) =>
  Effect.gen(function* () {
    const before = {
      roots: new Set(yield* roots),
      listeners: yield* Effect.forEach(signals, listeners),
      pids: new Set((yield* processes).map(({ pid }) => pid))
    }
    const supervisor = yield* Supervisor.track
    const scopes = new OpenScopes()
    const exact = Effect.gen(function* () {
      const daemons = (yield* roots).filter((fiber) => !before.roots.has(fiber))
      const fibers = new Set<Fiber.RuntimeFiber<any, any>>([...(yield* supervisor.value), ...daemons])
      const found = [...fibers].map(leakOf)
      for (const [index, signal] of signals.entries()) {
        const count = (yield* listeners(signal)) - (before.listeners[index] ?? 0)
        if (count > 0) found.push({ _tag: "Listeners", signal, index, count })
      }
      for (const scope of scopes.left) found.push({ _tag: "Scope", ...scope })
      return found
    })
    const open = new OpenResources()
    const ofProcess = Effect.map(
      processes,
      (now): ReadonlyArray<Leak> => [
        ...open.left.map((resource) => ({ _tag: "Resource" as const, ...resource })),
        ...now.filter(({ pid }) => !before.pids.has(pid)).map((process) => ({ _tag: "Process" as const, ...process }))
      ]
    )
    return { supervisor, scopes, exact, open, ofProcess }
  })

// Real time, on whatever clock the effect itself runs: handles of the process do not follow a test's.
const liveClock = Clock.make()

const patiently = (look: Effect.Effect<ReadonlyArray<Leak>>, millis: number): Effect.Effect<ReadonlyArray<Leak>> =>
  Effect.flatMap(look, (found) =>
    found.length === 0 || millis <= 0
      ? Effect.succeed(found)
      : Effect.zipRight(liveClock.sleep(Duration.millis(Math.min(millis, 10))), patiently(look, millis - 10))
  )

/**
 * Runs `self`, and fails when it leaves something behind.
 *
 * Children that `self` forked count too, unless they have ended: they would live on in the calling fiber. So does a scope
 * that it made, unless it is closed, also where a scope of the caller will close it: check inside of that. When `self`
 * fails, its own failure comes first. Completes when `self` has, at once if nothing is left; an interruption is `self`'s,
 * and what it leaves then is looked for all the same. Nothing is stopped.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Leaks } from "quiesce/testing"
 *
 * const { signal } = new AbortController()
 * const listens = Effect.sync(() => signal.addEventListener("abort", () => {}))
 * const failure = await Effect.runPromise(Effect.flip(Leaks.check(listens, { signals: [signal] })))
 * assert.strictEqual(failure.message, "Something was left behind:\n  signal 0 has 1 more abort listener than before")
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const check: {
  (options?: Options): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | LeakFailure, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, options?: Options): Effect.Effect<A, E | LeakFailure, R>
} = dual(
  (args) => Effect.isEffect(args[0]),
  <A, E, R>(self: Effect.Effect<A, E, R>, options: Options = {}): Effect.Effect<A, E | LeakFailure, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const { exact, ofProcess, open, scopes, supervisor } = yield* watch(options.signals ?? [])
        open.watch()
        const exit = yield* Effect.exit(scopes.watch(Effect.supervised(restore(self), supervisor)))
        open.unwatch()
        const atOnce = yield* exact
        const later = yield* patiently(ofProcess, Duration.toMillis(options.grace ?? "250 millis"))
        const leaks = [...atOnce, ...later]
        if (leaks.length === 0) return yield* exit
        const failure = new LeakFailure({ leaks })
        return yield* Exit.isSuccess(exit)
          ? failure
          : Effect.failCause(Cause.sequential(exit.cause, Cause.fail(failure)))
      })
    )
)
