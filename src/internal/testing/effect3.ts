/**
 * Controls the fibers of Effect 3 (3.22): a scheduler that queues every task, and a supervisor that sees every operation.
 *
 * Nothing of `effect` is patched, but it relies on shapes that are not public: `_op` of an operation, a yield of
 * `undefined` priority, the fields of an async registration. The canary tests fail when an upgrade moves them.
 *
 * - The supervisor's `onEffect` comes before the fiber looks at its inbox, so an interrupt that is raised there arrives
 *   before the very operation that was announced.
 * - A fiber that gives way does so by a yield in front of the operation, which then comes a second time and must not be
 *   counted again. A numeric priority would wrap that yield in some ten operations more, hence `undefined`.
 * - Only fibers on the scheduler of the run give way. `runSync` has one of its own: what it runs is one step.
 * - A fiber that is started with `Effect.runFork` has none of the refs of the program. It is taken over before its second
 *   operation at the latest, from the default scheduler, which is lent for the time of a run. Fibers that are older than
 *   the run, such as that of the test itself, go on as ever.
 * - `Effect.async` loses its canceler when it is interrupted between its registration and the canceler's frame, and a
 *   concurrent `Effect.all` or a race never ends when it is interrupted between making its fibers and their start. These
 *   are flaws of the runtime, not of the program: by default no decision is taken there (`atomicAsync`).
 *
 * Long because all that has to change with the runtime is here.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as Scheduler from "effect/Scheduler"
import * as Supervisor from "effect/Supervisor"
import type { ControlledFiber, Driver, DriverOptions, StepListener, World } from "./driver.js"
import { type AnyFiber, Controlled, insidesOf } from "./effect3Fiber.js"
import {
  commitKind,
  hasEffect,
  isNever,
  isRegistering,
  isSilent,
  isTransplant,
  mayShare,
  type Op
} from "./effect3Ops.js"
import { withServices } from "./services.js"
import { VirtualClock } from "./virtualClock.js"

class OpSupervisor extends Supervisor.AbstractSupervisor<void> {
  override readonly value = Effect.void
  private readonly started: (fiber: AnyFiber, parent: AnyFiber | undefined) => void
  private readonly reached: (fiber: AnyFiber, op: Op) => void

  constructor(
    started: (fiber: AnyFiber, parent: AnyFiber | undefined) => void,
    reached: (fiber: AnyFiber, op: Op) => void
  ) {
    super()
    this.started = started
    this.reached = reached
  }

  override onStart<A, E, R>(
    _context: unknown,
    _effect: Effect.Effect<A, E, R>,
    parent: Option.Option<AnyFiber>,
    fiber: Fiber.RuntimeFiber<A, E>
  ): void {
    this.started(fiber as AnyFiber, Option.getOrUndefined(parent))
  }

  override onEffect<A, E>(fiber: Fiber.RuntimeFiber<A, E>, op: Effect.Effect<unknown, unknown, unknown>): void {
    this.reached(fiber as AnyFiber, op as unknown as Op)
  }
}

/** @internal */
export class Effect3Driver<A, E> implements Driver<Effect.Effect<A, E>, Exit.Exit<A, E>> {
  readonly live = new Set<Controlled>()
  private readonly fibers = new Map<number, Controlled>()
  private readonly listener: StepListener
  private readonly options: DriverOptions
  private restoreDefault: (() => void) | undefined
  private roots = 0
  private last: Controlled | undefined
  private readonly names = new Map<Controlled, string>()
  private readonly outsiders = new Set<AnyFiber>()
  /** Fibers with a lower number are older than the run. */
  private firstId = 0
  private refs: (refs: FiberRefs.FiberRefs) => FiberRefs.FiberRefs = (refs) => refs

  constructor(listener: StepListener, options: DriverOptions) {
    this.listener = listener
    this.options = options
  }

  boot(program: Effect.Effect<A, E>, world: World, ended: (exit: Exit.Exit<A, E>, inAWord: string) => void): void {
    const { context, fiberRefs, runtimeFlags } = Runtime.defaultRuntime
    const none = FiberId.unsafeMake()
    this.firstId = none.id
    this.refs = (own) =>
      FiberRefs.updateManyAs(withServices(own, new VirtualClock(world.time), world.log), {
        forkAs: none,
        entries: [
          [FiberRef.currentSupervisor, [[none, this.supervisor]]],
          [FiberRef.unhandledErrorLogLevel, [[none, Option.none()]]],
          [FiberRef.currentScheduler, [[none, this.scheduler]]]
        ]
      })
    this.captureDefaultScheduler()
    const main = Runtime.runFork(
      Runtime.make({
        context,
        fiberRefs: this.refs(fiberRefs),
        runtimeFlags: RuntimeFlags.enable(runtimeFlags, RuntimeFlags.OpSupervision)
      }),
      program,
      { scheduler: this.scheduler, immediate: false }
    )
    main.addObserver((exit) => ended(exit, inAWord(exit)))
  }

  dispose(): void {
    this.restoreDefault?.()
    this.restoreDefault = undefined
  }

  nameNext(parent: ControlledFiber, name: string): void {
    this.names.set(parent as Controlled, name)
  }

  find(label: string): Controlled | undefined {
    for (const fiber of this.live) if (fiber.label === label) return fiber
    return undefined
  }

  /** `Effect.never` holds a native timer. */
  get heldTimers(): number {
    return [...this.live].filter((fiber) => fiber.isNever).length
  }

  interruptAll(): void {
    for (const { fiber } of [...this.live]) fiber.unsafeInterruptAsFork(FiberId.none)
  }

  waitsFor(waiting: ControlledFiber): string {
    const fiber = waiting as Controlled
    if (!fiber.isWaiting) return "its turn"
    if (fiber.isNever) return "nothing (Effect.never)"
    const on = insidesOf(fiber.fiber)._asyncBlockingOn ?? FiberId.none
    const labels = [...FiberId.ids(on)].flatMap((id) => this.fibers.get(id)?.label ?? [])
    if (fiber.registered) {
      return labels.length === 0 ? "a callback or promise" : `the end of ${labels.join(", ")}`
    }
    return labels.length === 0
      ? "a semaphore, latch or callback"
      : `a Deferred, Queue or the like, made by ${labels.join(", ")}`
  }

  get flaws(): ReadonlyArray<string> {
    return [...this.live].filter(({ brokeStart }) => brokeStart).map(({ label }) => `${label} ${brokenStart}`)
  }

  private adopt(fiber: AnyFiber, parent: AnyFiber | undefined): Controlled {
    if (this.last?.fiber === fiber) return this.last
    const id = fiber.id().id
    let controlled = this.fibers.get(id)
    if (controlled === undefined) {
      controlled = new Controlled(this.nameFor(parent), fiber)
      this.fibers.set(id, controlled)
      this.live.add(controlled)
      const known = controlled
      this.watchStart(controlled, parent)
      if (this.options.reduction) this.watchInbox(controlled)
      fiber.addObserver((exit) => {
        known.isDone = true
        this.started(known)
        this.live.delete(known)
        this.fibers.delete(id)
        this.listener.ended(known, failureOf(exit))
      })
    }
    this.last = controlled
    return controlled
  }

  private watchInbox(controlled: Controlled): void {
    const insides = insidesOf(controlled.fiber)
    const tell = insides.tell
    insides.tell = (message) => {
      this.listener.touched(controlled)
      tell.call(insides, message)
    }
  }

  private watchStart(made: Controlled, parent: AnyFiber | undefined): void {
    const running = Option.getOrUndefined(Fiber.getCurrentFiber())
    if (parent === undefined || running !== parent) return
    made.maker = this.fibers.get(parent.id().id)
    made.maker?.starting.add(made)
  }

  private started(fiber: Controlled): void {
    const { maker } = fiber
    if (maker === undefined) return
    fiber.maker = undefined
    maker.starting.delete(fiber)
    // Not started, if an interruptible one is interrupted, but told of that, and never to be started.
    if (insidesOf(maker.fiber).isInterrupted() && (fiber.startsLater || !maker.isMasked)) {
      maker.brokeStart = true
    }
    if (maker.starting.size > 0 || maker.held === undefined) return
    this.listener.scheduled({ key: maker.label, fiber: maker, run: maker.held })
    maker.held = undefined
  }

  private nameFor(parent: AnyFiber | undefined): string {
    if (this.roots++ === 0) return "main"
    // Started from synchronous code, such as `Runtime.runFork` in a callback: named after whatever runs.
    const key = this.listener.currentKey()
    const maker = parent === undefined ? this.find(key) : this.fibers.get(parent.id().id)
    if (maker === undefined) return `${key}.r${this.roots}`
    const name = parent === undefined ? undefined : this.names.get(maker)
    if (name === undefined) return `${maker.label}.${maker.children++}`
    this.names.delete(maker)
    return name
  }

  private readonly scheduler: Scheduler.Scheduler = {
    shouldYield: (fiber) =>
      this.adopt(fiber as AnyFiber, undefined).giving === "yielding"
        ? (undefined as unknown as number) // see the header
        : false,
    scheduleTask: (task, _priority, fiber) => this.schedule(task, fiber as AnyFiber | undefined)
  }

  private schedule(task: Scheduler.Task, fiber: AnyFiber | undefined): void {
    const controlled = fiber !== undefined && insidesOf(fiber).run === task ? this.adopt(fiber, undefined) : undefined
    if (controlled === undefined) {
      // A concurrent `Effect.all` hands the start of the fiber that does the work to a task.
      const starts = fiber === undefined ? undefined : this.fibers.get(fiber.id().id)
      if (starts?.maker !== undefined) starts.startsLater = true
    } else {
      if (!controlled.startsLater) this.started(controlled)
      if (this.options.atomicAsync && controlled.starting.size > 0) {
        controlled.held = task
        return
      }
    }
    this.listener.scheduled({
      key: controlled?.label ?? `${this.listener.currentKey()}~`,
      fiber: controlled,
      run: task
    })
  }

  private readonly supervisor = new OpSupervisor(
    (fiber, parent) => this.adopt(fiber, parent),
    (fiber, op) => this.onOp(fiber, op)
  )

  private onOp(raw: AnyFiber, op: Op): void {
    if (isSilent(op)) {
      if (this.options.reduction && mayShare(op, insidesOf(raw))) this.listener.touched()
      return
    }
    const fiber = this.adopt(raw, undefined)
    switch (fiber.giving) {
      case "yielding":
        if (op._op === "Yield") fiber.giving = "resuming"
        return
      case "resuming":
        // It resumes with a void success, or with its interruption, which then stands for the operation.
        fiber.giving = op._op === "Success" ? "repeating" : "no"
        return
      case "repeating":
        fiber.giving = "no"
        // It is another one when an interrupt has come in between.
        if (op !== fiber.op) return this.step(fiber, op)
        this.listener.resumed(fiber, op._op)
        this.touch(fiber, op)
        return
      case "no":
        this.step(fiber, op)
    }
  }

  private step(fiber: Controlled, op: Op): void {
    fiber.lastOp = op._op
    // What works for a concurrent `Effect.all` has taken on its work when it begins to wait.
    if (op._op === "Async") this.started(fiber)
    const wasInTransplant = fiber.inTransplant
    fiber.inTransplant = fiber.isMasked && isTransplant(op)
    const isStart = this.options.atomicAsync && (fiber.inTransplant || wasInTransplant || fiber.starting.size > 0)
    if (fiber.inRegistration) {
      fiber.inRegistration = op._op === "Commit" || op._op === "UpdateRuntimeFlags"
      if (isRegistering(op)) return
    }
    if (op._op === "Commit" && typeof op.effect_instruction_i0 === "function") {
      const kind = commitKind(op)
      if (kind === "mask") return
      if (kind === "async") {
        fiber.registered = true
        fiber.inRegistration = this.options.atomicAsync
      }
    } else if (op._op === "Commit" || op._op === "Sync") fiber.registered = false
    if (isNever(op)) fiber.isNever = true
    else if (op._op === "Success" || op._op === "Failure") fiber.isNever = false
    if (this.listener.beforeStep(fiber, op._op, !isStart && this.isPlace(fiber, op))) {
      fiber.giving = "yielding"
      fiber.op = op
    } else this.touch(fiber, op)
    fiber.steps++
  }

  private touch(fiber: Controlled, op: Op): void {
    if (this.options.reduction && mayShare(op, insidesOf(fiber.fiber))) this.listener.touched()
  }

  private isPlace(fiber: Controlled, op: Op): boolean {
    const { granularity } = this.options
    if (granularity === "suspension" || (granularity === "effect" && !hasEffect(op))) return false
    return insidesOf(fiber.fiber).currentScheduler === this.scheduler
  }

  private isOutside(fiber: AnyFiber | undefined): boolean {
    const running = Option.getOrUndefined(Fiber.getCurrentFiber())
    if (fiber === undefined) return running !== undefined && this.isOld(running)
    if (this.isOld(fiber)) return true
    if (this.fibers.has(fiber.id().id) || running === undefined || running === fiber) return false
    if (this.isOld(running)) this.outsiders.add(fiber)
    return this.outsiders.has(fiber)
  }

  private isOld(fiber: AnyFiber): boolean {
    return fiber.id().id < this.firstId || this.outsiders.has(fiber)
  }

  /** Gives a fiber of the default scheduler what the fibers of the program have inherited. */
  private takeOver(fiber: AnyFiber): void {
    const insides = insidesOf(fiber)
    insides.setFiberRefs(this.refs(insides.getFiberRefs()))
    insides.currentRuntimeFlags = RuntimeFlags.enable(insides.currentRuntimeFlags, RuntimeFlags.OpSupervision)
    this.adopt(fiber, undefined)
  }

  private captureDefaultScheduler(): void {
    const { defaultScheduler } = Scheduler
    const own = { scheduleTask: defaultScheduler.scheduleTask, shouldYield: defaultScheduler.shouldYield }
    defaultScheduler.scheduleTask = (task, priority, raw) => {
      const fiber = raw as AnyFiber | undefined
      if (this.isOutside(fiber)) return own.scheduleTask.call(defaultScheduler, task, priority, raw)
      if (fiber !== undefined) this.takeOver(fiber)
      this.schedule(task, fiber)
    }
    defaultScheduler.shouldYield = (raw) => {
      const fiber = raw as AnyFiber
      if (this.isOutside(fiber)) return own.shouldYield.call(defaultScheduler, raw)
      this.takeOver(fiber)
      return false
    }
    this.restoreDefault = () => Object.assign(defaultScheduler, own)
  }
}

const brokenStart =
  "was interrupted while Effect started the fibers of its concurrent Effect.all, Effect.forEach or race: effect 3.22 waits for ever then, on its own scheduler too, if the 2,048 operations of a fiber's turn end there (docs/effect-traps.md, 13). atomicAsync: true takes that start for one step"

const inAWord = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) && typeof exit.value !== "object" ? String(exit.value) : exit._tag

const failureOf = (exit: Exit.Exit<unknown, unknown>): string | undefined =>
  Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause) ? Cause.pretty(exit.cause) : undefined
