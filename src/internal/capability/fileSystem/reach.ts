/**
 * How a place that was found is reached, while other programs may put something else there.
 *
 * A path is looked up anew by each call. Where the platform can keep hold of a folder (a provider of its own, such as
 * `node/NodeFileSystem`), what is in it is reached through the folder itself, and a link that takes its place leads
 * nobody anywhere. The platform of `@effect/platform` cannot: there a path is asked again right before and after it is
 * used, and between two calls a program can still swap a folder for a link, or a file for a pipe.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Platform, Problem, Ways } from "./problem.js"

/**
 * What was found is no longer there, but something else.
 *
 * @internal
 */
export const becameLink: Problem = { reason: "NotADirectory", detail: "a folder in it became a link" }

/**
 * By its path: where a folder cannot be kept hold of.
 *
 * @internal
 */
export const byPath: Ways = {
  hold: (_platform, real) => Effect.succeed(real),
  enter: ({ path }, folder, name) => Effect.succeed(path.join(folder, name)),
  mustStay: () => Effect.void,
  mustBeReal: ({ call, fs }, at) =>
    Effect.flatMap(call(fs.realPath(at)), (real) => (real === at ? Effect.void : Effect.fail(becameLink))),
  open: (platform, at, mayOpen) =>
    Effect.gen(function* () {
      const { call, fs } = platform
      // Before it is opened: opening a pipe that nobody writes to blocks one of the few threads of the host for good.
      yield* mayOpen(yield* call(fs.stat(at)))
      const file = yield* call(fs.open(at, { flag: "r" }))
      const info = yield* call(file.stat)
      yield* mayOpen(info) // swapped for a device meanwhile, which would never end
      yield* byPath.mustBeReal(platform, at) // what is open is what was meant
      return { file, info }
    }),
  pathOf: (_file, at) => at
}

/**
 * How a platform reaches what was found, where it knows better than by path.
 *
 * @internal
 */
export class PlatformReach extends Context.Tag("quiesce/internal/capability/fileSystem/reach/PlatformReach")<
  PlatformReach,
  Ways
>() {}

/** @internal */
export const ways: Effect.Effect<Ways> = Effect.map(
  Effect.serviceOption(PlatformReach),
  Option.getOrElse(() => byPath)
)

/**
 * Works with what is at a real path: by a path in its folder, which is held as long as that takes.
 *
 * @internal
 */
export const inFolder = <A>(
  platform: Platform,
  real: string,
  use: (at: string) => Effect.Effect<A, Problem, Scope.Scope>
): Effect.Effect<A, Problem> =>
  Effect.scoped(
    Effect.flatMap(platform.reach.hold(platform, platform.path.dirname(real)), (folder) =>
      use(platform.path.join(folder, platform.path.basename(real)))
    )
  )
