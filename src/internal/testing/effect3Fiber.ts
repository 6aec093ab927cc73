/**
 * A fiber of Effect 3 under control, and what of it is not public.
 */
import type * as Fiber from "effect/Fiber"
import type * as FiberId from "effect/FiberId"
import type * as FiberRefs from "effect/FiberRefs"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type * as Scheduler from "effect/Scheduler"
import type { ControlledFiber } from "./driver.js"
import type { Op, Stacked } from "./effect3Ops.js"

/** @internal */
export type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

/**
 * What a fiber of effect 3.22 has beside its public interface.
 *
 * @internal
 */
export interface Insides extends Stacked {
  readonly run: () => void
  currentScheduler: Scheduler.Scheduler
  currentRuntimeFlags: RuntimeFlags.RuntimeFlags
  readonly _asyncBlockingOn: FiberId.FiberId | null
  readonly isInterrupted: () => boolean
  readonly setFiberRefs: (refs: FiberRefs.FiberRefs) => void
  readonly getFiberRefs: () => FiberRefs.FiberRefs
  tell: (message: unknown) => void
}

/** @internal */
export const insidesOf = (fiber: AnyFiber): Insides => fiber as unknown as Insides

/** @internal */
export class Controlled implements ControlledFiber {
  label: string
  steps = 0
  isDone = false
  children = 0
  /** Where it is in the middle of giving way: not at all, before its yield, or before it repeats its operation. */
  giving: "no" | "yielding" | "resuming" | "repeating" = "no"
  /** The operation in front of which it gives way. */
  op: Op | undefined
  inRegistration = false
  isNever = false
  /** How it came to wait, if it does: through a registration of `Effect.async`, or another way. */
  registered = false
  lastOp = ""
  /** Fibers that it has made in an operation of its own and that do not run yet. */
  readonly starting = new Set<Controlled>()
  /** Whether it is about to make them. */
  inTransplant = false
  /** Who made it, as long as it is one of those. */
  maker: Controlled | undefined
  /** Whether a task of its own starts it, and not its maker. */
  startsLater = false
  /** Its turn, which comes when what it is starting runs. */
  held: Scheduler.Task | undefined
  /** Whether it was interrupted while it was starting fibers. */
  brokeStart = false
  readonly fiber: AnyFiber

  constructor(label: string, fiber: AnyFiber) {
    this.label = label
    this.fiber = fiber
  }

  get isWaiting(): boolean {
    return !this.isDone && this.lastOp === "Async"
  }

  get isMasked(): boolean {
    return !RuntimeFlags.interruptible(insidesOf(this.fiber).currentRuntimeFlags)
  }

  get span(): string | undefined {
    const span = this.fiber.currentSpan
    return span?._tag === "Span" ? span.name : undefined
  }
}
