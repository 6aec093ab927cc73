/**
 * Writes a file as a whole or not at all, and only over the version that it is meant for (see `staging`).
 *
 * Invariants
 *
 * W1. A file that replaces another is younger than that, if need be by a millisecond: inode numbers are used again, and
 *     without it the third of three quick writes could pass for the first.
 * W2. A guarded write looks at the version when it begins, and again right before it publishes. Between that look and
 *     the rename no fiber of this service can write: the caller holds the turn of the target.
 */
import type * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { modifiedMillis, versionOf } from "./info.js"
import type { Place } from "./locate.js"
import type { Platform, Problem } from "./problem.js"
import { inFolder } from "./reach.js"
import { chunkBytes, readVersioned } from "./read.js"
import { keepAttributes, staged, targetOf } from "./staging.js"

/**
 * How much may be waiting for the disk when it is told to take it: writing it out cannot be interrupted, and at this
 * size takes some 20 ms (32 MiB; half a second for 1 GiB).
 */
const syncBytes = 32 * chunkBytes

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

/** The next chunk of a text, `undefined` behind the last one. */
const chunksOf = (text: string): Effect.Effect<Uint8Array | undefined, Problem> => {
  let at = 0
  return Effect.suspend(() => {
    if (at >= text.length) return Effect.succeed(undefined)
    const from = at
    at = cut(text, from)
    return encode(text.slice(from, at))
  })
}

/** @internal */
export interface Attributes {
  /** Of the file that this is a copy of. */
  readonly mode?: number | undefined
  /** The file that this is to replace. */
  readonly previous?: PlatformFileSystem.File.Info | undefined
  /** Whether it is on the disk before it appears. Default: true. */
  readonly isDurable?: boolean
}

/**
 * Writes all chunks into a new file, and gives it the attributes of the file that it is to replace. Gives the version.
 *
 * @internal
 */
export const writeChunks = (
  platform: Platform,
  at: string,
  next: Effect.Effect<Uint8Array | undefined, Problem>,
  { isDurable = true, mode, previous }: Attributes
): Effect.Effect<string, Problem> =>
  Effect.gen(function* () {
    const { call, fs, reach } = platform
    const file = yield* call(fs.open(at, { flag: "wx" }))
    const path = reach.pathOf(file, at)
    let unsynced = 0
    for (let bytes = yield* next; bytes !== undefined; bytes = yield* next) {
      if (unsynced + bytes.length > syncBytes) {
        yield* call(file.sync)
        unsynced = 0
      }
      yield* call(file.writeAll(bytes))
      unsynced += bytes.length
    }
    if (isDurable) yield* call(file.sync)
    const written = yield* call(file.stat)
    if (previous === undefined) {
      if (mode !== undefined) yield* call(fs.chmod(path, mode & 0o777))
      return versionOf(written)
    }
    yield* keepAttributes(platform, path, written, previous)
    if (modifiedMillis(written) > modifiedMillis(previous)) return versionOf(written)
    const later = (modifiedMillis(previous) + 1) / 1000
    yield* call(fs.utimes(path, later, later)) // W1
    return versionOf(yield* call(file.stat))
  }).pipe(Effect.scoped)

const stale: Problem = { reason: "StaleVersion" }

const gone: Problem = { reason: "StaleVersion", detail: "it is no longer there" }

/** Fails unless the file `at`, in a folder that is held, is still of a version. */
const mustBeVersion = ({ call, fs }: Platform, at: string, version: string): Effect.Effect<void, Problem> =>
  Effect.flatMap(call(fs.stat(at)), (info) => (versionOf(info) === version ? Effect.void : Effect.fail(stale)))

const orGone = (self: Effect.Effect<void, Problem>): Effect.Effect<void, Problem> =>
  Effect.mapError(self, (problem) => (problem.reason === "NotFound" ? gone : problem))

/**
 * Writes `text`, over the version `expected` where that is given. Gives the version that is there then.
 *
 * @internal
 */
export const writeText = (
  platform: Platform,
  place: Place,
  text: string,
  expected: string | undefined
): Effect.Effect<string, Problem> => {
  const mayReplace = (at: string) =>
    expected === undefined ? Effect.void : orGone(mustBeVersion(platform, at, expected)) // W2
  return Effect.gen(function* () {
    if (expected !== undefined) {
      if (place.missing.length > 0) return yield* Effect.fail(gone)
      yield* orGone(inFolder(platform, place.existing, mayReplace))
    }
    const target = yield* targetOf(platform, place)
    return yield* staged(platform, target, (at) => writeChunks(platform, at, chunksOf(text), target), mayReplace)
  })
}

/**
 * Reads the text at a place, and writes what `change` makes of it: over what was read, and nothing else.
 *
 * @internal
 */
export const changeText = (
  platform: Platform,
  place: Place,
  { expected, maxBytes }: { readonly expected: string | undefined; readonly maxBytes: number },
  change: (text: string) => Effect.Effect<string, Problem>
): Effect.Effect<string, Problem> =>
  Effect.gen(function* () {
    const { text, version } = yield* readVersioned(platform, place, maxBytes)
    if (expected !== undefined && version !== expected) return yield* Effect.fail(stale)
    return yield* writeText(platform, place, yield* change(text), version)
  })
