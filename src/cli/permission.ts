/**
 * Asks the person in front of the terminal whether a call may run.
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Approval from "../capability/Approval.js"
import type { Terminal } from "./terminal.js"

/** The tools that only look. */
const harmless: ReadonlySet<string> = new Set(["read_file", "list_files", "search_files", "task_output"])

/** Whether a tool does something that a person may want to be asked about. */
export const hasEffects = (tool: string): boolean => !harmless.has(tool)

const maxParameters = 300

const shorten = (text: string): string =>
  text.length <= maxParameters ? text : `${text.slice(0, maxParameters)} ... (${text.length} characters)`

/** The question, in one line: control characters would be commands to the terminal. */
export const questionOf = ({ parameters, reason, tool }: Approval.Request): string => {
  const because = reason === undefined ? "" : ` (${reason})`
  return `Allow ${tool} ${shorten(JSON.stringify(parameters))}${because}? [y/N] `.replace(/\p{Cc}/gu, " ")
}

/** Only `y` and `yes` allow. */
const ask = (terminal: Terminal, request: Approval.Request): Effect.Effect<Approval.Answer> =>
  Effect.map(terminal.ask(questionOf(request)), (answer) => {
    if (answer === undefined) return "unavailable"
    return /^\s*y(es)?\s*$/i.test(answer) ? "allowed-once" : "rejected"
  })

/** Asks on a terminal. */
export const layer = (terminal: Terminal): Layer.Layer<Approval.Approval> =>
  Approval.layer((request) => ask(terminal, request))

/** Asks on a terminal that is open only as long as a question, one at a time. */
export const layerOnce = (open: Effect.Effect<Terminal, never, Scope.Scope>): Layer.Layer<Approval.Approval> => {
  const turn = Effect.unsafeMakeSemaphore(1)
  return Approval.layer((request) =>
    turn.withPermits(1)(Effect.scoped(Effect.flatMap(open, (terminal) => ask(terminal, request))))
  )
}
