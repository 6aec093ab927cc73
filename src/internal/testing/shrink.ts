/**
 * Makes a failing schedule that was found by chance as short as possible.
 *
 * A search within a smaller bound finds the shortest there is; where that takes too long, leaving out departures one by
 * one finds one from which none can be left out (ddmin with single steps), which may be longer.
 */
import type { Deviation, Schedule } from "./schedule.js"

/**
 * Leaves out departures as long as it still fails.
 *
 * @internal
 */
export const withoutNeedless = async (
  schedule: Schedule,
  fails: (schedule: Schedule) => Promise<boolean>
): Promise<Schedule> => {
  let shortest = schedule
  for (let i = 0; i < shortest.length; ) {
    const without = [...shortest.slice(0, i), ...shortest.slice(i + 1)]
    if (await fails(without)) shortest = without
    else i++
  }
  return shortest
}

/**
 * Departures like those of a schedule, from wherever the same fibers could have taken them. Leaving departures out comes
 * to a schedule from which none can be left out, while a single one elsewhere may do: what was drawn at random is full of
 * switches that only bring about where the next ones are.
 */
const alike = (schedule: Schedule, most: number): ReadonlyArray<Deviation> => {
  const reach = new Map<string, number>()
  for (const { key, count } of schedule.map(({ place }) => place)) reach.set(key, Math.max(count, reach.get(key) ?? 0))
  const kinds = new Map<string, Deviation>()
  for (const deviation of schedule) {
    const { choice, place } = deviation
    kinds.set(`${place.key} ${place.waiting} ${choice}`, deviation)
  }
  const found: Array<Deviation> = []
  for (const { choice, place } of kinds.values()) {
    for (let count = 0; count <= (reach.get(place.key) ?? 0) && found.length < most; count++) {
      found.push({ choice, place: { ...place, count } })
    }
  }
  return found
}

/**
 * Schedules that are simpler than one that was drawn, for a property that shrinks: those of one departure, those of two of
 * its own, and itself without one.
 *
 * @internal
 */
export const simpler = (schedule: Schedule): ReadonlyArray<Schedule> => {
  if (schedule.length < 2) return schedule.map(() => [])
  const single = alike(schedule, 200).map((deviation) => [deviation])
  const few = schedule.slice(0, 12)
  const pairs = few.flatMap((first, i) => few.slice(i + 1).map((second) => [first, second]))
  const without = schedule.map((_, i) => [...schedule.slice(0, i), ...schedule.slice(i + 1)])
  return [...single, ...(schedule.length > 2 ? pairs : []), ...without]
}
