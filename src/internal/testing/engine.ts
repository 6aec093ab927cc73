/**
 * One run of a program under one schedule.
 *
 * Everything that can happen next is a choice: a ready task, an outcome of something external, a timer, a fault. By
 * default the running fiber goes on until it really waits; then ready tasks come in the order in which they became ready,
 * then externals, then timers; faults never. A schedule is the list of departures from that.
 *
 * Invariants
 *
 * E1. The same program under the same schedule takes the same steps: nothing here looks at a real clock or at chance.
 * E2. Externals are fair: each happens sooner or later. Faults are optional: each happens only where a schedule says so.
 * E3. When the main fiber has ended nothing is decided any more; the rest runs out in the default order, so that what was
 *     left running becomes visible.
 */
import { promiseHooks } from "node:v8"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as HashSet from "effect/HashSet"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import type { ControlledFiber, Granularity, Task } from "./driver.js"
import { Effect3Driver } from "./effect3.js"
import { isFault, type Place, type Schedule, samePlace, showPlace } from "./schedule.js"
import { VirtualClock } from "./virtualClock.js"

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

/** @internal */
export class Engine {
  readonly events: Array<SimEvent> = []
  readonly clock: VirtualClock
  private readonly driver: Effect3Driver
  private readonly options: EngineOptions
  private readonly schedule: Schedule
  private readonly ready: Array<Task> = []
  private readonly externals: Array<External> = []
  private readonly faults = new Map<string, () => void>()
  private readonly points: Array<Point> = []
  private readonly applied: Array<Schedule[number]> = []
  private readonly timeline: Array<Entry> = []
  private readonly failures: Array<string> = []
  private readonly thunks = new Map<string, number>()
  private readonly counts = new Map<string, number>()
  private taken = 0
  private steps = 0
  private hash = 0
  private current = "main"
  private forced: string | undefined
  private deciding = true
  private livelock = false
  private recording: boolean
  private promises = 0

  constructor(schedule: Schedule, options: EngineOptions) {
    this.schedule = schedule
    this.options = options
    this.recording = options.trace
    this.clock = new VirtualClock(() => this.current)
    this.driver = new Effect3Driver(
      {
        beforeStep: (fiber, op) => this.beforeStep(fiber, op),
        scheduled: (task) => this.scheduled(task),
        ended: (fiber, failure) => this.ended(fiber, failure),
        currentKey: () => this.current
      },
      options
    )
  }

  // What the program sees, through `Sim`.

  addFault(name: string, happen: () => void): void {
    this.faults.set(`!${this.unique(`!${name}`).slice(1)}`, happen)
  }

  addExternal(name: string, outcomes: ReadonlyArray<string>, happen: (outcome: string) => void): () => void {
    const external: External = { key: this.unique(`e:${name}`), outcomes, happen }
    this.externals.push(external)
    return () => this.remove(this.externals, external)
  }

  note(text: string): void {
    this.record("note", this.current, text)
  }

  event(tag: string): void {
    this.events.push({ tag, fiber: this.current })
    this.record("event", this.current, tag)
  }

  name(fiber: Fiber.RuntimeFiber<unknown, unknown>, label: string): void {
    const controlled = this.driver.labelOf(fiber)
    if (this.current === controlled.label) this.current = label
    controlled.label = label
  }

  /** Runs the program to its end, and what it left behind until nothing can happen any more. */
  async run<A, E>(program: Effect.Effect<A, E>): Promise<RunResult<A, E>> {
    const unhook = watchPromises(() => {
      this.promises++
    })
    let exit: Exit.Exit<A, E> | undefined
    try {
      const main = this.driver.boot(program, (refs) => this.withServices(refs))
      main.addObserver((value) => {
        exit = value
        this.deciding = false // E3
      })
      await this.loop()
    } finally {
      unhook()
    }
    const leaked = exit === undefined ? [] : [...this.driver.live].map((fiber) => fiber.label)
    const deadlock = exit === undefined && !this.livelock ? this.waiting() : undefined
    const outside = deadlock === undefined ? [] : newHandles(this.options.handles)
    await this.dispose()
    return {
      exit,
      schedule: this.schedule,
      taken: this.taken,
      applied: this.applied,
      steps: this.steps,
      points: this.points,
      timeline: this.timeline,
      events: this.events,
      hash: this.hash,
      leaked,
      deadlock,
      livelock: this.livelock,
      outside,
      failures: this.failures
    }
  }

  private async loop(): Promise<void> {
    for (;;) {
      const seen = this.promises
      while (!this.livelock && this.promises === seen && this.next()) {}
      if (this.livelock) return
      if (this.promises === seen) return
      // Promises moved: let their reactions run, all of them, before the next decision.
      await new Promise((resolve) => setImmediate(resolve))
      this.promises = 0
      if (!this.next()) return
    }
  }

  /** Takes one decision between tasks. `false` when nothing can happen any more. */
  private next(): boolean {
    const choices = this.choices()
    const forced = this.forced
    this.forced = undefined
    const chosen = forced ?? (this.deciding ? this.decideWaiting(choices) : undefined) ?? choices[0]
    if (chosen === undefined) return false
    this.perform(chosen)
    return true
  }

  /** What can happen, the default first. */
  private choices(running = false): ReadonlyArray<string> {
    const choices = this.ready.map((task) => task.key)
    for (const { key, outcomes } of this.externals) {
      choices.push(...(outcomes.length === 1 ? [key] : outcomes.map((outcome) => `${key}=${outcome}`)))
    }
    const timers = this.clock.due
    if (this.options.timers === "any" || (choices.length === 0 && !running))
      choices.push(...timers.map((timer) => timer.key))
    return [...new Set(choices)]
  }

  private perform(choice: string): void {
    const task = this.ready.find((ready) => ready.key === choice)
    if (task !== undefined) {
      this.remove(this.ready, task)
      this.enter(task.key)
      if (task.fiber === undefined) this.counts.set(task.key, (this.counts.get(task.key) ?? 0) + 1)
      task.run()
      return
    }
    const timer = this.clock.due.find((due) => due.key === choice)
    if (timer !== undefined) {
      this.enter(choice)
      this.counts.set(choice, (this.counts.get(choice) ?? 0) + 1)
      this.record("timer", "env", `${timer.at} ms`)
      this.clock.fire(timer)
      return
    }
    const [key = choice, outcome] = splitOutcome(choice)
    const external = this.externals.find((other) => other.key === key)
    if (external === undefined) return
    this.remove(this.externals, external)
    this.enter(key)
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1)
    this.record("external", "env", choice)
    external.happen(outcome ?? external.outcomes[0] ?? "")
  }

  private enter(key: string): void {
    if (key !== this.current) this.mix(key)
    this.current = key
  }

  private place(waiting: boolean): Place {
    const fiber = [...this.driver.live].find(({ label }) => label === this.current)
    return { key: this.current, count: fiber?.steps ?? this.counts.get(this.current) ?? 0, waiting }
  }

  /** Whether there is anything to decide before a step; nearly always there is not, and this is asked before each. */
  private concerns(key: string, count: number): boolean {
    const next = this.schedule[this.taken]
    if (next !== undefined) return next.place.count === count && next.place.key === key && !next.place.waiting
    return this.options.points || this.options.pick !== undefined
  }

  private decideWaiting(choices: ReadonlyArray<string>): string | undefined {
    if (this.taken === this.schedule.length && !this.options.points && this.options.pick === undefined) return undefined
    const place = this.place(true)
    for (;;) {
      const chosen = this.depart(place, choices, choices[0])
      if (chosen === undefined || !isFault(chosen)) return chosen
      this.raise(chosen)
      const now = this.choices()
      if (now.length > choices.length) return this.depart(place, now, now[0])
    }
  }

  private beforeStep(fiber: ControlledFiber, op: string): boolean {
    this.mix(op)
    if (++this.steps > this.options.maxSteps) {
      this.livelock = true
      this.forced = undefined
      return true
    }
    if (this.recording) this.record("step", fiber.label, op)
    if (!this.deciding) return false
    if (!this.concerns(fiber.label, fiber.steps)) return false
    const place: Place = { key: fiber.label, count: fiber.steps, waiting: false }
    for (;;) {
      const others = this.choices(true).filter((choice) => choice !== fiber.label)
      const chosen = this.depart(place, others, undefined)
      if (chosen === undefined) return false
      if (!isFault(chosen)) {
        this.forced = chosen
        this.record("switch", fiber.label, `gives way to ${chosen}`)
        return true
      }
      this.raise(chosen)
    }
  }

  /** What the schedule wants at a place, if anything. Beyond the schedule, notes what it could want. */
  private depart(place: Place, choices: ReadonlyArray<string>, usual: string | undefined): string | undefined {
    const next = this.schedule[this.taken]
    if (next !== undefined) {
      if (!samePlace(next.place, place)) return undefined
      if (!choices.includes(next.choice) && !this.faults.has(next.choice)) return undefined
      this.taken++
      this.applied.push(next)
      return next.choice
    }
    const alternatives = [...this.faults.keys(), ...choices.filter((choice) => choice !== usual)]
    if (alternatives.length === 0) return undefined
    const picked = this.options.pick?.(place, alternatives)
    if (picked !== undefined) {
      this.applied.push({ place, choice: picked })
      return picked
    }
    if (this.options.points) this.points.push({ place, choices: alternatives })
    return undefined
  }

  private raise(fault: string): void {
    const happen = this.faults.get(fault)
    this.faults.delete(fault)
    this.record("fault", "env", fault.slice(1))
    this.mix(fault)
    happen?.()
  }

  private scheduled(task: Task): void {
    if (task.fiber !== undefined) {
      this.ready.push(task)
      return
    }
    // A thunk has no name of its own: it is numbered under whoever queued it.
    const n = this.thunks.get(task.key) ?? 0
    this.thunks.set(task.key, n + 1)
    this.ready.push({ ...task, key: `${task.key}${n}` })
  }

  private ended(fiber: ControlledFiber, failure: string | undefined): void {
    this.counts.set(fiber.label, fiber.steps)
    this.record("exit", fiber.label, failure === undefined ? "ends" : "fails")
    if (failure !== undefined && fiber.label !== "main") this.failures.push(`${fiber.label}: ${failure}`)
  }

  private waiting(): ReadonlyArray<string> {
    return [...this.driver.live].map((fiber) => `${fiber.label} waits for ${fiber.waitsFor ?? "nothing"}`)
  }

  /** Interrupts what is left, so that thousands of runs leave nothing behind in the process. */
  private async dispose(): Promise<void> {
    this.recording = false
    this.deciding = false
    this.livelock = false
    for (const fiber of [...this.driver.live]) fiber.fiber.unsafeInterruptAsFork(FiberId.none)
    for (let i = 0; i < this.options.maxSteps && this.next(); i++) {}
    this.driver.dispose()
  }

  private withServices(refs: FiberRefs.FiberRefs): FiberRefs.FiberRefs {
    const services = DefaultServices.liveServices.pipe(
      Context.add(Clock.Clock, this.clock),
      Context.add(Random.Random, Random.make("quiesce")) // E1: the same numbers in each run
    )
    const id = FiberId.unsafeMake()
    // What a scenario logs belongs into its timeline, not thousands of times on a console.
    const logger = Logger.make<unknown, void>(({ message }) => this.note(`log: ${String(message)}`))
    return FiberRefs.updateManyAs(refs, {
      forkAs: id,
      entries: [
        [DefaultServices.currentServices, [[id, services]]],
        [FiberRef.currentLoggers, [[id, HashSet.make(logger)]]]
      ]
    })
  }

  private unique(key: string): string {
    const n = this.counts.get(`#${key}`) ?? 0
    this.counts.set(`#${key}`, n + 1)
    return n === 0 ? key : `${key}.${n}`
  }

  private record(kind: Entry["kind"], label: string, text: string): void {
    if (this.recording) this.timeline.push({ step: this.steps, label, text, kind })
  }

  // FNV-1a, to compare two runs of one schedule.
  private mix(text: string): void {
    let hash = this.hash ^ 0x811c9dc5
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    this.hash = hash | 0
  }

  private remove<T>(list: Array<T>, item: T): void {
    const at = list.indexOf(item)
    if (at !== -1) list.splice(at, 1)
  }
}

// A hook for each run would cost as much as the run.
let promisesMoved: () => void = () => {}
let watching = 0
let unhook: (() => void) | undefined

const watchPromises = (moved: () => void): (() => void) => {
  const before = promisesMoved
  promisesMoved = moved
  if (watching++ === 0) {
    unhook = promiseHooks.createHook({ init: () => promisesMoved(), settled: () => promisesMoved() }) as () => void
  }
  return () => {
    promisesMoved = before
    // Kept for a while: thousands of runs follow each other.
    setImmediate(() => {
      if (--watching === 0) unhook?.()
    })
  }
}

/** Native handles that are there now and were not before: something outside can still happen. */
const newHandles = (before: ReadonlyArray<string>): ReadonlyArray<string> => {
  const left = [...before, "Immediate"]
  return process.getActiveResourcesInfo().filter((resource) => {
    const at = left.indexOf(resource)
    if (at !== -1) left.splice(at, 1)
    return at === -1
  })
}

const splitOutcome = (choice: string): ReadonlyArray<string> => {
  const at = choice.indexOf("=")
  return at === -1 ? [choice] : [choice.slice(0, at), choice.slice(at + 1)]
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
