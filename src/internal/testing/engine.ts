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
 *
 * Long because what is decided, where, and what is noted of it have to be read together.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import type { ControlledFiber, Task } from "./driver.js"
import { Effect3Driver } from "./effect3.js"
import { Fingerprint } from "./fingerprint.js"
import { newHandles, turn, watchPromises } from "./outside.js"
import type { EngineOptions, Entry, External, Point, RunResult, SimEvent } from "./run.js"
import { isAnswer, isFault, type Place, type Schedule, samePlace } from "./schedule.js"
import { withServices } from "./services.js"
import { VirtualClock } from "./virtualClock.js"

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
  private readonly spans = new Map<string, string>()
  private readonly waits = new Map<string, string>()
  private readonly counts = new Map<string, number>()
  private taken = 0
  private steps = 0
  private readonly fingerprint: Fingerprint
  private current = "main"
  private forced: string | undefined
  /** The task that is being run; none while the reactions of promises or an external run. */
  private running: Task | undefined
  private deciding = true
  private livelock = false
  /** How often time has passed, and who ran, since something happened that no timer had brought about. */
  private idle = 0
  private readonly ticking = new Set<string>()
  private recording: boolean
  private promises = 0

  constructor(schedule: Schedule, options: EngineOptions) {
    this.schedule = schedule
    this.options = options
    this.recording = options.trace
    this.fingerprint = new Fingerprint(options.journal ?? false)
    this.clock = new VirtualClock(() => this.current)
    this.driver = new Effect3Driver(
      {
        beforeStep: (fiber, op, isPlace) => this.beforeStep(fiber, op, isPlace),
        scheduled: (task) => this.scheduled(task),
        ended: (fiber, failure) => this.ended(fiber, failure),
        currentKey: () => this.current
      },
      options
    )
  }

  // What the program sees, through `Sim`.

  addFault(name: string, happen: () => void): void {
    this.faults.set(this.unique(`!${clean(name)}`), happen)
  }

  addExternal(name: string, outcomes: ReadonlyArray<string>, happen: (outcome: string) => void): () => void {
    const external: External = { key: this.unique(`e:${clean(name)}`), outcomes, happen }
    this.externals.push(external)
    this.waits.set(this.current, `external ${name}`)
    return () => this.remove(this.externals, external)
  }

  note(text: string): void {
    this.fingerprint.said("note", this.current, text)
    this.record("note", this.current, text)
  }

  event(tag: string): void {
    this.fingerprint.said("event", this.current, tag)
    this.events.push({ tag, fiber: this.current })
    this.record("event", this.current, tag)
  }

  /** Names the fiber that the running one forks next. */
  nameNext(name: string): void {
    const parent = this.driver.find(this.current)
    if (parent !== undefined) this.driver.nameNext(parent, this.unique(clean(name)))
  }

  /** Runs the program to its end, and what it left behind until nothing can happen any more. */
  async run<A, E>(program: Effect.Effect<A, E>): Promise<RunResult<A, E>> {
    const release = await takeTurn()
    const unhook = watchPromises(() => {
      this.promises++
    })
    try {
      return await this.runAlone(program)
    } finally {
      unhook()
      release()
    }
  }

  private async runAlone<A, E>(program: Effect.Effect<A, E>): Promise<RunResult<A, E>> {
    const handles = process.getActiveResourcesInfo()
    let exit: Exit.Exit<A, E> | undefined
    try {
      const main = this.driver.boot(program, (refs) => withServices(refs, this.clock, (message) => this.note(message)))
      main.addObserver((value) => {
        exit = value
        this.deciding = false // E3
        const end = Exit.isSuccess(value) && typeof value.value !== "object" ? String(value.value) : value._tag
        this.fingerprint.said("end", "main", end)
      })
      await this.loop()
      const livelock = this.livelock && this.idle < enoughTime
      const stuck = exit === undefined && !livelock
      return {
        exit,
        schedule: this.schedule,
        taken: this.taken,
        applied: this.applied,
        steps: this.steps,
        points: this.points,
        timeline: this.timeline,
        events: this.events,
        hash: this.fingerprint.hash,
        journal: this.fingerprint.journal ?? [],
        leaked: exit === undefined ? [] : [...this.driver.live].map((fiber) => fiber.label),
        deadlock: stuck ? this.waiting() : undefined,
        flaws: stuck ? this.driver.flaws : [],
        livelock,
        outside: stuck ? await this.outside(handles) : [],
        failures: this.failures
      }
    } finally {
      this.dispose()
    }
  }

  private async loop(): Promise<void> {
    for (;;) {
      this.promises = 0
      while (!this.livelock && this.promises === 0 && this.next()) {}
      if (this.livelock || this.promises === 0) return
      // Promises moved: let their reactions run, all of them, before the next decision.
      await turn()
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
      choices.push(...(outcomes.length === 1 ? [key] : outcomes.map((outcome) => `${key}=${clean(outcome)}`)))
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
      this.running = task
      task.run()
      this.running = undefined
      if (this.recording && task.fiber?.isWaiting === true)
        this.record("wait", task.fiber.label, this.waitsFor(task.fiber))
      return
    }
    const timer = this.clock.due.find((due) => due.key === choice)
    if (timer !== undefined) {
      this.enter(choice)
      this.counts.set(choice, (this.counts.get(choice) ?? 0) + 1)
      this.record("timer", "env", `${timer.at} ms`)
      this.idle++
      this.clock.fire(timer)
      return
    }
    const [key = choice, wanted] = choice.split("=")
    const external = this.externals.find((other) => other.key === key)
    if (external === undefined) return
    this.remove(this.externals, external)
    this.happened()
    this.enter(key)
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1)
    this.record("external", "env", choice.slice(2))
    const outcome = external.outcomes.find((outcome) => clean(outcome) === wanted) ?? external.outcomes[0]
    external.happen(outcome ?? "")
  }

  private enter(key: string): void {
    if (key !== this.current) this.fingerprint.enter(key)
    this.current = key
  }

  private place(waiting: boolean): Place {
    const fiber = this.driver.find(this.current)
    return { key: this.current, count: fiber?.steps ?? this.counts.get(this.current) ?? 0, waiting }
  }

  /** Whether there is anything to decide before a step; nearly always there is not, and this is asked before each. */
  private concerns(key: string, count: number): boolean {
    const next = this.schedule[this.taken]
    if (next !== undefined) return next.place.count === count && next.place.key === key && !next.place.waiting
    return this.options.points === true || this.options.pick !== undefined
  }

  private decideWaiting(choices: ReadonlyArray<string>): string | undefined {
    const { pick, points } = this.options
    if (this.taken === this.schedule.length && points !== true && pick === undefined) {
      if (points === false || choices[0]?.includes("=") !== true) return undefined
    }
    const place = this.place(true)
    for (;;) {
      const chosen = this.depart(place, choices, choices[0])
      if (chosen === undefined || !isFault(chosen)) return chosen
      this.raise(chosen, place)
      const now = this.choices()
      if (now.length > choices.length) return this.depart(place, now, now[0])
    }
  }

  private beforeStep(fiber: ControlledFiber, op: string, isPlace: boolean): boolean {
    this.current = fiber.label // which may have been started in the middle of another one's step
    this.fingerprint.step(fiber.label, fiber.steps, op)
    if (++this.steps > this.options.maxSteps) {
      this.livelock = true
      this.forced = undefined
      return true
    }
    if (fiber.label === "main") this.happened()
    else if (this.idle > 0) this.ticking.add(fiber.label)
    if (this.recording) this.recordStep(fiber, op)
    if (!isPlace || !this.deciding || !this.concerns(fiber.label, fiber.steps)) return false
    const place: Place = { key: fiber.label, count: fiber.steps, waiting: false }
    // Started in the middle of something else's step, it can only give way to that.
    const outer = this.running?.fiber === fiber ? undefined : (this.running?.key ?? "callback")
    for (;;) {
      const others = outer === undefined ? this.choices(true).filter((choice) => choice !== fiber.label) : [outer]
      const chosen = this.depart(place, others, undefined)
      if (chosen === undefined) return false
      if (!isFault(chosen)) {
        if (outer === undefined) this.forced = chosen
        this.record("switch", fiber.label, `gives way to ${chosen}`)
        return true
      }
      this.raise(chosen, place)
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
      this.recordDeparture(place, next.choice, usual)
      return next.choice
    }
    const alternatives = [...this.faults.keys(), ...choices.filter((choice) => choice !== usual)]
    if (alternatives.length === 0) return undefined
    const picked = this.options.pick?.(place, alternatives, usual)
    if (picked !== undefined) {
      this.applied.push({ place, choice: picked })
      this.recordDeparture(place, picked, usual)
      return picked
    }
    const { points } = this.options
    const wanted = points === true ? alternatives : alternatives.filter((choice) => points && isAnswer(choice, usual))
    if (wanted.length > 0) this.points.push({ place, usual, choices: wanted })
    return undefined
  }

  /** Of those where something waits; that a running fiber gives way is recorded there. */
  private recordDeparture({ key }: Place, choice: string, usual: string | undefined): void {
    if (usual === undefined || isFault(choice)) return
    const lane = this.driver.find(key) === undefined ? "env" : key
    this.record("switch", lane, `${choice} comes before ${usual}`)
  }

  private raise(fault: string, { count, key, waiting }: Place): void {
    const happen = this.faults.get(fault)
    this.faults.delete(fault)
    this.record(
      "fault",
      "env",
      `${fault.slice(1)}, ${waiting ? "while waiting after" : "before"} step ${count} of ${key}`
    )
    this.fingerprint.enter(fault)
    this.happened()
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
    this.record("exit", fiber.label, failure === undefined ? "ends" : `fails: ${failure.split("\n", 1)[0]}`)
    if (failure !== undefined && fiber.label !== "main") this.failures.push(`${fiber.label}: ${failure}`)
  }

  /** What may still come, although nothing under control can happen any more. */
  private async outside(before: ReadonlyArray<string>): Promise<ReadonlyArray<string>> {
    const handles = [...newHandles(before)]
    for (const _ of this.driver.nevers) handles.splice(handles.indexOf("Timeout") >>> 0, 1)
    const ready = this.ready.length
    await turn()
    return this.ready.length > ready && handles.length === 0 ? ["a callback of the event loop"] : handles
  }

  private waiting(): ReadonlyArray<string> {
    const live = [...this.driver.live]
    const ticks = this.livelock ? live.filter(({ label }) => this.ticking.has(label)) : []
    const waits = live.filter((fiber) => !ticks.includes(fiber))
    return [
      ...waits.map((fiber) => `${fiber.label} waits for ${this.waitsFor(fiber)}`),
      ...ticks.map(
        ({ label }) => `${label} only sleeps and wakes up again, for ${this.clock.unsafeCurrentTimeMillis()} ms`
      )
    ]
  }

  /** Something happened that no timer had brought about, or that the main fiber saw. */
  private happened(): void {
    if (this.idle === 0) return
    this.idle = 0
    this.ticking.clear()
  }

  private waitsFor(fiber: ControlledFiber): string {
    const own = this.waits.get(fiber.label)
    const external = this.externals.some(({ key }) => own === `external ${key.slice(2)}`)
    if (external && own !== undefined) return own
    return this.clock.isAsleep(fiber.label) ? "time" : this.driver.waitsFor(fiber)
  }

  /** Interrupts what is left, so that thousands of runs leave nothing behind in the process. */
  private dispose(): void {
    this.recording = false
    this.deciding = false
    this.livelock = false
    for (const fiber of [...this.driver.live]) fiber.fiber.unsafeInterruptAsFork(FiberId.none)
    for (let i = 0; i < this.options.maxSteps && this.next(); i++) {}
    this.driver.dispose()
  }

  private unique(key: string): string {
    const n = this.counts.get(`#${key}`) ?? 0
    this.counts.set(`#${key}`, n + 1)
    return n === 0 ? key : `${key}.${n}`
  }

  private record(kind: Entry["kind"], label: string, text: string): void {
    if (this.recording) this.timeline.push({ step: this.steps, label, text, kind, masked: false })
  }

  private recordStep(fiber: ControlledFiber, op: string): void {
    this.timeline.push({ step: this.steps, label: fiber.label, text: op, kind: "step", masked: fiber.isMasked })
    const { span } = fiber
    if (span === undefined || this.spans.get(fiber.label) === span) return
    this.spans.set(fiber.label, span)
    this.record("note", fiber.label, `span ${span}`)
  }

  private remove<T>(list: Array<T>, item: T): void {
    const at = list.indexOf(item)
    if (at !== -1) list.splice(at, 1)
  }
}

// So often time passes, and nothing but timers happens, in a run that is too long, for it to be a deadlock.
const enoughTime = 10

// Runs share the default scheduler and the hook on promises: one at a time.
let lastRun: Promise<void> = Promise.resolve()

const takeTurn = async (): Promise<() => void> => {
  const before = lastRun
  let release = (): void => {}
  lastRun = new Promise((resolve) => {
    release = resolve
  })
  await before
  return release
}

/** A name without the signs that a schedule consists of, or that a shell would not pass on within quotes. */
const clean = (name: string): string => name.replace(/[\s\p{Cc},@>=!+~/']+/gu, "-")
