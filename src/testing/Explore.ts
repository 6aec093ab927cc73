/**
 * Runs a scenario under every interleaving up to a stated bound.
 *
 * An Effect program is a set of fibers that take turns. `Explore` owns the turns: it runs the scenario again and again,
 * each time with a fault (an interrupt, an abort, whatever the scenario allows with `Sim`) before another operation, and
 * with other turns of the fibers, until all schedules within the bound have been run. A failure is named by a short string
 * that replays it, and shown as a timeline.
 *
 * What it does not do: it sees only what the scheduler of Effect and the services of `Sim` control. Code between two
 * `await`s of settled promises is one step; real timers, I/O and worker threads escape, and are reported. "Complete" is a
 * statement about a bound, never that a program is free of races.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { hasProperty } from "effect/Predicate"
import type * as Scope from "effect/Scope"
import { Settlement, waitOrStop } from "../internal/settlement.js"
import type { Granularity as AnyGranularity } from "../internal/testing/driver.js"
import { Exploration } from "../internal/testing/exploration.js"
import type { Finding } from "../internal/testing/finding.js"
import { drawPage, type Page } from "../internal/testing/html.js"
import { writePage } from "../internal/testing/pages.js"
import { parse, show } from "../internal/testing/schedule.js"
import { simpler } from "../internal/testing/shrink.js"
import type * as Invariant from "./Invariant.js"
import type { Sim } from "./Sim.js"

/**
 * How finely a scenario is cut: before every operation (`op`), before those whose effect other fibers can see (`effect`),
 * or only where a fiber really waits (`suspension`), as on Effect's own scheduler.
 *
 * @since 0.1.0
 * @category models
 */
export type Granularity = AnyGranularity

/**
 * How a scenario is explored.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<A, E> {
  readonly invariants?: ReadonlyArray<Invariant.Invariant<A, E>> | undefined
  /** At most so many faults in one run. Default: 1. */
  readonly faults?: number | undefined
  /** At most so many other departures from the default order in one run. Default: 1. */
  readonly preemptions?: number | undefined
  /**
   * At most so many answers in one run of `Sim.external` and `Sim.promise` that are not their first. What they answer is a
   * choice of data, not of order: it counts as no preemption. Default: any number, so that every combination of answers is
   * run; a scenario that asks again until it likes the answer needs a bound.
   */
  readonly answers?: number | undefined
  /** Default: `op`. */
  readonly granularity?: Granularity | undefined
  /**
   * Whether schedules are left out that only lead to where others led: `happens-before` gives a run up once the operations
   * of all fibers so far, and what each depends on, are those of a run that was there before.
   *
   * It misses nothing on this condition: whatever fibers share is read and written within operations (`Ref`, `Deferred`,
   * `Queue`, ...; a variable in the function of `Effect.sync`, `suspend`, `async` or `map`, or in the code of a generator),
   * and not where only the next effect is chosen, in the function of `flatMap`, `andThen` or `tap`. A variable that is read
   * or written there, and that another fiber writes, is not seen: failures that hang on it alone may be missed.
   * Default: `none`.
   */
  readonly reduction?: "none" | "happens-before" | undefined
  /** When a timer may fire: only when nothing else can happen, or at any time. Default: `quiescent`. */
  readonly timers?: "quiescent" | "any" | undefined
  /**
   * Whether what Effect does in more than one operation, and breaks if it is interrupted in between, is one step:
   * registering a callback and its canceler (`Effect.async` loses the canceler), and starting the fibers of a concurrent
   * `Effect.all` or a race (which then never ends). Every program that uses them has these flaws; `false` shows them.
   * Default: `true`.
   */
  readonly atomicAsync?: boolean | undefined
  /**
   * A run that takes more steps is a livelock. It is a deadlock if time has passed ten times or more at its end while the
   * main fiber took no step and nothing but timers happened: what is waited for then, no timer brings about, as far as
   * these steps show. Default: 20,000.
   */
  readonly maxSteps?: number | undefined
  /**
   * Draws schedules at random instead of running all within the bound, for scenarios too large for that: `uniform` faults
   * and switches, or `pct` (random priorities with `depth - 1` changes). Never complete. A failure is shortened.
   */
  readonly sample?:
    | {
        readonly runs: number
        readonly seed?: number | undefined
        readonly strategy?: "uniform" | { readonly pct: number } | undefined
      }
    | undefined
  /** The search ends, incomplete, behind so many schedules. Default: 200,000. */
  readonly maxSchedules?: number | undefined
  /** Every outcome that must be seen: a race test that saw only one winner has tested no race. */
  readonly expect?: ReadonlyArray<string> | undefined
  /** Runs only this schedule. Default: the environment variable `EXPLORE_REPLAY`. */
  readonly replay?: string | undefined
  /** What the scenario is called in files of HTML. Default under `it.explore`: the name of the test. */
  readonly name?: string | undefined
  /**
   * A folder into which the timeline of a failure is written as a page of HTML; the message then names the file. Default:
   * the environment variable `EXPLORE_HTML`, else nothing is written.
   */
  readonly html?: string | undefined
}

/**
 * What an exploration came to. `bound` and `complete` belong together: complete means complete within the bound.
 *
 * @since 0.1.0
 * @category models
 */
export interface Report {
  /** How many were run, those that were given up included. */
  readonly schedules: number
  /** How many of them were given up since they led to where others had led (`reduction`). */
  readonly pruned: number
  /** Steps of the run in the default order. */
  readonly steps: number
  readonly bound: string
  readonly complete: boolean
  /** How often each outcome was seen. */
  readonly outcomes: ReadonlyMap<string, number>
}

/**
 * A schedule under which something does not hold, or a scenario that cannot be explored.
 *
 * @since 0.1.0
 * @category errors
 */
export class ExploreFailure extends Data.TaggedError("ExploreFailure")<{
  readonly problem: string
  /** The schedule as a string, for `replay`. Empty when the scenario itself is at fault. */
  readonly schedule: string
  readonly message: string
}> {}

// Beside the failure and not in it: runners print the fields of an error, and this would be a flood.
const pages = new WeakMap<ExploreFailure, Page>()

const failed = ({ page, ...finding }: Finding): ExploreFailure => {
  const failure = new ExploreFailure(finding)
  pages.set(failure, page)
  return failure
}

/**
 * The timeline of a failure as a page of HTML: a string that needs no other file, with all names escaped.
 *
 * It shows what the message shows, with every line of it: fibers as columns, the fault and the other departures from the
 * default order, and, shaded, the steps before which the fault does the same harm. The command that replays it can be
 * copied. A failure without a run, such as that of a scenario that cannot be explored, gives a page with its message.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Explore } from "quiesce/testing"
 *
 * const failure = await Effect.runPromise(Effect.flip(Explore.check(Effect.fail("<no luck>"))))
 * assert.match(Explore.toHtml(failure), /Error: &lt;no luck&gt;/)
 * ```
 *
 * @since 0.1.0
 * @category converting
 */
export const toHtml = (failure: ExploreFailure): string => drawPage(pages.get(failure) ?? pageOf(failure))

const pageOf = ({ message, problem }: ExploreFailure): Page => ({
  title: `Explore: ${problem}`,
  problem: message,
  replay: undefined,
  remarks: [],
  drawings: []
})

type Scenario<A, E> = Effect.Effect<A, E, Sim | Scope.Scope>

/**
 * Explores a scenario, and fails with the first schedule under which it or an invariant does not hold.
 *
 * The scenario makes all its state anew in each run: module state makes runs differ, which is detected and named. It has
 * a scope of its own and virtual time. Completes when the search is exhausted or has reached `maxSchedules`; an
 * interruption ends it after the current run. No fiber of any run is left behind.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Fiber, Ref } from "effect"
 * import { Explore } from "quiesce/testing"
 *
 * // Two fibers that read, then write: some interleaving loses an update.
 * const lostUpdate = Effect.gen(function* () {
 *   const ref = yield* Ref.make(0)
 *   const increment = Effect.flatMap(Ref.get(ref), (n) => Ref.set(ref, n + 1))
 *   const fibers = yield* Effect.all([Effect.fork(increment), Effect.fork(increment)])
 *   yield* Fiber.joinAll(fibers)
 *   return String(yield* Ref.get(ref))
 * })
 *
 * const report = await Effect.runPromise(Explore.check(lostUpdate, { expect: ["1", "2"] }))
 * assert.strictEqual(report.complete, true)
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const check = <A, E>(
  scenario: Scenario<A, E>,
  options: Options<A, E> = {}
): Effect.Effect<Report, ExploreFailure> =>
  Effect.suspend(() => {
    const exploration = new Exploration(scenario, options)
    return Effect.flatMap(
      settled(exploration.explore(), () => exploration.stop()),
      (result) => ("problem" in result ? Effect.flatMap(written(result, options), failed) : Effect.succeed(result))
    )
  })

/** With its page in a file, if that is asked for. */
const written = (finding: Finding, { html, name }: Pick<Options<never, never>, "html" | "name">) => {
  const { EXPLORE_HTML } = process.env
  const folder = html ?? EXPLORE_HTML ?? ""
  if (folder === "") return Effect.succeed(finding)
  return Effect.map(writePage(folder, name ?? "scenario", finding.page), (line) => ({
    ...finding,
    message: `${finding.message}\n  ${line}`
  }))
}

const settled = <A>(promise: Promise<A>, stop: () => void): Effect.Effect<A> =>
  Effect.uninterruptibleMask((restore) => {
    const settlement = new Settlement<Effect.Effect<A>>()
    promise.then(
      (value) => settlement.settle(Effect.succeed(value)),
      (defect) => settlement.settle(Effect.die(defect))
    )
    return Effect.flatten(waitOrStop(settlement, restore, stop))
  })

/**
 * A schedule drawn by `schedule`, for `run`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Drawn {
  readonly seed: number
  /** What the schedule came to in its last run, as a string for `replay`; absent before it ran. */
  text: string | undefined
}

const drawn = (seed: number, text: string | undefined): FastCheck.Value<Drawn> => {
  const value: Drawn & FastCheck.WithToStringMethod = {
    seed,
    text,
    [FastCheck.toStringMethod]: () =>
      value.text === undefined ? `a schedule drawn with seed ${seed}, not run yet` : JSON.stringify(value.text)
  }
  return new FastCheck.Value<Drawn>(value, undefined)
}

class DrawnSchedules extends FastCheck.Arbitrary<Drawn> {
  generate(random: FastCheck.Random): FastCheck.Value<Drawn> {
    return drawn(random.nextInt(0, 0x7fffffff), undefined)
  }

  canShrinkWithoutContext(value: unknown): value is Drawn {
    return hasProperty(value, "seed")
  }

  /** The simplest first: a property that fails under any of them is shrunk from there. */
  shrink(value: Drawn): FastCheck.Stream<FastCheck.Value<Drawn>> {
    const taken = value.text === undefined ? [] : parse(value.text)
    if ("problem" in taken) return FastCheck.Stream.nil()
    return FastCheck.Stream.of(...simpler(taken).map((schedule) => drawn(value.seed, show(schedule))))
  }
}

/**
 * An arbitrary of schedules for property tests: the inputs of a program and its interleaving are drawn together, and both
 * shrink. It prints as a string that `replay` takes.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, FastCheck } from "effect"
 * import { Explore } from "quiesce/testing"
 *
 * const property = FastCheck.asyncProperty(FastCheck.nat(), Explore.schedule(), async (n, schedule) => {
 *   const run = await Effect.runPromise(Explore.run(Effect.succeed(String(n)), schedule))
 *   assert.strictEqual(run.outcome, String(n))
 * })
 * await FastCheck.assert(property, { numRuns: 10 })
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const schedule = (): FastCheck.Arbitrary<Drawn> => new DrawnSchedules()

/**
 * Runs a scenario once, under a schedule drawn by `schedule`, and gives what invariants look at.
 *
 * Fails as `check` does on a deadlock, a livelock, a failure of the scenario or a fiber that is left running.
 *
 * @since 0.1.0
 * @category testing
 */
export const run = <A, E>(
  scenario: Scenario<A, E>,
  drawn: Drawn,
  options: Omit<Options<A, E>, "sample" | "replay" | "expect" | "html" | "reduction"> = {}
): Effect.Effect<Invariant.Run<A, E>, ExploreFailure> =>
  Effect.suspend(() => {
    const exploration = new Exploration(scenario, options)
    return Effect.flatMap(
      settled(exploration.runDrawn(drawn), () => exploration.stop()),
      (result) => ("problem" in result ? failed(result) : Effect.succeed(result))
    )
  })
