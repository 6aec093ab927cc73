/**
 * What a run is given and what it comes to, as data.
 */
import type * as Exit from "effect/Exit"
import type { Granularity } from "./driver.js"
import { type Place, type Schedule, showPlace } from "./schedule.js"

/**
 * Where a run could have gone on differently.
 *
 * @internal
 */
export interface Point {
  readonly place: Place
  readonly choices: ReadonlyArray<string>
}

/**
 * One line of a timeline.
 *
 * @internal
 */
export interface Entry {
  readonly step: number
  readonly label: string
  readonly text: string
  readonly kind: "step" | "note" | "event" | "fault" | "external" | "timer" | "switch" | "exit"
}

/**
 * Something marked by the program, for invariants to look at.
 *
 * @internal
 */
export interface SimEvent {
  readonly tag: string
  readonly fiber: string
}

/** @internal */
export interface External {
  readonly key: string
  readonly outcomes: ReadonlyArray<string>
  readonly happen: (outcome: string) => void
}

/** @internal */
export interface EngineOptions {
  readonly granularity: Granularity
  readonly atomicAsync: boolean
  readonly timers: "quiescent" | "any"
  readonly maxSteps: number
  /** Native handles that were there before the exploration. */
  readonly handles: ReadonlyArray<string>
  /** Whether to keep a timeline. */
  readonly trace: boolean
  /** Whether to note where the run could have gone on differently, behind the last departure of its schedule. */
  readonly points: boolean
  /** Which choices count as places to depart at; the default order is always one of them. */
  readonly pick?: ((place: Place, choices: ReadonlyArray<string>) => string | undefined) | undefined
}

/**
 * What a run came to.
 *
 * @internal
 */
export interface RunResult<A, E> {
  readonly exit: Exit.Exit<A, E> | undefined
  readonly schedule: Schedule
  /** How many departures of the schedule were taken. Fewer than it has: it does not fit the program. */
  readonly taken: number
  /** Departures that were taken, also those that `pick` chose. */
  readonly applied: Schedule
  readonly steps: number
  readonly points: ReadonlyArray<Point>
  readonly timeline: ReadonlyArray<Entry>
  readonly events: ReadonlyArray<SimEvent>
  readonly hash: number
  /** Fibers that are alive although nothing can happen any more. */
  readonly leaked: ReadonlyArray<string>
  /** Who waits for what, when the main fiber has not ended and nothing can happen any more. */
  readonly deadlock: ReadonlyArray<string> | undefined
  readonly livelock: boolean
  /** Native handles that appeared during the run: something outside the explorer's reach. */
  readonly outside: ReadonlyArray<string>
  readonly failures: ReadonlyArray<string>
}

/**
 * Says where a schedule stopped fitting the program.
 *
 * @internal
 */
export const divergence = (run: RunResult<unknown, unknown>): string | undefined => {
  const next = run.schedule[run.taken]
  return next === undefined
    ? undefined
    : `the schedule no longer fits the program: step ${run.taken + 1} of it, "${showPlace(next.place)}>${next.choice}", was never reached`
}
