/**
 * Removes a name, and what is below it.
 *
 * Entry by entry, from the leaves up, and not by one recursive call of the platform, which an interrupted fiber leaves
 * and which then runs to its end (measured, decision 0013). A link is unlinked; what it points to is never looked at.
 */
import * as Effect from "effect/Effect"
import { lookAgain, lookAt } from "./info.js"
import type { Name } from "./locate.js"
import type { Platform, Problem } from "./problem.js"
import { inFolder } from "./reach.js"

/** Counts what is gone already, for whoever has to be told. */
interface Progress {
  removed: number
}

/** Removes the folder `at`, in a folder that is held. */
const removeFolder = (platform: Platform, at: string, progress: Progress): Effect.Effect<void, Problem> => {
  const { call, fs, path, reach } = platform
  return Effect.gen(function* () {
    // A link that was put in its place would lead us elsewhere.
    yield* reach.mustBeReal(platform, at)
    const folder = yield* reach.enter(platform, path.dirname(at), path.basename(at))
    const names = yield* call(fs.readDirectory(folder))
    yield* Effect.forEach([...names].sort(), (name) => removeEntry(platform, path.join(folder, name), progress), {
      discard: true
    })
    // Recursive, for the platform removes no folder without that word. It is empty, or somebody fills it as we look.
    yield* call(fs.remove(at, { recursive: true }))
    progress.removed++
  }).pipe(Effect.scoped)
}

const removeEntry = (platform: Platform, entry: string, progress: Progress): Effect.Effect<void, Problem> => {
  const { call, fs, path, reach } = platform
  return Effect.flatMap(lookAgain(platform, entry), (info) => {
    if (info === undefined) return Effect.void
    if (info.kind === "directory") return removeFolder(platform, entry, progress)
    return Effect.zipRight(
      reach.mustBeReal(platform, path.dirname(entry)),
      Effect.map(call(fs.remove(entry, { force: true })), () => void progress.removed++)
    )
  })
}

/**
 * Gives how many entries were removed. What is removed stays removed, so failures say it too, and an interruption is
 * logged.
 *
 * @internal
 */
export const remove = (
  platform: Platform,
  { isRoot, path }: Name,
  recursive: boolean
): Effect.Effect<number, Problem> =>
  Effect.suspend(() => {
    if (isRoot) return Effect.fail<Problem>({ reason: "OutsideRoot", detail: "it is the root itself" })
    const progress: Progress = { removed: 0 }
    const removing = inFolder(platform, path, (at) =>
      Effect.flatMap(lookAt(platform, at), ({ kind }) => {
        if (kind !== "directory") return platform.call(platform.fs.remove(at))
        return recursive
          ? removeFolder(platform, at, progress)
          : Effect.fail<Problem>({ reason: "IsDirectory", detail: "it is a folder, and `recursive` is not set" })
      })
    )
    return removing.pipe(
      Effect.mapBoth({
        onSuccess: () => Math.max(progress.removed, 1),
        onFailure: (problem): Problem => (progress.removed === 0 ? problem : { ...problem, removed: progress.removed })
      }),
      Effect.onInterrupt(() =>
        progress.removed === 0
          ? Effect.void
          : Effect.logWarning(
              `Removing ${path} was stopped: ${progress.removed} entries of it are gone, the rest is there`
            )
      )
    )
  })
