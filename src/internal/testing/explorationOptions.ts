/**
 * What an exploration is asked for, and how a report says it.
 */
import type * as Invariant from "../../testing/Invariant.js"
import type { Granularity } from "./driver.js"
import type { Sampling } from "./sampling.js"

/**
 * The options of `Explore.check`, where they are described.
 *
 * @internal
 */
export interface ExplorationOptions<A, E> {
  readonly invariants?: ReadonlyArray<Invariant.Invariant<A, E>> | undefined
  readonly faults?: number | undefined
  readonly preemptions?: number | undefined
  readonly answers?: number | undefined
  readonly granularity?: Granularity | undefined
  readonly reduction?: "none" | "happens-before" | undefined
  readonly timers?: "quiescent" | "any" | undefined
  readonly atomicAsync?: boolean | undefined
  readonly maxSteps?: number | undefined
  readonly sample?:
    | {
        readonly runs: number
        readonly seed?: number | undefined
        readonly strategy?: Sampling["strategy"] | undefined
      }
    | undefined
  readonly maxSchedules?: number | undefined
  readonly expect?: ReadonlyArray<string> | undefined
  readonly replay?: string | undefined
  readonly name?: string | undefined
}

/**
 * Within which bound a search is complete, or how much was drawn.
 *
 * @internal
 */
export const describeBound = <A, E>(options: ExplorationOptions<A, E>): string => {
  const { answers, faults = 1, granularity = "op", preemptions = 1, reduction, sample } = options
  if (sample !== undefined) {
    const how = typeof sample.strategy === "object" ? `pct(${sample.strategy.pct})` : "uniform"
    return `${sample.runs} schedules drawn at random (${how}, seed ${sample.seed ?? 0}), cut at every ${granularity}`
  }
  const plural = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`
  const others = answers === undefined ? "" : `, at most ${plural(answers, "other answer")} of externals`
  const reduced = reduction === "happens-before" ? ", reduced by happens-before" : ""
  return `at most ${plural(faults, "fault")} and ${plural(preemptions, "preemption")}${others}, cut at every ${granularity}${reduced}`
}
