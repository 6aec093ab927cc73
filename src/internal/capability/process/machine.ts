/**
 * What starts processes, seen from the service: the operating system, or a script of a test.
 */
import type * as Process from "../../../capability/Process.js"
import type { Settlement } from "../../settlement.js"
import type { Origin } from "../../startFiber.js"

/** A leader and all that it has started. */
export interface Tree {
  readonly pid: number
  /** Settles when nothing of it is left within reach, and all its output has been read. */
  readonly ended: Settlement<Process.Ending>
  /** Asks everything to end, and sees to it. Again and again it is the same as once. */
  readonly stop: () => void
}

/** What is kept of one output stream. */
export interface Kept {
  readonly text: string
  readonly truncated: boolean
  readonly file: string | undefined
  /** What came behind an offset; `isFinal`: nothing more comes, so half a character at the end is one. */
  readonly since: (offset: number, isFinal: boolean) => KeptPart
}

export interface KeptPart {
  readonly text: string
  readonly skipped: number
  readonly next: number
}

/** The standard input of a process. */
export interface Input {
  /** Writes a piece. Settles when the system has taken it, with whether it has. */
  readonly write: (piece: string) => Settlement<boolean>
  readonly close: () => void
}

export interface Started {
  readonly _tag: "Started"
  readonly tree: Tree
  readonly stdout: Kept
  readonly stderr: Kept
  /** Only if it was to stay open. */
  readonly input: Input | undefined
  /** Removes the files of its output. Called when it has ended. */
  readonly discard: () => void
}

export interface NotStarted {
  readonly _tag: "NotStarted"
  readonly error: Settlement<Process.ProcessError>
}

/** What became of a command in a session. */
export type CommandEnding = Pick<
  Process.SendResult,
  "stdout" | "stderr" | "stdoutTruncated" | "stderrTruncated" | "stdoutFile" | "stderrFile" | "exitCode" | "stoppedBy"
> & {
  /** Whether the shell is ready for the next command. Else nothing of its tree is left. */
  readonly isReady: boolean
}

/** A command in the foreground of a shell. */
export interface Foreground {
  /** Settles when the shell is ready again, or has ended. */
  readonly ended: Settlement<CommandEnding>
  /** Climbs the ladder until that is so. Again and again it is the same as once. */
  readonly stop: () => void
  /** Removes the files of its output. Called when it has ended. */
  readonly discard: () => void
}

export interface ShellStarted {
  readonly _tag: "Started"
  readonly tree: Tree
  /** The shell's name, for messages. */
  readonly name: string
  /** Settles when it takes commands, or has ended before that. */
  readonly ready: Settlement<boolean>
  /** Runs a command. Called only when the shell is ready. */
  readonly run: (command: string) => Foreground
}

/** @internal */
export interface Machine {
  /** Starts a command, in this step. */
  readonly start: (options: Process.StartOptions, keep: "first" | "last", origin: Origin) => Started | NotStarted
  /** Starts a shell, in this step. */
  readonly startShell: (options: Process.SessionOptions, origin: Origin) => ShellStarted | NotStarted
}
