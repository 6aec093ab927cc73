/**
 * Refuses options that mean nothing, before anything is run: a bound of NaN would be exhausted at once, and say so.
 */
import type { ExplorationOptions } from "./exploration.js"

const wholeNumber = (name: string, value: number | undefined, least: number): string | undefined =>
  value === undefined || (Number.isSafeInteger(value) && value >= least)
    ? undefined
    : `${name} is ${value}, and must be a whole number of at least ${least}`

const oneOf = (name: string, value: unknown, words: ReadonlyArray<string>): string | undefined =>
  value === undefined || words.some((word) => word === value)
    ? undefined
    : `${name} is ${JSON.stringify(value)}, and must be one of ${words.join(", ")}`

const problemOfSample = (sample: NonNullable<ExplorationOptions<never, never>["sample"]>): string | undefined => {
  const { runs, seed, strategy = "uniform" } = sample
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
export const problemOfOptions = <A, E>(options: ExplorationOptions<A, E>): string | undefined => {
  const { granularity, maxSchedules, sample, timers } = options
  return (
    wholeNumber("faults", options.faults, 0) ??
    wholeNumber("preemptions", options.preemptions, 0) ??
    wholeNumber("answers", options.answers, 0) ??
    wholeNumber("answers", options.answers, 0) ??
    wholeNumber("maxSteps", options.maxSteps, 1) ??
    (maxSchedules === Number.POSITIVE_INFINITY ? undefined : wholeNumber("maxSchedules", maxSchedules, 1)) ??
    oneOf("granularity", granularity, ["op", "effect", "suspension"]) ??
    oneOf("timers", timers, ["quiescent", "any"]) ??
    (sample === undefined ? undefined : problemOfSample(sample))
  )
}
