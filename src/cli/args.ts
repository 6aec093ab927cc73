/**
 * Reads the command line.
 */
import { parseArgs } from "node:util"
import * as Either from "effect/Either"
import { maxTimerMillis } from "../internal/timer.js"
import { BadInput } from "./badInput.js"

/** Who says what the tools are to do: a plan (without a file the built-in one), or a language model. */
export type Source =
  | { readonly _tag: "Plan"; readonly file: string | undefined }
  | { readonly _tag: "Model"; readonly name: string; readonly baseUrl: string }

/** What is to be run, and how. */
export interface Run {
  readonly _tag: "Run"
  readonly source: Source
  readonly workspace: string | undefined
  /** What the agent is told first. */
  readonly task: string | undefined
  /** Whether a person goes on talking to it. */
  readonly interactive: boolean
  /** Whether tools run without anybody being asked. */
  readonly yes: boolean
  /** The files that the session and the page are kept in. */
  readonly session: string | undefined
  readonly html: string | undefined
  readonly cancelAfterMillis: number | undefined
  readonly json: boolean
}

/** What the command line asks for. */
export type Command = { readonly _tag: "Help" } | Run

/** Where models are asked unless something else is said. */
export const defaultBaseUrl = "https://api.openai.com/v1"

const options = {
  workspace: { type: "string" },
  task: { type: "string" },
  interactive: { type: "boolean", short: "i", default: false },
  model: { type: "string" },
  "base-url": { type: "string" },
  yes: { type: "boolean", short: "y", default: false },
  session: { type: "string" },
  html: { type: "string" },
  "cancel-after": { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false }
} as const

const parse = (args: ReadonlyArray<string>) =>
  Either.try({
    try: () => parseArgs({ args: [...args], options, allowPositionals: true, strict: true }),
    // "Unknown option '--foo'. To specify a positional argument starting with a '-', ...": the first sentence will do.
    catch: (error) => (error as Error).message.replace(/\. To specify .*$/s, "")
  })

type Values = Either.Either.Right<ReturnType<typeof parse>>["values"]

const millisOf = (text: string): number | undefined => {
  const millis = /^\d+$/.test(text) ? Number(text) : Number.NaN
  return millis <= maxTimerMillis ? millis : undefined
}

const isWebUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** What does not fit together, in words. */
const problemIn = (values: Values, plan: string | undefined): string | undefined => {
  const { "base-url": baseUrl, "cancel-after": cancelAfter, html, interactive, json, model, session, task } = values
  if (plan === undefined && model === undefined && values.workspace !== undefined) {
    return "--workspace was given without a PLAN: the built-in plan runs in a folder that it makes itself"
  }
  if (plan !== undefined && model !== undefined) {
    return `--model ${model} was given beside the plan ${plan}, which says itself what is to be done: expected one of them`
  }
  if (baseUrl !== undefined && model === undefined) return "--base-url was given without --model NAME"
  if (baseUrl !== undefined && !isWebUrl(baseUrl)) {
    return `--base-url ${baseUrl}: expected a URL such as http://127.0.0.1:8080/v1`
  }
  if (json && (interactive || (model !== undefined && task === undefined))) {
    return "--json prints one document at the end, and cannot be interactive: expected --task TEXT, or no --json"
  }
  for (const [name, value] of Object.entries({ task, model, session, html })) {
    if (value?.trim() === "") return `--${name} is empty: expected a text`
  }
  return cancelAfter !== undefined && millisOf(cancelAfter) === undefined
    ? `--cancel-after ${cancelAfter}: expected a whole number of milliseconds from 0 to ${maxTimerMillis}`
    : undefined
}

const commandOf = (values: Values, [command, plan, ...rest]: ReadonlyArray<string>): Either.Either<Command, string> => {
  if (values.help) return Either.right({ _tag: "Help" })
  if (command === undefined) return Either.left(`there is no command: expected "run"`)
  if (command !== "run") return Either.left(`there is no command "${command}": expected "run"`)
  if (rest.length > 0) return Either.left(`"${rest[0]}" is one argument too many: expected at most one PLAN`)
  const problem = problemIn(values, plan)
  if (problem !== undefined) return Either.left(problem)
  const { "base-url": baseUrl = defaultBaseUrl, "cancel-after": cancelAfter, html, interactive, json } = values
  const { model, session, task, workspace, yes } = values
  return Either.right({
    _tag: "Run",
    source: model === undefined ? { _tag: "Plan", file: plan } : { _tag: "Model", name: model, baseUrl },
    workspace,
    task,
    interactive: interactive || (model !== undefined && task === undefined),
    yes,
    session,
    html,
    cancelAfterMillis: cancelAfter === undefined ? undefined : millisOf(cancelAfter),
    json
  })
}

/** Reads the arguments that follow the name of the program. */
export const read = (args: ReadonlyArray<string>): Either.Either<Command, BadInput> =>
  parse(args).pipe(
    Either.flatMap(({ positionals, values }) => commandOf(values, positionals)),
    Either.mapLeft((message) => new BadInput({ messages: [message], showUsage: true }))
  )
