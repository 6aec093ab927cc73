/**
 * Which schedules are run, and in which order.
 *
 * The bounded search runs every schedule with at most so many faults and so many other departures from the default
 * order, once each, fewest departures first: the first failure it finds has as few as can be. Externals are fair and each
 * answers once: which of its outcomes that is, is a choice of data and not of the order, and counts as no preemption.
 */
import { type Use, Visited } from "./happensBefore.js"
import type { EngineOptions, Point, RunOf } from "./run.js"
import { isAnswer, isFault, type Schedule } from "./schedule.js"

/** @internal */
export interface Bound {
  readonly faults: number
  readonly preemptions: number
  /** Answers of externals other than their first. Default: any number. */
  readonly answers?: number | undefined
}

/**
 * Runs a schedule. `points` asks where it could have gone on differently, `reduction` lets it end where it is not needed.
 *
 * @internal
 */
export type RunSchedule<R> = (
  schedule: Schedule,
  points: boolean | "answers",
  reduction: EngineOptions["reduction"]
) => Promise<R>

/**
 * What a search came to.
 *
 * @internal
 */
export interface Searched<R> {
  readonly schedules: number
  /** How many of them were given up, since they had come to where others were. */
  readonly pruned: number
  /** Whether every schedule within the bound was run. */
  readonly complete: boolean
  readonly failing: R | undefined
}

/** @internal */
export interface SearchOptions<R> {
  readonly bound: Bound
  readonly maxSchedules: number
  /** Whether runs end where they come to a state that others have come to (happensBefore.ts). */
  readonly reduction?: boolean | undefined
  readonly run: RunSchedule<R>
  /** Looks at a run; `true` ends the search with it. */
  readonly fails: (run: R) => boolean
}

/** A schedule, and how much of the bound it uses. */
interface Used extends Use {
  readonly schedule: Schedule
}

/** One whose run can be departed from. */
interface Parent {
  readonly used: Used
  /** How many points it has; the run goes on to more where it was given up. */
  readonly points: number
}

const nothingUsed: Used = { schedule: [], faults: 0, preemptions: 0, answers: 0 }

const depart = (from: Used, { choices, place, usual }: Point, choice: string): Used => {
  const schedule = [...from.schedule, { place, choice }]
  if (isFault(choice)) return { ...from, schedule, faults: from.faults + 1 }
  if (isAnswer(choice, usual)) return { ...from, schedule, answers: from.answers + 1 }
  // Another external before its turn, whose outcomes are listed in their order.
  const isOther = choices.find((other) => isAnswer(other, choice)) !== choice && choice.startsWith("e:")
  return { ...from, schedule, preemptions: from.preemptions + 1, answers: from.answers + (isOther ? 1 : 0) }
}

const fits = (used: Used, { answers = Number.POSITIVE_INFINITY, faults, preemptions }: Bound): boolean =>
  used.faults <= faults && used.preemptions <= preemptions && used.answers <= answers

/** Which points of a run can still be departed from within the bound. */
const pointsOf = (used: Used, bound: Bound): boolean | "answers" => {
  if (used.faults < bound.faults || used.preemptions < bound.preemptions) return true
  return used.answers < (bound.answers ?? Number.POSITIVE_INFINITY) ? "answers" : false
}

/** Lets the event loop turn now and then, so that test runners and their time limits stay alive. */
const makeBreather = (): (() => Promise<void>) => {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < 20) return
    await new Promise((resolve) => setImmediate(resolve))
    since = performance.now()
  }
}

/**
 * Runs every schedule within a bound.
 *
 * @internal
 */
export const exhaustive = async <R extends RunOf<unknown>>(options: SearchOptions<R>): Promise<Searched<R>> => {
  const { bound, maxSchedules, run, fails } = options
  const breathe = makeBreather()
  const visited = options.reduction === true ? new Visited() : undefined
  let schedules = 0
  let pruned = 0
  const came = (complete: boolean, failing?: R): Searched<R> => ({ schedules, pruned, complete, failing })
  const visit = async (used: Used): Promise<R> => {
    schedules++
    await breathe()
    return run(used.schedule, pointsOf(used, bound), visited && { visited, use: used })
  }
  /** Whether a run ends the search. One that was given up came to nothing of its own. */
  const ends = (seen: R): boolean => {
    if (!seen.pruned) return fails(seen)
    pruned++
    return false
  }
  const first = await visit(nothingUsed)
  if (ends(first)) return came(false, first)
  // Of a level only the schedules are kept, and of the last one, the widest by far, nothing. The points of a run, some
  // hundred times as large, are looked at again when it is departed from: one run more for the hundred that follow.
  let level: Array<Parent> = [{ used: nothingUsed, points: first.points.length }]
  while (level.length > 0) {
    const next: Array<Parent> = []
    for (const parent of level) {
      const { points } = await run(parent.used.schedule, pointsOf(parent.used, bound), undefined)
      for (const point of points.slice(0, parent.points)) {
        for (const choice of point.choices) {
          const used = depart(parent.used, point, choice)
          if (!fits(used, bound)) continue
          if (schedules >= maxSchedules) return came(false)
          const child = await visit(used)
          if (ends(child)) return came(false, child)
          if (child.points.length > 0) next.push({ used, points: child.points.length })
        }
      }
    }
    level = next
  }
  return came(true)
}

/**
 * Runs schedules drawn at random, and shortens the first that fails.
 *
 * @internal
 */
export const sample = async <R>(options: {
  readonly runs: number
  readonly draw: (n: number) => Promise<R>
  readonly fails: (run: R) => boolean
}): Promise<Searched<R>> => {
  const breathe = makeBreather()
  for (let n = 0; n < options.runs; n++) {
    await breathe()
    const run = await options.draw(n)
    if (options.fails(run)) return { schedules: n + 1, pruned: 0, complete: false, failing: run }
  }
  return { schedules: options.runs, pruned: 0, complete: false, failing: undefined }
}
