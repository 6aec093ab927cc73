/**
 * Writes a file as a whole or not at all.
 *
 * Everything that is to appear, missing folders included, is built in a staging folder next to where it belongs and
 * moved there by one `rename`.
 *
 * Invariants
 *
 * F1. Until the commit point nothing outside of the staging folder has changed, so that rolling back means to remove
 *     that folder: no folder of somebody else is ever looked at and removed "because it is empty".
 * F2. The staging folder is private (a name that cannot be guessed, made by `mkdtemp`, mode 0700). What is in it gets
 *     the modes that it will keep; nobody else can reach it before it is published.
 * F3. The rename is the commit point. It is never started by a fiber with a pending interrupt, and from its start on
 *     nothing is rolled back unless it fails.
 * F4. The staging folder is gone when the write completes, however it does (L3).
 */
import type * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import type { Place } from "./locate.js"
import { call, type Platform, type Problem } from "./problem.js"
import { chunkBytes, mustBeFile } from "./read.js"

/**
 * How much may be waiting for the disk when it is told to take it: writing it out cannot be interrupted, and at this
 * size takes some 20 ms (32 MiB; half a second for 1 GiB).
 */
const syncBytes = 32 * chunkBytes

/** Where the file goes: `names` below `folder`, which exists, and the file that is there already. */
interface Target {
  readonly folder: string
  readonly names: ReadonlyArray<string>
  readonly previous: PlatformFileSystem.File.Info | undefined
}

const inspect = ({ fs, path }: Platform, { existing, missing }: Place): Effect.Effect<Target, Problem> =>
  missing.length > 0
    ? Effect.succeed({ folder: existing, names: missing, previous: undefined })
    : Effect.gen(function* () {
        const previous = yield* call(fs.stat(existing))
        yield* mustBeFile(previous) // a rename would put a file in the place of a pipe or a device
        yield* call(fs.access(existing, { writable: true })) // and needs no permission of the file that it replaces
        return { folder: path.dirname(existing), names: [path.basename(existing)], previous }
      })

// At most three bytes for each: with the unit that `cut` may add, no chunk is above `chunkBytes`.
const chunkUnits = Math.floor(chunkBytes / 3) - 1

/** Where a chunk ends that starts at `at`: not between the halves of a surrogate pair. */
const cut = (text: string, at: number): number => {
  const end = Math.min(at + chunkUnits, text.length)
  const last = text.charCodeAt(end - 1)
  return end < text.length && last >= 0xd800 && last < 0xdc00 ? end + 1 : end
}

const encode = (text: string): Effect.Effect<Uint8Array, Problem> =>
  /\p{Surrogate}/u.test(text)
    ? Effect.fail({ reason: "NotText", detail: "the text holds half of a surrogate pair, which UTF-8 cannot express" })
    : Effect.sync(() => new TextEncoder().encode(text))

const keepAttributes = (
  { fs }: Platform,
  file: string,
  staged: PlatformFileSystem.File.Info,
  previous: PlatformFileSystem.File.Info
): Effect.Effect<void, Problem> =>
  Effect.gen(function* () {
    const { gid, uid } = previous
    if (
      uid._tag === "Some" &&
      gid._tag === "Some" &&
      !(Equal.equals(staged.uid, uid) && Equal.equals(staged.gid, gid))
    ) {
      yield* Effect.ignore(call(fs.chown(file, uid.value, gid.value))) // only root may give files away
    }
    yield* call(fs.chmod(file, previous.mode & 0o777)) // what a program may become by its file is not carried over
  })

const stage = (platform: Platform, staging: string, target: Target, text: string): Effect.Effect<void, Problem> => {
  const { fs, path } = platform
  const { names, previous } = target
  const file = path.join(staging, ...names)
  const write = Effect.gen(function* () {
    const handle = yield* call(fs.open(file, { flag: "wx" }))
    let unsynced = 0
    for (let at = 0, end = 0; at < text.length; at = end) {
      end = cut(text, at)
      const bytes = yield* encode(text.slice(at, end))
      if (unsynced + bytes.length > syncBytes) {
        yield* call(handle.sync)
        unsynced = 0
      }
      yield* call(handle.writeAll(bytes))
      unsynced += bytes.length
    }
    yield* call(handle.sync)
    if (previous !== undefined) yield* keepAttributes(platform, file, yield* call(handle.stat), previous)
  })
  return Effect.gen(function* () {
    if (names.length > 1) yield* call(fs.makeDirectory(path.dirname(file), { recursive: true }))
    yield* Effect.scoped(write)
  })
}

/**
 * Moves the first of `names` from one folder into the other. Where somebody has made that folder meanwhile, only what
 * belongs in it.
 */
const publish = (
  platform: Platform,
  from: string,
  folder: string,
  names: ReadonlyArray<string>
): Effect.Effect<void, Problem> => {
  const { fs, path } = platform
  const [first = "", ...rest] = names
  const source = path.join(from, first)
  const destination = path.join(folder, first)
  return Effect.catchAll(call(fs.rename(source, destination)), (problem) =>
    rest.length === 0
      ? Effect.fail(problem)
      : Effect.flatMap(Effect.option(call(fs.realPath(destination))), (real) =>
          // A link in its place could lead anywhere.
          real._tag === "Some" && real.value === destination
            ? publish(platform, source, destination, rest)
            : Effect.fail(problem)
        )
  )
}

const discard = ({ fs }: Platform, staging: string): Effect.Effect<void> =>
  Effect.catchAll(call(fs.remove(staging, { recursive: true, force: true })), ({ cause }) =>
    Effect.logWarning(`The staging folder ${staging} could not be removed: remove it by hand`, cause)
  )

/** @internal */
export const writeText = (platform: Platform, place: Place, text: string): Effect.Effect<void, Problem> =>
  Effect.flatMap(inspect(platform, place), (target) =>
    Effect.acquireUseRelease(
      call(platform.fs.makeTempDirectory({ directory: target.folder, prefix: ".quiesce-" })), // F2
      (staging) =>
        Effect.zipRight(
          stage(platform, staging, target, text),
          // A pending interrupt was seen when the last call of `stage` ended; a call that has begun is out of reach.
          publish(platform, staging, target.folder, target.names) // F3
        ),
      (staging) => discard(platform, staging) // F4
    )
  )
