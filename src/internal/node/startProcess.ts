/**
 * Starts one leader, or says why it did not start.
 *
 * Everything here happens in one synchronous step: Node spawns synchronously, so there is no moment at which a process
 * exists and nobody knows of it.
 */
import { type ChildProcess, spawn } from "node:child_process"
import type { Writable } from "node:stream"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import type * as Process from "../../capability/Process.js"
import type { NotStarted } from "../capability/process/machine.js"
import { report } from "../report.js"
import { Settlement } from "../settlement.js"
import type { Origin } from "../startFiber.js"
import { maxTimerMillis } from "../timer.js"
import { scrubbedEnvironment } from "./environment.js"
import { canFindMarked, makeMark, markedEnvironment } from "./marked.js"
import { type Limits, ProcessGroup } from "./processGroup.js"
import { explain, failure } from "./spawnFailure.js"

/** Takes the bytes of an output stream. */
interface Sink {
  readonly received: number
  readonly add: (chunk: Uint8Array) => void
}

/** What a process reads, and who reads what it writes. */
interface Plumbing {
  readonly hasInput: boolean
  readonly stdout: Sink
  readonly stderr: Sink
}

interface Started {
  readonly _tag: "Started"
  readonly group: ProcessGroup
  readonly stdin: Writable | null
}

const defaultGrace = Duration.seconds(3)

/**
 * How many bytes of each stream are kept where nobody has said it.
 *
 * @internal
 */
export const defaultMaxOutputBytes = 64_000

/** @internal */
export const graceMillisOf = ({ grace }: Process.Surroundings): number => Duration.toMillis(grace ?? defaultGrace)

const notStarted = (error: Process.ProcessError): NotStarted => {
  const settlement = new Settlement<Process.ProcessError>()
  settlement.settle(error)
  return { _tag: "NotStarted", error: settlement }
}

const limitsOf = (options: Process.RunOptions): Limits | string => {
  const graceMillis = graceMillisOf(options)
  const timeoutMillis = Duration.toMillis(options.timeout ?? Duration.infinity)
  const max = options.maxOutputBytes ?? 0
  if (!(max >= 0)) return `maxOutputBytes must be 0 or more, not ${max}`
  const spillMax = options.spill?.maxBytes ?? 0
  if (!(spillMax >= 0)) return `spill.maxBytes must be 0 or more, not ${spillMax}`
  if (graceMillis > maxTimerMillis) return `grace must be at most ${maxTimerMillis} milliseconds`
  if (timeoutMillis === Number.POSITIVE_INFINITY) return { graceMillis, timeoutMillis: undefined }
  if (timeoutMillis <= 0 || timeoutMillis > maxTimerMillis) {
    return `timeout must be more than nothing and at most ${maxTimerMillis} milliseconds, or infinite`
  }
  return { graceMillis, timeoutMillis }
}

/** Tells whoever listens of output as text. */
const teller = (
  { command, onOutput }: Process.RunOptions,
  stream: "stdout" | "stderr",
  origin: Origin
): ((chunk: Uint8Array) => void) | undefined => {
  let listener = onOutput
  if (listener === undefined) return undefined
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  return (chunk) => {
    const text = decoder.decode(chunk, { stream: true })
    if (text === "") return
    try {
      listener?.(text, stream)
    } catch (error) {
      listener = undefined
      report(`The listener to the output of "${command}" failed and is not told any more`, Cause.die(error), origin)
    }
  }
}

/**
 * Starts a command as the leader of a process group of its own.
 *
 * @internal
 */
export const startProcess = (
  options: Process.RunOptions,
  { hasInput, stderr, stdout }: Plumbing,
  origin: Origin
): Started | NotStarted => {
  const isMarked = options.containment === "marker"
  if (process.platform === "win32") return notStarted(failure(options, "PlatformNotSupported"))
  if (isMarked && !canFindMarked()) {
    return notStarted(failure(options, "PlatformNotSupported", `containment "marker" needs /proc`))
  }
  const limits = limitsOf(options)
  if (typeof limits === "string") return notStarted(failure(options, "InvalidOptions", limits))
  const mark = isMarked ? makeMark() : undefined
  const env = { ...scrubbedEnvironment(options.env), ...markedEnvironment(mark) }
  const { PATH: searched = "" } = env
  let child: ChildProcess
  try {
    child = spawn(options.command, options.args ?? [], {
      cwd: options.cwd,
      env,
      // A group of its own, so that one signal reaches all. Not `signal`: it kills the leader only, and when the command
      // does not exist, its listener stays.
      detached: true,
      stdio: [hasInput ? "pipe" : "ignore", "pipe", "pipe"]
    })
  } catch (error) {
    return notStarted(explain(options, searched, error as NodeJS.ErrnoException))
  }
  if (child.pid === undefined) {
    const error = new Settlement<Process.ProcessError>()
    child.once("error", (cause) => {
      for (const pipe of child.stdio) pipe?.destroy() // Node closes them too, but later (L3)
      error.settle(explain(options, searched, cause))
    })
    return { _tag: "NotStarted", error }
  }
  const group = new ProcessGroup(child, child.pid, limits, mark, origin, () => stdout.received + stderr.received)
  const tell = (stream: "stdout" | "stderr") => teller(options, stream, origin)
  for (const [pipe, output, told] of [
    [child.stdout, stdout, tell("stdout")],
    [child.stderr, stderr, tell("stderr")]
  ] as const) {
    pipe?.on("data", (chunk: Buffer) => {
      output.add(chunk)
      told?.(chunk)
    })
  }
  // A command may close its pipes or end before it has read all: that is no failure, its exit code tells what is.
  for (const pipe of child.stdio) pipe?.on("error", () => {})
  return { _tag: "Started", group, stdin: child.stdin }
}
