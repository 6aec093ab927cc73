/**
 * Makes something appear as a whole or not at all.
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
 * F4. The staging folder is gone when this completes, however it does (L3).
 * F5. The folder where something goes, and the staging folder, are held all the time (see `reach`): what takes their place
 *     meanwhile is neither written to nor cleaned up.
 */
import type * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import type { Place } from "./locate.js"
import type { Platform, Problem } from "./problem.js"
import { inFolder } from "./reach.js"
import { mustBeFile } from "./read.js"

/**
 * Where something goes: `names` below `folder`, which exists, and the file that is there already.
 *
 * @internal
 */
export interface Target {
  readonly folder: string
  readonly names: ReadonlyArray<string>
  readonly previous: PlatformFileSystem.File.Info | undefined
}

/**
 * The target of a file. Fails where something is that a file may not replace.
 *
 * @internal
 */
export const targetOf = (platform: Platform, { existing, missing }: Place): Effect.Effect<Target, Problem> => {
  const { call, fs, path } = platform
  if (missing.length > 0) return Effect.succeed({ folder: existing, names: missing, previous: undefined })
  return inFolder(platform, existing, (at) =>
    Effect.gen(function* () {
      const previous = yield* call(fs.stat(at))
      yield* mustBeFile(previous) // a rename would put a file in the place of a pipe or a device
      yield* call(fs.access(at, { writable: true })) // and needs no permission of the file that it replaces
      return { folder: path.dirname(existing), names: [path.basename(existing)], previous }
    })
  )
}

/**
 * Gives a staged file the mode of the file that it is to replace, and its owner where the system lets us.
 *
 * @internal
 */
export const keepAttributes = (
  { call, fs }: Platform,
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
  const { call, fs, path, reach } = platform
  const [first = "", ...rest] = names
  const source = path.join(from, first)
  const destination = path.join(folder, first)
  return Effect.catchAll(call(fs.rename(source, destination)), (problem) => {
    if (rest.length === 0) return Effect.fail(problem)
    const enterBoth = Effect.gen(function* () {
      yield* reach.mustBeReal(platform, destination) // a link in its place could lead anywhere
      return [yield* reach.enter(platform, from, first), yield* reach.enter(platform, folder, first)] as const
    })
    return Effect.scoped(
      Effect.flatMap(
        Effect.mapError(enterBoth, () => problem),
        ([inner, outer]) => publish(platform, inner, outer, rest)
      )
    )
  })
}

/** Removes the staging folder `staging`, which is `name` to people. */
const discard = ({ finish, fs }: Platform, staging: string, name: string): Effect.Effect<void> =>
  Effect.catchAll(finish(fs.remove(staging, { recursive: true, force: true })), ({ cause }) =>
    Effect.logWarning(`The staging folder ${name} could not be removed: remove it by hand`, cause)
  )

/**
 * Lets `build` make what is to appear at the path that it is given, asks `mayAppear` right before it does, with the path
 * at which it will, and publishes it.
 *
 * @internal
 */
export const staged = <A>(
  platform: Platform,
  { folder, names }: Target,
  build: (at: string) => Effect.Effect<A, Problem>,
  mayAppear: (at: string) => Effect.Effect<void, Problem>
): Effect.Effect<A, Problem> => {
  const { call, fs, path, reach } = platform
  const appear = (held: string, staging: string): Effect.Effect<A, Problem> =>
    Effect.gen(function* () {
      const outermost = yield* reach.enter(platform, held, path.basename(staging))
      let inner = outermost
      for (const name of names.slice(0, -1)) {
        yield* call(fs.makeDirectory(path.join(inner, name)))
        inner = yield* reach.enter(platform, inner, name)
      }
      const built = yield* build(path.join(inner, names.at(-1) ?? ""))
      yield* mayAppear(path.join(held, ...names))
      yield* reach.mustStay(platform, held, folder)
      // A pending interrupt is seen right before the rename begins; then it is out of reach.
      yield* publish(platform, outermost, held, names) // F3
      return built
    }).pipe(Effect.scoped)
  return Effect.scoped(
    Effect.flatMap(reach.hold(platform, folder), (held) =>
      Effect.acquireUseRelease(
        call(fs.makeTempDirectory({ directory: held, prefix: ".quiesce-" })), // F2
        (staging) => appear(held, staging),
        (staging) => discard(platform, staging, path.join(folder, path.basename(staging))) // F4
      )
    )
  )
}
