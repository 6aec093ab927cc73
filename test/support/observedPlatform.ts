/**
 * The platform's file system, real and under observation: what is called, what runs, and a place to hold or to fail each
 * call.
 */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import { type Error as PlatformError, FileSystem as PlatformFileSystem } from "@effect/platform"
import { NodeFileSystem, NodePath } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { Deferred, Effect, type Exit, Fiber, FiberId, Layer } from "effect"
import { FileSystem } from "quiesce/capability"
import { byPath, PlatformReach } from "../../src/internal/capability/fileSystem/reach.js"
import { platform as nodePlatform } from "../../src/internal/node/fileSystem/platform.js"

/**
 * What a `FileSystem` can stand on: the platform of `@effect/platform-node`, or what `NodeFileSystem` has of its own, also
 * as it is where a folder cannot be held.
 */
export const grounds = {
  platform: Layer.merge(NodeFileSystem.layer, NodePath.layer),
  node: nodePlatform,
  nodeByPath: Layer.merge(nodePlatform, Layer.succeed(PlatformReach, byPath))
}

export const makePipe = (file: string) => execFileSync("/bin/sh", ["-c", `mkfifo "$0"`, file])

/** What a folder holds, all the way down, links not followed. */
export const tree = (folder: string, prefix = ""): ReadonlyArray<string> =>
  fs
    .readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => [
      `${prefix}${entry.name}`,
      ...(entry.isDirectory() ? tree(`${folder}/${entry.name}`, `${prefix}${entry.name}/`) : [])
    ])
    .sort()

/** Runs around each call of the platform, as a part of it, `count` being how often the method was called. */
export interface Hooks {
  readonly before?: (method: string, count: number) => Effect.Effect<void, PlatformError.PlatformError>
  readonly after?: (method: string, count: number) => Effect.Effect<void, PlatformError.PlatformError>
}

/**
 * The platform's file system, under observation. As the real one, a call runs to its end whatever happens to the fiber
 * that made it.
 */
export class Platform {
  readonly calls: Array<string> = []
  readonly descriptors: Array<number> = []
  readonly layer: (typeof grounds)["platform"]
  private readonly counts = new Map<string, number>()
  running = 0

  constructor(hooks: Hooks = {}, ground: keyof typeof grounds = "platform") {
    const observe = (method: string, real: Effect.Effect<unknown, PlatformError.PlatformError>) =>
      Effect.flatMap(Effect.context<never>(), (context) =>
        Effect.async<unknown, PlatformError.PlatformError>((resume) => {
          this.calls.push(method)
          this.running++
          const count = (this.counts.get(method) ?? 0) + 1
          this.counts.set(method, count)
          const before = Effect.suspend(() => hooks.before?.(method, count) ?? Effect.void)
          const after = Effect.suspend(() => hooks.after?.(method, count) ?? Effect.void)
          const call = before.pipe(
            Effect.zipRight(Effect.exit(real)),
            Effect.zipLeft(after),
            Effect.flatten,
            Effect.provide(context)
          )
          Effect.runFork(call).addObserver((exit) => {
            this.running--
            resume(exit)
          })
        })
      )
    const wrap = <T extends object>(real: T): T =>
      new Proxy(real, {
        get: (_, key) => {
          const value: unknown = Reflect.get(real, key, real)
          if (typeof key === "symbol") return value
          if (Effect.isEffect(value)) return observe(key, value as Effect.Effect<unknown, PlatformError.PlatformError>)
          if (typeof value !== "function") return value
          return (...args: ReadonlyArray<unknown>) =>
            Effect.map(observe(key, Reflect.apply(value, real, args)), (result) => {
              if (!PlatformFileSystem.isFile(result)) return result
              this.descriptors.push(result.fd)
              return wrap(result)
            })
        }
      })
    const observed = Layer.effect(
      PlatformFileSystem.FileSystem,
      Effect.map(PlatformFileSystem.FileSystem, (real) => wrap(real))
    )
    this.layer = Layer.provideMerge(observed, grounds[ground])
  }

  count(method: string): number {
    return this.counts.get(method) ?? 0
  }

  provide(root?: string) {
    return Effect.provide(Layer.provide(FileSystem.layer({ root }), this.layer))
  }
}

/** Holds the `count`th call of `method` until the test lets it go on. */
export class Gate {
  readonly reached = Deferred.unsafeMake<void>(FiberId.none)
  readonly open = Deferred.unsafeMake<void, PlatformError.PlatformError>(FiberId.none)
  readonly hook: NonNullable<Hooks["before"]>

  constructor(method: string, count = 1) {
    this.hook = (m, n) =>
      m === method && n === count
        ? Effect.zipRight(Deferred.succeed(this.reached, undefined), Deferred.await(this.open))
        : Effect.void
  }
}

/** What can go on without the call at a gate has done so. */
export const rest = Effect.forEach(Array.from({ length: 5 }), () => Effect.promise(() => fs.promises.stat(os.tmpdir())))

/**
 * Stops `fiber` while the call at `gate` runs, and asserts that it waits for that call, makes no other one meanwhile,
 * and is gone together with all of them.
 */
export const stopAt = <A, E>(
  gate: Gate,
  platform: Platform,
  fiber: Fiber.RuntimeFiber<A, E>,
  stop: (fiber: Fiber.RuntimeFiber<A, E>) => void = (fiber) => fiber.unsafeInterruptAsFork(FiberId.none),
  outcome: Effect.Effect<void, PlatformError.PlatformError> = Effect.void
): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.gen(function* () {
    yield* Deferred.await(gate.reached)
    const { length } = platform.calls
    stop(fiber)
    yield* rest
    assert.isNull(fiber.unsafePoll())
    assert.strictEqual(platform.running, 1)
    assert.strictEqual(platform.calls.length, length)
    yield* Deferred.complete(gate.open, outcome)
    const exit = yield* Fiber.await(fiber)
    assert.strictEqual(platform.running, 0)
    return exit
  })

/** Reads as nothing and swallows what is written. Only root may make one. */
export const makeDevice = (file: string) => execFileSync("mknod", [file, "c", "1", "3"])
