/**
 * Asks the person in front of the terminal whether a call may run.
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Approval from "../capability/Approval.js"
import type { Question, Terminal } from "./terminal.js"
import { escaped } from "./text.js"

/** The tools that only look. */
const harmless: ReadonlySet<string> = new Set(["read_file", "list_files", "search_files", "task_output"])

/** Whether a tool does something that a person may want to be asked about. */
export const hasEffects = (tool: string): boolean => !harmless.has(tool)

// A longer question would be hard to read, and to draw again while somebody types.
const maxInQuestion = 300
const maxAbove = 20_000

/**
 * What is asked, and, where that is too long for one question, the parameters that are to be shown above it. Nobody allows
 * what was not shown: what would be a command to the terminal, or turn the direction of writing, is written as JSON writes it.
 */
export const questionOf = ({ parameters, reason, tool }: Approval.Request): Question => {
  const text = escaped(JSON.stringify(parameters))
  const because = reason === undefined ? "" : ` (${reason})`
  if (text.length <= maxInQuestion) return { text: `Allow ${tool} ${text}${because}? [y/N] ` }
  const isWhole = text.length <= maxAbove
  const shown = isWhole ? text : `${text.slice(0, maxAbove)} ...`
  const extent = isWhole ? "as above" : `of ${text.length} characters, of which ${maxAbove} are shown above`
  return { above: `${tool} ${shown}`, text: `Allow ${tool} with parameters ${extent}${because}? [y/N] ` }
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
