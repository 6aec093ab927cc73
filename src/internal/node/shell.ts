/**
 * Starts the shell of a session.
 */
import { randomBytes } from "node:crypto"
import type { Writable } from "node:stream"
import type * as Process from "../../capability/Process.js"
import type { NotStarted, ShellStarted } from "../capability/process/machine.js"
import { Settlement } from "../settlement.js"
import type { Origin } from "../startFiber.js"
import { scrubbedEnvironment } from "./environment.js"
import { ForegroundCommand, type ShellParts } from "./foreground.js"
import { MarkedStream } from "./markedStream.js"
import type { Output } from "./output.js"
import { markOf, prologue, shellIn } from "./shellScript.js"
import { graceMillisOf, startProcess } from "./startProcess.js"

/** @internal */
export const startShell = (
  options: Process.SessionOptions,
  makeOutput: () => Output,
  origin: Origin
): ShellStarted | NotStarted => {
  const { PATH: searched = "" } = scrubbedEnvironment(options.env)
  const { args, name } = shellIn(searched)
  const stdout = new MarkedStream()
  const stderr = new MarkedStream()
  const started = startProcess({ ...options, command: name, args }, { hasInput: true, stdout, stderr }, origin)
  if (started._tag === "NotStarted") return started
  const { group } = started
  const stdin = started.stdin as Writable // it was asked for
  const nonce = randomBytes(16).toString("hex")
  const ready = new Settlement<boolean>()
  let current: ForegroundCommand | undefined
  let commands = 0
  let unready = 2
  const oneIsReady = () => void (--unready === 0 && ready.settle(true))
  for (const stream of [stdout, stderr]) stream.await(markOf(nonce, 0, "end"), undefined, oneIsReady)
  group.ended.whenSettled(() => {
    stdout.end()
    stderr.end()
    ready.settle(false)
    current?.sessionEnded()
  })
  stdin.write(prologue(name, nonce))
  const stop = () => {
    group.stop()
    stdin.end() // dash runs its trap for SIGTERM only when it has read something
  }
  const parts: ShellParts = {
    tree: group.tree,
    stop,
    stdin,
    stdout,
    stderr,
    nonce,
    graceMillis: graceMillisOf(options),
    makeOutput,
    origin
  }
  return {
    _tag: "Started",
    tree: { pid: group.pid, ended: group.ended, stop },
    name,
    ready,
    run: (command) => {
      current = new ForegroundCommand(parts, command, ++commands)
      return current
    }
  }
}
