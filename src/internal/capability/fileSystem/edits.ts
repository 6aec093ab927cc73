/**
 * Replacing text exactly.
 */
import * as Effect from "effect/Effect"
import type { Problem } from "./problem.js"

/** @internal */
export interface Edit {
  readonly find: string
  readonly replace: string
  readonly all?: boolean | undefined
}

/** How often a text stands in another, also where two of the places overlap: it is said then which one is meant. */
const countOf = (text: string, find: string): number => {
  let count = 0
  for (let at = text.indexOf(find); at !== -1; at = text.indexOf(find, at + 1)) count++
  return count
}

// What is looked for is not repeated: it may be a secret, and who asks has it.
const missing = (text: string, { find }: Edit, which: string): Problem => {
  const crlf = find.replace(/\r?\n/g, "\r\n")
  const hint =
    crlf !== find && text.includes(crlf) ? "; with CRLF at the ends of its lines, as the file has them, it does" : ""
  return { reason: "TextNotFound", detail: `the text to replace${which} does not stand in it${hint}` }
}

/**
 * Makes the edits one after another, each on what the one before has left.
 *
 * @internal
 */
export const applyEdits = (text: string, edits: ReadonlyArray<Edit>): Effect.Effect<string, Problem> =>
  Effect.suspend(() => {
    let result = text
    for (const [i, edit] of edits.entries()) {
      const which = edits.length === 1 ? "" : ` (edit ${i + 1} of ${edits.length})`
      if (edit.find === "") {
        return Effect.fail<Problem>({ reason: "TextAmbiguous", detail: `the text to replace${which} is empty` })
      }
      const at = result.indexOf(edit.find)
      if (at === -1) return Effect.fail(missing(result, edit, which))
      if (edit.all === true) {
        result = result.split(edit.find).join(edit.replace) // not `replaceAll`, to which a dollar sign means something
        continue
      }
      const count = countOf(result, edit.find)
      if (count > 1) {
        const detail = `the text to replace${which} stands in it ${count} times`
        return Effect.fail<Problem>({ reason: "TextAmbiguous", detail })
      }
      result = result.slice(0, at) + edit.replace + result.slice(at + edit.find.length)
    }
    return Effect.succeed(result)
  })
