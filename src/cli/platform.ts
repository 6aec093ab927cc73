/**
 * Loads what the command line needs of `@effect/platform-node`, which users of the library need not have installed.
 */
import type * as PlatformFileSystem from "@effect/platform/FileSystem"
import type * as PlatformPath from "@effect/platform/Path"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Abort from "../Abort.js"
import type { Cancellation } from "../Cancellation.js"
import { describeThrown } from "../internal/thrown.js"

// The one that works with Effect 3: without it npm would install the latest.
const version = "0.108"

/** The package could not be loaded. */
export class PlatformMissing extends Data.TaggedError("PlatformMissing")<{ readonly detail: string }> {
  override get message(): string {
    return `"quiesce run" needs the package @effect/platform-node, which could not be loaded (${this.detail}): npm install @effect/platform-node@${version}`
  }
}

/** Files and paths of Node. */
export const loadPlatform: Effect.Effect<
  Layer.Layer<PlatformFileSystem.FileSystem | PlatformPath.Path>,
  PlatformMissing,
  Cancellation
> = Abort.fromPromise({
  try: () => Promise.all([import("@effect/platform-node/NodeFileSystem"), import("@effect/platform-node/NodePath")]),
  // The first line: the rest of it is where it was looked for.
  catch: (error) => new PlatformMissing({ detail: describeThrown(error).message.split("\n")[0] ?? "" })
}).pipe(Effect.map(([fileSystem, path]) => Layer.merge(fileSystem.layer, path.layer)))
