/**
 * A process that runs code, and the lines in which it speaks to us.
 *
 * It has a group of its own, and is ended with it: see `ProcessGroup`. What it says is checked before it is believed.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { isNumber, isString } from "effect/Predicate"
import type { Answer, Ending, Engine, Job, Listener, Place, Problem } from "../../capability/code/engine.js"
import { Settlement } from "../../settlement.js"
import type { Origin } from "../../startFiber.js"
import { ProcessGroup } from "../processGroup.js"
import { bootstrap } from "./bootstrap.js"
import { inside } from "./inside.js"
import { placeIn } from "./stack.js"

/** Nobody in there has anything to clean up. */
const graceMillis = 500

const flags = ({ maxMemoryMb }: Job): ReadonlyArray<string> => {
  // No files, no processes: a second wall behind the realm of the code. Its name has changed between versions of Node.
  const permission = ["--permission", "--experimental-permission"].find((flag) =>
    process.allowedNodeEnvironmentFlags.has(flag)
  )
  return [
    ...(permission === undefined ? [] : [permission, "--allow-worker"]),
    "--no-warnings",
    "--disallow-code-generation-from-strings",
    `--max-old-space-size=${maxMemoryMb}`,
    "--max-semi-space-size=4"
  ]
}

const reasons = new Set<string>(["Syntax", "Exception", "InvalidOutput", "OutputLimit"])
const levels = new Set<string>(["debug", "info", "log", "warn", "error"])

const failed = (problem: Problem): Ending => ({ problem, escaped: [] })

class CodeProcess implements Place {
  readonly ended = new Settlement<Ending>()
  private readonly listener: Listener
  private readonly child: ChildProcess
  private readonly group: ProcessGroup | undefined
  private text = ""
  private received = 0
  /** The end of what it has written to its standard error output: what is left of it when it has crashed. */
  private complaint = ""

  constructor(job: Job, listener: Listener, origin: Origin) {
    this.listener = listener
    const child = spawn(process.execPath, [...flags(job), "-e", bootstrap, String(process.pid)], {
      cwd: "/",
      env: {},
      detached: true,
      stdio: ["pipe", "pipe", "pipe"]
    })
    this.child = child
    for (const pipe of child.stdio) pipe?.on("error", () => {}) // it may end before it has read all
    if (child.pid === undefined) {
      child.once("error", (error) => {
        for (const pipe of child.stdio) pipe?.destroy() // L3
        this.ended.settle(failed({ reason: "WorkerFailed", detail: error.message }))
      })
      return
    }
    this.group = new ProcessGroup(
      child,
      child.pid,
      { graceMillis, timeoutMillis: undefined },
      undefined,
      origin,
      () => this.received
    )
    this.group.ended.whenSettled(({ escaped, exitCode, signal }) =>
      this.ended.settle({ escaped, problem: this.problemOf(exitCode, signal) })
    )
    child.stdout?.setEncoding("utf8").on("data", (text: string) => this.read(text))
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.received += text.length
      this.complaint = (this.complaint + text).slice(-4000)
    })
    this.write({ ...job, inside })
  }

  readonly answer = (id: number, { isValue, json }: Answer): void => this.write([id, isValue, json])

  readonly stop = (): void => this.group?.stop()

  private write(message: unknown): void {
    this.child.stdin?.write(`${JSON.stringify(message)}\n`)
  }

  private read(text: string): void {
    this.received += text.length
    const lines = (this.text + text).split("\n")
    this.text = lines.pop() ?? ""
    for (const line of lines) this.take(line)
  }

  private take(line: string): void {
    let message: unknown
    try {
      message = JSON.parse(line)
    } catch {
      return
    }
    if (!Array.isArray(message)) return
    const [kind, a, b, c] = message as ReadonlyArray<unknown>
    const { listener } = this
    if (kind === "log" && isString(a) && levels.has(a) && isString(b)) {
      listener.logged({ level: a as "log", text: b })
    } else if (kind === "truncated") listener.logsTruncated()
    else if (kind === "call" && isNumber(a) && isString(b) && isString(c)) listener.called(a, b, c)
    else if (kind === "done" && isString(a)) listener.settled({ _tag: "Value", json: a })
    else if (kind === "failed" && isString(a) && reasons.has(a) && isString(b) && isString(c)) {
      const detail = b === "" ? {} : { detail: b }
      listener.settled({ _tag: "Failed", problem: { reason: a as "Exception", ...detail, ...placeIn(c) } })
    }
  }

  /** Why it has ended, where it has not said so itself. */
  private problemOf(exitCode: number | undefined, signal: string | undefined): Problem {
    if (exitCode === 0) return { reason: "Unsettled" }
    if (/heap out of memory|OOM|invalid table size/i.test(this.complaint)) return { reason: "OutOfMemory" }
    return { reason: "WorkerFailed", detail: signal === undefined ? `exit code ${exitCode}` : signal }
  }
}

const nowhere: Place = {
  ended: new Settlement(),
  answer: () => {},
  stop: () => {}
}
nowhere.ended.settle(failed({ reason: "WorkerFailed", detail: "it needs a POSIX system" }))

/** @internal */
export const nodeEngine: Engine = {
  start: (job, listener, origin) => (process.platform === "win32" ? nowhere : new CodeProcess(job, listener, origin))
}
