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
import { describeThrown } from "../thrown.js"
import type { ControlledFiber, Driver, MakeDriver, Task } from "./driver.js"
import { Fingerprint } from "./fingerprint.js"
import { HappensBefore, woken } from "./happensBefore.js"
import { inStep, newHandles, takeTurn, turn, watchHandles, watchPromises } from "./outside.js"
import { Recorder } from "./recorder.js"
import type { EngineOptions, Entry, External, Point, RunOf, SimEvent } from "./run.js"
import { isAnswer, isFault, type Place, type Schedule, samePlace } from "./schedule.js"
import { Stillness } from "./stillness.js"
import { VirtualTime } from "./virtualTime.js"

/** @internal */
export class Engine<Program, Exit> {
  private readonly driver: Driver<Program, Exit>
  private readonly events: Array<SimEvent> = []
  private readonly time: VirtualTime
  private readonly options: EngineOptions
  private readonly schedule: Schedule
  private readonly ready: Array<Task> = []
  private readonly externals: Array<External> = []
  private readonly faults = new Map<string, () => void>()
  private readonly points: Array<Point> = []
  private readonly applied: Array<Schedule[number]> = []
  private thrown: string | undefined
  /** Faults and externals that do nothing but tell a fiber something. */
  private readonly onlyTell = new Set<string>()
  private readonly thunks = new Map<string, number>()
  private readonly waits = new Map<string, string>()
  private readonly counts = new Map<string, number>()
  private taken = 0
  private steps = 0
  private readonly fingerprint: Fingerprint
  private readonly recorder: Recorder
  private readonly stillness = new Stillness()
  private readonly order: HappensBefore | undefined
  private current = "main"
  private forced: string | undefined
  /** The task that is being run; none while the reactions of promises or an external run. */
  private running: Task | undefined
  private deciding = true
  private livelock = false
  /** Whether it has come to where another run was. */
  private pruned = false
  private promises = 0

  constructor(makeDriver: MakeDriver<Program, Exit>, schedule: Schedule, options: EngineOptions) {
    this.schedule = schedule
    this.options = options
    this.recorder = new Recorder(options.trace)
    this.fingerprint = new Fingerprint(options.journal ?? false)
    this.order = options.reduction === undefined ? undefined : new HappensBefore(options.reduction.visited)
    this.time = new VirtualTime(() => this.current)
    const { atomicAsync, granularity } = options
    this.driver = makeDriver(
      {
        beforeStep: (fiber, op, isPlace) => this.beforeStep(fiber, op, isPlace),
        resumed: (fiber, op) => this.order?.begin(fiber.label, op),
        scheduled: (task) => this.scheduled(task),
        ended: (fiber, failure) => this.ended(fiber, failure),
        touched: (fiber) => (fiber === undefined ? this.order?.touch() : this.order?.tell(fiber.label)),
        currentKey: () => this.current
      },
      { granularity, atomicAsync, reduction: this.order !== undefined }
    )
  }

  // What the program sees, through `Sim`.

  addFault(name: string, happen: () => void, onlyTells = false): () => void {
    this.order?.touch()
    const key = this.unique(`!${clean(name)}`)
    this.faults.set(key, happen)
    if (onlyTells) this.onlyTell.add(key)
    return () => {
      this.order?.touch()
      this.faults.delete(key)
    }
  }

  addExternal(
    name: string,
    outcomes: ReadonlyArray<string>,
    happen: (outcome: string) => void,
    onlyTells = false
  ): () => void {
    const external: External = { key: this.unique(`e:${clean(name)}`), outcomes, happen }
    this.order?.touch()
    if (onlyTells) this.onlyTell.add(external.key)
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
    this.order?.touch()
    this.events.push({ tag, fiber: this.current })
    this.record("event", this.current, tag)
  }

  /** Names the fiber that the running one forks next. */
  nameNext(name: string): void {
    const parent = this.driver.find(this.current)
    if (parent !== undefined) this.driver.nameNext(parent, this.unique(clean(name)))
  }

  /** Runs the program to its end, and what it left behind until nothing can happen any more. */
  async run(program: Program): Promise<RunOf<Exit>> {
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

  private async runAlone(program: Program): Promise<RunOf<Exit>> {
    const handles = process.getActiveResourcesInfo()
    const made = this.options.watchesHandles === true ? watchHandles() : () => []
    let exit: Exit | undefined
    try {
      this.driver.boot(program, { time: this.time, log: (message) => this.note(message) }, (value, inAWord) => {
        exit = value
        this.deciding = false // E3
        this.fingerprint.said("end", "main", inAWord)
      })
      await this.loop()
      const livelock = this.livelock && !this.stillness.isDeadlock
      const stuck = exit === undefined && !livelock && !this.pruned
      return {
        exit,
        schedule: this.schedule,
        taken: this.taken,
        applied: this.applied,
        steps: this.steps,
        points: this.points,
        pruned: this.pruned,
        timeline: this.recorder.timeline,
        events: this.events,
        hash: this.fingerprint.hash,
        journal: this.fingerprint.journal ?? [],
        leaked: exit === undefined ? [] : [...this.driver.live].map((fiber) => fiber.label),
        deadlock: stuck ? this.waiting() : undefined,
        flaws: stuck ? this.driver.flaws : [],
        livelock,
        outside: stuck ? await this.outside(handles, made) : [],
        thrown: this.thrown
      }
    } finally {
      made()
      this.dispose()
    }
  }

  private async loop(): Promise<void> {
    for (;;) {
      this.promises = 0
      while (!this.isOver && this.promises === 0 && this.next()) {}
      if (this.isOver || this.promises === 0) return
      // Promises moved: let their reactions run, all of them, before the next decision.
      this.order?.begin("promises", "react")
      this.order?.touch()
      await turn()
    }
  }

  private get isOver(): boolean {
    return this.livelock || this.pruned
  }

  /** Takes one decision between tasks. `false` when nothing can happen any more. */
  private next(): boolean {
    const choices = this.choices()
    const forced = this.forced
    this.forced = undefined
    const chosen = forced ?? (this.deciding ? this.decideWaiting(choices) : undefined) ?? choices[0]
    if (chosen === undefined || this.pruned) return false
    this.perform(chosen)
    return true
  }

  /** What can happen, the default first. */
  private choices(running = false): ReadonlyArray<string> {
    const choices = this.ready.map((task) => task.key)
    for (const { key, outcomes } of this.externals) {
      choices.push(...(outcomes.length === 1 ? [key] : outcomes.map((outcome) => `${key}=${clean(outcome)}`)))
    }
    const timers = this.time.due
    if (this.options.timers === "any" || (choices.length === 0 && !running))
      choices.push(...timers.map((timer) => timer.key))
    return [...new Set(choices)]
  }

  private perform(choice: string): void {
    const task = this.ready.find((ready) => ready.key === choice)
    if (task !== undefined) {
      this.remove(this.ready, task)
      this.enter(task.key)
      if (task.fiber === undefined) this.another(task.key, "task")
      else this.order?.begin(task.key, woken)
      this.running = task
      inStep(task.run)
      this.running = undefined
      if (this.recorder.isOn && task.fiber?.isWaiting === true)
        this.record("wait", task.fiber.label, this.waitsFor(task.fiber))
      return
    }
    const timer = this.time.due.find((due) => due.key === choice)
    if (timer !== undefined) {
      this.enter(choice)
      this.another(choice, "timer")
      this.record("timer", "env", `${timer.at} ms`)
      this.stillness.timer()
      this.time.fire(timer)
      return
    }
    const [key = choice, wanted] = choice.split("=")
    const external = this.externals.find((other) => other.key === key)
    if (external === undefined) return
    this.remove(this.externals, external)
    this.stillness.happened()
    this.enter(key)
    this.another(key, choice)
    this.record("external", "env", choice.slice(2))
    const outcome = external.outcomes.find((outcome) => clean(outcome) === wanted) ?? external.outcomes[0]
    external.happen(outcome ?? "")
  }

  private enter(key: string): void {
    if (key !== this.current) this.fingerprint.enter(key)
    this.current = key
  }

  /** What has no steps goes on: a task, a timer, an external. */
  private another(key: string, what: string): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1)
    this.order?.begin(key, what)
    if (!this.onlyTell.has(key)) this.order?.touch()
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
    if (this.isNeedless(choices)) return undefined
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
    this.stillness.step(fiber.label)
    this.recorder.step(this.steps, fiber, op)
    const givesWay = isPlace && this.deciding && this.concerns(fiber.label, fiber.steps) && this.decideStep(fiber)
    if (!givesWay) this.begin(fiber, op)
    return givesWay
  }

  private begin(fiber: ControlledFiber, op: string): void {
    if (this.order === undefined) return
    const outer = this.running?.fiber
    if (outer !== undefined && outer !== fiber) this.order.tell(fiber.label)
    this.order.begin(fiber.label, op)
    // Its outer one goes on when it is done, or waits.
    if (outer !== undefined && outer !== fiber) this.order.tell(outer.label)
  }

  /** Whether a fiber gives way before its next step. */
  private decideStep(fiber: ControlledFiber): boolean {
    if (this.isNeedless()) return true
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

  /** Whether the run has come to where another was that goes on, or went on, in every way that this one could. */
  private isNeedless(waiting?: ReadonlyArray<string>): boolean {
    const { points, reduction } = this.options
    if (this.order === undefined || reduction === undefined || points !== true) return false
    if (this.taken < this.schedule.length) return false
    const toCome = [...(waiting ?? this.choices(true)), waiting === undefined ? "running" : "waiting"]
    if (this.running !== undefined) toCome.push(this.running.key)
    this.pruned = this.order.meets(this.current, toCome, this.time.now, reduction.use)
    if (this.pruned) this.forced = undefined
    return this.pruned
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
    this.stillness.happened()
    this.order?.begin(fault, "fault")
    if (!this.onlyTell.has(fault)) this.order?.touch()
    try {
      happen?.()
    } catch (error) {
      this.thrown ??= `the fault "${fault.slice(1)}" threw: ${describeThrown(error).message}`
    }
  }

  private scheduled(task: Task): void {
    if (task.fiber !== undefined) {
      this.order?.tell(task.fiber.label)
      this.ready.push(task)
      return
    }
    // A thunk has no name of its own: it is numbered under whoever queued it.
    const n = this.thunks.get(task.key) ?? 0
    this.thunks.set(task.key, n + 1)
    const key = `${task.key}${n}`
    this.order?.tell(key)
    this.ready.push({ ...task, key })
  }

  private ended(fiber: ControlledFiber, failure: string | undefined): void {
    this.counts.set(fiber.label, fiber.steps)
    this.order?.touch()
    this.record("exit", fiber.label, failure === undefined ? "ends" : `fails: ${failure.split("\n", 1)[0]}`)
  }

  /** What may still come, although nothing under control can happen any more. */
  private async outside(
    before: ReadonlyArray<string>,
    made: () => ReadonlyArray<string>
  ): Promise<ReadonlyArray<string>> {
    const appeared = newHandles(before)
    const ready = this.ready.length
    await turn()
    await turn() // in which the ends of what was given up are told
    const known = made()
    const handles = [...(known.length > 0 ? known : appeared)]
    for (let i = 0; i < this.driver.heldTimers; i++) handles.splice(handles.indexOf("Timeout") >>> 0, 1)
    return this.ready.length > ready && handles.length === 0 ? ["a callback of the event loop"] : handles
  }

  private waiting(): ReadonlyArray<string> {
    const live = [...this.driver.live]
    const ticks = this.livelock ? live.filter(({ label }) => this.stillness.goesOn(label)) : []
    const waits = live.filter((fiber) => !ticks.includes(fiber))
    return [
      ...waits.map((fiber) => `${fiber.label} waits for ${this.waitsFor(fiber)}`),
      ...ticks.map(({ label }) => `${label} only sleeps and wakes up again, for ${this.time.now} ms`)
    ]
  }

  private waitsFor(fiber: ControlledFiber): string {
    const own = this.waits.get(fiber.label)
    const external = this.externals.some(({ key }) => own === `external ${key.slice(2)}`)
    if (external && own !== undefined) return own
    return this.time.isAsleep(fiber.label) ? "time" : this.driver.waitsFor(fiber)
  }

  /** Interrupts what is left, so that thousands of runs leave nothing behind in the process. */
  private dispose(): void {
    this.recorder.isOn = false
    this.deciding = false
    this.livelock = false
    this.pruned = false
    this.driver.interruptAll()
    for (let i = 0; i < this.options.maxSteps && this.next(); i++) {}
    this.driver.dispose()
  }

  private unique(key: string): string {
    const n = this.counts.get(`#${key}`) ?? 0
    this.counts.set(`#${key}`, n + 1)
    return n === 0 ? key : `${key}.${n}`
  }

  private record(kind: Entry["kind"], label: string, text: string): void {
    this.recorder.add(this.steps, kind, label, text)
  }

  private remove<T>(list: Array<T>, item: T): void {
    const at = list.indexOf(item)
    if (at !== -1) list.splice(at, 1)
  }
}

/** A name without the signs that a schedule consists of, or that a shell would not pass on within quotes. */
const clean = (name: string): string => name.replace(/[\s\p{Cc},@>=!+~/']+/gu, "-")
