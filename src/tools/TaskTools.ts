/**
 * Tools that start commands in the background, look at them, and stop them.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Process from "../capability/Process.js"
import * as Task from "../capability/Task.js"
import * as Tool from "../Tool.js"
import { ToolFailure } from "../ToolError.js"
import * as Toolkit from "../Toolkit.js"

/**
 * What these tools have in common.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The folder that commands run in. */
  readonly cwd: string
  /** How far a stop reaches. Default: `group`. */
  readonly containment?: Process.Containment | undefined
  /** The time for one call of each tool; the tasks are not concerned. Default: no limit. */
  readonly timeout?: Duration.DurationInput | undefined
}

const id = Schema.String.annotations({ description: "The id that start_task gave" })

const run = (options: Process.RunOptions) => (task: Task.Running) =>
  Effect.flatMap(Process.run({ ...options, onOutput: (text) => task.write(text) }), ({ exitCode, signal }) =>
    exitCode === 0
      ? Effect.void
      : new ToolFailure({ message: exitCode === undefined ? `ended by ${signal}` : `exited with ${exitCode}` })
  )

/**
 * `start_task`: a command in the background. From the moment at which it is listed it belongs to the layer of `Task`: a
 * cancel of the call does not reach it any more.
 *
 * @since 0.1.0
 * @category constructors
 */
export const startTask = ({ containment, cwd, timeout }: Options) =>
  Tool.make("start_task", {
    description:
      "Starts a command in the background, in the workspace and without a shell, and gives the id of the task",
    parameters: {
      label: Schema.NonEmptyString.pipe(Schema.maxLength(200)).annotations({
        description: "What it does, in a few words"
      }),
      command: Schema.String,
      args: Schema.optional(Schema.Array(Schema.String))
    },
    success: Schema.Struct({ id: Schema.String }),
    failure: Task.TaskError,
    timeout,
    handler: ({ args, command, label }) =>
      Effect.map(Task.start({ label, run: run({ command, args, cwd, containment }) }), (id) => ({ id }))
  })

/**
 * `task_output`: what a task has written, and where it stands. It can wait for the end of the task; a cancel of the call
 * ends the wait and leaves the task alone.
 *
 * @since 0.1.0
 * @category constructors
 */
export const taskOutput = ({ timeout }: Options) =>
  Tool.make("task_output", {
    description: "Gives what a task has written and where it stands. Can wait for its end",
    parameters: {
      id,
      from: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 0 }).annotations({
        description: "Where to read on: the `next` of the last answer"
      }),
      waitMillis: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 0 })
    },
    success: Schema.Struct({ task: Task.Snapshot, text: Schema.String, next: Schema.Number, missed: Schema.Number }),
    failure: Task.TaskError,
    timeout,
    concurrency: "parallel",
    handler: ({ from, id, waitMillis }) =>
      Effect.gen(function* () {
        const task = yield* Task.wait(id, { timeout: waitMillis })
        return { task, ...(yield* Task.read(id, from)) }
      })
  })

/**
 * `kill_task`: asks a task to stop, and waits until nothing of it is left.
 *
 * @since 0.1.0
 * @category constructors
 */
export const killTask = ({ timeout }: Options) =>
  Tool.make("kill_task", {
    description: "Stops a task and waits until nothing of it is left",
    parameters: { id },
    success: Task.Snapshot,
    failure: Task.TaskError,
    timeout,
    handler: ({ id }) => Effect.zipRight(Task.kill(id), Task.wait(id))
  })

/**
 * All of them.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { TaskTools } from "quiesce/tools"
 *
 * assert.deepStrictEqual([...TaskTools.make({ cwd: "." }).tools.keys()], ["start_task", "task_output", "kill_task"])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options) => Toolkit.make(startTask(options), taskOutput(options), killTask(options))
