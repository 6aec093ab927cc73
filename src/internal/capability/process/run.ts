/**
 * Runs a command in the foreground: it ends with its caller.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Cancellation from "../../../Cancellation.js"
import type * as Process from "../../../capability/Process.js"
import { waitOrStop } from "../../settlement.js"
import { originOf } from "../../startFiber.js"
import type { Machine } from "./machine.js"

/** @internal */
export const run =
  (machine: Machine): Process.Service["run"] =>
  (options) =>
    Effect.withFiberRuntime<Process.RunResult, Process.ProcessError, Cancellation.Cancellation>((fiber, status) =>
      Effect.uninterruptibleMask((restore) => {
        // Here and not in an effect further in: a fiber gives way between two operations, and an interrupt that came then
        // would find the mask before it finds the process (L10).
        const started = machine.start(options, "first", originOf(fiber, status))
        if (started._tag === "NotStarted") return Effect.flatMap(started.error.wait(), Effect.fail)
        const { discard, stderr, stdout, tree } = started
        let interruption: Cause.Cause<never> | undefined
        const ended = waitOrStop(tree.ended, restore, (cause) => {
          interruption = cause
          tree.stop() // L3
        })
        return Effect.flatMap(ended, (ending): Effect.Effect<Process.RunResult, never, Cancellation.Cancellation> => {
          const escapes = Effect.forEach(ending.escaped, Cancellation.recordEscape, { discard: true }) // L4
          if (interruption !== undefined) {
            discard() // L3: nobody gets the paths
            return Effect.zipRight(escapes, Effect.failCause(interruption))
          }
          return Effect.as(escapes, {
            ...ending,
            stdout: stdout.text,
            stderr: stderr.text,
            stdoutTruncated: stdout.truncated,
            stderrTruncated: stderr.truncated,
            stdoutFile: stdout.file,
            stderrFile: stderr.file
          })
        })
      })
    ).pipe(Cancellation.operation(`run ${options.command}`))
