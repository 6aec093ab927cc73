/**
 * One command in the foreground of a shell: from its line to the mark of its end.
 *
 * Invariants
 *
 * F1. The shell is not interrupted before it has read the whole line: what is left of a line would be run as another.
 * F2. SIGINT is sent to no process twice, only to those that come after: a loop goes on when its child has ended by itself.
 * F3. Each rung of the ladder is climbed once, and only while the shell is not ready: SIGINT to the group, as a terminal
 *     does; SIGTERM and SIGKILL to what the command has started, not to what ran before it; then the end of the session.
 * F4. When it has settled, it has no timer and no open file (L3).
 */
import type { Writable } from "node:stream"
import type { StoppedBy } from "../../capability/Process.js"
import type { CommandEnding, Foreground } from "../capability/process/machine.js"
import { Settlement } from "../settlement.js"
import type { Origin } from "../startFiber.js"
import { startTimer } from "../timer.js"
import type { MarkedStream } from "./markedStream.js"
import type { Output } from "./output.js"
import type { Entry } from "./processTable.js"
import { type ProcessTree, signalEach } from "./processTree.js"
import { epilogue, lineOf, markOf } from "./shellScript.js"

/** How often a command that was interrupted is looked at. */
const pollMillis = 25
/** How long a shell may take to be ready again when nothing that its command has started is alive. */
const readyMillis = 500

/**
 * Whether to print the end once more: the interrupt may have cut the line that prints it. Soon, because that shell is ready
 * and the grace runs; ever more rarely, because those lines are kept for a shell that is not.
 */
const isTimeToRepeat = (looks: number): boolean => Number.isInteger(Math.log2(looks))

/** @internal */
export interface ShellParts {
  readonly tree: ProcessTree
  /** Ends the session. */
  readonly stop: () => void
  readonly stdin: Writable
  readonly stdout: MarkedStream
  readonly stderr: MarkedStream
  readonly nonce: string
  readonly graceMillis: number
  readonly makeOutput: () => Output
  readonly origin: Origin
}

const isIn = (entries: ReadonlyArray<Entry>, { pid, startedAt }: Entry): boolean =>
  entries.some((entry) => entry.pid === pid && entry.startedAt === startedAt)

/** @internal */
export class ForegroundCommand implements Foreground {
  readonly ended = new Settlement<CommandEnding>()
  private readonly shell: ShellParts
  private readonly number: number
  private readonly stdout: Output
  private readonly stderr: Output
  /** What ran before: it is not the command's. */
  private readonly before: ReadonlyArray<Entry>
  private interrupted: ReadonlyArray<Entry> = []
  private hasBegun = false
  private isStopping = false
  private stoppedBy: StoppedBy | undefined
  private exitCode: number | undefined
  private openStreams = 2
  private disarmRung: (() => void) | undefined
  private disarmLook: (() => void) | undefined

  constructor(shell: ShellParts, command: string, number: number) {
    this.shell = shell
    this.number = number
    this.stdout = shell.makeOutput()
    this.stderr = shell.makeOutput()
    this.before = shell.tree.alive ?? []
    const { nonce, stderr, stdin, stdout } = shell
    stdout.await(markOf(nonce, number, "begin"), undefined, () => {
      this.begin()
      this.readToEnd(stdout, this.stdout)
    })
    stderr.await(markOf(nonce, number, "begin"), undefined, () => this.readToEnd(stderr, this.stderr))
    stdin.write(lineOf(command, number))
  }

  stop(): void {
    if (this.isStopping || this.ended.isSettled) return
    this.isStopping = true
    if (this.hasBegun)
      this.interrupt() // F1
    else this.rung(this.shell.graceMillis, () => this.endSession())
  }

  readonly discard = (): void => {
    this.stdout.discard()
    this.stderr.discard()
  }

  /** Nothing of the session is left. */
  sessionEnded(): void {
    this.settle(false)
  }

  private begin(): void {
    this.hasBegun = true
    this.shell.stdin.write(epilogue(this.number))
    if (this.isStopping) this.interrupt() // F1
  }

  private readToEnd(stream: MarkedStream, output: Output): void {
    stream.await(markOf(this.shell.nonce, this.number, "end"), output, (code) => {
      this.exitCode = Number(code)
      if (--this.openStreams === 0) this.settle(true)
    })
  }

  private settle(isReady: boolean): void {
    if (this.ended.isSettled) return
    this.disarmRung?.() // F4
    this.disarmLook?.() // F4
    this.stdout.close() // F4
    this.stderr.close() // F4
    this.ended.settle({
      stdout: this.stdout.text,
      stderr: this.stderr.text,
      stdoutTruncated: this.stdout.truncated,
      stderrTruncated: this.stderr.truncated,
      stdoutFile: this.stdout.file,
      stderrFile: this.stderr.file,
      exitCode: isReady ? this.exitCode : undefined,
      stoppedBy: this.stoppedBy,
      isReady
    })
  }

  private interrupt(): void {
    this.stoppedBy = "SIGINT"
    this.sendInterrupt()
    this.look(1)
    this.rung(this.shell.graceMillis, () => this.climb("SIGTERM", this.shell.graceMillis, () => this.kill())) // F3
  }

  private kill(): void {
    this.climb("SIGKILL", readyMillis, () => this.endSession())
  }

  private climb(name: "SIGTERM" | "SIGKILL", millis: number, next: () => void): void {
    const { started } = this
    // The shell itself is not ready: it works on what it does not let be interrupted, or is only slow.
    if (started.length === 0) return this.rung(readyMillis, () => this.endSession())
    this.stoppedBy = name
    signalEach(started, name)
    this.rung(millis, next)
  }

  private endSession(): void {
    this.stoppedBy = "session"
    this.disarmLook?.()
    this.shell.stop() // its end settles this
  }

  private look(looks: number): void {
    this.disarmLook = startTimer(this.shell.origin, pollMillis, () => {
      const { started } = this
      const hasNewcomers = started.length > 0 && !started.some((entry) => isIn(this.interrupted, entry))
      if (hasNewcomers && this.stoppedBy === "SIGINT") this.sendInterrupt() // F2
      if (isTimeToRepeat(looks)) this.shell.stdin.write(epilogue(this.number))
      this.look(looks + 1)
    })
  }

  private sendInterrupt(): void {
    this.interrupted = this.started
    this.shell.tree.interrupt()
  }

  /** What lives of what the command has started, where the system tells. */
  private get started(): ReadonlyArray<Entry> {
    return (this.shell.tree.alive ?? []).filter((entry) => !isIn(this.before, entry))
  }

  private rung(millis: number, task: () => void): void {
    this.disarmRung?.()
    this.disarmRung = startTimer(this.shell.origin, millis, task)
  }
}
