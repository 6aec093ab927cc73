/**
 * What is printed when an agent has done what it was told.
 */
import type * as AgentEvent from "../AgentEvent.js"
import * as CancelCause from "../CancelCause.js"
import type { Source } from "./args.js"
import type * as Plan from "./plan.js"
import type { Outcome } from "./recording.js"
import * as StillAlive from "./stillAlive.js"
import { table, toJson } from "./table.js"
import { escaped } from "./text.js"

/** What was done, and what became of it. */
export interface Report {
  /** The file of the plan, unless it was the built-in one, or a model. */
  readonly plan: string | undefined
  readonly isBuiltIn: boolean
  readonly workspace: string
  readonly outcomes: ReadonlyArray<Outcome>
  /** The calls of the plan that were not made, because it was cancelled before. */
  readonly notMade: ReadonlyArray<string>
  /** Why all of it was cancelled, if it was. */
  readonly stopped: CancelCause.CancelCause | undefined
}

const explanation = `Each row is one tool call and what is true of it: whether its handler was called ("dispatched"), how its body ended,
how long after a cancel it was quiet, and what of it was still alive when its result was given.`

const next = `Try next:
  the same again, and press Ctrl-C while it runs
  quiesce run --html run.html                writes a page with the timeline of all calls
  quiesce run --interactive                  lets you talk, to a model that only knows this plan
  quiesce run --cancel-after 300             cancels everything on its way
  quiesce run PLAN.json --workspace DIR      runs a plan of yours
  quiesce run --model NAME --task TEXT       asks a language model
  quiesce run --help                         shows how a plan is written
(from a checkout: npm start -- --cancel-after 300, and so on)`

/** The report of a run. */
export const make = (
  source: Source,
  { plan, workspace }: { readonly plan: Plan.Plan | undefined; readonly workspace: string },
  events: ReadonlyArray<AgentEvent.Envelope>,
  { outcomes }: { readonly outcomes: ReadonlyArray<Outcome> },
  stopped: CancelCause.CancelCause | undefined
): Report => {
  // Also those of an earlier run of the same session.
  const made = new Set(events.flatMap(({ event }) => (event._tag === "CallEnded" ? [event.result.callId] : [])))
  return {
    plan: source._tag === "Plan" ? source.file : undefined,
    isBuiltIn: source._tag === "Plan" && source.file === undefined,
    workspace,
    outcomes,
    notMade: (plan?.steps ?? []).flatMap(({ calls }) => calls.flatMap(({ id }) => (made.has(id) ? [] : [id]))),
    stopped
  }
}

const stillAlive = ({ outcomes }: Report): ReadonlyArray<string> => [
  ...outcomes.flatMap((outcome) => outcome.stillAlive),
  ...StillAlive.groups()
]

const maxNamed = 10

const some = (names: ReadonlyArray<string>): string =>
  names.length <= maxNamed
    ? names.join(", ")
    : `${names.slice(0, maxNamed).join(", ")} and ${names.length - maxNamed} more`

const lastLineOf = (calls: number, left: ReadonlyArray<string>): string => {
  if (left.length > 0) return `Still alive: ${left.join("; ")}.`
  return calls === 0 ? "No call was made." : "Nothing of these calls is alive any more."
}

/** For people. */
export const text = (report: Report): string => {
  const { isBuiltIn, notMade, outcomes, stopped } = report
  const left = stillAlive(report)
  return [
    "",
    ...(outcomes.length === 0 ? [] : [explanation, "", ...table(outcomes), ""]),
    ...(stopped === undefined ? [] : [`The run was ${CancelCause.describe(stopped)}.`]),
    ...(notMade.length === 0 ? [] : [`Calls of the plan that were not made any more: ${some(notMade)}.`]),
    lastLineOf(outcomes.length, left),
    ...(isBuiltIn ? ["", next] : [])
  ].join("\n")
}

/** For programs. */
export const json = (report: Report): string =>
  escaped(
    JSON.stringify(
      {
        plan: report.plan ?? null,
        workspace: report.workspace,
        cancelled: report.stopped ?? null,
        notMade: report.notMade,
        calls: toJson(report.outcomes),
        stillAlive: stillAlive(report)
      },
      undefined,
      2
    )
  )
