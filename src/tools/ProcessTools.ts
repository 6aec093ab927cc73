/**
 * Tools that run commands: one at a time, or in a shell that stays.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Process from "../capability/Process.js"
import { quoted } from "../internal/quoted.js"
import * as Tool from "../Tool.js"
import { ToolContext } from "../ToolContext.js"
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
  /** Added to the scrubbed environment of each `run_command`. */
  readonly env?: ((callId: string) => Readonly<Record<string, string>>) | undefined
  /** How far a stop reaches. Default: `group`. */
  readonly containment?: Process.Containment | undefined
  /** The time for one call of each tool. Default: no limit. */
  readonly timeout?: Duration.DurationInput | undefined
}

/** Whoever stops the call waits that long for a command that ignores it: so it is not for a model to say for ever. */
const grace = Schema.NonNegativeInt.pipe(Schema.lessThanOrEqualTo(60_000))

const CommandResult = Schema.Struct({
  exitCode: Schema.NullOr(Schema.Number),
  signal: Schema.NullOr(Schema.String),
  stdout: Schema.String,
  stderr: Schema.String,
  truncated: Schema.Boolean
})

const complain = (command: string, { exitCode, signal, stderr }: Process.RunResult): ToolFailure => {
  const end = exitCode === undefined ? `was ended by ${signal}` : `exited with ${exitCode}`
  const said = stderr.trim() === "" ? "" : `: ${stderr.trim()}`
  return new ToolFailure({ message: `${quoted(command)} ${end}${said}` })
}

/**
 * `run_command`: a command without a shell, and all that it starts. An exit code other than 0 is a result, unless the call
 * says that the command must succeed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const runCommand = ({ containment, cwd, env, timeout }: Options) =>
  Tool.make("run_command", {
    description: "Runs a command in the workspace, without a shell, and waits until nothing of it is left",
    parameters: {
      command: Schema.String,
      args: Schema.optional(Schema.Array(Schema.String)),
      stdin: Schema.optional(Schema.String),
      graceMillis: Schema.optional(grace),
      mustSucceed: Schema.optionalWith(Schema.Boolean, { default: () => false })
    },
    success: CommandResult,
    failure: Schema.Union(Process.ProcessError, ToolFailure),
    timeout,
    handler: ({ args, command, graceMillis, mustSucceed, stdin }) =>
      Effect.gen(function* () {
        const { callId } = yield* ToolContext
        const result = yield* Process.run({
          command,
          args,
          stdin,
          cwd,
          grace: graceMillis,
          env: env?.(callId),
          containment
        })
        if (mustSucceed && result.exitCode !== 0) return yield* complain(command, result)
        return {
          exitCode: result.exitCode ?? null,
          signal: result.signal ?? null,
          stdout: result.stdout,
          stderr: result.stderr,
          truncated: result.stdoutTruncated || result.stderrTruncated
        }
      })
  })

/**
 * `shell`: one command in a shell that stays, so that its folder and variables do. The first call opens it; it belongs to
 * the layer of `Process`, and ends with that. A call that is cancelled stops the command and leaves the shell, where that
 * can be; where it cannot, the shell ends, and the next call opens another.
 *
 * @since 0.1.0
 * @category constructors
 */
export const shell = ({ containment, cwd, timeout }: Options) => {
  // One for each service: a toolkit may be used by several runtimes.
  const sessions = new WeakMap<Process.Service, Process.Session>()
  const session = Effect.gen(function* () {
    const service = yield* Process.Process
    const open = sessions.get(service)
    if (open !== undefined && (yield* open.status)._tag === "Running") return open
    const opened = yield* service.openSession({ cwd, containment })
    sessions.set(service, opened)
    return opened
  })
  return Tool.make("shell", {
    description:
      "Runs a command in a shell of the workspace that stays: its folder and variables are kept between calls",
    parameters: { command: Schema.NonEmptyString },
    success: Schema.Struct({
      exitCode: Schema.NullOr(Schema.Number),
      stdout: Schema.String,
      stderr: Schema.String,
      truncated: Schema.Boolean
    }),
    failure: Process.ProcessError,
    timeout,
    handler: ({ command }) =>
      Effect.flatMap(session, (session) =>
        Effect.map(session.send(command), (result) => ({
          exitCode: result.exitCode ?? null,
          stdout: result.stdout,
          stderr: result.stderr,
          truncated: result.stdoutTruncated || result.stderrTruncated
        }))
      )
  })
}

/**
 * Both of them.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { ProcessTools } from "quiesce/tools"
 *
 * assert.deepStrictEqual([...ProcessTools.make({ cwd: "." }).tools.keys()], ["run_command", "shell"])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options) => Toolkit.make(runCommand(options), shell(options))
