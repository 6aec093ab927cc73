/**
 * Runs commands on Node, each in a process group of its own.
 *
 * For Linux, where `/proc` tells who is alive. On other POSIX systems the same is done with less knowledge: zombies count
 * as alive, what escapes is not named by its id, and containment `marker` is refused. On Windows nothing is started: every
 * operation fails with `PlatformNotSupported`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Process from "../capability/Process.js"
import { makeService } from "../internal/capability/process/service.js"
import { nodeMachine } from "../internal/node/nodeMachine.js"
import { liveGroups } from "../internal/node/processGroup.js"
import { SpillFolder } from "../internal/node/spill.js"
import { originOf } from "../internal/startFiber.js"

/**
 * Layer of a `Process` that runs commands on this machine.
 *
 * It owns what was started in the background, sessions too. Closing it stops all of that, waits until nothing of it is
 * left, and then removes the files that output was written to. Where it is built under an owner, its owner derives from
 * that, and whoever cancels that one stops all this.
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
export const layer: Layer.Layer<Process.Process> = Layer.scoped(
  Process.Process,
  makeService(
    Effect.map(
      Effect.acquireRelease(
        Effect.withFiberRuntime<SpillFolder>((fiber, status) =>
          Effect.succeed(new SpillFolder(originOf(fiber, status)))
        ),
        (folder) => Effect.sync(() => folder.remove())
      ),
      nodeMachine
    )
  )
)

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
