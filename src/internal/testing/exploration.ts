/**
 * Explores a scenario: looks for a schedule under which something does not hold, and says what it found.
 */
import type * as Invariant from "../../testing/Invariant.js"
import { describeThrown } from "../thrown.js"
import { problemOfOptions } from "./checkOptions.js"
import { whyNotTaken } from "./divergence.js"
import type { Granularity } from "./driver.js"
import { explain, replayOf } from "./explain.js"
import { describeBound, type ExplorationOptions } from "./explorationOptions.js"
import { cannot, type Finding, fail, type Report } from "./finding.js"
import { partingOf } from "./fingerprint.js"
import { type Observed, runOnce, type Scenario } from "./observed.js"
import { isInStep } from "./outside.js"
import { divergence, type EngineOptions, type RunResult } from "./run.js"
import { broken, type Problem, wrong } from "./sameFailure.js"
import { type Sampling, sampledPick } from "./sampling.js"
import { isFault, parse, type Schedule, show } from "./schedule.js"
import { type Bound, exhaustive, type Searched, sample } from "./search.js"
import { withoutNeedless } from "./shrink.js"
import { outOfReach, problemOf } from "./verdict.js"

const usualReasons =
  "the scenario depends on something that is not made anew in each run, such as module state, Math.random, Date.now, a native timer or I/O, or on the order of a HashSet or HashMap of objects that have no hash of their own"

/** An invariant may be made of assertions: what it throws is what it has to say. */
const said = <A, E>(invariant: Invariant.Invariant<A, E>, run: Invariant.Run<A, E>): string | undefined => {
  try {
    return invariant(run)
  } catch (error) {
    return `an invariant threw: ${describeThrown(error).message}`
  }
}

const inAScenario =
  "an exploration was started inside of a scenario: explorations take turns, and this one would wait for its own end. Start it beside the scenario, as a test of its own"

const coarseness: ReadonlyArray<Granularity> = ["op", "effect", "suspension"]

/**
 * One exploration of one scenario.
 *
 * @internal
 */
export class Exploration<A, E> {
  private readonly scenario: Scenario<A, E>
  private readonly options: ExplorationOptions<A, E>
  private readonly bound: Bound
  private readonly engine: Omit<EngineOptions, "points" | "trace">
  private readonly outcomes = new Map<string, number>()
  private stopped = false

  constructor(scenario: Scenario<A, E>, options: ExplorationOptions<A, E>) {
    this.scenario = scenario
    this.options = options
    this.bound = { faults: options.faults ?? 1, preemptions: options.preemptions ?? 1, answers: options.answers }
    this.engine = {
      granularity: options.granularity ?? "op",
      atomicAsync: options.atomicAsync ?? true,
      timers: options.timers ?? "quiescent",
      maxSteps: options.maxSteps ?? 20_000
    }
  }

  private get isReduced(): boolean {
    return this.options.reduction === "happens-before"
  }

  private get nonsense(): string | undefined {
    return isInStep() ? inAScenario : problemOfOptions(this.options)
  }

  stop(): void {
    this.stopped = true
  }

  async explore(): Promise<Report | Finding> {
    const nonsense = this.nonsense
    if (nonsense !== undefined) return cannot(nonsense)
    const { EXPLORE_REPLAY } = process.env
    const replay = this.options.replay ?? EXPLORE_REPLAY
    if (replay !== undefined && replay !== "") return this.replay(replay)
    const base = await this.run([], false, { journal: true })
    const uncertain = await this.differs(base)
    if (uncertain !== undefined) return uncertain
    const searched = await (this.options.sample === undefined
      ? this.search(this.bound, this.engine.granularity)
      : this.sample(this.options.sample, base.steps))
    // What beside the schedule decides may have changed only in the meantime: a count, a clock.
    const changed = this.stopped ? undefined : await this.differs(base)
    if (changed !== undefined) return changed
    if (searched.failing !== undefined) return this.failure(searched.failing, searched.schedules)
    const report: Report = {
      schedules: searched.schedules,
      pruned: searched.pruned,
      steps: base.steps,
      bound: describeBound(this.options),
      complete: searched.complete,
      outcomes: this.outcomes
    }
    return this.withExpected(report)
  }

  private async replay(text: string): Promise<Report | Finding> {
    const schedule = parse(text)
    if ("problem" in schedule) return cannot(schedule.problem, "replay")
    const run = await this.run(schedule, false)
    if (divergence(run) !== undefined) return this.diverged(run)
    if (this.look(run)) return this.failure(run, 1)
    return {
      schedules: 1,
      pruned: 0,
      steps: run.steps,
      bound: `the schedule ${text}`,
      complete: false,
      outcomes: this.outcomes
    }
  }

  /** The schedule up to where it still fits, to see what comes there now. */
  private async diverged({ schedule, taken }: Observed<A, E>): Promise<Finding> {
    const run = await this.run(schedule.slice(0, taken), true, { trace: true })
    const next = schedule[taken]
    const why = next === undefined ? "" : `: ${whyNotTaken(next, run)}`
    const problem = `${divergence({ ...run, schedule })}${why}`
    return cannot(problem, "replay", { schedule: show(schedule), timeline: run.timeline })
  }

  async runDrawn(drawn: { readonly seed: number; text: string | undefined }): Promise<Invariant.Run<A, E> | Finding> {
    const nonsense = this.nonsense
    if (nonsense !== undefined) return cannot(nonsense)
    const known = drawn.text === undefined ? undefined : parse(drawn.text)
    if (known !== undefined && "problem" in known) return cannot(known.problem, "replay")
    // Where the steps of the default order are not known yet, a fault is drawn from the first few hundred.
    const sampling: Sampling = { runs: 1, seed: drawn.seed, strategy: "uniform" }
    const run = await (known === undefined
      ? this.run([], false, { pick: sampledPick(sampling, 0, 200, this.bound.faults) })
      : this.run(known, false))
    drawn.text = show(run.applied)
    // A schedule that was shortened need not fit to its end: what it came to is what counts.
    const problem = this.problem({ ...run, schedule: run.applied, taken: run.applied.length })?.text
    if (problem !== undefined || run.exit === undefined) {
      return fail(problem ?? "unknown", drawn.text, `✗ ${problem}\n  replay   ${replayOf(drawn.text)}`)
    }
    return { exit: run.exit, events: run.events, outcome: run.outcome, schedule: drawn.text }
  }

  private run(
    schedule: Schedule,
    points: EngineOptions["points"],
    more: Partial<EngineOptions> = {}
  ): Promise<Observed<A, E>> {
    return runOnce(this.scenario, schedule, { ...this.engine, points, trace: false, ...more })
  }

  private search(bound: Bound, granularity: Granularity): Promise<Searched<Observed<A, E>>> {
    return exhaustive<Observed<A, E>>({
      bound,
      maxSchedules: this.options.maxSchedules ?? 200_000,
      reduction: this.isReduced,
      run: (schedule, points, reduction) => this.run(schedule, points, { granularity, reduction }),
      fails: (run) => this.look(run)
    })
  }

  /** Looks for a schedule that fails in a certain way, and passes over those that fail in another. */
  private searchFor(
    kind: string | undefined,
    bound: Bound,
    granularity: Granularity,
    maxSchedules: number
  ): Promise<Searched<Observed<A, E>>> {
    return exhaustive<Observed<A, E>>({
      bound,
      maxSchedules,
      run: (schedule, points) => this.run(schedule, points, { granularity }),
      fails: (run) => this.stopped || this.problem(run)?.kind === kind
    })
  }

  private async failsLike(kind: string | undefined, schedule: Schedule): Promise<boolean> {
    return this.problem(await this.run(schedule, false))?.kind === kind
  }

  private async sample(
    options: NonNullable<ExplorationOptions<A, E>["sample"]>,
    steps: number
  ): Promise<Searched<Observed<A, E>>> {
    const sampling = { runs: options.runs, seed: options.seed ?? 0, strategy: options.strategy ?? "uniform" }
    const searched = await sample<Observed<A, E>>({
      runs: sampling.runs,
      draw: (n) => this.run([], false, { pick: sampledPick(sampling, n, steps, this.bound.faults) }),
      fails: (run) => this.look(run)
    })
    if (searched.failing === undefined || this.stopped) return searched
    return { ...searched, failing: await this.shorten(searched.failing) }
  }

  /** The shortest failing schedule within reach: by a search below its length, else by leaving departures out. */
  private async shorten(run: Observed<A, E>): Promise<Observed<A, E>> {
    const kind = this.problem(run)?.kind
    for (let length = 1; length < Math.min(run.applied.length, 3); length++) {
      const { failing } = await this.searchFor(
        kind,
        { faults: Math.min(length, this.bound.faults), preemptions: length },
        this.engine.granularity,
        5_000
      )
      if (failing !== undefined) return failing
    }
    return this.run(await withoutNeedless(run.applied, (schedule) => this.failsLike(kind, schedule)), false)
  }

  private look(run: Observed<A, E>): boolean {
    if (run.outcome !== undefined) this.outcomes.set(run.outcome, (this.outcomes.get(run.outcome) ?? 0) + 1)
    return this.stopped || this.problem(run) !== undefined
  }

  private problem(run: Observed<A, E>): Problem | undefined {
    const problem = problemOf(run, this.engine.maxSteps)
    if (problem !== undefined) return wrong(problem)
    if (run.exit === undefined) return undefined
    const seen = { exit: run.exit, events: run.events, outcome: run.outcome, schedule: show(run.schedule) }
    for (const [index, invariant] of (this.options.invariants ?? []).entries()) {
      const text = said(invariant, seen)
      if (text !== undefined) return broken(index, text)
    }
    return undefined
  }

  /** Runs a schedule again: two runs that differ mean that something beside the schedule decides. */
  private async differs(run: Observed<A, E>): Promise<Finding | undefined> {
    const again = await this.run(run.schedule, false, { journal: true })
    if (again.hash === run.hash && again.steps === run.steps) return undefined
    const parting = await this.parting(run, again)
    const problem = `two runs of one schedule differ (${run.steps} and ${again.steps} steps), first at ${parting}: ${usualReasons}`
    return cannot(problem, "explore", { schedule: show(run.schedule) })
  }

  /** Where two runs part. The first one need not have kept a journal: most runs are never compared. */
  private async parting(run: Observed<A, E>, again: Observed<A, E>): Promise<string> {
    let first = run
    for (let tries = 0; tries < 3; tries++) {
      const parting = first.journal.length === 0 ? undefined : partingOf(first.journal, again.journal)
      if (parting !== undefined) return parting
      first = await this.run(run.schedule, false, { journal: true })
    }
    return "a place that the next runs did not show"
  }

  private async failure(run: RunResult<A, E>, schedules: number): Promise<Finding> {
    if (this.stopped) return fail("the exploration was interrupted", "", "the exploration was interrupted")
    const uncertain = await this.differs(run as Observed<A, E>)
    if (uncertain !== undefined) return uncertain
    const { kind, text: problem } = this.problem(run as Observed<A, E>) ?? wrong("unknown")
    const faults = run.schedule.filter(({ choice }) => isFault(choice)).length
    const bound = { faults, preemptions: Math.max(1, run.schedule.length - faults) }
    const trace = (schedule: Schedule) => this.run(schedule, false, { trace: true })
    if (outOfReach(run) !== undefined) {
      return cannot(problem, "explore", {
        schedule: show(run.schedule),
        timeline: (await trace(run.schedule)).timeline
      })
    }
    const { message, page } = await explain({
      problem,
      name: this.options.name,
      schedules,
      bound: describeBound(this.options),
      failing: await trace(run.schedule),
      trace,
      fails: (schedule) => this.failsLike(kind, schedule),
      failsAt: async (granularity) => {
        if (coarseness.indexOf(granularity) <= coarseness.indexOf(this.engine.granularity)) return "yes"
        const { complete, failing } = await this.searchFor(kind, bound, granularity, 2_000)
        return failing !== undefined ? "yes" : complete ? "no" : "unknown"
      }
    })
    return fail(problem, show(run.schedule), message, page)
  }

  private withExpected(report: Report): Report | Finding {
    const unseen = (this.options.expect ?? []).filter((outcome) => !report.outcomes.has(outcome))
    if (unseen.length === 0) return report
    const seen = [...report.outcomes.keys()].join(", ") || "none"
    const problem = `outcomes that were expected were never seen: ${unseen.join(", ")} (seen: ${seen})`
    return fail(problem, "", `${problem}\n  ${report.schedules} schedules, ${report.bound}`)
  }
}
