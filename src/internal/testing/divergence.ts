/**
 * Says how a program has moved away from a schedule that it used to fit.
 */
import type { RunResult } from "./run.js"
import { type Deviation, samePlace } from "./schedule.js"

const list = (names: Iterable<string>): string => [...names].join(", ") || "none"

const stepsOf = ({ timeline }: RunResult<unknown, unknown>): ReadonlyMap<string, number> => {
  const steps = new Map<string, number>()
  for (const { kind, label } of timeline) if (kind === "step") steps.set(label, (steps.get(label) ?? 0) + 1)
  return steps
}

/**
 * Why `next` was not taken in a run of what comes before it, which has a timeline and knows its points.
 *
 * @internal
 */
export const whyNotTaken = ({ choice, place }: Deviation, run: RunResult<unknown, unknown>): string => {
  const point = run.points.find((other) => samePlace(other.place, place))
  if (point !== undefined) return `"${choice}" cannot happen there any more, only ${list(point.choices)}`
  const steps = stepsOf(run)
  const taken = steps.get(place.key)
  if (taken === undefined && /^[et]:|~/.test(place.key)) return `"${place.key}" does not happen so often any more`
  if (taken === undefined) return `nothing called "${place.key}" has taken a step; fibers are ${list(steps.keys())}`
  if (taken <= place.count) return `${place.key} has taken ${taken} steps only`
  return place.waiting
    ? `${place.key} does not wait behind its step ${place.count} any more`
    : `at step ${place.count} of ${place.key} there is nothing to decide any more`
}
