/**
 * Replacing text exactly.
 */
import * as Effect from "effect/Effect"
import { countOf, indexOf, split } from "../../occurrences.js"
import type { Problem } from "./problem.js"

/** @internal */
export interface Edit {
  readonly find: string
  readonly replace: string
  readonly all?: boolean | undefined
}

// What is looked for is not repeated: it may be a secret, and who asks has it.
const missing = (text: string, { find }: Edit, which: string): Problem => {
  const crlf = find.replace(/\r?\n/g, "\r\n")
  const hint =
    crlf !== find && indexOf(text, crlf) !== -1
      ? "; with CRLF at the ends of its lines, as the file has them, it does"
      : ""
  return { reason: "TextNotFound", detail: `the text to replace${which} does not stand in it${hint}` }
}

const tooLarge = (units: number, most: number, which: string): Problem => ({
  reason: "TooLarge",
  detail: `with the replacement${which} it would have ${units} characters, and at most ${most} may be`
})

/** Makes one edit. Takes time that is proportional to what it reads and to what it makes. */
const apply = (text: string, edit: Edit, which: string, maxUnits: number): Effect.Effect<string, Problem> => {
  const { all = false, find, replace } = edit
  if (find === "") return Effect.fail({ reason: "TextAmbiguous", detail: `the text to replace${which} is empty` })
  const at = indexOf(text, find)
  if (at === -1) return Effect.fail(missing(text, edit, which))
  // In pieces: to `replaceAll` a dollar sign means something.
  const parts = all ? split(text, find) : [text.slice(0, at), text.slice(at + find.length)]
  const count = all ? parts.length - 1 : countOf(text, find)
  if (!all && count > 1) {
    const detail = `the text to replace${which} stands in it ${count} times`
    return Effect.fail({ reason: "TextAmbiguous", detail })
  }
  // Before it is made: a few edits that each double it make more than any memory holds.
  const units = text.length + count * (replace.length - find.length)
  if (units > maxUnits && units > text.length) return Effect.fail(tooLarge(units, maxUnits, which))
  return Effect.succeed(parts.join(replace))
}

/**
 * Makes the edits one after another, each on what the one before has left, and none that makes more than `maxUnits` of it.
 * `pause` comes between two of them.
 *
 * @internal
 */
export const applyEdits = (
  text: string,
  edits: ReadonlyArray<Edit>,
  maxUnits: number,
  pause: Effect.Effect<void>
): Effect.Effect<string, Problem> =>
  Effect.gen(function* () {
    let result = text
    for (const [i, edit] of edits.entries()) {
      if (i > 0) yield* pause
      result = yield* apply(result, edit, edits.length === 1 ? "" : ` (edit ${i + 1} of ${edits.length})`, maxUnits)
    }
    return result
  })
