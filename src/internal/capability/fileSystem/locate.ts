/**
 * Finds what a path means before anything is done with it.
 *
 * Links are resolved here, once; what follows works on the place that was found. What another program puts there between
 * the two is a matter of how the place is reached (see `reach`).
 */
import * as Effect from "effect/Effect"
import type { Platform, Problem, Services } from "./problem.js"

/**
 * Where a path leads.
 *
 * @internal
 */
export interface Place {
  /** The real path of what exists: the place itself, or else the nearest folder above it. */
  readonly existing: string
  /** The names below it that do not exist yet. */
  readonly missing: ReadonlyArray<string>
}

/**
 * A name in a folder, whatever is there. A link is not followed.
 *
 * @internal
 */
export interface Name {
  /** The real path of its folder, and the name. */
  readonly path: string
  /** Whether it is the root, of this file system or of the host's. */
  readonly isRoot: boolean
}

const resolve = (platform: Platform, absolute: string): Effect.Effect<Place, Problem> => {
  const { call, fs } = platform
  const recover = (problem: Problem): Effect.Effect<Place, Problem> =>
    problem.reason === "NotFound" ? resolveMissing(platform, absolute, problem) : Effect.fail(problem)
  return Effect.matchEffect(call(fs.realPath(absolute)), {
    onSuccess: (existing) => Effect.succeed({ existing, missing: [] }),
    onFailure: recover
  })
}

/**
 * Whether a failure to read a link says that there is none. The platform has no word for "not a link".
 *
 * @internal
 */
export const isNoLink = ({ reason }: Problem): boolean => reason === "Unknown" || reason === "NotFound"

// Nothing real is there: a link that points to nothing yet, or a name that is free.
const resolveMissing = (platform: Platform, absolute: string, problem: Problem): Effect.Effect<Place, Problem> => {
  const { call, fs, path } = platform
  const folder = path.dirname(absolute)
  if (folder === absolute) return Effect.fail(problem)
  return Effect.matchEffect(call(fs.readLink(absolute)), {
    onSuccess: (link) =>
      Effect.flatMap(call(fs.realPath(folder)), (real) => resolve(platform, path.resolve(real, link))),
    onFailure: (refusal) =>
      isNoLink(refusal)
        ? Effect.map(resolve(platform, folder), ({ existing, missing }) => ({
            existing,
            missing: [...missing, path.basename(absolute)]
          }))
        : Effect.fail(refusal)
  })
}

/**
 * Whether a place is a folder or lies in it, by their words.
 *
 * @internal
 */
export const contains = ({ path }: Services, folder: string, place: string): boolean => {
  const way = path.relative(folder, place)
  return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way)
}

const outside: Problem = { reason: "OutsideRoot" }

/**
 * What a path means by its words: from `root`, where there is one, else from the working directory.
 *
 * @internal
 */
export const spell = ({ path }: Services, root: string | undefined, target: string): string =>
  root === undefined ? path.resolve(target) : path.resolve(root, target)

/** The real path of the root. Fails for a path whose words lead out of it, before anything else is asked. */
const enter = (platform: Platform, root: string, absolute: string): Effect.Effect<string, Problem> =>
  Effect.flatMap(
    Effect.mapError(
      platform.call(platform.fs.realPath(root)),
      (problem): Problem => ({ ...problem, detail: "the root of this file system cannot be used" })
    ),
    (realRoot) =>
      // Asked first of the words alone, so that nobody learns through `..` what exists outside.
      contains(platform, platform.path.resolve(root), absolute) || contains(platform, realRoot, absolute)
        ? Effect.succeed(realRoot)
        : Effect.fail(outside)
  )

/**
 * Where `target` leads: from `root`, and nowhere out of it, where there is one; else from the working directory.
 *
 * @internal
 */
export const locate = (platform: Platform, root: string | undefined, target: string): Effect.Effect<Place, Problem> => {
  const absolute = spell(platform, root, target)
  if (root === undefined) return resolve(platform, absolute)
  return Effect.flatMap(enter(platform, root, absolute), (realRoot) =>
    Effect.filterOrFail(
      resolve(platform, absolute),
      (place) => contains(platform, realRoot, pathOf(platform, place)),
      () => outside
    )
  )
}

/**
 * The name that `target` stands for: as `locate`, except that only its folder is resolved, which must exist.
 *
 * @internal
 */
export const locateName = (
  platform: Platform,
  root: string | undefined,
  target: string
): Effect.Effect<Name, Problem> => {
  const { path } = platform
  const absolute = spell(platform, root, target)
  const nameIn = (place: Place): Effect.Effect<Name, Problem> =>
    Effect.map(mustExist(place), (folder) => ({ path: path.join(folder, path.basename(absolute)), isRoot: false }))
  const folder = resolve(platform, path.dirname(absolute))
  if (root === undefined) {
    const isRoot = path.dirname(absolute) === absolute
    return isRoot ? Effect.succeed({ path: absolute, isRoot }) : Effect.flatMap(folder, nameIn)
  }
  return Effect.flatMap(enter(platform, root, absolute), (realRoot) => {
    const isRoot = absolute === path.resolve(root) || absolute === realRoot
    if (isRoot) return Effect.succeed({ path: realRoot, isRoot })
    return folder.pipe(
      // Where it leads is asked before whether it exists: what is missing outside is nobody's business either.
      Effect.filterOrFail(
        (place) => contains(platform, realRoot, pathOf(platform, place)),
        () => outside
      ),
      Effect.flatMap(nameIn)
    )
  })
}

/**
 * The path of a place, whether it exists or not. Two spellings of one place have the same.
 *
 * @internal
 */
export const pathOf = ({ path }: Services, { existing, missing }: Place): string => path.join(existing, ...missing)

/**
 * The real path of a place that must exist.
 *
 * @internal
 */
export const mustExist = ({ existing, missing }: Place): Effect.Effect<string, Problem> =>
  missing.length === 0 ? Effect.succeed(existing) : Effect.fail({ reason: "NotFound" })
