/**
 * Runs commands on Node, each in a process group of its own.
 *
 * For Linux, where `/proc` tells who is alive. On other POSIX systems the same is done with less knowledge: zombies count
 * as alive, and what escapes is not named by its id. On Windows `run` fails with `PlatformNotSupported`.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Cancellation from "../Cancellation.js"
import * as Process from "../capability/Process.js"
import { liveGroups } from "../internal/node/processGroup.js"
import { startProcess } from "../internal/node/startProcess.js"
import { waitOrStop } from "../internal/settlement.js"
import { originOf } from "../internal/startFiber.js"

const run = (
  options: Process.RunOptions
): Effect.Effect<Process.RunResult, Process.ProcessError, Cancellation.Cancellation> =>
  Effect.withFiberRuntime<Process.RunResult, Process.ProcessError, Cancellation.Cancellation>((fiber, status) =>
    Effect.uninterruptibleMask((restore) => {
      // Here and not in an effect further in: a fiber gives way between two operations, and an interrupt that came then
      // would find the mask before it finds the process (L10).
      const start = startProcess(options, originOf(fiber, status))
      if (start._tag === "NotStarted") return Effect.flatMap(start.error.wait(), Effect.fail)
      const { group, stderr, stdout } = start
      let interruption: Cause.Cause<never> | undefined
      const ended = waitOrStop(group.ended, restore, (cause) => {
        interruption = cause
        group.stop() // L3
      })
      return Effect.flatMap(ended, (ending) =>
        Effect.zipRight(
          Effect.forEach(ending.escaped, Cancellation.recordEscape, { discard: true }), // L4
          interruption === undefined
            ? Effect.sync(() => ({
                pid: group.pid,
                stdout: stdout.text,
                stderr: stderr.text,
                stdoutTruncated: stdout.truncated,
                stderrTruncated: stderr.truncated,
                ...ending
              }))
            : Effect.failCause(interruption)
        )
      )
    })
  ).pipe(Cancellation.operation(`run ${options.command}`))

/**
 * Layer of a `Process` that runs commands on this machine.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Process } from "quiesce/capability"
 * import { NodeProcess } from "quiesce/node"
 *
 * const program = Process.run({ command: "bash", args: ["-c", "sleep 60 & exit 3"] })
 * const result = await Effect.runPromise(Cancellation.own(Effect.provide(program, NodeProcess.layer)))
 * assert.strictEqual(result.exitCode, 3)
 * assert.deepStrictEqual(result.escaped, []) // the sleep has been ended too, and nothing got away
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Process.Process> = Layer.succeed(Process.Process, { run })

/**
 * Kills every process group of this module that is still alive, at once, and says how many there were.
 *
 * For the end of the program only, such as the second Ctrl-C: it is synchronous, so it can be called from an `exit`
 * handler, and nobody is asked to clean up. Whoever waits for one of the commands sees that SIGKILL has ended it. This
 * module itself installs no handler.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Fiber } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Process } from "quiesce/capability"
 * import { NodeProcess } from "quiesce/node"
 *
 * const sleep = Process.run({ command: "sleep", args: ["60"] })
 * const fiber = Effect.runFork(Cancellation.own(Effect.provide(sleep, NodeProcess.layer)))
 * while (NodeProcess.killAll() === 0) await new Promise((resolve) => setTimeout(resolve, 5))
 * assert.strictEqual((await Effect.runPromise(Fiber.join(fiber))).signal, "SIGKILL")
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const killAll = (): number => {
  let killed = 0
  for (const group of liveGroups) if (group.killNow()) killed++
  return killed
}
