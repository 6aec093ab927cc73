/**
 * Starts processes on Node.
 */
import type { Writable } from "node:stream"
import type * as Process from "../../capability/Process.js"
import type { Input, Machine } from "../capability/process/machine.js"
import { Settlement } from "../settlement.js"
import { Output } from "./output.js"
import { startShell } from "./shell.js"
import { Spill, type SpillFolder } from "./spill.js"
import { defaultMaxOutputBytes, startProcess } from "./startProcess.js"

const defaultSpillBytes = 64 * 1024 * 1024

const inputOf = (pipe: Writable): Input => ({
  write: (piece) => {
    const taken = new Settlement<boolean>()
    // A pipe that is destroyed calls back too.
    pipe.write(piece, (error) => void taken.settle(error === null || error === undefined))
    return taken
  },
  close: () => void pipe.end()
})

/** @internal */
export const nodeMachine = (folder: SpillFolder): Machine => {
  const outputOf = (
    options: Pick<Process.RunOptions, "maxOutputBytes" | "spill">,
    keep: "first" | "last" = "first"
  ): Output =>
    new Output(
      options.maxOutputBytes ?? defaultMaxOutputBytes,
      keep,
      options.spill === undefined ? undefined : new Spill(folder, options.spill.maxBytes ?? defaultSpillBytes)
    )
  return {
    start: (options, keep, origin) => {
      const stdout = outputOf(options, keep)
      const stderr = outputOf(options, keep)
      const stays = options.keepStdinOpen === true
      const started = startProcess(options, { hasInput: stays || options.stdin !== undefined, stdout, stderr }, origin)
      if (started._tag === "NotStarted") return started
      const { group, stdin } = started
      group.ended.whenSettled(() => {
        stdout.close()
        stderr.close()
      })
      if (options.stdin !== undefined) stdin?.write(options.stdin)
      if (!stays) stdin?.end()
      return {
        _tag: "Started",
        tree: { pid: group.pid, ended: group.ended, stop: () => group.stop() },
        stdout,
        stderr,
        input: stays && stdin !== null ? inputOf(stdin) : undefined,
        discard: () => {
          stdout.discard()
          stderr.discard()
        }
      }
    },
    startShell: (options, origin) => startShell(options, () => outputOf(options), origin)
  }
}
