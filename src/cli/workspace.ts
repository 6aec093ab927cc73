/**
 * The folder that the tools work in.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { describeThrown } from "../internal/thrown.js"
import { atExit } from "./atExit.js"
import { BadInput } from "./badInput.js"

/** The folder `given`, which must exist. */
export const existing = (given: string): Effect.Effect<string, BadInput> =>
  Effect.suspend(() => {
    const info = fs.statSync(given, { throwIfNoEntry: false })
    if (info?.isDirectory() === true) return Effect.succeed(path.resolve(given))
    const problem = info === undefined ? "there is no such folder" : "it is not a folder"
    return new BadInput({ messages: [`--workspace ${given}: ${problem}: expected a folder that exists`] })
  })

/** Says why the folder is still there, if it is. */
const remove = (folder: string): string | undefined => {
  try {
    // More than once: a process that was killed in this moment may still have made a file.
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    return undefined
  } catch (error) {
    return describeThrown(error).message
  }
}

/** A new, empty folder. It is removed when the scope closes, and also when the program leaves before that. */
export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-run-"))),
  (folder) =>
    Effect.suspend(() => {
      const problem = remove(folder)
      return problem === undefined
        ? Effect.void
        : Effect.logWarning(`The temporary folder ${folder} could not be removed: remove it by hand (${problem})`)
    })
).pipe(Effect.tap((folder) => atExit(() => remove(folder))))
