/**
 * One call of the platform, and what can go wrong with it.
 *
 * The platform's calls leave an interrupted fiber at once and run to their end behind its back: a `writeFile` that was
 * "stopped" at once leaves an empty file. So an operation runs protected as a whole, each call of it is short or bounded,
 * and an interruption takes effect right before the next one. As a whole, because in a region that can be interrupted
 * Effect strips the failure of an interrupted fiber at the next `mapError` or `match` (L5).
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as PlatformFileSystem from "@effect/platform/FileSystem"
import type * as PlatformPath from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import { hasProperty } from "effect/Predicate"
import type * as Scope from "effect/Scope"

type Info = PlatformFileSystem.File.Info

/**
 * A file that is open for reading, and what is known of it.
 *
 * @internal
 */
export interface Opened {
  readonly file: PlatformFileSystem.File
  readonly info: Info
}

/**
 * How what was found is reached (see `reach`).
 *
 * @internal
 */
export interface Ways {
  /** A path that leads to a folder as long as the scope. Fails where its real path, as it was found, is no longer one. */
  readonly hold: (platform: Platform, real: string) => Effect.Effect<string, Problem, Scope.Scope>
  /** As `hold`, of a folder in one that is held. */
  readonly enter: (platform: Platform, folder: string, name: string) => Effect.Effect<string, Problem, Scope.Scope>
  /** Fails where a folder that is held has been moved away from its real path. */
  readonly mustStay: (platform: Platform, folder: string, real: string) => Effect.Effect<void, Problem>
  /** Fails where a path in a folder that is held leads through a link. */
  readonly mustBeReal: (platform: Platform, at: string) => Effect.Effect<void, Problem>
  /** Opens a file in a folder that is held for reading, if it is what may be opened. */
  readonly open: (
    platform: Platform,
    at: string,
    mayOpen: (info: Info) => Effect.Effect<void, Problem>
  ) => Effect.Effect<Opened, Problem, Scope.Scope>
  /** A path that leads to an open file, for calls that know no other way. */
  readonly pathOf: (file: PlatformFileSystem.File, at: string) => string
}

/** @internal */
export interface Services {
  readonly fs: PlatformFileSystem.FileSystem
  readonly path: PlatformPath.Path
  readonly reach: Ways
}

/**
 * What one operation works with.
 *
 * @internal
 */
export interface Platform extends Services {
  /** Runs one call to its end, whatever happens to the fiber, unless it is interrupted already. */
  readonly call: <A, R>(self: Effect.Effect<A, PlatformError, R>) => Effect.Effect<A, Problem, R>
  /** As `call`, and also when it is interrupted already: for clean-up. */
  readonly finish: <A, R>(self: Effect.Effect<A, PlatformError, R>) => Effect.Effect<A, Problem, R>
  /** Waits where the operation may be interrupted. */
  readonly restore: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** @internal */
export type Reason =
  | "NotFound"
  | "AlreadyExists"
  | "PermissionDenied"
  | "IsDirectory"
  | "NotADirectory"
  | "NotAFile"
  | "NotText"
  | "TooLarge"
  | "OutsideRoot"
  | "NoSpace"
  | "InvalidPath"
  | "StaleVersion"
  | "TextNotFound"
  | "TextAmbiguous"
  | "Unknown"

/**
 * Why an operation fails, before it is known whose operation on which path it is.
 *
 * @internal
 */
export interface Problem {
  readonly reason: Reason
  /** What happened, where it can be said better than by the reason alone. */
  readonly detail?: string
  readonly cause?: unknown
  /** Whether it is about where a copy was to go. */
  readonly isOfTarget?: boolean
  /** How many entries had been removed before. */
  readonly removed?: number
}

const reasons: { readonly [code: string]: Reason } = {
  ENOENT: "NotFound",
  EEXIST: "AlreadyExists",
  ENOTEMPTY: "AlreadyExists",
  EACCES: "PermissionDenied",
  EPERM: "PermissionDenied",
  EROFS: "PermissionDenied",
  EISDIR: "IsDirectory",
  ENOTDIR: "NotADirectory",
  ENOSPC: "NoSpace",
  EDQUOT: "NoSpace",
  ENAMETOOLONG: "InvalidPath",
  ELOOP: "InvalidPath"
}

const codeOf = (error: PlatformError): string => (hasProperty(error.cause, "code") ? String(error.cause.code) : "")

const reasonOf = (error: PlatformError): Reason => {
  if (error._tag === "BadArgument") return "InvalidPath"
  // The platform's own reasons do not tell a full disk or a folder from the rest, the code of the system does.
  const known = reasons[codeOf(error)]
  if (known !== undefined) return known
  switch (error.reason) {
    case "NotFound":
    case "AlreadyExists":
    case "PermissionDenied":
      return error.reason
    case "WriteZero":
      return "NoSpace"
    default:
      return "Unknown"
  }
}

const problemOf = (error: PlatformError): Problem => {
  const reason = reasonOf(error)
  if (codeOf(error) === "ELOOP")
    return { reason, cause: error, detail: "it leads through too many links, or in a circle" }
  if (reason !== "Unknown" || error.description === undefined) return { reason, cause: error }
  // "EIO: i/o error, read '/srv/agents/7/notes.txt'": where the root is, is nobody's business.
  return { reason, cause: error, detail: error.description.split(",")[0] ?? error.description }
}

/**
 * Runs an operation protected, except for the instants before each of its calls.
 *
 * @internal
 */
export const protect = <A, E, R>(
  services: Services,
  operation: (platform: Platform) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) => {
    const finish: Platform["finish"] = (self) => Effect.mapError(self, problemOf)
    const call: Platform["call"] = (self) => Effect.zipRight(restore(Effect.void), finish(self)) // L3, L4
    return operation({ ...services, call, finish, restore })
  })
