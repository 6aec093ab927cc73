/**
 * Files and folders.
 *
 * Each operation is done, or it has not happened: when it completes, in whatever way, none of its calls to the platform
 * still runs (L3), and an interruption that found it in the middle has left nothing behind. (`remove` is the exception:
 * what is gone is gone, and it says how much.) To get there each single call to the platform is awaited, and an
 * interruption takes effect between two of them (L4): after a read or a write of at most 1 MiB.
 *
 * Changes (`writeText`, `editText`, `remove`, `copy`) of one target take turns: first come, first served, under whatever
 * spelling or link. A folder and what is below it count as one target. Who is interrupted while waiting leaves the line
 * at once. Reads do not wait: they see the state before a change or after it. The line is that of a layer; other layers
 * and other programs are met by versions.
 *
 * Long because each operation carries its contract; how they work is in `internal/capability/fileSystem/`.
 *
 * @since 0.1.0
 */
import * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as PlatformPath from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Cancellation from "../Cancellation.js"
import { type Operations, operationsOn } from "../internal/capability/fileSystem/operations.js"
import type { Problem } from "../internal/capability/fileSystem/problem.js"
import { ways } from "../internal/capability/fileSystem/reach.js"
import { quoted } from "../internal/quoted.js"

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
  "StaleVersion",
  "TextNotFound",
  "TextAmbiguous",
  "Unknown"
)

/**
 * Why an operation failed.
 *
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

const verbs = {
  resolve: "resolve",
  stat: "look at",
  lstat: "look at",
  readText: "read",
  readVersioned: "read",
  readBytes: "read",
  streamText: "read",
  list: "list",
  writeText: "write",
  editText: "edit",
  remove: "remove",
  copy: "copy"
}

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
  StaleVersion: ["it has changed since that version was read", "Read it again, and decide on what it holds now"],
  TextNotFound: [
    "the text to replace does not stand in it",
    "Read it again, and copy the text exactly, white space too"
  ],
  TextAmbiguous: ["the text to replace is ambiguous", "Give enough of the text around it, or replace all places"],
  Unknown: ["the system refused", "Try again; if that does not help, look at the cause"]
}

/**
 * An operation on a file or a folder failed.
 *
 * A failed operation has changed nothing, except `remove`, which says how many entries it had `removed`. Cancellation is
 * an interruption and never one of these.
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
  operation: Schema.Literal(
    "resolve",
    "stat",
    "lstat",
    "readText",
    "readVersioned",
    "readBytes",
    "streamText",
    "list",
    "writeText",
    "editText",
    "remove",
    "copy"
  ),
  /** As it was given. */
  path: Schema.String,
  /** As it was given: where a copy was to go. */
  to: Schema.optional(Schema.String),
  reason: Reason,
  /** What happened, where that can be said better than by the reason alone. */
  detail: Schema.optional(Schema.String),
  /** How many entries had been removed before it failed, and stay removed. */
  removed: Schema.optional(Schema.NonNegativeInt),
  cause: Schema.optional(Schema.Defect)
}) {
  /** The reason as the code of a failed call, such as `FS_NOT_FOUND`. */
  get code(): string {
    return `FS_${this.reason.replace(/(?<!^)(?=[A-Z])/g, "_").toUpperCase()}`
  }

  override get message(): string {
    const [what, advice] = texts[this.reason]
    const to = this.to === undefined ? "" : ` to ${quoted(this.to)}`
    const removed = this.removed === undefined ? "" : ` (entries removed before that: ${this.removed})`
    return `Cannot ${verbs[this.operation]} ${quoted(this.path)}${to}: ${this.detail ?? what}${removed}. ${advice}.`
  }
}

/**
 * Schema for what there is at a path.
 *
 * A `link` appears only where links are not followed. `other` is a pipe, a socket, a device, or something that cannot be
 * looked at.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Kind = Schema.Literal("file", "directory", "link", "other")

/**
 * What there is at a path.
 *
 * @since 0.1.0
 * @category models
 */
export type Kind = typeof Kind.Type

/**
 * Schema for what a folder holds under one name. A link is not followed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Entry = Schema.Struct({ name: Schema.String, kind: Kind })

/**
 * What a folder holds under one name.
 *
 * @since 0.1.0
 * @category models
 */
export type Entry = typeof Entry.Type

/**
 * Schema for the version of a file.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Version = Schema.String.pipe(Schema.brand("quiesce/capability/FileSystem/Version"))

/**
 * Tells the states of a file apart: two versions are equal as long as the file was neither replaced nor changed. It can be
 * stored, and sent to a model and back.
 *
 * It is made of the identity of the file, its size and the time of its last change in milliseconds. What another program
 * changes in place, within the same millisecond and without a change of size, it does not see.
 *
 * @since 0.1.0
 * @category models
 */
export type Version = typeof Version.Type

/**
 * Schema for what is known of a file or a folder.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Info = Schema.Struct({
  kind: Kind,
  /** In bytes. */
  size: Schema.NonNegativeInt,
  /** When it was changed last, in milliseconds since 1970. Not known of a link. */
  modifiedMillis: Schema.optional(Schema.Int),
  /** The permission bits. Not known of a link. */
  mode: Schema.optional(Schema.NonNegativeInt),
  /** Where a link leads, as it is written in it. */
  target: Schema.optional(Schema.String),
  version: Version
})

/**
 * What is known of a file or a folder.
 *
 * @since 0.1.0
 * @category models
 */
export type Info = typeof Info.Type

/**
 * Where a path leads.
 *
 * @since 0.1.0
 * @category models
 */
export interface Target {
  /** Absolute, without links: the same for all spellings of one place. */
  readonly path: string
  readonly exists: boolean
}

/**
 * A text, and the version of the file that it was read from.
 *
 * @since 0.1.0
 * @category models
 */
export interface VersionedText {
  readonly text: string
  readonly version: Version
}

/**
 * What reads of a whole file need to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReadOptions {
  /** The most that a file may hold. Default: 10 MiB. */
  readonly maxBytes?: number | undefined
}

/**
 * What changes of a file need to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface WriteOptions {
  /** The version that may be replaced. With another one, or none at all, it fails with `StaleVersion`. Default: any. */
  readonly expected?: Version | undefined
}

/**
 * One exact replacement.
 *
 * @since 0.1.0
 * @category models
 */
export interface Edit {
  /** What to replace: exact, white space and ends of lines included. */
  readonly find: string
  /** What to put in its place, as it is. */
  readonly replace: string
  /** Whether to replace all places. Default: `find` must stand there exactly once. */
  readonly all?: boolean | undefined
}

/**
 * What `remove` needs to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface RemoveOptions {
  /** Whether a folder is removed, with all that is in it. Default: no, not even an empty one. */
  readonly recursive?: boolean | undefined
}

/**
 * What `copy` needs to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface CopyOptions {
  /** Whether a folder is copied, with all that is in it. Default: no. */
  readonly recursive?: boolean | undefined
  /** Whether a file may take the place of a file. A folder never takes the place of anything. Default: no. */
  readonly overwrite?: boolean | undefined
}

/**
 * What an implementation of `FileSystem` provides.
 *
 * Every operation goes through `Cancellation.operation`: it does not start under a cancelled owner (L10), and its owner
 * does not end before it has (L3, L14). None opens a pipe, a socket or a device, which could block a thread of the host
 * for good: each looks first. What a program can do that puts a pipe in the place of a file between that look and the
 * opening is up to the layer. Those that read follow links.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /**
   * Finds where a path leads, also one that leads to nothing yet.
   *
   * Only reads. An interruption takes effect between two links.
   */
  readonly resolve: (path: string) => Effect.Effect<Target, FileSystemError, Cancellation.Cancellation>
  /**
   * Looks at what there is at a path. A link is followed.
   *
   * Only reads, and can be interrupted before and after it has looked.
   */
  readonly stat: (path: string) => Effect.Effect<Info, FileSystemError, Cancellation.Cancellation>
  /**
   * As `stat`, but a link is not followed: looked at is the link itself, also one that leads out of the root.
   */
  readonly lstat: (path: string) => Effect.Effect<Info, FileSystemError, Cancellation.Cancellation>
  /**
   * Reads a file as UTF-8, byte order mark included.
   *
   * Completes when the file is closed again. An interruption takes effect after the chunk that is being read, and the
   * file is closed then, too. Fails for a folder, for bytes that are not UTF-8, and for a file above `maxBytes`.
   */
  readonly readText: (
    path: string,
    options?: ReadOptions
  ) => Effect.Effect<string, FileSystemError, Cancellation.Cancellation>
  /**
   * As `readText`, and gives the version too. A file that is changed while it is read has another version afterwards:
   * a change that expects this one fails.
   */
  readonly readVersioned: (
    path: string,
    options?: ReadOptions
  ) => Effect.Effect<VersionedText, FileSystemError, Cancellation.Cancellation>
  /**
   * As `readText`, of a file that holds anything.
   */
  readonly readBytes: (
    path: string,
    options?: ReadOptions
  ) => Effect.Effect<Uint8Array, FileSystemError, Cancellation.Cancellation>
  /**
   * Reads a file of any size as UTF-8, part by part: parts of at most 1 MiB, cut between characters, one read ahead.
   *
   * The stream is one operation from its first pull on: its owner does not end before the file is closed. It is closed,
   * and that is waited for, when the stream ends or fails, and when its consumer stops early or is interrupted. When the
   * owner is cancelled it is closed after the chunk that is being read, whether or not anybody pulls, and the next pull is
   * interrupted. Fails where the bytes are not UTF-8, with the parts before that handed over.
   */
  readonly streamText: (path: string) => Stream.Stream<string, FileSystemError, Cancellation.Cancellation>
  /**
   * Lists the entries of a folder, sorted by name (by code units, the same everywhere).
   *
   * Only reads. An interruption takes effect between two entries.
   */
  readonly list: (path: string) => Effect.Effect<ReadonlyArray<Entry>, FileSystemError, Cancellation.Cancellation>
  /**
   * Writes a file as UTF-8, as a whole or not at all, and gives its version.
   *
   * The text, and folders on the way that are missing, are staged in a private folder next to where they belong, forced
   * to the disk, and then moved there. That move is the commit point: until it nobody has seen anything and the old
   * file is untouched; from it on the write has succeeded, and an interruption that comes now undoes nothing (it meets
   * the caller when this has completed, where that can be interrupted). With `expected` the version is compared at the
   * beginning and again right before the move, so of several writes that expect one version one wins.
   *
   * An interruption before the commit point takes effect after the chunk that is being written, and this completes when
   * what was staged is removed. Never left behind, on any path: a staged file, a folder made for a write that did not
   * happen, half a file. Only a crash can leave the staging folder (`.quiesce-` and six letters), and one that the
   * system does not let us remove is named in a warning.
   *
   * A link at the path is followed, and what it points to is written. The file that is there keeps its mode, and its
   * owner where the system lets us; hard links and extended attributes stay with the old file.
   */
  readonly writeText: (
    path: string,
    text: string,
    options?: WriteOptions
  ) => Effect.Effect<Version, FileSystemError, Cancellation.Cancellation>
  /**
   * Makes exact replacements in a file of at most 10 MiB of UTF-8, one after another, all of them or none.
   *
   * Reads as `readText` does and writes as `writeText` does, in one turn, over the version that it has read: what somebody
   * else writes meanwhile is never lost, this fails with `StaleVersion` instead. The commit point is the move of what was
   * staged, as there: until it the file is untouched, from it on all edits are made. Fails with `TextNotFound` where a text
   * does not stand there, with `TextAmbiguous` where it stands there more than once and `all` is not set, and with
   * `TooLarge` where a replacement makes it longer than 10 Mi characters. An interruption takes effect between two edits,
   * too.
   */
  readonly editText: (
    path: string,
    edits: ReadonlyArray<Edit>,
    options?: WriteOptions
  ) => Effect.Effect<Version, FileSystemError, Cancellation.Cancellation>
  /**
   * Removes a file, a link (never what it points to), a pipe, or with `recursive` a folder, and gives how many entries
   * that were. The root itself is not removed.
   *
   * For one entry the commit point is its removal. A folder has none: it goes from the leaves up, and an interruption takes
   * effect between two entries. What is removed stays removed: a failure says how many entries that are (`removed`), and
   * a warning does where it was interrupted.
   */
  readonly remove: (
    path: string,
    options?: RemoveOptions
  ) => Effect.Effect<number, FileSystemError, Cancellation.Cancellation>
  /**
   * Copies a file, or with `recursive` a folder, as a whole or not at all.
   *
   * The copy is staged next to its target as for `writeText`, missing folders included, and moved there: the commit
   * point. An interruption before it takes effect after the chunk that is being copied, and rolls the whole copy back.
   * Something at the target is `AlreadyExists`, except for a file with `overwrite`.
   *
   * A link at `from` is followed. Links below it are copied as they are, so what they say may mean something else there.
   * Modes are kept, and the owner of a folder may always write to its copy; times and extended attributes are not kept. A
   * pipe, a socket or a device below `from` fails it. The files of a folder are not forced to the disk one by one.
   */
  readonly copy: (
    from: string,
    to: string,
    options?: CopyOptions
  ) => Effect.Effect<void, FileSystemError, Cancellation.Cancellation>
}

/**
 * Service that works on files and folders.
 *
 * @since 0.1.0
 * @category services
 */
export class FileSystem extends Context.Tag("quiesce/capability/FileSystem")<FileSystem, Service>() {}

type Needs = FileSystem | Cancellation.Cancellation

/**
 * Finds where a path leads (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const resolve = (path: string): Effect.Effect<Target, FileSystemError, Needs> =>
  Effect.flatMap(FileSystem, (fs) => fs.resolve(path))

/**
 * Looks at what there is at a path (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const stat = (path: string): Effect.Effect<Info, FileSystemError, Needs> =>
  Effect.flatMap(FileSystem, (fs) => fs.stat(path))

/**
 * Looks at what there is at a path, and does not follow a link (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const lstat = (path: string): Effect.Effect<Info, FileSystemError, Needs> =>
  Effect.flatMap(FileSystem, (fs) => fs.lstat(path))

/**
 * Reads a file as UTF-8 (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const readText = (path: string, options?: ReadOptions): Effect.Effect<string, FileSystemError, Needs> =>
  Effect.flatMap(FileSystem, (fs) => fs.readText(path, options))

/**
 * Reads a file as UTF-8, with its version (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const readVersioned = (
  path: string,
  options?: ReadOptions
): Effect.Effect<VersionedText, FileSystemError, Needs> =>
  Effect.flatMap(FileSystem, (fs) => fs.readVersioned(path, options))

/**
 * Reads a file as it is (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const readBytes = (path: string, options?: ReadOptions): Effect.Effect<Uint8Array, FileSystemError, Needs> =>
  Effect.flatMap(FileSystem, (fs) => fs.readBytes(path, options))

/**
 * Reads a file of any size as UTF-8, part by part (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const streamText = (path: string): Stream.Stream<string, FileSystemError, Needs> =>
  Stream.unwrap(Effect.map(FileSystem, (fs) => fs.streamText(path)))

/**
 * Lists the entries of a folder, sorted by name (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const list = (path: string): Effect.Effect<ReadonlyArray<Entry>, FileSystemError, Needs> =>
  Effect.flatMap(FileSystem, (fs) => fs.list(path))

/**
 * Writes a file as UTF-8, as a whole or not at all (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const writeText = (
  path: string,
  text: string,
  options?: WriteOptions
): Effect.Effect<Version, FileSystemError, Needs> =>
  Effect.flatMap(FileSystem, (fs) => fs.writeText(path, text, options))

/**
 * Makes exact replacements in a file, all of them or none (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const editText = (
  path: string,
  edits: ReadonlyArray<Edit>,
  options?: WriteOptions
): Effect.Effect<Version, FileSystemError, Needs> =>
  Effect.flatMap(FileSystem, (fs) => fs.editText(path, edits, options))

/**
 * Removes a file, a link or a folder (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const remove = (path: string, options?: RemoveOptions): Effect.Effect<number, FileSystemError, Needs> =>
  Effect.flatMap(FileSystem, (fs) => fs.remove(path, options))

/**
 * Copies a file or a folder, as a whole or not at all (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const copy = (from: string, to: string, options?: CopyOptions): Effect.Effect<void, FileSystemError, Needs> =>
  Effect.flatMap(FileSystem, (fs) => fs.copy(from, to, options))

const failureOf =
  (operation: keyof Operations) =>
  (path: string, problem: Problem, to?: string): FileSystemError => {
    const detail =
      problem.isOfTarget === true ? `its target: ${problem.detail ?? texts[problem.reason][0]}` : problem.detail
    const { cause, reason, removed } = problem
    return new FileSystemError({ operation, path, to, reason, detail, removed, cause })
  }

/**
 * Layer that works on the file system of the platform.
 *
 * With `root`, relative paths start there, and a path that leads out of it, through `..` or through links, fails with
 * `OutsideRoot`. Without it relative paths start in the working directory, and nothing is out of reach.
 *
 * That guards against paths. A program at work in the same folders can get past it: the platform knows nothing but paths
 * and opens by waiting, so between two of its calls a folder can be swapped for a link that leads out of the root, and a
 * file for a pipe that blocks a thread of the host. On Node, use `NodeFileSystem.layer` (`quiesce/node`), which holds the
 * folders that it works in.
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
 *   const version = yield* FileSystem.writeText("notes/today.txt", "water the plants")
 *   const edit = { find: "the plants", replace: "the roses" }
 *   yield* FileSystem.editText("notes/today.txt", [edit], { expected: version })
 *   return yield* FileSystem.readText("notes/today.txt")
 * })
 *
 * const text = await Effect.runPromise(program.pipe(Cancellation.own, Effect.provide(layer)))
 * assert.strictEqual(text, "water the roses")
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
    Effect.map(Effect.all([PlatformFileSystem.FileSystem, PlatformPath.Path, ways]), ([fs, path, reach]) =>
      // What is a string there is a `Version` here.
      FileSystem.of(operationsOn({ fs, path, reach }, options?.root, failureOf) as Service)
    )
  )
