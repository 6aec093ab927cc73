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
 * - `Effect.async` loses its canceler when it is interrupted between its registration and the canceler's frame. That is a
 *   flaw of the runtime, not of the program: by default no decision is taken there (`atomicAsync`).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as Scheduler from "effect/Scheduler"
import * as Supervisor from "effect/Supervisor"
import type { ControlledFiber, Granularity, StepListener, Task } from "./driver.js"

type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

interface Op {
  readonly _op: string
  readonly effect_instruction_i0?: unknown
}

// Pushing a frame runs no code of the program.
const pushes = new Set(["OnSuccess", "OnFailure", "OnSuccessAndFailure", "OnStep"])
const effects = new Set(["Sync", "Async", "Commit", "WithRuntime", "UpdateRuntimeFlags", "Yield"])

/** @internal */
export class Controlled implements ControlledFiber {
  label: string
  steps = 0
  isDone = false
  children = 0
  /** Where it is in the middle of giving way: not at all, before its yield, or before it repeats its operation. */
  giving: "no" | "yielding" | "resuming" | "repeating" = "no"
  inRegistration = false
  lastOp = ""
  readonly fiber: AnyFiber

  constructor(label: string, fiber: AnyFiber) {
    this.label = label
    this.fiber = fiber
  }

  get waitsFor(): string | undefined {
    return this.isDone ? undefined : `${this.lastOp === "Async" ? "a callback, promise or other fiber" : this.lastOp}`
  }
}

/** @internal */
export interface Effect3Options {
  readonly granularity: Granularity
  readonly atomicAsync: boolean
}

/** @internal */
export class Effect3Driver {
  readonly fibers = new Map<number, Controlled>()
  readonly live = new Set<Controlled>()
  private readonly listener: StepListener
  private readonly options: Effect3Options
  private restoreDefault: (() => void) | undefined
  private roots = 0

  constructor(listener: StepListener, options: Effect3Options) {
    this.listener = listener
    this.options = options
  }

  /** Starts the program under control. Nothing of it runs before its task does. */
  boot<A, E>(
    program: Effect.Effect<A, E>,
    refs: (refs: FiberRefs.FiberRefs) => FiberRefs.FiberRefs
  ): Fiber.RuntimeFiber<A, E> {
    this.captureDefaultScheduler()
    const { context, fiberRefs, runtimeFlags } = Runtime.defaultRuntime
    const none = FiberId.unsafeMake()
    const supervised = FiberRefs.updateManyAs(refs(fiberRefs), {
      forkAs: none,
      entries: [
        [FiberRef.currentSupervisor, [[none, this.supervisor]]],
        [FiberRef.unhandledErrorLogLevel, [[none, Option.none()]]]
      ]
    })
    return Runtime.runFork(
      Runtime.make({
        context,
        fiberRefs: supervised,
        runtimeFlags: RuntimeFlags.enable(runtimeFlags, RuntimeFlags.OpSupervision)
      }),
      program,
      { scheduler: this.scheduler, immediate: false }
    )
  }

  /** Gives the default scheduler back. */
  dispose(): void {
    this.restoreDefault?.()
    this.restoreDefault = undefined
  }

  labelOf(fiber: AnyFiber): Controlled {
    return this.adopt(fiber, undefined)
  }

  private adopt(fiber: AnyFiber, parent: AnyFiber | undefined): Controlled {
    const id = fiber.id().id
    let controlled = this.fibers.get(id)
    if (controlled === undefined) {
      controlled = new Controlled(this.nameFor(parent), fiber)
      this.fibers.set(id, controlled)
      this.live.add(controlled)
      const known = controlled
      fiber.addObserver((exit) => {
        known.isDone = true
        this.live.delete(known)
        this.fibers.delete(id)
        this.listener.ended(known, failureOf(exit))
      })
    }
    return controlled
  }

  private nameFor(parent: AnyFiber | undefined): string {
    if (this.roots++ === 0) return "main"
    const maker = parent === undefined ? undefined : this.fibers.get(parent.id().id)
    if (maker !== undefined) return `${maker.label}.${maker.children++}`
    // Started from synchronous code, such as `Runtime.runFork` in a callback: named after whatever runs.
    const key = this.listener.currentKey()
    for (const fiber of this.live) if (fiber.label === key) return `${key}.${fiber.children++}`
    return `${key}.r${this.roots}`
  }

  private readonly scheduler: Scheduler.Scheduler = {
    shouldYield: (fiber) => {
      const controlled = this.fibers.get(fiber.id().id)
      if (controlled?.giving !== "yielding") return false
      return undefined as unknown as number // see the header
    },
    scheduleTask: (task, _priority, fiber) => this.schedule(task, fiber as AnyFiber | undefined)
  }

  private schedule(task: Scheduler.Task, fiber: AnyFiber | undefined): void {
    const run = fiber as unknown as { readonly run?: unknown } | undefined
    const controlled = fiber !== undefined && run?.run === task ? this.adopt(fiber, undefined) : undefined
    const queued: Task = {
      key: controlled?.label ?? `${this.listener.currentKey()}~`,
      fiber: controlled,
      run: task
    }
    this.listener.scheduled(queued)
  }

  private readonly supervisor: Supervisor.Supervisor<void> = new (class extends Supervisor.AbstractSupervisor<void> {
    override readonly value = Effect.void
    readonly driver: Effect3Driver

    constructor(driver: Effect3Driver) {
      super()
      this.driver = driver
    }

    override onStart<A, E, R>(
      _context: unknown,
      _effect: Effect.Effect<A, E, R>,
      parent: Option.Option<Fiber.RuntimeFiber<unknown, unknown>>,
      fiber: Fiber.RuntimeFiber<A, E>
    ): void {
      this.driver.adopt(fiber as AnyFiber, Option.getOrUndefined(parent))
    }

    override onEffect<A, E>(fiber: Fiber.RuntimeFiber<A, E>, op: Effect.Effect<unknown, unknown, unknown>): void {
      this.driver.onOp(fiber as AnyFiber, op as unknown as Op)
    }
  })(this)

  private onOp(raw: AnyFiber, op: Op): void {
    const fiber = this.fibers.get(raw.id().id)
    if (fiber === undefined || pushes.has(op._op)) return
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
        return
      case "no":
        this.step(fiber, op)
    }
  }

  private step(fiber: Controlled, op: Op): void {
    fiber.lastOp = op._op
    if (fiber.inRegistration) {
      if (op._op === "Async") fiber.inRegistration = false
      return
    }
    if (this.options.atomicAsync && op._op === "Commit" && typeof op.effect_instruction_i0 === "function") {
      fiber.inRegistration = isAsyncRegistration(op)
    }
    if (this.options.granularity === "suspension") {
      fiber.steps++
      return
    }
    if (this.options.granularity === "effect" && !effects.has(op._op)) return
    if (this.listener.beforeStep(fiber, op._op)) fiber.giving = "yielding"
    fiber.steps++
  }

  // Fibers that a callback starts with `Effect.runFork` know only the default scheduler.
  private captureDefaultScheduler(): void {
    const { defaultScheduler } = Scheduler
    const own = { scheduleTask: defaultScheduler.scheduleTask, shouldYield: defaultScheduler.shouldYield }
    defaultScheduler.scheduleTask = this.scheduler.scheduleTask as typeof defaultScheduler.scheduleTask
    defaultScheduler.shouldYield = () => false
    this.restoreDefault = () => Object.assign(defaultScheduler, own)
  }
}

// `uninterruptibleMask` is a Commit with a function, too, but its function takes `restore` and its commit is another.
const asyncCommit = (Effect.async<void>(() => {}) as unknown as { commit?: () => unknown }).commit?.toString()

const isAsyncRegistration = (op: Op): boolean => (op as { commit?: () => unknown }).commit?.toString() === asyncCommit

const failureOf = (exit: Exit.Exit<unknown, unknown>): string | undefined =>
  Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause) ? Cause.pretty(exit.cause) : undefined
