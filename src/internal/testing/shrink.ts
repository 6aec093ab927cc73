/**
 * Makes a failing schedule that was found by chance as short as possible.
 *
 * A search within a smaller bound finds the shortest there is; where that takes too long, leaving out departures one by
 * one finds one from which none can be left out (ddmin with single steps), which may be longer.
 */
import type { Schedule } from "./schedule.js"

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
