/**
 * Processes that are nothing but a script: they have no pid that the system knows, and run on the clock of whoever starts
 * them, the explorer's too.
 */
import * as Duration from "effect/Duration"
import * as Process from "../../capability/Process.js"
import type {
  CommandEnding,
  Foreground,
  Input,
  Machine,
  NotStarted,
  ShellStarted,
  Started,
  Tree
} from "../capability/process/machine.js"
import { Output } from "../node/output.js"
import { Settlement } from "../settlement.js"
import type { Origin } from "../startFiber.js"
import { startTimer } from "../timer.js"

/** What one process does. See `ScriptedProcess.Script`. */
export interface Script {
  readonly stdout?: string | undefined
  readonly stderr?: string | undefined
  readonly exitCode?: number | undefined
  readonly lasts?: Duration.DurationInput | "forever" | undefined
  readonly echoes?: boolean | undefined
  readonly whenAsked?: "ends" | "ignores" | "survives" | undefined
  readonly escaped?: ReadonlyArray<string> | undefined
}

export interface Seen {
  readonly pid: number
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly input: string
  readonly isRunning: boolean
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const graceOf = ({ grace }: Process.Surroundings): number => Duration.toMillis(grace ?? "3 seconds")

class ScriptedTree implements Tree, Seen {
  readonly ended = new Settlement<Process.Ending>()
  readonly pid: number
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly graceMillis: number
  input = ""
  private readonly origin: Origin
  private readonly script: Script
  private readonly disarms: Array<() => void> = []
  private isStopping = false
  private timedOut = false

  constructor(pid: number, options: Process.RunOptions, script: Script, origin: Origin) {
    this.pid = pid
    this.command = options.command
    this.args = options.args ?? []
    this.graceMillis = graceOf(options)
    this.script = script
    this.origin = origin
    const { lasts = 0 } = script
    if (lasts !== "forever" && script.echoes !== true) this.after(Duration.toMillis(lasts), () => this.exit())
    const timeout = Duration.toMillis(options.timeout ?? Duration.infinity)
    if (timeout < Number.POSITIVE_INFINITY) {
      this.after(timeout, () => {
        this.timedOut = true
        this.stop()
      })
    }
  }

  get isRunning(): boolean {
    return !this.ended.isSettled
  }

  readonly stop = (): void => {
    if (this.isStopping || this.ended.isSettled) return
    this.isStopping = true
    const { whenAsked = "ends" } = this.script
    if (whenAsked === "ends") this.after(0, () => this.end(undefined, "SIGTERM"))
    else {
      const survives =
        whenAsked === "survives" ? [`process ${this.pid} (${this.command}), which has survived SIGKILL`] : []
      this.after(this.graceMillis, () => this.end(undefined, survives.length > 0 ? undefined : "SIGKILL", survives))
    }
  }

  exit(code = this.script.exitCode ?? 0): void {
    this.end(code, undefined)
  }

  private end(exitCode: number | undefined, signal: string | undefined, survives: ReadonlyArray<string> = []): void {
    for (const disarm of this.disarms) disarm()
    const { pid, timedOut } = this
    this.ended.settle({ pid, exitCode, signal, timedOut, escaped: [...survives, ...(this.script.escaped ?? [])] })
  }

  private after(millis: number, task: () => void): void {
    this.disarms.push(startTimer(this.origin, millis, () => this.ended.isSettled || task()))
  }
}

class ScriptedForeground implements Foreground, Seen {
  readonly ended = new Settlement<CommandEnding>()
  readonly pid: number
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly input = ""
  private readonly tree: ScriptedTree
  private readonly script: Script
  private readonly origin: Origin
  private readonly disarms: Array<() => void> = []
  private isStopping = false

  constructor(tree: ScriptedTree, line: ReadonlyArray<string>, script: Script, origin: Origin) {
    this.pid = tree.pid
    this.command = line[0] ?? ""
    this.args = line.slice(1)
    this.tree = tree
    this.script = script
    this.origin = origin
    tree.ended.whenSettled(() => this.settle({ isReady: false, exitCode: undefined, stoppedBy: undefined }))
    const { lasts = 0 } = script
    if (lasts !== "forever") {
      this.after(Duration.toMillis(lasts), () =>
        this.settle({ isReady: true, exitCode: script.exitCode ?? 0, stoppedBy: undefined })
      )
    }
  }

  get isRunning(): boolean {
    return !this.ended.isSettled
  }

  readonly stop = (): void => {
    if (this.isStopping || this.ended.isSettled) return
    this.isStopping = true
    const { graceMillis } = this.tree
    const { whenAsked = "ends" } = this.script
    if (whenAsked === "ends") this.after(0, () => this.settle({ isReady: true, exitCode: 130, stoppedBy: "SIGINT" }))
    else if (whenAsked === "ignores") {
      this.after(2 * graceMillis, () => this.settle({ isReady: true, exitCode: 137, stoppedBy: "SIGKILL" }))
    } else {
      this.after(2 * graceMillis, () => {
        this.settle({ isReady: false, exitCode: undefined, stoppedBy: "session" })
        this.tree.stop()
      })
    }
  }

  readonly discard = (): void => {}

  private settle(how: Pick<CommandEnding, "isReady" | "exitCode" | "stoppedBy">): void {
    for (const disarm of this.disarms) disarm()
    const { stderr = "", stdout = "" } = this.script
    const whole = { stdoutTruncated: false, stderrTruncated: false, stdoutFile: undefined, stderrFile: undefined }
    this.ended.settle({ stdout, stderr, ...whole, ...how })
  }

  private after(millis: number, task: () => void): void {
    this.disarms.push(startTimer(this.origin, millis, task))
  }
}

const notStarted = (command: string): NotStarted => {
  const error = new Settlement<Process.ProcessError>()
  error.settle(new Process.ProcessError({ reason: "CommandNotFound", command }))
  return { _tag: "NotStarted", error }
}

/** @internal */
export class ScriptedMachine implements Machine {
  readonly seen: Array<Seen> = []
  private pids = 0
  private readonly scriptOf: (command: string, args: ReadonlyArray<string>) => Script | undefined

  constructor(scriptOf: (command: string, args: ReadonlyArray<string>) => Script | undefined) {
    this.scriptOf = scriptOf
  }

  start(options: Process.StartOptions, keep: "first" | "last", origin: Origin): Started | NotStarted {
    const script = this.scriptOf(options.command, options.args ?? [])
    if (script === undefined) return notStarted(options.command)
    const tree = this.treeOf(options, script, origin)
    const stdout = new Output(options.maxOutputBytes ?? 64_000, keep)
    const stderr = new Output(options.maxOutputBytes ?? 64_000, keep)
    stdout.add(bytes(script.stdout ?? ""))
    stderr.add(bytes(script.stderr ?? ""))
    const input: Input = {
      write: (piece) => {
        const taken = new Settlement<boolean>()
        tree.input += piece
        if (script.echoes === true) stdout.add(bytes(piece))
        taken.settle(tree.isRunning)
        return taken
      },
      close: () => {
        if (script.echoes === true) tree.exit()
      }
    }
    if (options.stdin !== undefined) input.write(options.stdin)
    const stays = options.keepStdinOpen === true
    if (!stays) input.close()
    return { _tag: "Started", tree, stdout, stderr, input: stays ? input : undefined, discard: () => {} }
  }

  startShell(options: Process.SessionOptions, origin: Origin): ShellStarted {
    const tree = this.treeOf({ ...options, command: "sh" }, { lasts: "forever" }, origin)
    const ready = new Settlement<boolean>()
    startTimer(origin, 0, () => ready.settle(tree.isRunning))
    tree.ended.whenSettled(() => ready.settle(false))
    const run = (line: string): Foreground => {
      const [command = "", ...args] = line.split(" ")
      const script = this.scriptOf(command, args)
      const missing = { exitCode: 127, stderr: `sh: ${command}: not found\n` }
      const foreground = new ScriptedForeground(tree, [command, ...args], script ?? missing, origin)
      this.seen.push(foreground)
      if (command === "exit") tree.exit(Number(args[0] ?? 0))
      return foreground
    }
    return { _tag: "Started", tree, name: "sh", ready, run }
  }

  private treeOf(options: Process.RunOptions, script: Script, origin: Origin): ScriptedTree {
    const tree = new ScriptedTree(++this.pids, options, script, origin)
    this.seen.push(tree)
    return tree
  }
}
