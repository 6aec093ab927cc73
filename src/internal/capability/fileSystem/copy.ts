/**
 * Copies a file or a folder as a whole or not at all (see `staging`).
 *
 * Entry by entry and chunk by chunk, and not by the platform's `copy` and `copyFile`, which an interrupted fiber leaves
 * and which then run to their end (measured, decision 0013).
 */
import * as Effect from "effect/Effect"
import { quoted } from "../../quoted.js"
import { lookAgain } from "./info.js"
import { contains, type Place, pathOf } from "./locate.js"
import type { Platform, Problem } from "./problem.js"
import { inFolder } from "./reach.js"
import { openFile } from "./read.js"
import { staged, type Target, targetOf } from "./staging.js"
import { type Attributes, writeChunks } from "./writeText.js"

/** @internal */
export interface CopyOptions {
  readonly recursive: boolean
  readonly overwrite: boolean
}

const copyFile = (platform: Platform, from: string, at: string, attributes: Attributes): Effect.Effect<void, Problem> =>
  Effect.gen(function* () {
    const { next } = yield* openFile(platform, from, Number.POSITIVE_INFINITY)
    yield* writeChunks(platform, at, next, attributes)
  }).pipe(Effect.scoped)

const copyFolder = (platform: Platform, from: string, at: string, mode: number): Effect.Effect<void, Problem> => {
  const { call, fs, path, reach } = platform
  return Effect.gen(function* () {
    yield* call(fs.makeDirectory(at))
    const copy = yield* reach.enter(platform, path.dirname(at), path.basename(at))
    const folder = yield* reach.enter(platform, path.dirname(from), path.basename(from))
    const names = yield* call(fs.readDirectory(folder))
    yield* reach.mustBeReal(platform, folder) // what was read is what was meant
    yield* Effect.forEach(
      [...names].sort(),
      (name) => copyEntry(platform, path.join(folder, name), path.join(copy, name)),
      { discard: true }
    )
    // Its owner may always write to it: else a copy that is rolled back could not be removed, nor one moved to its place.
    yield* call(fs.chmod(copy, (mode & 0o777) | 0o700))
  }).pipe(Effect.scoped)
}

const copyEntry = (platform: Platform, from: string, at: string): Effect.Effect<void, Problem> =>
  Effect.flatMap(lookAgain(platform, from), (info) => {
    switch (info?.kind) {
      case undefined:
        return Effect.void
      case "link":
        return platform.call(platform.fs.symlink(info?.target ?? "", at))
      case "directory":
        return copyFolder(platform, from, at, info?.mode ?? 0)
      case "file":
        return copyFile(platform, from, at, { mode: info?.mode, isDurable: false })
      default:
        return Effect.fail<Problem>({
          reason: "NotAFile",
          detail: `${quoted(platform.path.basename(from))} in it is a pipe, a socket or a device`
        })
    }
  })

const alreadyThere: Problem = { reason: "AlreadyExists" }

/** Where a copy may go. */
const targetFor = (
  platform: Platform,
  to: Place,
  isFile: boolean,
  { overwrite }: CopyOptions
): Effect.Effect<Target, Problem> =>
  to.missing.length === 0 && !(overwrite && isFile) ? Effect.fail(alreadyThere) : targetOf(platform, to)

/** @internal */
export const copy = (platform: Platform, from: string, to: Place, options: CopyOptions): Effect.Effect<void, Problem> =>
  inFolder(platform, from, (source) => copyFrom(platform, source, from, to, options))

/** Copies `source`, which is what is at `from`. */
const copyFrom = (
  platform: Platform,
  source: string,
  from: string,
  to: Place,
  options: CopyOptions
): Effect.Effect<void, Problem> =>
  Effect.gen(function* () {
    const path = pathOf(platform, to)
    const { mode, type } = yield* platform.call(platform.fs.stat(source))
    const isFile = type === "File"
    if (!isFile && type !== "Directory") return yield* Effect.fail<Problem>({ reason: "NotAFile" })
    if (!isFile && !options.recursive) {
      return yield* Effect.fail<Problem>({
        reason: "IsDirectory",
        detail: "it is a folder, and `recursive` is not set"
      })
    }
    if (path !== from && contains(platform, from, path)) {
      return yield* Effect.fail<Problem>({ reason: "InvalidPath", detail: "it would be a copy of a folder in itself" })
    }
    if (path === from) return yield* Effect.fail<Problem>({ ...alreadyThere, detail: "it is what is to be copied" })
    const target = yield* targetFor(platform, to, isFile, options)
    const build = (at: string) =>
      isFile
        ? copyFile(platform, source, at, { mode, previous: target.previous })
        : copyFolder(platform, source, at, mode)
    const mayAppear = (at: string): Effect.Effect<void, Problem> =>
      target.previous !== undefined
        ? Effect.void
        : Effect.flatMap(lookAgain(platform, at), (info) => (info ? Effect.fail(alreadyThere) : Effect.void))
    yield* staged(platform, target, build, mayAppear)
  })
