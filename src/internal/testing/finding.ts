/**
 * What an exploration comes to: a report, or a finding.
 */
import { replayOf } from "./explain.js"
import type { Page } from "./html.js"
import type { Entry } from "./run.js"
import { drawTimeline } from "./timeline.js"

/**
 * What an exploration came to, as `Explore.Report` describes it.
 *
 * @internal
 */
export interface Report {
  readonly schedules: number
  readonly pruned: number
  readonly steps: number
  readonly bound: string
  readonly complete: boolean
  readonly outcomes: ReadonlyMap<string, number>
}

/**
 * A problem, the schedule that shows it, the message for people, and what its page of HTML shows.
 *
 * @internal
 */
export interface Finding {
  readonly problem: string
  readonly schedule: string
  readonly message: string
  readonly page: Page
}

/** @internal */
export const fail = (problem: string, schedule: string, message: string, page?: Page): Finding => {
  const replay = schedule === "" ? undefined : replayOf(schedule)
  return {
    problem,
    schedule,
    message,
    page: page ?? { title: `Explore: ${problem}`, problem, replay, remarks: [], drawings: [] }
  }
}

/**
 * What is no verdict on the program.
 *
 * @internal
 */
export const cannot = (
  problem: string,
  what: "explore" | "replay" = "explore",
  seen: { readonly schedule?: string; readonly timeline?: ReadonlyArray<Entry> } = {}
): Finding => {
  const { schedule = "", timeline = [] } = seen
  const drawn = timeline.length === 0 ? [] : [drawTimeline(timeline)]
  return fail(problem, schedule, [`Cannot ${what}: ${problem}`, ...drawn].join("\n"))
}
