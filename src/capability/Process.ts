/**
 * Runs commands of the operating system and waits for all that they started.
 *
 * A command is a tree of processes. The one that was started is its leader, and its end says little about the others: so
 * `run` completes when the whole process group is gone, and names what got away from it (L3, L4).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Cancellation } from "../Cancellation.js"

/**
 * What to run, and within which limits.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunOptions {
  /** A path, or a name that is looked up in the `PATH` of the command's environment. Never read by a shell. */
  readonly command: string
  /** Handed over as they are: no quoting, no expansion. */
  readonly args?: ReadonlyArray<string> | undefined
  /** The working directory. Default: that of this program. */
  readonly cwd?: string | undefined
  /** Added to, and stronger than, the base environment: `PATH HOME LANG LC_* TERM TMPDIR USER SHELL`, nothing else. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Written to the standard input, which is then closed. Without it the command reads an empty input. */
  readonly stdin?: string | undefined
  /** How long the command may run before it is stopped. Default: as long as it likes. */
  readonly timeout?: Duration.DurationInput | undefined
  /** How long a process that is asked to end may take for it before it is killed. Default: 3 seconds. */
  readonly grace?: Duration.DurationInput | undefined
  /** How many bytes of each output stream are kept; later ones are read and dropped. Default: 64 000. */
  readonly maxOutputBytes?: number | undefined
}

/**
 * What is known of a command that ran. Each fact stands for itself: a command that is over its time may still exit with 0,
 * and one that kills itself was not stopped by anybody.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunResult {
  /** The process id of the leader, and of its group. No longer theirs: the system may have given it to others. */
  readonly pid: number
  /** The first bytes of the standard output as UTF-8, with U+FFFD for what is not. */
  readonly stdout: string
  readonly stderr: string
  /** Whether the command wrote more than was kept. */
  readonly stdoutTruncated: boolean
  readonly stderrTruncated: boolean
  /** What the leader exited with, if it exited. Anything but 0 is still a result. */
  readonly exitCode: number | undefined
  /** The signal that ended the leader, if one did, such as `SIGTERM`. */
  readonly signal: string | undefined
  /** Whether the time of `timeout` was over before the leader had ended. */
  readonly timedOut: boolean
  /** What could not be stopped or waited for, in words. */
  readonly escaped: ReadonlyArray<string>
}

const codes = {
  CommandNotFound: "PROCESS_COMMAND_NOT_FOUND",
  InterpreterNotFound: "PROCESS_INTERPRETER_NOT_FOUND",
  NotExecutable: "PROCESS_NOT_EXECUTABLE",
  BadWorkingDirectory: "PROCESS_BAD_WORKING_DIRECTORY",
  InvalidOptions: "PROCESS_INVALID_OPTIONS",
  PlatformNotSupported: "PROCESS_PLATFORM_NOT_SUPPORTED",
  SpawnFailed: "PROCESS_SPAWN_FAILED"
} as const

/**
 * Why nothing was started.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal(
  "CommandNotFound",
  "InterpreterNotFound",
  "NotExecutable",
  "BadWorkingDirectory",
  "InvalidOptions",
  "PlatformNotSupported",
  "SpawnFailed"
)

/**
 * Why nothing was started.
 *
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

/**
 * A command could not be started. No process of it exists or has existed.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Process } from "quiesce/capability"
 *
 * const error = new Process.ProcessError({ reason: "CommandNotFound", command: "gti" })
 * assert.strictEqual(error.code, "PROCESS_COMMAND_NOT_FOUND")
 * assert.strictEqual(error.message, `"gti" was not found: install it, correct the name, or give its full path`)
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class ProcessError extends Schema.TaggedError<ProcessError>("quiesce/capability/Process/ProcessError")(
  "ProcessError",
  {
    reason: Reason,
    command: Schema.String,
    /** The working directory that was asked for. */
    cwd: Schema.optional(Schema.String),
    /** What the system, or the check of the options, said. */
    detail: Schema.optional(Schema.String)
  }
) {
  /** A name for the reason that does not change with the wording of the message. */
  get code(): (typeof codes)[Reason] {
    return codes[this.reason]
  }

  override get message(): string {
    return describe(this)
  }
}

const describe = ({ command, cwd, detail, reason }: ProcessError): string => {
  const because = detail === undefined ? "" : ` (${detail})`
  switch (reason) {
    case "CommandNotFound":
      return `"${command}" was not found${because}: install it, correct the name, or give its full path`
    case "InterpreterNotFound":
      return `"${command}" was found, but not the interpreter that its first line names${because}: install that, or run the file with another one`
    case "NotExecutable":
      return `"${command}" may not be executed${because}: make it executable with chmod +x, or run it with its interpreter`
    case "BadWorkingDirectory":
      return `"${command}" was not started, because it cannot run in "${cwd}"${because}: create the folder, or pass another cwd`
    case "InvalidOptions":
      return `"${command}" was not started, because its options cannot work${because}: correct them`
    case "PlatformNotSupported":
      return `"${command}" was not started${because}: on this platform nothing stops a process together with all that it started, so use a POSIX system`
    case "SpawnFailed":
      return `"${command}" could not be started${because}: the system refused, so try again later or with less`
  }
}

/**
 * What an implementation of `Process` provides.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /** Runs a command and waits until nothing of it is left. What `run` promises, every implementation does. */
  readonly run: (options: RunOptions) => Effect.Effect<RunResult, ProcessError, Cancellation>
}

/**
 * Service that runs commands of the operating system.
 *
 * @since 0.1.0
 * @category services
 */
export class Process extends Context.Tag("quiesce/capability/Process")<Process, Service>() {}

/**
 * Runs a command and waits until nothing of it is left.
 *
 * When it completes, the command, and everything in its process group, has ended: also what it had left in the background,
 * which is asked to end (SIGTERM), and killed (SIGKILL) when the grace is over. The same happens to all of it on an
 * interruption, which completes only then, and when `timeout` is over, which is a result and no error. A command that
 * cleans up when it is asked to end is waited for as long as its grace lasts.
 *
 * Never left behind: a process of the group, a pipe, a timer. A process that has left the group (`setsid`) is out of
 * reach: where it is known, `escaped` names it, and `Cancellation.recordEscape` has told the owner.
 *
 * `exitCode`, `signal` and `timedOut` are separate facts, the first two from the system's report on the leader, the third
 * from the timer: none is derived from another. An exit code other than 0 is a result. `ProcessError` says that nothing
 * was started. Under an owner that is cancelled already nothing is started either. Times are measured on the fiber's
 * `Clock`, output in bytes.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Process } from "quiesce/capability"
 * import { NodeProcess } from "quiesce/node"
 *
 * const program = Process.run({ command: "cat", stdin: "hello", timeout: "10 seconds" })
 * const result = await Effect.runPromise(Cancellation.own(Effect.provide(program, NodeProcess.layer)))
 * assert.strictEqual(result.stdout, "hello")
 * assert.strictEqual(result.exitCode, 0)
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const run = (options: RunOptions): Effect.Effect<RunResult, ProcessError, Process | Cancellation> =>
  Effect.flatMap(Process, (process) => process.run(options))
