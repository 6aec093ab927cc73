/**
 * Writes the failure message, which is what people see of the explorer.
 */
import type { Granularity } from "./driver.js"
import type { RunResult } from "./run.js"
import { isFault, type Schedule, show } from "./schedule.js"
import { drawTimeline } from "./timeline.js"

/** @internal */
export interface Found {
  readonly problem: string
  readonly schedules: number
  readonly bound: string
  /** The failing run, with its timeline. */
  readonly failing: RunResult<unknown, unknown>
  /** Whether another schedule fails in the same way. */
  readonly fails: (schedule: Schedule) => Promise<boolean>
  /** Whether a search that cuts more coarsely finds the same failure; `unknown` when it was given up. */
  readonly failsAt: (granularity: Granularity) => Promise<"yes" | "no" | "unknown">
}

/** The steps around a fault at which it fails as well: the window in which the program is vulnerable. */
const windowOf = async ({ failing, fails }: Found): Promise<string | undefined> => {
  const { schedule } = failing
  const last = schedule.at(-1)
  if (last === undefined || !isFault(last.choice)) return undefined
  const at = (count: number) => [...schedule.slice(0, -1), { ...last, place: { ...last.place, count } }]
  let [from, to] = [last.place.count, last.place.count]
  while (from > 0 && (await fails(at(from - 1)))) from--
  while (to - from < 500 && (await fails(at(to + 1)))) to++
  const where = last.place.waiting ? `while ${last.place.key} waits after step` : `just before step`
  const range = from === to ? "only there" : `anywhere before its steps ${from}..${to} fails too`
  return `fault "${last.choice.slice(1)}" ${where} ${last.place.count} of ${last.place.key} (${range})`
}

const coarsest = async ({ failsAt }: Found): Promise<string> => {
  const suspension = await failsAt("suspension")
  if (suspension === "yes") return "fails also where fibers switch only when they really wait: an ordinary race"
  const effect = await failsAt("effect")
  const doubt = suspension === "unknown" || effect === "unknown" ? " (as far as was looked)" : ""
  if (effect === "yes") return `needs a switch or a fault between two effects that do not wait${doubt}`
  return `needs a switch or a fault between two single operations${doubt}`
}

/** @internal */
export const explain = async (found: Found): Promise<string> => {
  const { failing } = found
  const window = await windowOf(found)
  return [
    `✗ ${found.problem}`,
    `  replay   EXPLORE_REPLAY='${show(failing.schedule)}'`,
    ...(window === undefined ? [] : [`           ${window}`]),
    `           ${await coarsest(found)}`,
    drawTimeline(failing.timeline),
    `  found at schedule ${found.schedules} (${found.bound})`
  ].join("\n")
}
