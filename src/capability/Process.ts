/**
 * Runs commands of the operating system and waits for all that they started.
 *
 * A command is a tree of processes. The one that was started is its leader, and its end says little about the others: so
 * what is promised of a command here is promised of its whole tree, as far as its containment reaches, and what got away
 * is named (L3, L4).
 *
 * `run` ends with its caller. What `start` and `openSession` give lives on under the layer that provides this service
 * (L9), until somebody stops it or that layer is closed.
 *
 * Long because every export carries its contract; who does the work is in `internal/capability/process/` and `node/`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { CancelCause } from "../CancelCause.js"
import type { Cancellation } from "../Cancellation.js"
import { quoted } from "../internal/quoted.js"

/**
 * How far a stop reaches.
 *
 * `group`: all processes in the group of the command. Whoever leaves it (`setsid`) has escaped, and is named where it is
 * known: by its parentage, or because it holds the output open.
 *
 * `marker`: those too that have left the group. The environment of the command has a variable with an unguessable value
 * that whatever it starts inherits, and a stop asks the system who carries it. It costs two looks at the environment of
 * every young process, at the end and on a stop. It does not see a process that clears or overwrites its environment
 * (`env -i`, programs that set their own title), nor one of another user (`sudo`): such a one counts as escaped, as above.
 * It needs `/proc`, so it works on Linux only.
 *
 * @since 0.1.0
 * @category models
 */
export type Containment = "group" | "marker"

/**
 * Where and within which limits processes run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Surroundings {
  /** The working directory. Default: that of this program. */
  readonly cwd?: string | undefined
  /** Added to, and stronger than, the base environment: `PATH HOME LANG LC_* TERM TMPDIR USER SHELL`, and `SHLVL`. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** How long a process that is asked to end may take for it before it is killed. Default: 3 seconds. */
  readonly grace?: Duration.DurationInput | undefined
  /** How many bytes of each output stream are kept in memory; the others are read and dropped. Default: 64 000. */
  readonly maxOutputBytes?: number | undefined
  /** How far a stop reaches. Default: `group`. */
  readonly containment?: Containment | undefined
}

/**
 * What becomes of output that is more than is kept in memory.
 *
 * A stream that overflows is written to a file of its own from its first byte on, which only this user may read, in a
 * folder that only this user may enter. Whoever got the path may read the file as long as the layer of the service lives:
 * then it is removed with the folder. A command whose result nobody got (it was cancelled) leaves no file. Only a crash of
 * this program leaves them, in the system's folder for temporary files.
 *
 * @since 0.1.0
 * @category models
 */
export interface SpillOptions {
  /** How many bytes each file may hold; the stream is read on, and what comes later is dropped. Default: 64 MiB. */
  readonly maxBytes?: number | undefined
}

/**
 * What to run, and within which limits.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunOptions extends Surroundings {
  /** A path, or a name that is looked up in the `PATH` of the command's environment. Never read by a shell. */
  readonly command: string
  /** Handed over as they are: no quoting, no expansion. */
  readonly args?: ReadonlyArray<string> | undefined
  /** Written to the standard input, which is then closed. Without it the command reads an empty input. */
  readonly stdin?: string | undefined
  /** How long the command may run before it is stopped. Default: as long as it likes. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Writes output that is more than `maxOutputBytes` to files. Default: it is dropped. */
  readonly spill?: SpillOptions | undefined
  /** Told of all output as it comes, cut between characters. Is not waited for; what it throws ends the telling only. */
  readonly onOutput?: ((text: string, stream: "stdout" | "stderr") => void) | undefined
}

/**
 * What is known of the end of a command. Each fact stands for itself: a command that is over its time may still exit with
 * 0, and one that kills itself was not stopped by anybody.
 *
 * @since 0.1.0
 * @category models
 */
export interface Ending {
  /** The process id of the leader, and of its group. No longer theirs: the system may have given it to others. */
  readonly pid: number
  /** What the leader exited with, if it exited. Anything but 0 is still a result. */
  readonly exitCode: number | undefined
  /** The signal that ended the leader, if one did, such as `SIGTERM`. */
  readonly signal: string | undefined
  /** Whether the time of `timeout` was over before the leader had ended. */
  readonly timedOut: boolean
  /** What could not be stopped or waited for, in words. */
  readonly escaped: ReadonlyArray<string>
}

/**
 * What is known of a command that ran.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunResult extends Ending {
  /** The first bytes of the standard output as UTF-8, with U+FFFD for what is not. */
  readonly stdout: string
  readonly stderr: string
  /** Whether the command wrote more than was kept. */
  readonly stdoutTruncated: boolean
  readonly stderrTruncated: boolean
  /** The file with more of it, where there is more and `spill` was asked for. `undefined` too if the disk refused. */
  readonly stdoutFile: string | undefined
  readonly stderrFile: string | undefined
}

/**
 * What to run in the background, and within which limits.
 *
 * Of its output the last `maxOutputBytes` of each stream are kept.
 *
 * @since 0.1.0
 * @category models
 */
export interface StartOptions extends RunOptions {
  /** Leaves the standard input open behind `stdin`, for `write`. Default: it is closed. */
  readonly keepStdinOpen?: boolean | undefined
}

/**
 * How far a reader has come in the two output streams, in bytes.
 *
 * @since 0.1.0
 * @category models
 */
export interface Cursor {
  readonly stdout: number
  readonly stderr: number
}

/**
 * A part of the output of a process in the background.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutputPart {
  /** What came behind the cursor that was given, as UTF-8, with U+FFFD for what is not. Never ends within a character. */
  readonly stdout: string
  readonly stderr: string
  /** How many bytes behind the cursor are no longer kept. */
  readonly stdoutSkipped: number
  readonly stderrSkipped: number
  /** As in `RunResult`, as far as the process has got. */
  readonly stdoutFile: string | undefined
  readonly stderrFile: string | undefined
  /** For the next read, which gives what is new by then. */
  readonly cursor: Cursor
}

/**
 * What a process in the background, or a session, is doing.
 *
 * `Stopping`: somebody has asked it to end, and it has not yet. A command that is over its time is `Running` until it ends.
 *
 * @since 0.1.0
 * @category models
 */
export type Status =
  | { readonly _tag: "Running" }
  | { readonly _tag: "Stopping"; readonly cause: CancelCause }
  | { readonly _tag: "Ended"; readonly cause: CancelCause | undefined; readonly ending: Ending }

/**
 * A process that runs in the background. It belongs to the layer that provides the service, and not to who started it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Background {
  readonly pid: number
  readonly command: string
  readonly status: Effect.Effect<Status>
  /**
   * Asks the whole tree to end, and says whether this was the first to do so. The first cause stays (L6). The rest is as
   * for any stop: SIGTERM, the grace, SIGKILL. Does not wait: `awaitExit` does.
   */
  readonly kill: (cause: CancelCause) => Effect.Effect<boolean>
  /**
   * Waits until nothing of the tree is left. The wait belongs to who waits: an interruption, or a cancellation of the
   * owner that waits, ends it and leaves the process alone.
   */
  readonly awaitExit: Effect.Effect<Ending, never, Cancellation>
  /** What came behind `cursor`; without one, all that is kept. Still answers when the process has ended. Does not wait. */
  readonly read: (cursor?: Cursor) => Effect.Effect<OutputPart>
  /**
   * Writes to the standard input, behind those who came first. Completes when the system has taken all of it, which may
   * be before the process has read it. An interruption ends it behind the piece of 64 KiB that is under way; what has been
   * written stays written. Fails with `InputClosed` when nobody reads there any more.
   */
  readonly write: (text: string) => Effect.Effect<void, ProcessError, Cancellation>
  /** Closes the standard input behind what was written. Again and again it is the same as once. */
  readonly closeStdin: Effect.Effect<void, never, Cancellation>
}

/**
 * How to open a session.
 *
 * Of the output of a command the first `maxOutputBytes` of each stream are kept. `grace` is that of the session, and that
 * of each rung of the ladder by which a command is stopped.
 *
 * @since 0.1.0
 * @category models
 */
export interface SessionOptions extends Surroundings {
  /** Writes output that is more than `maxOutputBytes` to files, for each command anew. Default: it is dropped. */
  readonly spill?: SpillOptions | undefined
}

/**
 * How to run a command in a session.
 *
 * @since 0.1.0
 * @category models
 */
export interface SendOptions {
  /** How long the command may run before it is stopped. Default: as long as it likes. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * What it took to stop a command of a session: the signal that it was given last, or the end of its whole session.
 *
 * @since 0.1.0
 * @category models
 */
export type StoppedBy = "SIGINT" | "SIGTERM" | "SIGKILL" | "session"

/**
 * What is known of a command that a session has run.
 *
 * @since 0.1.0
 * @category models
 */
export interface SendResult {
  /** What the command wrote while it ran. What background processes of the session write between commands is dropped. */
  readonly stdout: string
  readonly stderr: string
  readonly stdoutTruncated: boolean
  readonly stderrTruncated: boolean
  /** As in `RunResult`. */
  readonly stdoutFile: string | undefined
  readonly stderrFile: string | undefined
  /** The exit code, as `$?` has it: 128 and the number of the signal, if one ended it. None if the session had to end. */
  readonly exitCode: number | undefined
  /** Whether the time of `timeout` was over before the command had ended. */
  readonly timedOut: boolean
  /** What it took to stop it, if it was stopped. After `session` the session has ended. */
  readonly stoppedBy: StoppedBy | undefined
}

/**
 * A shell that stays: working directory, variables and functions live from one command to the next. It belongs to the
 * layer that provides the service, and not to who opened it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Session {
  /** The process id of the shell, and of its group. */
  readonly pid: number
  readonly status: Effect.Effect<Status>
  /**
   * Runs one command, behind those who came first. It is read by the shell; its standard input is empty, and the file
   * descriptors 8 and 9 are the session's own.
   *
   * Completes when the command has ended and the shell is ready for the next. What it has put in the background stays, as
   * part of the session. An interruption, a cancellation and an expired `timeout` stop the command: SIGINT to the processes
   * in the group of the session, as a terminal does; when the grace is over and the shell is still not ready SIGTERM, then
   * SIGKILL, to what the command has started; and at last the end of the whole session. This completes when the shell is
   * ready again or the session has ended, and the next command waits for that. Who is interrupted while it waits for its
   * turn leaves the queue at once.
   *
   * Fails with `SessionEnded` when the shell has ended, before or while the command ran (`exit` does that). After an
   * interruption or a failure no file of `spill` is left of the command.
   */
  readonly send: (command: string, options?: SendOptions) => Effect.Effect<SendResult, ProcessError, Cancellation>
  /**
   * Ends the session, and waits until nothing of its tree is left. Again and again it is the same as once. An interruption
   * ends the wait; the session ends all the same.
   */
  readonly close: Effect.Effect<Ending, never, Cancellation>
}

const codes = {
  CommandNotFound: "PROCESS_COMMAND_NOT_FOUND",
  InterpreterNotFound: "PROCESS_INTERPRETER_NOT_FOUND",
  NotExecutable: "PROCESS_NOT_EXECUTABLE",
  BadWorkingDirectory: "PROCESS_BAD_WORKING_DIRECTORY",
  InvalidOptions: "PROCESS_INVALID_OPTIONS",
  PlatformNotSupported: "PROCESS_PLATFORM_NOT_SUPPORTED",
  SpawnFailed: "PROCESS_SPAWN_FAILED",
  ServiceClosed: "PROCESS_SERVICE_CLOSED",
  InputClosed: "PROCESS_INPUT_CLOSED",
  SessionEnded: "PROCESS_SESSION_ENDED"
} as const

/**
 * Why nothing was started, or, the last two, why one that runs takes nothing more.
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
  "SpawnFailed",
  "ServiceClosed",
  "InputClosed",
  "SessionEnded"
)

/**
 * Why nothing was started, or, the last two, why one that runs takes nothing more.
 *
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

/**
 * A command could not be started: no process of it exists or has existed. Or one that runs takes nothing more: its input is
 * closed (`InputClosed`), or the shell of its session has ended (`SessionEnded`).
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
  const name = quoted(command)
  const because = detail === undefined ? "" : ` (${detail})`
  switch (reason) {
    case "CommandNotFound":
      return `${name} was not found${because}: install it, correct the name, or give its full path`
    case "InterpreterNotFound":
      return `${name} was found, but not the interpreter that its first line names${because}: install that, or run the file with another one`
    case "NotExecutable":
      return `${name} may not be executed${because}: make it executable with chmod +x, or run it with its interpreter`
    case "BadWorkingDirectory":
      return `${name} was not started, because it cannot run in ${quoted(cwd ?? "")}${because}: create the folder, or pass another cwd`
    case "InvalidOptions":
      return `${name} was not started, because its options cannot work${because}: correct them`
    case "PlatformNotSupported":
      return `${name} was not started${because}: this platform does not tell what is needed to stop a process together with all that it started, so use ${detail === undefined ? "a POSIX system" : "Linux"}`
    case "SpawnFailed":
      return `${name} could not be started${because}: the system refused, so try again later or with less`
    case "ServiceClosed":
      return `${name} was not started${because}: the layer of Process that was to own it has been closed, so start it while that lives`
    case "InputClosed":
      return `${name} takes no more input${because}: start it with keepStdinOpen, and write while it runs`
    case "SessionEnded":
      return `The session of ${name} has ended${because}: open another one, and expect nothing of what this one knew`
  }
}

/**
 * What an implementation of `Process` provides.
 *
 * What an operation promises here, every implementation does. Under an owner that is cancelled already none starts
 * anything (L10).
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /** Runs a command and waits until nothing of it is left. What it has done when it is cancelled stays done. */
  readonly run: (options: RunOptions) => Effect.Effect<RunResult, ProcessError, Cancellation>
  /** Starts a command in the background. The commit point is the step in which its handle is registered (see `start`). */
  readonly start: (options: StartOptions) => Effect.Effect<Background, ProcessError, Cancellation>
  /** Opens a shell that stays. The commit point is the step in which it is ready and registered (see `openSession`). */
  readonly openSession: (options?: SessionOptions) => Effect.Effect<Session, ProcessError, Cancellation>
  /** What runs in the background, oldest first. Does not wait. */
  readonly list: Effect.Effect<ReadonlyArray<Background>>
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
 * When it completes, the command, and everything that its containment reaches, has ended: also what it had left in the
 * background, which is asked to end (SIGTERM), and killed (SIGKILL) when the grace is over. The same happens to all of it
 * on an interruption, which completes only then, and when `timeout` is over, which is a result and no error. A command
 * that cleans up when it is asked to end is waited for as long as its grace lasts.
 *
 * Never left behind: a process within reach of its containment, a pipe, a timer, and after an interruption a file of
 * `spill`. What is out of reach is named in `escaped` where it is known, and `Cancellation.recordEscape` has told the
 * owner.
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

/**
 * Starts a command in the background, where it outlives its caller.
 *
 * Completes when the process has been handed over to the layer of the service. The commit point is the step in which its
 * handle is registered there: until it, an interruption or a cancellation of the caller ends the whole tree and completes
 * when nothing of it is left; from it on only `kill`, its `timeout` and the closing of the layer stop it (L9). Closing the
 * layer stops what runs, waits for the whole trees (L4), and logs a warning with the names of what survives.
 *
 * `ProcessError` says that nothing was started. Never left behind: a process that no handle knows of.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { CancelCause, Cancellation } from "quiesce"
 * import { Process } from "quiesce/capability"
 * import { NodeProcess } from "quiesce/node"
 *
 * const program = Effect.gen(function* () {
 *   // The owner that starts it ends here, the process goes on.
 *   const server = yield* Cancellation.own(Process.start({ command: "sleep", args: ["60"] }))
 *   assert.strictEqual((yield* server.status)._tag, "Running")
 *   assert.ok(yield* server.kill(CancelCause.user("enough")))
 *   return yield* Cancellation.own(server.awaitExit)
 * })
 * const { signal } = await Effect.runPromise(Effect.provide(program, NodeProcess.layer))
 * assert.strictEqual(signal, "SIGTERM")
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const start = (options: StartOptions): Effect.Effect<Background, ProcessError, Process | Cancellation> =>
  Effect.flatMap(Process, (process) => process.start(options))

/**
 * Opens a shell that stays, and outlives its caller: bash where there is one, else sh.
 *
 * Completes when the shell is ready and has been handed over to the layer of the service. The commit point is that step:
 * until it, an interruption or a cancellation of the caller ends the shell and completes when nothing of it is left; from
 * it on only `close` and the closing of the layer end it (L9), with its whole tree, SIGTERM, the grace, SIGKILL.
 *
 * The shell is interactive, without a terminal, without the user's start files and without a history: programs see pipes,
 * and jobs in the background are announced on its standard error output. `ProcessError` says that nothing was started.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Process } from "quiesce/capability"
 * import { NodeProcess } from "quiesce/node"
 *
 * const program = Effect.gen(function* () {
 *   const session = yield* Process.openSession()
 *   yield* session.send("cd /; greeting=hello")
 *   return yield* session.send('echo "$greeting from $PWD"; false')
 * })
 * const result = await Effect.runPromise(Cancellation.own(Effect.provide(program, NodeProcess.layer)))
 * assert.strictEqual(result.stdout, "hello from /\n")
 * assert.strictEqual(result.exitCode, 1)
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const openSession = (options?: SessionOptions): Effect.Effect<Session, ProcessError, Process | Cancellation> =>
  Effect.flatMap(Process, (process) => process.openSession(options))

/**
 * What runs in the background, oldest first. Does not wait. What has ended is not among it, and its handle still answers.
 *
 * @since 0.1.0
 * @category running
 */
export const list: Effect.Effect<ReadonlyArray<Background>, never, Process> = Effect.flatMap(
  Process,
  (process) => process.list
)
