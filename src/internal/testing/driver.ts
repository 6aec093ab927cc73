/**
 * What the explorer needs of a runtime that it controls. One implementation for each major version of Effect.
 */

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
 * What the driver asks the engine before each step of a fiber.
 *
 * @internal
 */
export interface StepListener {
  /**
   * `true` makes the fiber give way here: it is put back among the ready tasks, and its step comes when it runs again.
   * Only where something may be decided (`isPlace`).
   */
  readonly beforeStep: (fiber: ControlledFiber, op: string, isPlace: boolean) => boolean
  readonly scheduled: (task: Task) => void
  readonly ended: (fiber: ControlledFiber, failure: string | undefined) => void
  /** What runs right now, to name what it starts. */
  readonly currentKey: () => string
}
