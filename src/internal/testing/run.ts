/**
 * What a run is given and what it comes to, as data.
 */
import type * as Exit from "effect/Exit"
import type { Granularity } from "./driver.js"
import type { Use, Visited } from "./happensBefore.js"
import { type Place, type Schedule, showPlace } from "./schedule.js"

/**
 * Where a run could have gone on differently.
 *
 * @internal
 */
export interface Point {
  readonly place: Place
  /** What happens there if nothing else is decided, unless it is that the running fiber goes on. */
  readonly usual: string | undefined
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
  readonly kind: "step" | "note" | "event" | "fault" | "external" | "timer" | "switch" | "wait" | "exit"
  /** Whether the fiber was out of reach of interrupts. */
  readonly masked: boolean
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

/**
 * Decides at a place: one of the alternatives, or nothing for what is usual (the running fiber, where that is absent).
 *
 * @internal
 */
export type Pick = (place: Place, alternatives: ReadonlyArray<string>, usual: string | undefined) => string | undefined

/** @internal */
export interface EngineOptions {
  readonly granularity: Granularity
  readonly atomicAsync: boolean
  readonly timers: "quiescent" | "any"
  readonly maxSteps: number
  /** Whether to say in words what the hash is made of. */
  readonly journal?: boolean | undefined
  /** Whether to keep a timeline. */
  readonly trace: boolean
  /**
   * Whether to note where the run could have gone on differently, behind the last departure of its schedule: everywhere, or
   * only where an external could have answered differently.
   */
  readonly points: boolean | "answers"
  /** Where runs have been, with how much of the bound this one uses: it ends where it is not needed. */
  readonly reduction?: { readonly visited: Visited; readonly use: Use } | undefined
  /** Whether to know the native handles that the run makes by themselves, and not only by how many there are. */
  readonly watchesHandles?: boolean | undefined
  /** Decides where a schedule says nothing. */
  readonly pick?: Pick | undefined
}

/**
 * What a run of any runtime came to.
 *
 * @internal
 */
export interface RunOf<X> {
  readonly exit: X | undefined
  readonly schedule: Schedule
  /** How many departures of the schedule were taken. Fewer than it has: it does not fit the program. */
  readonly taken: number
  /** Departures that were taken, also those that `pick` chose. */
  readonly applied: Schedule
  readonly steps: number
  readonly points: ReadonlyArray<Point>
  /** Whether it was given up since it had come to where another run was (`reduction`). */
  readonly pruned: boolean
  readonly timeline: ReadonlyArray<Entry>
  readonly events: ReadonlyArray<SimEvent>
  /** Of everything that happened. */
  readonly hash: number
  /** The same in words, if that was asked for. */
  readonly journal: ReadonlyArray<string>
  /** Fibers that are alive although nothing can happen any more. */
  readonly leaked: ReadonlyArray<string>
  /** Who waits for what, when the main fiber has not ended and nothing can happen any more. */
  readonly deadlock: ReadonlyArray<string> | undefined
  /** What is known of the runtime itself that may have brought the deadlock about. */
  readonly flaws: ReadonlyArray<string>
  readonly livelock: boolean
  /** What else could still happen when nothing under control could: native handles that appeared during the run. */
  readonly outside: ReadonlyArray<string>
  /** What a fault of the scenario threw when it struck. */
  readonly thrown: string | undefined
}

/**
 * What a run of an effect came to.
 *
 * @internal
 */
export interface RunResult<A, E> extends RunOf<Exit.Exit<A, E>> {}

/**
 * Says where a schedule stopped fitting the program.
 *
 * @internal
 */
export const divergence = (run: RunOf<unknown>): string | undefined => {
  const next = run.schedule[run.taken]
  return next === undefined
    ? undefined
    : `the schedule no longer fits the program: step ${run.taken + 1} of it, "${showPlace(next.place)}>${next.choice}", was never reached`
}
