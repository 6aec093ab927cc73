/**
 * Which schedules are run, and in which order.
 *
 * The bounded search runs every schedule with at most so many faults and so many other departures from the default
 * order, once each, fewest departures first: the first failure it finds has as few as can be. Externals are fair and each
 * answers once: which of its outcomes that is, is a choice of data and not of the order, and counts as no preemption.
 */
import type { Point, RunResult } from "./run.js"
import { isAnswer, isFault, type Schedule } from "./schedule.js"

/** @internal */
export interface Bound {
  readonly faults: number
  readonly preemptions: number
  /** Answers of externals other than their first. Default: any number. */
  readonly answers?: number | undefined
}

/**
 * Runs a schedule. `points` asks where it could have gone on differently.
 *
 * @internal
 */
export type RunSchedule<A, E> = (schedule: Schedule, points: boolean | "answers") => Promise<RunResult<A, E>>

/**
 * What a search came to.
 *
 * @internal
 */
export interface Searched<A, E> {
  readonly schedules: number
  /** Whether every schedule within the bound was run. */
  readonly complete: boolean
  readonly failing: RunResult<A, E> | undefined
}

/** @internal */
export interface SearchOptions<A, E> {
  readonly bound: Bound
  readonly maxSchedules: number
  readonly run: RunSchedule<A, E>
  /** Looks at a run; `true` ends the search with it. */
  readonly fails: (run: RunResult<A, E>) => boolean
}

/** A schedule, and how much of the bound it uses. */
interface Used {
  readonly schedule: Schedule
  readonly faults: number
  readonly preemptions: number
  readonly answers: number
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
export const exhaustive = async <A, E>(options: SearchOptions<A, E>): Promise<Searched<A, E>> => {
  const { bound, maxSchedules, run, fails } = options
  const breathe = makeBreather()
  let schedules = 0
  const visit = async (used: Used): Promise<RunResult<A, E>> => {
    schedules++
    await breathe()
    return run(used.schedule, pointsOf(used, bound))
  }
  const first = await visit(nothingUsed)
  if (fails(first)) return { schedules, complete: false, failing: first }
  // Of a level only the schedules are kept, and of the last one, the widest by far, nothing. The points of a run, some
  // hundred times as large, are looked at again when it is departed from: one run more for the hundred that follow.
  let level: Array<Used> = [nothingUsed]
  while (level.length > 0) {
    const next: Array<Used> = []
    for (const parent of level) {
      const { points } = await run(parent.schedule, pointsOf(parent, bound))
      for (const point of points) {
        for (const choice of point.choices) {
          const used = depart(parent, point, choice)
          if (!fits(used, bound)) continue
          if (schedules >= maxSchedules) return { schedules, complete: false, failing: undefined }
          const child = await visit(used)
          if (fails(child)) return { schedules, complete: false, failing: child }
          if (child.points.length > 0) next.push(used)
        }
      }
    }
    level = next
  }
  return { schedules, complete: true, failing: undefined }
}

/**
 * Runs schedules drawn at random, and shortens the first that fails.
 *
 * @internal
 */
export const sample = async <A, E>(options: {
  readonly runs: number
  readonly draw: (n: number) => Promise<RunResult<A, E>>
  readonly fails: (run: RunResult<A, E>) => boolean
}): Promise<Searched<A, E>> => {
  const breathe = makeBreather()
  for (let n = 0; n < options.runs; n++) {
    await breathe()
    const run = await options.draw(n)
    if (options.fails(run)) return { schedules: n + 1, complete: false, failing: run }
  }
  return { schedules: options.runs, complete: false, failing: undefined }
}
