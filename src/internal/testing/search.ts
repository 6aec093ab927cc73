/**
 * Which schedules are run, and in which order.
 *
 * The bounded search runs every schedule with at most so many faults and so many other departures from the default
 * order, once each, fewest departures first: the first failure it finds has as few as can be.
 */
import type { RunResult } from "./run.js"
import { type Deviation, isFault, type Schedule } from "./schedule.js"

/** @internal */
export interface Bound {
  readonly faults: number
  readonly preemptions: number
}

/**
 * Runs a schedule. `points` asks where it could have gone on differently.
 *
 * @internal
 */
export type RunSchedule<A, E> = (schedule: Schedule, points: boolean) => Promise<RunResult<A, E>>

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

const used = (schedule: Schedule): Bound => {
  const faults = schedule.filter(({ choice }) => isFault(choice)).length
  return { faults, preemptions: schedule.length - faults }
}

const fits = (schedule: Schedule, next: Deviation, bound: Bound): boolean => {
  const { faults, preemptions } = used(schedule)
  return isFault(next.choice) ? faults < bound.faults : preemptions < bound.preemptions
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
  const visit = async (schedule: Schedule): Promise<RunResult<A, E>> => {
    const { faults, preemptions } = used(schedule)
    schedules++
    await breathe()
    return run(schedule, faults < bound.faults || preemptions < bound.preemptions)
  }
  const first = await visit([])
  if (fails(first)) return { schedules, complete: false, failing: first }
  // Of a level only the schedules are kept, and of the last one, the widest by far, nothing. The points of a run, some
  // hundred times as large, are looked at again when it is departed from: one run more for the hundred that follow.
  let level: Array<Schedule> = [[]]
  while (level.length > 0) {
    const next: Array<Schedule> = []
    for (const parent of level) {
      const { points } = await run(parent, true)
      for (const { place, choices } of points) {
        for (const choice of choices) {
          const deviation = { place, choice }
          if (!fits(parent, deviation, bound)) continue
          if (schedules >= maxSchedules) return { schedules, complete: false, failing: undefined }
          const child = await visit([...parent, deviation])
          if (fails(child)) return { schedules, complete: false, failing: child }
          if (child.points.length > 0) next.push(child.schedule)
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
