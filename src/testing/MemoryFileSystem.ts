/**
 * A `FileSystem` in memory, and the view that another program would have of it.
 *
 * It is the real `FileSystem` over a disk in memory: staging, turns, versions, failures and the instants at which it can be
 * interrupted are the real ones, so what a test sees of a tool is what would happen on a disk. It needs no platform, and
 * the explorer can explore it.
 *
 * What it does not do: it has one user, no hard links and no limit of space; nothing outside of the test changes it.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as PlatformPath from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as FileSystem from "../capability/FileSystem.js"
import { Settlement } from "../internal/settlement.js"
import { type Node, Refused } from "../internal/testing/memoryDisk.js"
import { MemoryPlatform, systemError } from "../internal/testing/memoryPlatform.js"

/**
 * What is put at a path: a text, bytes, or something that is not a file.
 *
 * @since 0.1.0
 * @category models
 */
export type Content =
  | string
  | Uint8Array
  | { readonly kind: "folder" | "pipe" | "device"; readonly mode?: number | undefined }
  | { readonly kind: "file"; readonly text: string; readonly mode?: number | undefined }
  | { readonly kind: "link"; readonly target: string }

/**
 * What there is at the start.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** By path, from the root, or absolute for what is outside of it. Folders on the way are made. */
  readonly files?: { readonly [path: string]: Content } | undefined
  /** The root of the file system that tools get. Default: `/workspace`. */
  readonly root?: string | undefined
}

/**
 * A call that `FileSystem` makes of what is below it, by the name that `@effect/platform` has for it: `open`, `readAlloc`,
 * `writeAll`, `sync`, `rename`, `remove`, ...
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly method: string
  readonly path: string
  readonly when: "before" | "after"
  /** How often the method was called, this call included. */
  readonly count: number
}

/**
 * Which call is meant.
 *
 * @since 0.1.0
 * @category models
 */
export interface At {
  /** Default: `before`. */
  readonly when?: "before" | "after" | undefined
  /** Which of the calls of that method from now on. Default: the first one. */
  readonly count?: number | undefined
}

/**
 * A call that is held.
 *
 * @since 0.1.0
 * @category models
 */
export interface Hold {
  /** Waits until the call is there. */
  readonly reached: Effect.Effect<void>
  /** Lets it go on, also before it is there. */
  readonly release: Effect.Effect<void>
}

/**
 * What another program sees of the file system, and does to it. Nothing of this is stopped by an owner.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /**
   * Everything that there is, by path, from the root or absolute for what is outside of it: texts as they are, `/` for a
   * folder, `-> target` for a link, `|` for the rest.
   */
  readonly files: Effect.Effect<{ readonly [path: string]: string }>
  /** As another program: puts something at a path, whatever is there, in place where both are files. */
  readonly put: (path: string, content: Content) => Effect.Effect<void>
  /** As another program: removes what is at a path, all of it. */
  readonly discard: (path: string) => Effect.Effect<void>
  /** The paths of the files that are open. */
  readonly openFiles: Effect.Effect<ReadonlyArray<string>>
  /** The methods of all calls so far. */
  readonly calls: Effect.Effect<ReadonlyArray<string>>
  /** Runs `intervention` before and after each call from now on, as a part of it. */
  readonly intervene: (intervention: (call: Call) => Effect.Effect<void, PlatformError>) => Effect.Effect<void>
  /** Holds a call until it is released. As any call of a platform it does not end before that, whoever is interrupted. */
  readonly hold: (method: string, at?: At) => Effect.Effect<Hold>
  /** Fails a call with a code of the system, such as `ENOSPC`. */
  readonly fail: (method: string, code: string, at?: At) => Effect.Effect<void>
}

/**
 * Service of a test that looks at a file system in memory from outside.
 *
 * @since 0.1.0
 * @category services
 */
export class MemoryFileSystem extends Context.Tag("quiesce/testing/MemoryFileSystem")<MemoryFileSystem, Service>() {}

const nodeOf = (content: Content, ino: number): Node => {
  const mtime = 0
  if (typeof content === "string" || content instanceof Uint8Array) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content
    return { kind: "file", ino, bytes, mode: 0o644, mtime }
  }
  switch (content.kind) {
    case "file":
      return { kind: "file", ino, bytes: new TextEncoder().encode(content.text), mode: content.mode ?? 0o644, mtime }
    case "link":
      return { kind: "link", ino, target: content.target, mode: 0o777, mtime }
    case "folder":
      return { kind: "folder", ino, entries: new Map(), mode: content.mode ?? 0o755, mtime }
    default:
      return { kind: content.kind, ino, mode: content.mode ?? 0o644, mtime }
  }
}

class Memory implements Service {
  readonly platform = new MemoryPlatform()
  private readonly root: string

  constructor({ files = {}, root = "/workspace" }: Options) {
    this.root = root
    this.platform.disk.makeFolder(root, 0, { recursive: true, mode: 0o755 })
    for (const [path, content] of Object.entries(files)) this.place(path, content)
  }

  private absolute(path: string): string {
    return path.startsWith("/") ? path : `${this.root}/${path}`
  }

  private place(path: string, content: Content): void {
    const { disk } = this.platform
    const absolute = this.absolute(path)
    const folder = absolute.slice(0, absolute.lastIndexOf("/"))
    if (folder !== "") disk.makeFolder(folder, 0, { recursive: true, mode: 0o755 })
    const there = disk.find(absolute, false)
    const node = nodeOf(content, 0)
    if (!(there instanceof Refused) && there.kind === "file" && node.kind === "file") {
      there.bytes = node.bytes
      there.mtime += 1
      return
    }
    disk.create(absolute, (ino) => nodeOf(content, ino), { byForce: true })
  }

  readonly files = Effect.sync(() => {
    const seen: { [path: string]: string } = {}
    const look = (absolute: string, node: Node): void => {
      const isInside = absolute.startsWith(`${this.root}/`)
      const path = isInside ? absolute.slice(this.root.length + 1) : absolute
      switch (node.kind) {
        case "file":
          seen[path] = new TextDecoder().decode(node.bytes)
          return
        case "link":
          seen[path] = `-> ${node.target}`
          return
        case "folder":
          if (!`${this.root}/`.startsWith(`${absolute}/`)) seen[path] = "/"
          for (const [name, child] of node.entries) look(`${absolute}/${name}`, child)
          return
        default:
          seen[path] = "|"
      }
    }
    look("", this.platform.disk.root)
    return seen
  })

  readonly openFiles = Effect.sync(() => [...this.platform.openFiles.values()])

  readonly calls = Effect.sync((): ReadonlyArray<string> => [...this.platform.calls])

  put(path: string, content: Content): Effect.Effect<void> {
    return Effect.sync(() => this.place(path, content))
  }

  discard(path: string): Effect.Effect<void> {
    return Effect.sync(() => void this.platform.disk.remove(this.absolute(path), { recursive: true, force: true }))
  }

  intervene(intervention: (call: Call) => Effect.Effect<void, PlatformError>): Effect.Effect<void> {
    return Effect.sync(() => void this.platform.interventions.push(intervention))
  }

  /** Intervenes once, at one call. */
  private once(method: string, at: At, act: (call: Call) => Effect.Effect<void, PlatformError>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const count = this.platform.countOf(method) + (at.count ?? 1)
      return this.intervene((call) =>
        call.method === method && call.when === (at.when ?? "before") && call.count === count ? act(call) : Effect.void
      )
    })
  }

  hold(method: string, at: At = {}): Effect.Effect<Hold> {
    return Effect.suspend(() => {
      const reached = new Settlement<void>()
      const released = new Settlement<void>()
      const settle = (settlement: Settlement<void>) => Effect.sync(() => void settlement.settle())
      return Effect.as(
        this.once(method, at, () => Effect.zipRight(settle(reached), released.wait())),
        { reached: reached.wait(), release: settle(released) }
      )
    })
  }

  fail(method: string, code: string, at: At = {}): Effect.Effect<void> {
    return this.once(method, at, ({ path }) => Effect.fail(systemError(code, method, path)))
  }
}

/**
 * Layer of a file system in memory, and of the view from outside. A new one each time it is built.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Fiber } from "effect"
 * import { Cancellation } from "quiesce"
 * import { FileSystem } from "quiesce/capability"
 * import { MemoryFileSystem } from "quiesce/testing"
 *
 * // A write that is stopped right before its commit point leaves the file as it was.
 * const program = Effect.gen(function* () {
 *   const memory = yield* MemoryFileSystem.MemoryFileSystem
 *   const publishing = yield* memory.hold("sync")
 *   const writing = yield* Effect.fork(Cancellation.own(FileSystem.writeText("note.txt", "new")))
 *   yield* publishing.reached
 *   const stopping = yield* Effect.fork(Fiber.interrupt(writing))
 *   yield* Effect.yieldNow()
 *   yield* publishing.release
 *   yield* Fiber.join(stopping)
 *   return yield* memory.files
 * })
 *
 * const layer = MemoryFileSystem.layer({ files: { "note.txt": "old" } })
 * assert.deepStrictEqual(await Effect.runPromise(Effect.provide(program, layer)), { "note.txt": "old" })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<FileSystem.FileSystem | MemoryFileSystem> =>
  Layer.unwrapEffect(
    Effect.sync(() => {
      const memory = new Memory(options)
      const platform = Layer.mergeAll(
        Layer.succeed(PlatformFileSystem.FileSystem, memory.platform.fs),
        PlatformPath.layer
      )
      return Layer.merge(
        Layer.provide(FileSystem.layer({ root: options.root ?? "/workspace" }), platform),
        Layer.succeed(MemoryFileSystem, memory)
      )
    })
  )
