/**
 * What the explorer needs of a runtime that it controls. One implementation for each major version of Effect; the engine,
 * the search and the reports know nothing else of it.
 *
 * What a driver must supply
 *
 * D1. Nothing of the program runs unless the engine runs a task that it was told of (`scheduled`), or within such a task.
 *     A task is run once. A fiber has at most one that is ready.
 * D2. `beforeStep` is asked before each operation that runs code of the program or is seen by other fibers, with the
 *     fiber's `steps` being those before it. Where it answers `true`, the driver makes the fiber's task ready again, lets
 *     the task that runs come to its end, and takes that step, without asking again, when the task is run.
 * D3. Labels are the same in each run of one schedule: of who made a fiber and as its how many-th, never of a counter of
 *     the process.
 * D4. A sleep is `world.time.sleep`; clock, random numbers and log of the program are those of the run.
 * D5. `ended` is called in the step in which a fiber ends, `boot`'s callback in that of the main one, which is `main`.
 * D6. With `reduction`, `touched` is called in the step in which something that fibers share is read or written.
 */
import type { VirtualTime } from "./virtualTime.js"

/**
 * How finely a program is cut: before every operation, only before those that can have an effect others see, or only
 * where a fiber really waits.
 *
 * @internal
 */
export type Granularity = "op" | "effect" | "suspension"

/**
 * A fiber under control.
 *
 * @internal
 */
export interface ControlledFiber {
  readonly label: string
  /** Steps it has taken: operations at the chosen granularity. */
  readonly steps: number
  readonly isDone: boolean
  /** Whether it waits for something else than its turn. */
  readonly isWaiting: boolean
  /** Whether an interrupt has to wait. */
  readonly isMasked: boolean
  /** The name of the span it is in, if it is in one. */
  readonly span: string | undefined
}

/**
 * Something that can run next.
 *
 * @internal
 */
export interface Task {
  readonly key: string
  readonly fiber: ControlledFiber | undefined
  readonly run: () => void
}

/**
 * What the driver asks the engine before each step of a fiber, and tells it.
 *
 * @internal
 */
export interface StepListener {
  /**
   * `true` makes the fiber give way here: it is put back among the ready tasks, and its step comes when it runs again.
   * Only where something may be decided (`isPlace`).
   */
  readonly beforeStep: (fiber: ControlledFiber, op: string, isPlace: boolean) => boolean
  /** The step in front of which the fiber gave way comes now. */
  readonly resumed: (fiber: ControlledFiber, op: string) => void
  readonly scheduled: (task: Task) => void
  readonly ended: (fiber: ControlledFiber, failure: string | undefined) => void
  /** The running step told a fiber something, or, without one, it may have read or written whatever fibers share. */
  readonly touched: (fiber?: ControlledFiber) => void
  /** What runs right now, to name what it starts. */
  readonly currentKey: () => string
}

/**
 * What surrounds the program in a run.
 *
 * @internal
 */
export interface World {
  readonly time: VirtualTime
  readonly log: (message: string) => void
}

/** @internal */
export interface DriverOptions {
  readonly granularity: Granularity
  readonly atomicAsync: boolean
  /** Whether to say what is touched. */
  readonly reduction: boolean
}

/**
 * A runtime under control, for one run of one program.
 *
 * @internal
 */
export interface Driver<Program, Exit> {
  /** Starts the program. Nothing of it runs before its task does. */
  readonly boot: (program: Program, world: World, ended: (exit: Exit, inAWord: string) => void) => void
  /** Fibers that have not ended. */
  readonly live: Iterable<ControlledFiber>
  readonly find: (label: string) => ControlledFiber | undefined
  /** The next fiber that `parent` forks is called `name`. */
  readonly nameNext: (parent: ControlledFiber, name: string) => void
  /** What a fiber waits for, in words. */
  readonly waitsFor: (fiber: ControlledFiber) => string
  /** Native timers that fibers hold which wait for nothing. */
  readonly heldTimers: number
  /** What is known of the runtime itself that may have brought a deadlock about. */
  readonly flaws: ReadonlyArray<string>
  /** Asks whatever is alive to stop; the engine then runs what becomes ready. */
  readonly interruptAll: () => void
  /** Gives back what was lent for the run. */
  readonly dispose: () => void
}

/** @internal */
export type MakeDriver<Program, Exit> = (listener: StepListener, options: DriverOptions) => Driver<Program, Exit>
