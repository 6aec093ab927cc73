/**
 * Schedules drawn at random, for scenarios that are too large to exhaust.
 *
 * - `uniform`: a fault at a step drawn uniformly, and a switch at each place with a fixed probability.
 * - `pct`: probabilistic concurrency testing (Burckhardt and others, 2010). Every fiber has a random priority, the highest
 *   runs, and at `depth - 1` random steps the running one drops to the lowest. A bug that needs `depth` ordering
 *   constraints in a run of n steps among k fibers is hit with a probability of at least 1 / (k · n^(depth - 1)).
 */
import { makeRandom, type SeededRandom } from "../random.js"
import type { Pick } from "./run.js"
import { isAnswer, isFault } from "./schedule.js"

/** @internal */
export interface Sampling {
  readonly runs: number
  readonly seed: number
  readonly strategy: "uniform" | { readonly pct: number }
}

const switchesPerHundred = 15

/** A fault at a step drawn from all steps of the run in the default order, if it comes to that. */
const drawFault = (random: SeededRandom, steps: number, faults: number): Pick => {
  const at = new Set(Array.from({ length: faults }, () => random.nextBelow(Math.max(1, steps))))
  let index = 0
  return (_place, alternatives) => {
    if (!at.has(index++)) return undefined
    const candidates = alternatives.filter(isFault)
    return candidates[random.nextBelow(candidates.length)]
  }
}

/** What an external answers that comes next anyhow: each of its outcomes alike. */
const answer =
  (random: SeededRandom): Pick =>
  (_place, alternatives, usual) => {
    const others = alternatives.filter((choice) => isAnswer(choice, usual))
    return others.length === 0 ? undefined : others[random.nextBelow(others.length + 1)]
  }

const uniform =
  (random: SeededRandom): Pick =>
  (_place, alternatives) => {
    if (random.nextBelow(100) >= switchesPerHundred) return undefined
    const others = alternatives.filter((choice) => !isFault(choice))
    return others[random.nextBelow(others.length)]
  }

const pct = (random: SeededRandom, depth: number, steps: number): Pick => {
  const priorities = new Map<string, number>()
  const drops = new Set(Array.from({ length: depth - 1 }, () => random.nextBelow(Math.max(1, steps))))
  let lowest = 0
  let index = 0
  const priorityOf = (key: string): number => {
    let priority = priorities.get(key)
    if (priority === undefined) {
      priority = 1 + random.nextBelow(1_000_000)
      priorities.set(key, priority)
    }
    return priority
  }
  return (place, alternatives, usual) => {
    const running = usual ?? place.key
    if (drops.has(index++)) priorities.set(running, --lowest)
    let best = running
    for (const choice of alternatives) if (!isFault(choice) && priorityOf(choice) > priorityOf(best)) best = choice
    return best === running ? undefined : best
  }
}

/**
 * What decides a run: the `n`th of a sampling. `steps` is the length of the run in the default order.
 *
 * @internal
 */
export const sampledPick = (sampling: Sampling, n: number, steps: number, faults: number): Pick => {
  const random = makeRandom(sampling.seed + n)
  const fault = drawFault(random, steps, faults)
  const order = sampling.strategy === "uniform" ? uniform(random) : pct(random, sampling.strategy.pct, steps)
  const answers = answer(random)
  return (place, alternatives, usual) => {
    const others = alternatives.filter((choice) => !isAnswer(choice, usual))
    return fault(place, alternatives, usual) ?? order(place, others, usual) ?? answers(place, alternatives, usual)
  }
}
