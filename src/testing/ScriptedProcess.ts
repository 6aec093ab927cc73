/**
 * A `Process` whose commands are scripts of a test: nothing of the operating system is started.
 *
 * It keeps the promises of the real one where they are about owners, hand-overs and commit points, since both share that
 * code, and passes the same contract tests. Its processes live on the fiber's `Clock`, so a test can hold them with
 * `TestClock`, and a scenario of `Explore` can run them.
 *
 * What it does not do: it runs no shell (a command of a session is a name and its arguments, divided by blanks), has no
 * environment, working directory or containment, refuses no options, and writes no files.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Process from "../capability/Process.js"
import { makeService } from "../internal/capability/process/service.js"
import { ScriptedMachine } from "../internal/testing/scriptedMachine.js"

/**
 * What a command does.
 *
 * @since 0.1.0
 * @category models
 */
export interface Script {
  /** What it writes, right at its start. */
  readonly stdout?: string | undefined
  readonly stderr?: string | undefined
  /** What it exits with. Default: 0. */
  readonly exitCode?: number | undefined
  /** How long it runs. Default: no longer than it takes to begin. */
  readonly lasts?: Duration.DurationInput | "forever" | undefined
  /** Writes what it reads, and runs until its input is closed. */
  readonly echoes?: boolean | undefined
  /** What it does when it is asked to end. `survives`: not even SIGKILL ends it. Default: `ends`. */
  readonly whenAsked?: "ends" | "ignores" | "survives" | undefined
  /** What has got away when it ends, in words. */
  readonly escaped?: ReadonlyArray<string> | undefined
}

/**
 * Scripts by the name of their command, or made from its arguments.
 *
 * @since 0.1.0
 * @category models
 */
export interface Commands {
  readonly [command: string]: Script | ((args: ReadonlyArray<string>) => Script)
}

/**
 * A process that was started. The shell of a session (`sh`) is one, and each command that it runs, with the pid of the shell.
 *
 * @since 0.1.0
 * @category models
 */
export interface Started {
  readonly pid: number
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** What was written to its standard input by now. */
  readonly input: string
  readonly isRunning: boolean
}

/**
 * A service, and what a test sees of its processes.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handle {
  readonly process: Process.Service
  /** Everything that was started, in order. */
  readonly started: Effect.Effect<ReadonlyArray<Started>>
}

/**
 * A `Process` that knows these commands and no others, as long as the scope is open.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Process } from "quiesce/capability"
 * import { ScriptedProcess } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const { process, started } = yield* ScriptedProcess.make({
 *     git: ([subcommand]) => ({ stdout: `${subcommand}: nothing to do\n` })
 *   })
 *   const { stdout } = yield* Effect.provideService(
 *     Process.run({ command: "git", args: ["status"] }),
 *     Process.Process,
 *     process
 *   )
 *   assert.strictEqual(stdout, "status: nothing to do\n")
 *   assert.strictEqual((yield* started)[0]?.isRunning, false)
 * })
 * await Effect.runPromise(Effect.scoped(Cancellation.own(program)))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (commands: Commands): Effect.Effect<Handle, never, Scope.Scope> =>
  Effect.suspend(() => {
    const machine = new ScriptedMachine((command, args) => {
      const script = Object.hasOwn(commands, command) ? commands[command] : undefined
      return typeof script === "function" ? script(args) : script
    })
    const started = Effect.sync(() =>
      machine.seen.map(({ args, command, input, isRunning, pid }) => ({ pid, command, args, input, isRunning }))
    )
    return Effect.map(makeService(Effect.succeed(machine)), (process) => ({ process, started }))
  })

/**
 * Layer of a `Process` that knows these commands and no others.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Process } from "quiesce/capability"
 * import { ScriptedProcess } from "quiesce/testing"
 *
 * const layer = ScriptedProcess.layer({ make: { exitCode: 2, stderr: "no rule" } })
 * const program = Process.run({ command: "make" })
 * const result = await Effect.runPromise(Cancellation.own(Effect.provide(program, layer)))
 * assert.strictEqual(result.exitCode, 2)
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (commands: Commands): Layer.Layer<Process.Process> =>
  Layer.scoped(
    Process.Process,
    Effect.map(make(commands), ({ process }) => process)
  )
