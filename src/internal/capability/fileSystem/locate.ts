/**
 * Finds what a path means before anything is done with it.
 *
 * Links are resolved here, once; what follows works on the place that was found. Between the two another process may
 * swap a folder for a link: a root is a guard against paths, not against a program that races with this one.
 */
import * as Effect from "effect/Effect"
import { call, type Platform, type Problem } from "./problem.js"

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

const resolve = ({ fs, path }: Platform, absolute: string): Effect.Effect<Place, Problem> => {
  const recover = (problem: Problem): Effect.Effect<Place, Problem> =>
    problem.reason === "NotFound" ? resolveMissing({ fs, path }, absolute, problem) : Effect.fail(problem)
  return Effect.matchEffect(call(fs.realPath(absolute)), {
    onSuccess: (existing) => Effect.succeed({ existing, missing: [] }),
    onFailure: recover
  })
}

// Nothing real is there: a link that points to nothing yet, or a name that is free.
const resolveMissing = (platform: Platform, absolute: string, problem: Problem): Effect.Effect<Place, Problem> => {
  const { fs, path } = platform
  const folder = path.dirname(absolute)
  if (folder === absolute) return Effect.fail(problem)
  return Effect.matchEffect(call(fs.readLink(absolute)), {
    onSuccess: (link) =>
      Effect.flatMap(call(fs.realPath(folder)), (real) => resolve(platform, path.resolve(real, link))),
    onFailure: () =>
      Effect.map(resolve(platform, folder), ({ existing, missing }) => ({
        existing,
        missing: [...missing, path.basename(absolute)]
      }))
  })
}

const contains = ({ path }: Platform, folder: string, place: string): boolean => {
  const way = path.relative(folder, place)
  return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way)
}

const outside: Problem = { reason: "OutsideRoot" }

/**
 * Where `target` leads: from `root`, and nowhere out of it, where there is one; else from the working directory.
 *
 * @internal
 */
export const locate = (platform: Platform, root: string | undefined, target: string): Effect.Effect<Place, Problem> => {
  const { fs, path } = platform
  if (root === undefined) return resolve(platform, path.resolve(target))
  return Effect.gen(function* () {
    const realRoot = yield* Effect.mapError(
      call(fs.realPath(root)),
      (problem): Problem => ({ ...problem, detail: "the root of this file system cannot be used" })
    )
    const absolute = path.resolve(root, target)
    // Asked first of the words alone, so that nobody learns through `..` what exists outside.
    if (!contains(platform, path.resolve(root), absolute) && !contains(platform, realRoot, absolute)) {
      return yield* Effect.fail(outside)
    }
    const place = yield* resolve(platform, absolute)
    return contains(platform, realRoot, path.join(place.existing, ...place.missing))
      ? place
      : yield* Effect.fail(outside)
  })
}

/**
 * The real path of a place that must exist.
 *
 * @internal
 */
export const mustExist = ({ existing, missing }: Place): Effect.Effect<string, Problem> =>
  missing.length === 0 ? Effect.succeed(existing) : Effect.fail({ reason: "NotFound" })
