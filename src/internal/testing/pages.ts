/**
 * Writes pages of HTML, one file for each failure.
 */
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import { drawPage, type Page } from "./html.js"

/** What a file may be called anywhere, and short enough for every file system. */
const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 80)
    .replaceAll(/^-+|-+$/g, "")

// The same failure goes into the same file again, another one, or one of a test with a like name, does not.
const fileOf = (name: string, { problem, replay }: Page): string => {
  const hash = createHash("sha256")
    .update(JSON.stringify([name, problem, replay]))
    .digest("hex")
  return `${slugOf(name) || "scenario"}-${hash.slice(0, 8)}.html`
}

/**
 * Writes a page into a folder, which is made if it is not there. Gives a line for the message that says where it is, or
 * why it could not be written: a failure that was found is worth more than its page.
 *
 * @internal
 */
export const writePage = (folder: string, name: string, page: Page): Effect.Effect<string> => {
  const file = path.join(folder, fileOf(name, page))
  return Effect.try(() => {
    fs.mkdirSync(folder, { recursive: true })
    fs.writeFileSync(file, drawPage(page))
  }).pipe(
    Effect.as(`timeline ${file}`),
    Effect.catchAll(({ error }) => Effect.succeed(`timeline could not be written: ${String(error)}`))
  )
}
