/**
 * Refuses options that mean nothing, before anything is run: a bound of NaN would be exhausted at once, and say so.
 */

interface Sample {
  readonly runs: number
  readonly seed?: number | undefined
  readonly strategy?: string | { readonly pct: number } | undefined
}

/** Those of `Explore.check` that may mean nothing: JavaScript, and a cast, pass any. */
interface Checked {
  readonly faults?: number | undefined
  readonly preemptions?: number | undefined
  readonly answers?: number | undefined
  readonly granularity?: string | undefined
  readonly reduction?: string | undefined
  readonly timers?: string | undefined
  readonly maxSteps?: number | undefined
  readonly sample?: Sample | undefined
  readonly maxSchedules?: number | undefined
}

const wholeNumber = (name: string, value: number | undefined, least: number): string | undefined =>
  value === undefined || (Number.isSafeInteger(value) && value >= least)
    ? undefined
    : `${name} is ${value}, and must be a whole number of at least ${least}`

const oneOf = (name: string, value: unknown, words: ReadonlyArray<string>): string | undefined =>
  value === undefined || words.some((word) => word === value)
    ? undefined
    : `${name} is ${JSON.stringify(value)}, and must be one of ${words.join(", ")}`

const problemOfSample = ({ runs, seed, strategy = "uniform" }: Sample): string | undefined => {
  return (
    wholeNumber("sample.runs", runs, 1) ??
    wholeNumber("sample.seed", seed, 0) ??
    (typeof strategy === "object"
      ? wholeNumber("sample.strategy.pct", strategy.pct, 1)
      : oneOf("sample.strategy", strategy, ["uniform"]))
  )
}

/**
 * What is wrong with the options of an exploration, if anything is.
 *
 * @internal
 */
export const problemOfOptions = (options: Checked): string | undefined => {
  const { granularity, maxSchedules, reduction, sample, timers } = options
  return (
    wholeNumber("faults", options.faults, 0) ??
    wholeNumber("preemptions", options.preemptions, 0) ??
    wholeNumber("answers", options.answers, 0) ??
    wholeNumber("answers", options.answers, 0) ??
    wholeNumber("maxSteps", options.maxSteps, 1) ??
    (maxSchedules === Number.POSITIVE_INFINITY ? undefined : wholeNumber("maxSchedules", maxSchedules, 1)) ??
    oneOf("granularity", granularity, ["op", "effect", "suspension"]) ??
    oneOf("timers", timers, ["quiescent", "any"]) ??
    oneOf("reduction", reduction, ["none", "happens-before"]) ??
    (sample !== undefined && reduction === "happens-before"
      ? "reduction has no meaning for schedules that are drawn at random: leave it or sample out"
      : undefined) ??
    (sample === undefined ? undefined : problemOfSample(sample))
  )
}
