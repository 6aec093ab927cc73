/**
 * What is printed when a plan has run.
 */
import * as CancelCause from "../CancelCause.js"
import type { Outcome } from "./runPlan.js"
import * as StillAlive from "./stillAlive.js"
import { table, toJson } from "./table.js"

/** How a plan was run, and what became of it. */
export interface Report {
  /** The file of the plan, unless it was the built-in one. */
  readonly plan: string | undefined
  readonly workspace: string
  readonly outcomes: ReadonlyArray<Outcome>
  /** Why the whole plan was cancelled, if it was. */
  readonly stopped: CancelCause.CancelCause | undefined
}

const explanation = `Each row is one tool call and what is true of it: whether its handler was called ("dispatched"), how its body ended,
how long after a cancel it was quiet, and what of it was still alive when its result was given.`

const next = `Try next:
  the same again, and press Ctrl-C while it runs
  quiesce run --cancel-after 300             cancels the whole plan on its way
  quiesce run PLAN.json --workspace DIR      runs a plan of yours
  quiesce run --help                         shows how a plan is written
(from a checkout: npm start -- --cancel-after 300, and so on)`

const stillAlive = ({ outcomes }: Report): ReadonlyArray<string> => [
  ...outcomes.flatMap((outcome) => outcome.stillAlive),
  ...StillAlive.groups()
]

/** For people. */
export const text = (report: Report): string => {
  const { outcomes, plan, stopped } = report
  const left = stillAlive(report)
  return [
    "",
    explanation,
    "",
    ...table(outcomes),
    "",
    ...(stopped === undefined ? [] : [`The plan was ${CancelCause.describe(stopped)}.`]),
    left.length === 0 ? "Nothing of these calls is alive any more." : `Still alive: ${left.join("; ")}.`,
    ...(plan === undefined ? ["", next] : [])
  ].join("\n")
}

/** For programs. */
export const json = (report: Report): string =>
  JSON.stringify(
    {
      plan: report.plan ?? null,
      workspace: report.workspace,
      cancelled: report.stopped ?? null,
      calls: toJson(report.outcomes),
      stillAlive: stillAlive(report)
    },
    undefined,
    2
  )
