/**
 * Writes the failure message, which is what people see of the explorer, and gathers what its page shows.
 */
import type { Granularity } from "./driver.js"
import type { Drawing, Page, Window } from "./html.js"
import type { RunResult } from "./run.js"
import { isFault, type Schedule, show } from "./schedule.js"
import { drawTimeline } from "./timeline.js"

type Run = RunResult<unknown, unknown>

/** @internal */
export interface Found {
  readonly problem: string
  readonly schedules: number
  readonly bound: string
  readonly name: string | undefined
  /** The failing run, with its timeline. */
  readonly failing: Run
  /** Whether another schedule fails in the same way. */
  readonly fails: (schedule: Schedule) => Promise<boolean>
  /** Whether a search that cuts more coarsely finds the same failure; `unknown` when it was given up. */
  readonly failsAt: (granularity: Granularity) => Promise<"yes" | "no" | "unknown">
  /** Runs another schedule, with its timeline. */
  readonly trace: (schedule: Schedule) => Promise<Run>
}

/** @internal */
export interface Explained {
  readonly message: string
  readonly page: Page
}

/** The steps around a fault at which it fails as well: the window in which the program is vulnerable. */
const windowOf = async ({ failing, fails }: Found): Promise<Window | undefined> => {
  const { schedule } = failing
  const last = schedule.at(-1)
  if (last === undefined || !isFault(last.choice)) return undefined
  const at = (count: number) => [...schedule.slice(0, -1), { ...last, place: { ...last.place, count } }]
  let [from, to] = [last.place.count, last.place.count]
  while (from > 0 && (await fails(at(from - 1)))) from--
  while (to - from < 500 && (await fails(at(to + 1)))) to++
  return { key: last.place.key, from, to, waiting: last.place.waiting }
}

const describeWindow = ({ from, key, to, waiting }: Window, schedule: Schedule): string => {
  const last = schedule.at(-1)
  const where = waiting ? `while ${key} waits after step` : `just before step`
  const range = from === to ? "only there" : `anywhere before its steps ${from}..${to} fails too`
  return `fault "${last?.choice.slice(1)}" ${where} ${last?.place.count} of ${key} (${range})`
}

const coarsest = async ({ failsAt }: Found): Promise<string> => {
  const suspension = await failsAt("suspension")
  if (suspension === "yes") return "fails also where fibers switch only when they really wait: an ordinary race"
  const effect = await failsAt("effect")
  const doubt = suspension === "unknown" || effect === "unknown" ? " (as far as was looked)" : ""
  if (effect === "yes") return `needs a switch or a fault between two effects that do not wait${doubt}`
  return `needs a switch or a fault between two single operations${doubt}`
}

const departures = (schedule: Schedule): ReadonlyArray<string> =>
  schedule.map(({ choice, place: { count, key, waiting } }, index) => {
    const where = waiting ? `While ${key} waits after step ${count}` : `Before step ${count} of ${key}`
    const what = isFault(choice) ? `the fault "${choice.slice(1)}" strikes` : `${choice} comes next`
    return `${index + 1}. ${where}, ${what}.`
  })

/** Where a window is wider than one step, the rest of it lies in steps that the failing run did not come to. */
const withoutFault = async ({ failing, trace }: Found, window: Window): Promise<Drawing> => ({
  title: "The same without that fault: anywhere in the shaded part it does the same harm",
  timeline: (await trace(failing.schedule.slice(0, -1))).timeline,
  window,
  hasStruck: false
})

/**
 * How a shell is told to replay a schedule. No name in one has a quote.
 *
 * @internal
 */
export const replayOf = (schedule: string): string => `EXPLORE_REPLAY='${schedule}'`

/** A deadlock may be a wait for something real that leaves no trace: an unreferenced timer, a worker, a read. */
const hintOf = (problem: string): ReadonlyArray<string> =>
  /^deadlock: .*waits for a callback or promise/.test(problem)
    ? ["(if that callback or promise is real, the explorer cannot control it: use Sim.external or Sim.promise instead)"]
    : []

// Lines of a stack that are nobody's own: the run loop of the runtime, and the test runner.
const foreign = /^\s+at .*(?:\/node_modules\/|\(?node:)/

const withoutForeign = (problem: string): string =>
  problem
    .split("\n")
    .filter((line) => !foreign.test(line))
    .join("\n")

/** @internal */
export const explain = async (found: Found): Promise<Explained> => {
  const { bound, failing, name, schedules } = found
  const problem = withoutForeign(found.problem)
  const window = await windowOf(found)
  const where = window === undefined ? [] : [describeWindow(window, failing.schedule)]
  const how = await coarsest(found)
  const replay = replayOf(show(failing.schedule))
  const search = `found at schedule ${schedules} (${bound})`
  const message = [
    `✗ ${problem}`,
    `  replay   ${replay}`,
    ...[...where, how, ...hintOf(problem)].map((line) => `           ${line}`),
    drawTimeline(failing.timeline),
    `  ${search}`
  ].join("\n")
  const page = {
    title: `${name ?? "Explore"}: ${problem.split("\n", 1)[0]}`,
    problem,
    replay,
    remarks: [...departures(failing.schedule), ...where, how, ...hintOf(problem), search],
    drawings: [
      { title: "What happened", timeline: failing.timeline, window, hasStruck: true },
      ...(window === undefined ? [] : [await withoutFault(found, window)])
    ]
  }
  return { message, page }
}
