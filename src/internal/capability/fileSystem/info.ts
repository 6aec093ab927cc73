/**
 * What is at a path, and which version of it.
 */
import type * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { isNoLink, mustExist, type Name, type Place } from "./locate.js"
import type { Platform, Problem } from "./problem.js"
import { inFolder } from "./reach.js"

/** @internal */
export type Kind = "file" | "directory" | "link" | "other"

/** @internal */
export interface Info {
  readonly kind: Kind
  readonly size: number
  readonly modifiedMillis?: number
  readonly mode?: number
  readonly target?: string
  readonly version: string
}

/** @internal */
export const modifiedMillis = ({ mtime }: PlatformFileSystem.File.Info): number =>
  Option.match(mtime, { onNone: () => 0, onSome: (date) => date.getTime() })

/**
 * Tells the states of a file apart. A file that is replaced is another one (`ino`), and one that is changed in place has
 * another size or is younger, as far as the milliseconds of the platform tell. Not its time of birth: where that is not
 * kept, its place is taken by a time that the move to its place changes.
 *
 * @internal
 */
export const versionOf = (info: PlatformFileSystem.File.Info): string =>
  [info.dev, Option.getOrElse(info.ino, () => 0), info.size, modifiedMillis(info)]
    .map((part) => part.toString(36))
    .join("-")

const kinds: { readonly [type: string]: Kind } = { File: "file", Directory: "directory" }

const infoOf = (info: PlatformFileSystem.File.Info): Info => ({
  kind: kinds[info.type] ?? "other",
  size: Number(info.size),
  modifiedMillis: modifiedMillis(info),
  mode: info.mode & 0o7777,
  version: versionOf(info)
})

/** @internal */
export const stat = (platform: Platform, place: Place): Effect.Effect<Info, Problem> =>
  Effect.flatMap(mustExist(place), (real) =>
    inFolder(platform, real, (at) => Effect.map(platform.call(platform.fs.stat(at)), infoOf))
  )

/**
 * The information on what is in a folder that is held. A link is not followed. The platform has no such call, and says of
 * a link only where it leads; what is not a link is told by the failure to read it as one, which costs some 0.1 ms.
 *
 * @internal
 */
export const lookAt = ({ call, fs }: Platform, at: string): Effect.Effect<Info, Problem> =>
  Effect.matchEffect(call(fs.readLink(at)), {
    onSuccess: (target) =>
      Effect.sync((): Info => {
        const size = new TextEncoder().encode(target).length
        return { kind: "link", size, target, version: `link-${target}` }
      }),
    onFailure: (refusal) => (isNoLink(refusal) ? Effect.map(call(fs.stat(at)), infoOf) : Effect.fail(refusal))
  })

/**
 * As `stat`, of a name: a link is not followed.
 *
 * @internal
 */
export const lstat = (platform: Platform, { path }: Name): Effect.Effect<Info, Problem> =>
  inFolder(platform, path, (at) => lookAt(platform, at))

/**
 * As `lookAt`, of what was just listed: `undefined` where it is gone meanwhile.
 *
 * @internal
 */
export const lookAgain = (platform: Platform, at: string): Effect.Effect<Info | undefined, Problem> =>
  Effect.catchAll(lookAt(platform, at), (problem) =>
    problem.reason === "NotFound" ? Effect.succeed(undefined) : Effect.fail(problem)
  )
