/**
 * Background tasks: work that goes on when the call that started it has ended.
 *
 * A task belongs to the owner of the layer, one for each agent. Closing the layer stops its tasks and waits for them.
 *
 * The layer touches no platform: it needs nothing but Effect, and a test may use it as it is. `ScriptedTask` in
 * `quiesce/testing` is the same without the work, for tests that want to decide when a task ends, and as what.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as CancelCause from "../CancelCause.js"
import * as Cancellation from "../Cancellation.js"
import type { Problem, TaskRecord } from "../internal/capability/task/record.js"
import { TaskTable } from "../internal/capability/task/table.js"
import { misuse } from "../internal/invariant.js"
import { quoted } from "../internal/quoted.js"

/**
 * Schema for where a task stands. `stopping` has been asked to stop and is not quiet yet; the three last are for good.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Status = Schema.Literal("running", "stopping", "completed", "failed", "killed")

/**
 * Where a task stands.
 *
 * @since 0.1.0
 * @category models
 */
export type Status = typeof Status.Type

/**
 * Schema for what is known of a task at one moment. Times are milliseconds since 1970, on the clock of who started it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Snapshot = Schema.Struct({
  id: Schema.String,
  label: Schema.String,
  status: Status,
  startedAt: Schema.Number,
  endedAt: Schema.optional(Schema.Number),
  /** Why it failed. */
  error: Schema.optional(Schema.String),
  /** Why it was asked to stop, where it was. A task whose work had ended before that is `completed` or `failed`. */
  cause: Schema.optional(CancelCause.CancelCause),
  /** What of it could not be stopped or waited for, in words. */
  escaped: Schema.Array(Schema.String)
})

/**
 * What is known of a task at one moment.
 *
 * @since 0.1.0
 * @category models
 */
export type Snapshot = typeof Snapshot.Type

const reasons = {
  NotFound: "there is no task with this id. List the tasks; those that ended long ago are forgotten",
  TooMany: "too many tasks are running. Wait for one of them, or kill it",
  InvalidOptions: "its options cannot work",
  OwnerEnded: "the owner of the tasks has ended, so nothing was started"
} as const

/**
 * Schema for why an operation on tasks failed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal("NotFound", "TooMany", "InvalidOptions", "OwnerEnded")

/**
 * An operation on tasks failed, and changed nothing.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Task } from "quiesce/capability"
 *
 * const error = new Task.TaskError({ task: "task-7", reason: "NotFound" })
 * assert.strictEqual(error.code, "TASK_NOT_FOUND")
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class TaskError extends Schema.TaggedError<TaskError>("quiesce/capability/Task/TaskError")("TaskError", {
  /** The id of the task, or the label of one that was not started. */
  task: Schema.String,
  reason: Reason,
  detail: Schema.optional(Schema.String)
}) {
  /** The reason as the code of a failed call, such as `TASK_NOT_FOUND`. */
  get code(): string {
    return `TASK_${this.reason.replace(/(?<!^)(?=[A-Z])/g, "_").toUpperCase()}`
  }

  override get message(): string {
    return `Task ${quoted(this.task)}: ${this.detail ?? reasons[this.reason]}`
  }
}

/**
 * What a task may do with itself while it runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface Running {
  readonly id: string
  /** Adds to the output of the task, at once. Of a long output the newest part is kept. */
  readonly write: (text: string) => void
}

/**
 * What `start` needs to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface StartOptions<R = never> {
  /** What people and models see of it. */
  readonly label: string
  /**
   * The work. It runs under an owner of its own, which is cancelled when the task is killed. A failure makes the task
   * `failed`, with its message.
   */
  readonly run: (task: Running) => Effect.Effect<unknown, unknown, R>
}

/**
 * What `wait` needs to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface WaitOptions {
  /** How long to wait at most. Default: until the task has settled. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * A part of what a task has written. Positions count UTF-16 units from the first one that it wrote.
 *
 * @since 0.1.0
 * @category models
 */
export interface Output {
  readonly text: string
  /** Where to read on from. */
  readonly next: number
  /** How much of what was asked for is not kept any more. */
  readonly missed: number
}

/**
 * What an implementation of `Task` provides.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /**
   * Starts a task in the background, and succeeds with its id.
   *
   * Completes when the task has been handed over (see `Handoff`). The commit point is the step that makes it known to
   * `list`, and nothing of `run` is evaluated before that: a cancellation or an interruption that comes earlier starts
   * nothing, one that comes later does not reach the task. Fails, and starts nothing, for an empty label, for too many
   * tasks (those that are stopping count), and when the owner of the tasks has ended.
   */
  readonly start: (
    options: StartOptions<Cancellation.Cancellation>
  ) => Effect.Effect<string, TaskError, Cancellation.Cancellation>
  /**
   * Waits until a task has settled, or `timeout` is over, and succeeds with what is known of it then.
   *
   * An interruption ends the wait and leaves the task alone. A task that has settled already is answered at once.
   */
  readonly wait: (id: string, options?: WaitOptions) => Effect.Effect<Snapshot, TaskError, Cancellation.Cancellation>
  /** What a task has written since the position `from`. Does not wait. Default: from the start. */
  readonly read: (id: string, from?: number) => Effect.Effect<Output, TaskError>
  /**
   * Asks a task to stop, and says whether it still ran. Does not wait: `wait` tells when it has settled. The first cause
   * stays (L6). Work that ends in a protected region after that counts as killed: Effect has lost its value. Default:
   * `CancelCause.user()`.
   */
  readonly kill: (
    id: string,
    cause?: CancelCause.CancelCause
  ) => Effect.Effect<"requested" | "already-finished", TaskError>
  /** What is known of the tasks, in the order of their start. Does not wait. */
  readonly list: Effect.Effect<ReadonlyArray<Snapshot>>
}

/**
 * Service that runs tasks in the background.
 *
 * @since 0.1.0
 * @category services
 */
export class Task extends Context.Tag("quiesce/capability/Task")<Task, Service>() {}

/**
 * Starts a task in the background, and succeeds with its id (see `Service`).
 *
 * What `run` needs is taken from the context of this effect; its owner is the task's own.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Task } from "quiesce/capability"
 *
 * const program = Effect.gen(function* () {
 *   // The call that starts it ends here, the task goes on.
 *   const id = yield* Cancellation.own(
 *     Task.start({ label: "count", run: (task) => Effect.sync(() => task.write("1 2 3")) })
 *   )
 *   const snapshot = yield* Cancellation.own(Task.wait(id))
 *   assert.strictEqual(snapshot.status, "completed")
 *   return yield* Task.read(id)
 * })
 * const output = await Effect.runPromise(Effect.provide(program, Task.layer()))
 * assert.strictEqual(output.text, "1 2 3")
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const start = <R>(
  options: StartOptions<R>
): Effect.Effect<string, TaskError, Exclude<R, Cancellation.Cancellation> | Task | Cancellation.Cancellation> =>
  Effect.flatMap(Effect.context<Exclude<R, Cancellation.Cancellation> | Task>(), (context) =>
    Context.get(context, Task).start({
      label: options.label,
      run: (task) =>
        Effect.flatMap(Cancellation.Cancellation, (owner) =>
          // The task's owner over what was captured, never the caller's.
          Effect.provide(
            options.run(task),
            Context.add(context, Cancellation.Cancellation, owner) as unknown as Context.Context<R>
          )
        )
    })
  )

/**
 * Waits until a task has settled, or `timeout` is over (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const wait = (
  id: string,
  options?: WaitOptions
): Effect.Effect<Snapshot, TaskError, Task | Cancellation.Cancellation> =>
  Effect.flatMap(Task, (task) => task.wait(id, options))

/**
 * What a task has written since the position `from` (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const read = (id: string, from?: number): Effect.Effect<Output, TaskError, Task> =>
  Effect.flatMap(Task, (task) => task.read(id, from))

/**
 * Asks a task to stop, and says whether it still ran (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const kill = (
  id: string,
  cause?: CancelCause.CancelCause
): Effect.Effect<"requested" | "already-finished", TaskError, Task> =>
  Effect.flatMap(Task, (task) => task.kill(id, cause))

/**
 * What is known of the tasks, in the order of their start (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const list: Effect.Effect<ReadonlyArray<Snapshot>, never, Task> = Effect.flatMap(Task, (task) => task.list)

/**
 * The limits of a layer of tasks.
 *
 * @since 0.1.0
 * @category models
 */
export interface LayerOptions {
  /** How many tasks may be running or stopping at once. Default: 10. */
  readonly maxRunning?: number | undefined
  /** How many tasks that have ended are remembered. Default: 100. */
  readonly maxEnded?: number | undefined
  /** How many UTF-16 units of the output of each task are kept. Default: 64 000. */
  readonly maxOutput?: number | undefined
}

const snapshotOf = (record: TaskRecord): Snapshot => ({
  id: record.id,
  label: record.label,
  status: record.status,
  startedAt: record.startedAt,
  ...(record.endedAt === undefined ? {} : { endedAt: record.endedAt }),
  ...(record.error === undefined ? {} : { error: record.error }),
  ...(record.cause === undefined ? {} : { cause: record.cause }),
  escaped: record.escaped
})

const make = (owner: Context.Context<Cancellation.Cancellation>, options: LayerOptions): Service => {
  const { maxEnded = 100, maxOutput = 64_000, maxRunning = 10 } = options
  for (const [name, value] of Object.entries({ maxEnded, maxOutput, maxRunning })) {
    if (!(Number.isInteger(value) && value >= 0)) misuse(`${name} must be an integer of 0 or more, not ${value}`)
  }
  const table = new TaskTable(owner, { maxEnded, maxOutput, maxRunning })
  const failure = (task: string, problem: Problem): TaskError => new TaskError({ task, ...problem })
  const find = (id: string): Effect.Effect<TaskRecord, TaskError> =>
    Effect.suspend(() => {
      const record = table.get(id)
      return record === undefined ? Effect.fail(failure(id, { reason: "NotFound" })) : Effect.succeed(record)
    })
  return {
    start: ({ label, run }) =>
      Effect.uninterruptibleMask((restore) =>
        // Outside of `restore`: in an interruptible region Effect strips the failure of an interrupted fiber here (L5).
        Effect.mapError(restore(table.start(label, run)), (problem) => failure(label, problem))
      ).pipe(Cancellation.operation(`start task ${label}`)),
    wait: (id, options) =>
      Effect.flatMap(find(id), (record) =>
        Effect.matchEffect(record.awaitSettled(options?.timeout ?? Duration.infinity), {
          onSuccess: () => Effect.sync(() => snapshotOf(record)),
          onFailure: (problem) => Effect.fail(failure(id, problem))
        })
      ).pipe(Cancellation.operation(`wait for ${id}`)),
    read: (id, from = 0) => Effect.map(find(id), (record) => record.output.read(from)),
    kill: (id, cause = CancelCause.user()) =>
      Effect.map(find(id), (record) => (record.kill(cause) ? "requested" : "already-finished")),
    list: Effect.sync(() => table.all.map(snapshotOf))
  }
}

/**
 * Layer of tasks that belong to one owner, such as one agent: each agent has a layer of its own (`Layer.fresh`).
 *
 * Closing it stops every task with `Disposed` and completes when nothing of them is left. Nothing starts after that.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Task } from "quiesce/capability"
 *
 * let isStopped = false
 * const watch = Effect.onInterrupt(Effect.never, () => Effect.sync(() => (isStopped = true)))
 * const program = Cancellation.own(Task.start({ label: "watch", run: () => watch }))
 * await Effect.runPromise(Effect.provide(Effect.zipRight(program, Effect.yieldNow()), Task.layer({ maxRunning: 2 })))
 * assert.strictEqual(isStopped, true)
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: LayerOptions = {}): Layer.Layer<Task> =>
  Layer.scoped(
    Task,
    Effect.map(Cancellation.ownScoped, (owner) => make(owner, options))
  )
