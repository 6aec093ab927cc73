/**
 * Files and folders.
 *
 * Each operation is done, or it has not happened: when it completes, in whatever way, none of its calls to the platform
 * still runs (L3), and an interruption that found it in the middle has left nothing behind. To get there each single
 * call to the platform is awaited, and an interruption takes effect between two of them (L4): after a read or a write
 * of at most 1 MiB.
 *
 * @since 0.1.0
 */
import * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as PlatformPath from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Cancellation from "../Cancellation.js"
import { locate, type Place } from "../internal/capability/fileSystem/locate.js"
import type { Platform, Problem } from "../internal/capability/fileSystem/problem.js"
import { list as listPlace, readText as readPlace } from "../internal/capability/fileSystem/read.js"
import { writeText as writePlace } from "../internal/capability/fileSystem/writeText.js"

/**
 * Schema for why an operation failed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal(
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "IsDirectory",
  "NotADirectory",
  "NotAFile",
  "NotText",
  "TooLarge",
  "OutsideRoot",
  "NoSpace",
  "InvalidPath",
  "Unknown"
)

/**
 * Why an operation failed.
 *
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

const verbs = { readText: "read", list: "list", writeText: "write" }

// For each reason what happened, and what to do about it.
const texts: { readonly [R in Reason]: readonly [what: string, advice: string] } = {
  NotFound: ["there is nothing at this path", "Check the name, or list the folder that it should be in"],
  AlreadyExists: ["something else is there already", "Choose another path"],
  PermissionDenied: ["it is not permitted", "Choose another path, or ask for permission"],
  IsDirectory: ["it is a folder", "Name a file in it; its entries can be listed"],
  NotADirectory: ["it, or a part of its path, is not a folder", "Check the path; a file can be read"],
  NotAFile: ["it is a pipe, a socket or a device", "Name a regular file"],
  NotText: ["it is not valid UTF-8", "Use a tool that works on bytes"],
  TooLarge: ["it is too large", "Read a smaller file, or one part of it at a time"],
  OutsideRoot: ["it is outside of the folder that may be used", "Use a path inside of that folder"],
  NoSpace: ["no space is left on the device", "Make room and try again"],
  InvalidPath: ["it is no path that the system accepts", "Use a shorter path without special characters"],
  Unknown: ["the system refused", "Try again; if that does not help, look at the cause"]
}

/**
 * An operation on a file or a folder failed.
 *
 * A failed operation has changed nothing. Cancellation is an interruption and never one of these.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { FileSystem } from "quiesce/capability"
 *
 * const error = new FileSystem.FileSystemError({ operation: "readText", path: "note.txt", reason: "NotFound" })
 * assert.strictEqual(error.code, "FS_NOT_FOUND")
 * assert.strictEqual(
 *   error.message,
 *   'Cannot read "note.txt": there is nothing at this path. Check the name, or list the folder that it should be in.'
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class FileSystemError extends Schema.TaggedError<FileSystemError>(
  "quiesce/capability/FileSystem/FileSystemError"
)("FileSystemError", {
  operation: Schema.Literal("readText", "list", "writeText"),
  /** As it was given. */
  path: Schema.String,
  reason: Reason,
  /** What happened, where that can be said better than by the reason alone. */
  detail: Schema.optional(Schema.String),
  cause: Schema.optional(Schema.Defect)
}) {
  /** The reason as the code of a failed call, such as `FS_NOT_FOUND`. */
  get code(): string {
    return `FS_${this.reason.replace(/(?<!^)(?=[A-Z])/g, "_").toUpperCase()}`
  }

  override get message(): string {
    const [what, advice] = texts[this.reason]
    return `Cannot ${verbs[this.operation]} "${this.path}": ${this.detail ?? what}. ${advice}.`
  }
}

/**
 * Schema for what a folder holds under one name.
 *
 * A link is not followed. `other` is a pipe, a socket, a device, or something that cannot be looked at.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Entry = Schema.Struct({
  name: Schema.String,
  kind: Schema.Literal("file", "directory", "link", "other")
})

/**
 * What a folder holds under one name.
 *
 * @since 0.1.0
 * @category models
 */
export type Entry = typeof Entry.Type

/**
 * What `readText` needs to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReadTextOptions {
  /** The most that a file may hold. Default: 10 MiB. */
  readonly maxBytes?: number | undefined
}

/**
 * What an implementation of `FileSystem` provides.
 *
 * Every operation goes through `Cancellation.operation`: it does not start under a cancelled owner (L10), and its owner
 * does not end before it has (L3, L14).
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /**
   * Reads a file as UTF-8, byte order mark included.
   *
   * Completes when the file is closed again. An interruption takes effect after the chunk that is being read, and the
   * file is closed then, too. Fails for a folder, for bytes that are not UTF-8, for a file above `maxBytes`, and
   * without opening it for a pipe, a socket or a device, which could block a thread of the host for good.
   */
  readonly readText: (
    path: string,
    options?: ReadTextOptions
  ) => Effect.Effect<string, FileSystemError, Cancellation.Cancellation>
  /**
   * Lists the entries of a folder, sorted by name (by code units, the same everywhere).
   *
   * Only reads. An interruption takes effect between two entries.
   */
  readonly list: (path: string) => Effect.Effect<ReadonlyArray<Entry>, FileSystemError, Cancellation.Cancellation>
  /**
   * Writes a file as UTF-8, as a whole or not at all.
   *
   * The text, and folders on the way that are missing, are staged in a private folder next to where they belong, forced
   * to the disk, and then moved there. That move is the commit point: until it nobody has seen anything and the old
   * file is untouched; from it on the write has succeeded, and an interruption that comes now undoes nothing (it meets
   * the caller when this has completed, where that can be interrupted).
   *
   * An interruption before the commit point takes effect after the chunk that is being written, and this completes when
   * what was staged is removed. Never left behind, on any path: a staged file, a folder made for a write that did not
   * happen, half a file. Only a crash can leave the staging folder (`.quiesce-` and six letters), and one that the
   * system does not let us remove is named in a warning.
   *
   * A link at the path is followed, and what it points to is written. The file that is there keeps its mode, and its
   * owner where the system lets us; hard links and extended attributes stay with the old file.
   */
  readonly writeText: (path: string, text: string) => Effect.Effect<void, FileSystemError, Cancellation.Cancellation>
}

/**
 * Service that reads and writes files.
 *
 * @since 0.1.0
 * @category services
 */
export class FileSystem extends Context.Tag("quiesce/capability/FileSystem")<FileSystem, Service>() {}

/**
 * Reads a file as UTF-8 (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const readText = (
  path: string,
  options?: ReadTextOptions
): Effect.Effect<string, FileSystemError, FileSystem | Cancellation.Cancellation> =>
  Effect.flatMap(FileSystem, (fs) => fs.readText(path, options))

/**
 * Lists the entries of a folder, sorted by name (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const list = (
  path: string
): Effect.Effect<ReadonlyArray<Entry>, FileSystemError, FileSystem | Cancellation.Cancellation> =>
  Effect.flatMap(FileSystem, (fs) => fs.list(path))

/**
 * Writes a file as UTF-8, as a whole or not at all (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const writeText = (
  path: string,
  text: string
): Effect.Effect<void, FileSystemError, FileSystem | Cancellation.Cancellation> =>
  Effect.flatMap(FileSystem, (fs) => fs.writeText(path, text))

const defaultMaxBytes = 10 * 1024 * 1024

const make = (platform: Platform, root: string | undefined): Service => {
  const run = <A>(
    operation: FileSystemError["operation"],
    path: string,
    use: (place: Place) => Effect.Effect<A, Problem>
  ): Effect.Effect<A, FileSystemError, Cancellation.Cancellation> =>
    Effect.uninterruptibleMask((restore) =>
      // Outside of `restore`: in an interruptible region Effect strips the failure of an interrupted fiber here (L5).
      Effect.mapError(
        restore(Effect.flatMap(locate(platform, root, path), use)),
        (problem) => new FileSystemError({ operation, path, ...problem })
      )
    ).pipe(Cancellation.operation(`FileSystem.${operation}`))
  return {
    readText: (path, options) =>
      run("readText", path, (place) => readPlace(platform, place, options?.maxBytes ?? defaultMaxBytes)),
    list: (path) => run("list", path, (place) => listPlace(platform, place)),
    writeText: (path, text) => run("writeText", path, (place) => writePlace(platform, place, text))
  }
}

/**
 * Layer that works on the file system of the platform.
 *
 * With `root`, relative paths start there, and a path that leads out of it, through `..` or through links, fails with
 * `OutsideRoot`. That guards against paths, not against a program that swaps a folder for a link at the same time.
 * Without it relative paths start in the working directory, and nothing is out of reach.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import * as fs from "node:fs"
 * import * as os from "node:os"
 * import * as path from "node:path"
 * import { NodeFileSystem, NodePath } from "@effect/platform-node"
 * import { Effect, Layer } from "effect"
 * import { Cancellation } from "quiesce"
 * import { FileSystem } from "quiesce/capability"
 *
 * const root = fs.mkdtempSync(path.join(os.tmpdir(), "example-"))
 * const layer = Layer.provide(FileSystem.layer({ root }), [NodeFileSystem.layer, NodePath.layer])
 *
 * const program = Effect.gen(function* () {
 *   yield* FileSystem.writeText("notes/today.txt", "water the plants")
 *   return yield* FileSystem.readText("notes/today.txt")
 * })
 *
 * const text = await Effect.runPromise(program.pipe(Cancellation.own, Effect.provide(layer)))
 * assert.strictEqual(text, "water the plants")
 * fs.rmSync(root, { recursive: true })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: {
  readonly root?: string | undefined
}): Layer.Layer<FileSystem, never, PlatformFileSystem.FileSystem | PlatformPath.Path> =>
  Layer.effect(
    FileSystem,
    Effect.map(Effect.all([PlatformFileSystem.FileSystem, PlatformPath.Path]), ([fs, path]) =>
      make({ fs, path }, options?.root)
    )
  )
