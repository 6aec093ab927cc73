/**
 * How much deeper explored tests go at night (`EXPLORE_DEPTH=nightly`).
 */
import type { ExplorationOptions } from "./explorationOptions.js"

/** @internal */
export const isNightly = (): boolean => {
  const { EXPLORE_DEPTH } = process.env
  return EXPLORE_DEPTH === "nightly"
}

type Deepened = Pick<ExplorationOptions<never, never>, "preemptions" | "maxSchedules" | "sample">

/**
 * The same with one more preemption, up to 200,000 schedules, of which the report says whether they were all; or ten times
 * as many runs, where schedules are drawn at random.
 *
 * @internal
 */
export const deepened = <O extends Deepened>(options: O): O => {
  const { maxSchedules = 200_000, preemptions = 1, sample } = options
  if (sample !== undefined) return { ...options, sample: { ...sample, runs: sample.runs * 10 } }
  return { ...options, preemptions: preemptions + 1, maxSchedules }
}
