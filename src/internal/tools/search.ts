/**
 * Looks for a text in the files below a folder, one file after another: an interruption takes effect between two.
 */
import * as Effect from "effect/Effect"
import type { Cancellation } from "../../Cancellation.js"
import * as FileSystem from "../../capability/FileSystem.js"
import { indexOf } from "../occurrences.js"
import { matches } from "./glob.js"

/** @internal */
export interface Query {
  readonly text: string
  readonly path: string
  readonly files?: string | undefined
  readonly ignoreCase: boolean
}

/** @internal */
export interface Found {
  readonly matches: ReadonlyArray<{ readonly path: string; readonly line: number; readonly text: string }>
  readonly isTruncated: boolean
}

const maxMatches = 200
const maxFiles = 10_000
const maxFileBytes = 1024 * 1024
const maxLineUnits = 300

type Needs = FileSystem.FileSystem | Cancellation

/** What a file holds; nothing for one that is no text, is too large, or has gone meanwhile. */
const read = (path: string): Effect.Effect<string, never, Needs> =>
  Effect.catchAll(FileSystem.readText(path, { maxBytes: maxFileBytes }), () => Effect.succeed(""))

const isLeftOut = (name: string): boolean => name.startsWith(".") || name === "node_modules"

const below = (folder: string, name: string): string => (folder === "." ? name : `${folder}/${name}`)

/** @internal */
export const search = (query: Query): Effect.Effect<Found, FileSystem.FileSystemError, Needs> =>
  Effect.gen(function* () {
    const found: Array<Found["matches"][number]> = []
    const fold = (text: string) => (query.ignoreCase ? text.toLowerCase() : text)
    const wanted = fold(query.text)
    const folders = [query.path.replace(/\/+$/, "") || "."]
    let files = 0
    // The first folder must be there; one below it may go while this looks.
    let entries = yield* FileSystem.list(query.path)
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const subfolders: Array<string> = []
      for (const { kind, name } of entries) {
        const path = below(folder, name)
        if (kind === "directory" && !isLeftOut(name)) subfolders.push(path)
        if (kind !== "file" || (query.files !== undefined && !matches(query.files, path))) continue
        if (++files > maxFiles) return { matches: found, isTruncated: true }
        for (const [index, line] of (yield* read(path)).split("\n").entries()) {
          if (indexOf(fold(line), wanted) === -1) continue
          if (found.length === maxMatches) return { matches: found, isTruncated: true }
          found.push({ path, line: index + 1, text: line.slice(0, maxLineUnits) })
        }
      }
      folders.push(...subfolders.reverse())
      const next = folders.at(-1)
      entries = next === undefined ? [] : yield* Effect.orElseSucceed(FileSystem.list(next), () => [])
    }
    return { matches: found, isTruncated: false }
  })
