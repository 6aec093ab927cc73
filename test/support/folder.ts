import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect } from "effect"

/** A temporary folder, by its real path, as long as the scope. */
export const makeFolder = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-test-")))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
)
