/**
 * One call of the platform, and what can go wrong with it.
 *
 * The platform's calls leave an interrupted fiber at once and run to their end behind its back: a `writeFile` that was
 * "stopped" at once leaves an empty file. So each runs protected, is short or bounded, and interruption happens between
 * two of them.
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as PlatformFileSystem from "@effect/platform/FileSystem"
import type * as PlatformPath from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import { hasProperty } from "effect/Predicate"

/** @internal */
export interface Platform {
  readonly fs: PlatformFileSystem.FileSystem
  readonly path: PlatformPath.Path
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
  ENAMETOOLONG: "InvalidPath"
}

const reasonOf = (error: PlatformError): Reason => {
  if (error._tag === "BadArgument") return "InvalidPath"
  // The platform's own reasons do not tell a full disk or a folder from the rest, the code of the system does.
  const code = hasProperty(error.cause, "code") ? String(error.cause.code) : ""
  const known = reasons[code]
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
  if (reason !== "Unknown" || error.description === undefined) return { reason, cause: error }
  // "EIO: i/o error, read '/srv/agents/7/notes.txt'": where the root is, is nobody's business.
  return { reason, cause: error, detail: error.description.split(",")[0] ?? error.description }
}

/**
 * Runs one call of the platform to its end, whatever happens to the fiber. Where it was interrupted meanwhile, and may
 * be, it stops when this completes.
 *
 * @internal
 */
export const call = <A, R>(self: Effect.Effect<A, PlatformError, R>): Effect.Effect<A, Problem, R> =>
  Effect.uninterruptible(Effect.mapError(self, problemOf)) // L3, L4
