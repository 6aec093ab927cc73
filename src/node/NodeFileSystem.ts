/**
 * Files and folders on Node, safe from programs that work in the same folders at the same time.
 *
 * On Linux, where a folder that is open can be reached through `/proc/self/fd`, nothing is done by a path that could lead
 * elsewhere a moment later. A program that swaps a folder for a link meets a failure with reason `NotADirectory`, and
 * nothing outside of the root is read, made or removed. A pipe or a device that takes the place of a file is not opened,
 * not even for an instant. What is staged is removed also from a folder that was moved away meanwhile.
 *
 * Limits: a program that may move a folder out of the root, at the very moment at which a file is published in it, moves
 * that file along. Hard links are not told from the file itself. What is below a mount point belongs to the root. A file
 * system that hangs blocks a thread of the host.
 *
 * On other systems, and without `/proc`, a pipe still cannot block the host: files are opened without waiting. But a
 * folder is reached by its path, which is checked for links right before and after it is used, as `FileSystem.layer` does
 * it: between the two a program can still swap it.
 *
 * @since 0.1.0
 */
import * as Layer from "effect/Layer"
import * as FileSystem from "../capability/FileSystem.js"
import { platform } from "../internal/node/fileSystem/platform.js"

/**
 * Layer of `FileSystem` on Node. It needs nothing else, and takes the `root` that `FileSystem.layer` takes.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import * as fs from "node:fs"
 * import * as os from "node:os"
 * import * as path from "node:path"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { FileSystem } from "quiesce/capability"
 * import { NodeFileSystem } from "quiesce/node"
 *
 * const root = fs.mkdtempSync(path.join(os.tmpdir(), "example-"))
 *
 * const program = Effect.gen(function* () {
 *   yield* FileSystem.writeText("notes/today.txt", "water the plants")
 *   return yield* FileSystem.list("notes")
 * })
 *
 * const entries = await Effect.runPromise(
 *   program.pipe(Cancellation.own, Effect.provide(NodeFileSystem.layer({ root })))
 * )
 * assert.deepStrictEqual(entries, [{ name: "today.txt", kind: "file" }])
 * fs.rmSync(root, { recursive: true })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: { readonly root?: string | undefined }): Layer.Layer<FileSystem.FileSystem> =>
  Layer.provide(FileSystem.layer(options), platform)
