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
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { Settlement, waitOrStop } from "../internal/settlement.js"
import type { Granularity as AnyGranularity } from "../internal/testing/driver.js"
import { Engine } from "../internal/testing/engine.js"
import { explain } from "../internal/testing/explain.js"
import type { EngineOptions, RunResult } from "../internal/testing/run.js"
import { parse, type Schedule, show } from "../internal/testing/schedule.js"
import { type Bound, exhaustive, type Searched } from "../internal/testing/search.js"
import { problemOf } from "../internal/testing/verdict.js"
import type * as Invariant from "./Invariant.js"
import { Sim } from "./Sim.js"

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
  /** Default: `op`. */
  readonly granularity?: Granularity | undefined
  /** When a timer may fire: only when nothing else can happen, or at any time. Default: `quiescent`. */
  readonly timers?: "quiescent" | "any" | undefined
  /**
   * Whether registering a callback and its canceler is one step. `Effect.async` loses a canceler that is interrupted in
   * between, in every program that uses it; `false` shows that. Default: `true`.
   */
  readonly atomicAsync?: boolean | undefined
  /** A run that takes more steps is a livelock. Default: 20,000. */
  readonly maxSteps?: number | undefined
  /** The search ends, incomplete, behind so many schedules. Default: 200,000. */
  readonly maxSchedules?: number | undefined
  /** Every outcome that must be seen: a race test that saw only one winner has tested no race. */
  readonly expect?: ReadonlyArray<string> | undefined
  /** Runs only this schedule. Default: the environment variable `EXPLORE_REPLAY`. */
  readonly replay?: string | undefined
}

/**
 * What an exploration came to. `bound` and `complete` belong together: complete means complete within the bound.
 *
 * @since 0.1.0
 * @category models
 */
export interface Report {
  readonly schedules: number
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

type Scenario<A, E> = Effect.Effect<A, E, Sim | Scope.Scope>

interface Observed<A, E> extends RunResult<A, E> {
  readonly outcome: string | undefined
}

const runOnce = async <A, E>(
  scenario: Scenario<A, E>,
  schedule: Schedule,
  options: EngineOptions
): Promise<Observed<A, E>> => {
  const engine = new Engine(schedule, options)
  let outcome: string | undefined
  const sim = Sim.of({
    addFault: (name, happen) => engine.addFault(name, happen),
    addExternal: (name, outcomes, happen) => engine.addExternal(name, outcomes, happen),
    note: (text) => engine.note(text),
    event: (tag) => engine.event(tag),
    outcome: (word) => {
      outcome = word
    },
    name: (fiber, label) => engine.name(fiber, label)
  })
  const result = await engine.run(Effect.scoped(Effect.provideService(scenario, Sim, sim)))
  const value = result.exit !== undefined && Exit.isSuccess(result.exit) ? result.exit.value : undefined
  return { ...result, outcome: outcome ?? (typeof value === "string" ? value : undefined) }
}

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
  Effect.uninterruptibleMask((restore) => {
    const settlement = new Settlement<Effect.Effect<Report, ExploreFailure>>()
    const search = new Exploration(scenario, options)
    search.explore().then(
      (outcome) => settlement.settle(outcome),
      (defect) => settlement.settle(Effect.die(defect))
    )
    return Effect.flatten(waitOrStop(settlement, restore, () => search.stop()))
  })

class Exploration<A, E> {
  private readonly scenario: Scenario<A, E>
  private readonly options: Options<A, E>
  private readonly bound: Bound
  private readonly engine: Omit<EngineOptions, "points" | "trace">
  private readonly outcomes = new Map<string, number>()
  private stopped = false

  constructor(scenario: Scenario<A, E>, options: Options<A, E>) {
    this.scenario = scenario
    this.options = options
    this.bound = { faults: options.faults ?? 1, preemptions: options.preemptions ?? 1 }
    this.engine = {
      granularity: options.granularity ?? "op",
      atomicAsync: options.atomicAsync ?? true,
      timers: options.timers ?? "quiescent",
      maxSteps: options.maxSteps ?? 20_000,
      handles: process.getActiveResourcesInfo()
    }
  }

  stop(): void {
    this.stopped = true
  }

  async explore(): Promise<Effect.Effect<Report, ExploreFailure>> {
    const replay = this.options.replay ?? process.env["EXPLORE_REPLAY"]
    if (replay !== undefined && replay !== "") return this.replay(replay)
    const base = await this.run([], false)
    const uncertain = await this.differs(base)
    if (uncertain !== undefined) return uncertain
    const searched = await this.search(this.bound, this.engine.granularity)
    if (searched.failing !== undefined) return this.failure(searched.failing, searched.schedules)
    const report: Report = {
      schedules: searched.schedules,
      steps: base.steps,
      bound: this.describeBound(),
      complete: searched.complete,
      outcomes: this.outcomes
    }
    return this.withExpected(report)
  }

  private async replay(text: string): Promise<Effect.Effect<Report, ExploreFailure>> {
    const schedule = parse(text)
    if ("problem" in schedule) return fail(schedule.problem, "", schedule.problem)
    const run = await this.run(schedule, false)
    if (this.problem(run) !== undefined) return this.failure(run, 1)
    return Effect.succeed({
      schedules: 1,
      steps: run.steps,
      bound: `the schedule ${text}`,
      complete: false,
      outcomes: this.outcomes
    })
  }

  private run(schedule: Schedule, points: boolean, more: Partial<EngineOptions> = {}): Promise<Observed<A, E>> {
    return runOnce(this.scenario, schedule, { ...this.engine, points, trace: false, ...more })
  }

  private search(bound: Bound, granularity: Granularity, maxSchedules?: number): Promise<Searched<A, E>> {
    return exhaustive<A, E>({
      bound,
      maxSchedules: maxSchedules ?? this.options.maxSchedules ?? 200_000,
      run: (schedule, points) => this.run(schedule, points, { granularity }),
      fails: (run) => this.look(run as Observed<A, E>)
    })
  }

  private look(run: Observed<A, E>): boolean {
    if (run.outcome !== undefined) this.outcomes.set(run.outcome, (this.outcomes.get(run.outcome) ?? 0) + 1)
    return this.stopped || this.problem(run) !== undefined
  }

  private problem(run: Observed<A, E>): string | undefined {
    const problem = problemOf(run, this.engine.maxSteps)
    if (problem !== undefined || run.exit === undefined) return problem
    const seen = { exit: run.exit, events: run.events, outcome: run.outcome, schedule: show(run.schedule) }
    for (const invariant of this.options.invariants ?? []) {
      const broken = invariant(seen)
      if (broken !== undefined) return broken
    }
    return undefined
  }

  /** Runs a schedule again: two runs that differ mean that something beside the schedule decides. */
  private async differs(run: Observed<A, E>): Promise<Effect.Effect<never, ExploreFailure> | undefined> {
    const again = await this.run(run.schedule, false)
    if (again.hash === run.hash && again.steps === run.steps) return undefined
    const problem = `two runs of one schedule differ (${run.steps} and ${again.steps} steps): the scenario depends on something that is not made anew in each run, such as module state, Math.random, Date.now, a native timer or I/O`
    return fail(problem, show(run.schedule), `Cannot explore: ${problem}`)
  }

  private async failure(run: RunResult<A, E>, schedules: number): Promise<Effect.Effect<never, ExploreFailure>> {
    if (this.stopped) return Effect.interrupt
    const uncertain = await this.differs(run as Observed<A, E>)
    if (uncertain !== undefined) return uncertain
    const problem = this.problem(run as Observed<A, E>) ?? "unknown"
    const message = await explain({
      problem,
      schedules,
      bound: this.describeBound(),
      failing: await this.run(run.schedule, false, { trace: true }),
      fails: async (schedule) => this.problem(await this.run(schedule, false)) === problem,
      failsAt: async (granularity) =>
        (await this.search({ faults: 1, preemptions: 1 }, granularity, 2_000)).failing !== undefined
    })
    return fail(problem, show(run.schedule), message)
  }

  private withExpected(report: Report): Effect.Effect<Report, ExploreFailure> {
    const unseen = (this.options.expect ?? []).filter((outcome) => !report.outcomes.has(outcome))
    if (unseen.length === 0) return Effect.succeed(report)
    const seen = [...report.outcomes.keys()].join(", ") || "none"
    const problem = `outcomes that were expected were never seen: ${unseen.join(", ")} (seen: ${seen})`
    return fail(problem, "", `${problem}\n  ${report.schedules} schedules, ${report.bound}`)
  }

  private describeBound(): string {
    const { faults, preemptions } = this.bound
    const plural = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`
    return `at most ${plural(faults, "fault")} and ${plural(preemptions, "preemption")}, cut at every ${this.engine.granularity}`
  }
}

const fail = (problem: string, schedule: string, message: string): Effect.Effect<never, ExploreFailure> =>
  new ExploreFailure({ problem, schedule, message })
