/**
 * Reads the command line.
 */
import { parseArgs } from "node:util"
import * as Either from "effect/Either"
import { maxTimerMillis } from "../internal/timer.js"
import { BadInput } from "./badInput.js"

/** What the command line asks for. */
export type Command =
  | { readonly _tag: "Help" }
  | {
      readonly _tag: "Run"
      /** The file of the plan. Without it the built-in plan runs. */
      readonly plan: string | undefined
      readonly workspace: string | undefined
      readonly cancelAfterMillis: number | undefined
      readonly json: boolean
    }

const options = {
  workspace: { type: "string" },
  "cancel-after": { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false }
} as const

const wrong = (message: string): Either.Either<never, BadInput> =>
  Either.left(new BadInput({ messages: [message], showUsage: true }))

const parse = (args: ReadonlyArray<string>) =>
  Either.try({
    try: () => parseArgs({ args: [...args], options, allowPositionals: true, strict: true }),
    // "Unknown option '--foo'. To specify a positional argument starting with a '-', ...": the first sentence will do.
    catch: (error) =>
      new BadInput({ messages: [(error as Error).message.replace(/\. To specify .*$/s, "")], showUsage: true })
  })

const millisOf = (text: string): number | undefined => {
  const millis = /^\d+$/.test(text) ? Number(text) : Number.NaN
  return millis <= maxTimerMillis ? millis : undefined
}

/** Reads the arguments that follow the name of the program. */
export const read = (args: ReadonlyArray<string>): Either.Either<Command, BadInput> =>
  Either.flatMap(parse(args), ({ positionals, values }): Either.Either<Command, BadInput> => {
    if (values.help) return Either.right({ _tag: "Help" })
    const [command, plan, ...rest] = positionals
    if (command === undefined) return wrong(`there is no command: expected "run"`)
    if (command !== "run") return wrong(`there is no command "${command}": expected "run"`)
    if (rest.length > 0) return wrong(`"${rest[0]}" is one argument too many: expected at most one PLAN`)
    const { "cancel-after": cancelAfter, json, workspace } = values
    if (plan === undefined && workspace !== undefined) {
      return wrong("--workspace was given without a PLAN: the built-in plan runs in a folder that it makes itself")
    }
    const cancelAfterMillis = cancelAfter === undefined ? undefined : millisOf(cancelAfter)
    return cancelAfter !== undefined && cancelAfterMillis === undefined
      ? wrong(`--cancel-after ${cancelAfter}: expected a whole number of milliseconds from 0 to ${maxTimerMillis}`)
      : Either.right({ _tag: "Run", plan, workspace, cancelAfterMillis, json })
  })
