/**
 * What must hold in every run of an explored scenario.
 *
 * No deadlock, no livelock, no fiber left running and no failure of the scenario itself are checked always; these are for
 * the rest.
 *
 * @since 0.1.0
 */
import type * as Exit from "effect/Exit"

/**
 * Something that a scenario marked with `Sim.event`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Event {
  readonly tag: string
  readonly fiber: string
}

/**
 * One run of a scenario, as invariants see it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Run<A, E> {
  readonly exit: Exit.Exit<A, E>
  readonly events: ReadonlyArray<Event>
  /** What the scenario said with `Sim.outcome`, or what it succeeded with, if that is a string. */
  readonly outcome: string | undefined
  /** The schedule as a string, for messages. */
  readonly schedule: string
}

/**
 * Says what is wrong with a run, or nothing.
 *
 * @since 0.1.0
 * @category models
 */
export type Invariant<A = unknown, E = unknown> = (run: Run<A, E>) => string | undefined

const count = (run: Run<unknown, unknown>, tag: string): number =>
  run.events.filter((event) => event.tag === tag).length

/**
 * The event `tag` happens exactly once.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Exit } from "effect"
 * import { Invariant } from "quiesce/testing"
 *
 * const run = { exit: Exit.void, events: [], outcome: undefined, schedule: "x1/" }
 * assert.strictEqual(Invariant.exactlyOnce("published")(run), `"published" must happen exactly once, and happened 0 times`)
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const exactlyOnce =
  (tag: string): Invariant =>
  (run) => {
    const times = count(run, tag)
    return times === 1 ? undefined : `"${tag}" must happen exactly once, and happened ${times} times`
  }

/**
 * The event `tag` happens at most once.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Exit } from "effect"
 * import { Invariant } from "quiesce/testing"
 *
 * const run = { exit: Exit.void, events: [], outcome: undefined, schedule: "x1/" }
 * assert.strictEqual(Invariant.atMostOnce("published")(run), undefined)
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const atMostOnce =
  (tag: string): Invariant =>
  (run) => {
    const times = count(run, tag)
    return times <= 1 ? undefined : `"${tag}" must happen at most once, and happened ${times} times`
  }

/**
 * Once `after` has happened, `tag` does not happen any more.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Exit } from "effect"
 * import { Invariant } from "quiesce/testing"
 *
 * const events = [{ tag: "closed", fiber: "main" }, { tag: "write", fiber: "call" }]
 * const run = { exit: Exit.void, events, outcome: undefined, schedule: "x1/" }
 * assert.strictEqual(Invariant.never("write", { after: "closed" })(run), `"write" happened in call after "closed"`)
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const never =
  (tag: string, options: { readonly after: string }): Invariant =>
  (run) => {
    const from = run.events.findIndex((event) => event.tag === options.after)
    const late = from === -1 ? undefined : run.events.slice(from + 1).find((event) => event.tag === tag)
    return late === undefined ? undefined : `"${tag}" happened in ${late.fiber} after "${options.after}"`
  }

/**
 * Each `acquire` is followed by a `release`, and there are never more releases than acquisitions.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Exit } from "effect"
 * import { Invariant } from "quiesce/testing"
 *
 * const run = { exit: Exit.void, events: [{ tag: "open", fiber: "call" }], outcome: undefined, schedule: "x1/" }
 * assert.strictEqual(Invariant.balanced("open", "close")(run), `1 times "open", but 0 times "close"`)
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const balanced =
  (acquire: string, release: string): Invariant =>
  (run) => {
    let open = 0
    for (const { tag } of run.events) {
      if (tag === acquire) open++
      if (tag === release && --open < 0) return `"${release}" happened more often than "${acquire}"`
    }
    const times = [count(run, acquire), count(run, release)] as const
    return open === 0 ? undefined : `${times[0]} times "${acquire}", but ${times[1]} times "${release}"`
  }
