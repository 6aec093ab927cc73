/**
 * A `Task` whose tasks do what the test says: their own work is not run.
 *
 * Everything else is of the real one, since both share that code: ids, the limit per owner, the hand-over and its commit
 * point, waiting, output, what a kill does. So a test of a tool or an agent decides when a task of it ends, and as what,
 * without a process or a server behind it. It passes the same contract tests. Where the work itself is to run, `Task.layer`
 * is what a test needs: it touches no platform.
 *
 * What it does not do: it does not evaluate `run`, so what that would have written or failed with is the test's to say.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Task from "../capability/Task.js"

/**
 * The limits of the tasks, and how they stop.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends Task.LayerOptions {
  /** What a task does between being asked to stop and its end, such as waiting for a gate. Default: nothing. */
  readonly whenStopped?: ((id: string) => Effect.Effect<void>) | undefined
}

/**
 * A service, and the test's hand on its tasks. An id that no task has is a defect.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handle {
  readonly task: Task.Service
  /** Adds to the output of a task, unless that has settled. */
  readonly write: (id: string, text: string) => Effect.Effect<void>
  /** Lets a task end well, and says whether it will: one that was asked to stop, or told to fail, does not. */
  readonly complete: (id: string) => Effect.Effect<boolean>
  /** Lets a task fail with a message, and says whether it will. */
  readonly fail: (id: string, message: string) => Effect.Effect<boolean>
  /** The ids of the tasks that have begun and have not ended, those that are stopping included. */
  readonly running: Effect.Effect<ReadonlyArray<string>>
}

/** The work of one task. */
class Job {
  readonly end = Deferred.unsafeMake<void, { readonly message: string }>(FiberId.none)
  isRunning = false
  private readonly unwritten: Array<string> = []
  private task: Task.Running | undefined

  write(text: string): void {
    if (this.task === undefined) this.unwritten.push(text)
    else this.task.write(text)
  }

  run(task: Task.Running, whenStopped: Effect.Effect<void>): Effect.Effect<void, { readonly message: string }> {
    const begin = Effect.sync(() => {
      this.task = task
      this.isRunning = true
      for (const text of this.unwritten.splice(0)) task.write(text)
    })
    const end = Effect.sync(() => {
      this.isRunning = false
    })
    return Effect.acquireUseRelease(
      begin,
      () => Effect.onInterrupt(Deferred.await(this.end), () => whenStopped),
      () => end
    )
  }
}

/**
 * Makes a `Task` whose tasks end when the test says so, or are stopped when the scope closes.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Task } from "quiesce/capability"
 * import { ScriptedTask } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const { complete, task, write } = yield* ScriptedTask.make()
 *   const build = Task.start({ label: "build", run: () => Effect.dieMessage("not run") })
 *   const id = yield* Effect.provideService(build, Task.Task, task)
 *   yield* write(id, "3 files built")
 *   yield* complete(id)
 *   assert.strictEqual((yield* task.wait(id)).status, "completed")
 *   assert.strictEqual((yield* task.read(id)).text, "3 files built")
 * })
 * await Effect.runPromise(Effect.scoped(Cancellation.own(program)))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<Handle, never, Scope.Scope> =>
  Effect.map(Layer.build(Task.layer(options)), (context) => {
    const real = Context.get(context, Task.Task)
    const { whenStopped = () => Effect.void } = options
    const jobs = new Map<string, Job>()
    const jobOf = (id: string): Job => {
      const job = jobs.get(id) ?? new Job()
      jobs.set(id, job)
      return job
    }
    /** The job of a task that there is: also of one that was started and has not had its turn yet. */
    const find = (id: string): Effect.Effect<{ readonly job: Job; readonly status: Task.Status }> =>
      Effect.flatMap(real.list, (tasks) => {
        const found = tasks.find((task) => task.id === id)
        return found === undefined
          ? Effect.dieMessage(`ScriptedTask: there is no task "${id}": tell of those that were started`)
          : Effect.succeed({ job: jobOf(id), status: found.status })
      })
    const settle = (id: string, end: (job: Job) => Effect.Effect<boolean>): Effect.Effect<boolean> =>
      Effect.flatMap(find(id), ({ job, status }) => (status === "running" ? end(job) : Effect.succeed(false)))
    return {
      task: {
        ...real,
        start: ({ label }) =>
          real.start({ label, run: (task) => Effect.suspend(() => jobOf(task.id).run(task, whenStopped(task.id))) })
      },
      write: (id, text) => Effect.map(find(id), ({ job }) => job.write(text)),
      complete: (id) => settle(id, ({ end }) => Deferred.succeed(end, undefined)),
      fail: (id, message) => settle(id, ({ end }) => Deferred.fail(end, { message })),
      running: Effect.sync(() => [...jobs].flatMap(([id, { isRunning }]) => (isRunning ? [id] : [])))
    }
  })

/**
 * Layer of a `Task` whose tasks go on until they are killed, or the layer is closed.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Task } from "quiesce/capability"
 * import { ScriptedTask } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const id = yield* Task.start({ label: "watch", run: () => Effect.dieMessage("not run") })
 *   yield* Task.kill(id)
 *   return yield* Task.wait(id)
 * })
 * const { status } = await Effect.runPromise(Effect.provide(Cancellation.own(program), ScriptedTask.layer()))
 * assert.strictEqual(status, "killed")
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<Task.Task> =>
  Layer.scoped(
    Task.Task,
    Effect.map(make(options), ({ task }) => task)
  )
