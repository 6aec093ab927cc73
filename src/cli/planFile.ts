/**
 * Reads a plan from a file.
 */
import { readFile } from "node:fs/promises"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Abort from "../Abort.js"
import type { Cancellation } from "../Cancellation.js"
import type * as Toolkit from "../Toolkit.js"
import { BadInput } from "./badInput.js"
import { findSyntaxProblem } from "./jsonSyntax.js"
import * as Plan from "./plan.js"

const refusals: { readonly [code: string]: string } = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder",
  EACCES: "it may not be read"
}

const unreadable = (file: string, error: NodeJS.ErrnoException): BadInput =>
  new BadInput({ messages: [`${file}: ${refusals[error.code ?? ""] ?? error.message}: expected a plan in JSON`] })

const parse = (text: string, file: string): Either.Either<unknown, BadInput> =>
  Either.try({
    try: () => JSON.parse(text) as unknown,
    catch: (error) => {
      const problem = findSyntaxProblem(text)
      return new BadInput({
        messages: [
          problem === undefined
            ? `${file}: not JSON: ${(error as Error).message}`
            : `${file}:${problem.line}:${problem.column}: $: not JSON: expected ${problem.expected}, found ${problem.found}`
        ]
      })
    }
  })

/** Reads and checks the plan in `file`. */
export const read = (file: string, toolkit: Toolkit.Any): Effect.Effect<Plan.Plan, BadInput, Cancellation> =>
  Effect.flatMap(
    Abort.fromPromise({
      try: ({ signal }) => readFile(file, { encoding: "utf8", signal }),
      catch: (error) => unreadable(file, error as NodeJS.ErrnoException)
    }),
    // Some editors put a mark at the beginning that JSON does not know.
    (text) => Either.flatMap(parse(text.replace(/^\uFEFF/, ""), file), (value) => Plan.check(value, file, toolkit))
  )
