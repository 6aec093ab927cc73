/**
 * The end of a program that was asked to end: by a signal, or by itself.
 *
 * The first request cancels what runs, and the program leaves when all of it is quiet. Whoever does not want to wait so
 * long sends a second signal, which leaves at once; and a grace limits the wait where nobody is there to send one. On
 * every way out but `SIGKILL` no process of `NodeProcess` is left behind.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Cancellation } from "../Cancellation.js"
import { nodeHost } from "../internal/node/nodeHost.js"
import * as internal from "../internal/node/shutdown.js"
import * as NodeProcess from "./NodeProcess.js"

/**
 * The signals that ask for an end, and what to leave with: 128 and the number of the signal, as shells have it. `SIGHUP`
 * says that the terminal was closed.
 *
 * @since 0.1.0
 * @category models
 */
export const exitCodes: typeof internal.exitCodes = internal.exitCodes

/**
 * A signal that asks for an end.
 *
 * @since 0.1.0
 * @category models
 */
export type SignalName = internal.SignalName

/**
 * How long after the first signal the same one counts as its echo, in milliseconds.
 *
 * One Ctrl-C can reach a program twice: from the terminal, and from npm, which forwards it. (Measured with npm 11 and
 * bash as its shell: a few milliseconds later, on a busy machine more.)
 *
 * @since 0.1.0
 * @category models
 */
export const echoMillis: number = internal.echoMillis

/**
 * How a program was asked to end.
 *
 * @since 0.1.0
 * @category models
 */
export type Request = internal.Request

/**
 * What a program can do about its end.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service extends internal.Shutdown {
  /** Waits until the program is asked to end, and says how. An interruption ends the wait and nothing else. */
  readonly requested: Effect.Effect<Request>
  /**
   * Asks the program to end: what runs is cancelled, and when it is quiet the program leaves by itself, with this code.
   * Does not wait. The first code stays.
   */
  readonly shutdown: (exitCode: number) => Effect.Effect<void>
  /** As a signal does: asks the program to end and then to leave, whatever still holds it. The second time leaves at once. */
  readonly interrupt: (exitCode: number) => Effect.Effect<void>
}

/**
 * Service for the end of the program.
 *
 * @since 0.1.0
 * @category services
 */
export class NodeShutdown extends Context.Tag("quiesce/node/NodeShutdown")<NodeShutdown, Service>() {}

/**
 * How to end.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * How long the program may take to become quiet before it is left with the first code, whatever still runs. Default: 5
   * seconds. Without a limit: `Infinity`, for programs with a person in front of them.
   */
  readonly grace?: Duration.DurationInput | undefined
}

/**
 * Takes signals until the scope closes, and makes the owner of the program, which the first of them cancels with the
 * cause `User` and the name of the signal.
 *
 * The closing of the scope is the end of what runs, so make it the outermost: what is outside is not waited for. It waits
 * for everything that the owner has (L3), and then, where an end was asked for, leaves: with the code that was asked for
 * first, or with 1 when the scope closes with a failure. Without such a request the program goes on, and nothing of this
 * is left. See `layer` for an example.
 *
 * A signal interrupts what runs below `Cancellation.own`. Run it with `NodeRuntime.runMain` of `@effect/platform-node`, which
 * takes that for an end and reports failures. `Effect.runPromise` rejects instead, and where nobody catches that, Node writes a
 * stack trace and leaves with 1.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options = {}
): Effect.Effect<Context.Context<NodeShutdown | Cancellation>, never, Scope.Scope> =>
  Effect.map(
    internal.makeShutdown(nodeHost, options.grace ?? "5 seconds", NodeProcess.killAll),
    ({ owned, shutdown }) => Context.add(owned, NodeShutdown, shutdown)
  )

/**
 * Layer of the end of the program, and of the owner of all that it does. See `make`.
 *
 * `Cancellation.own` below it makes a program that a signal stops wherever it waits.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Option } from "effect"
 * import { Cancellation } from "quiesce"
 * import { NodeShutdown } from "quiesce/node"
 *
 * const program = Effect.gen(function* () {
 *   const shutdown = yield* NodeShutdown.NodeShutdown
 *   yield* shutdown.shutdown(3)
 *   const { exitCode } = yield* shutdown.requested
 *   return [exitCode, yield* Cancellation.cause] as const
 * })
 * const [exitCode, cause] = await Effect.runPromise(Effect.provide(program, NodeShutdown.layer()))
 * assert.strictEqual(exitCode, 3)
 * assert.deepStrictEqual(cause, Option.some({ _tag: "User", note: "shutdown" }))
 *
 * // The program would now leave with 3, when nothing holds it any more.
 * assert.strictEqual(process.exitCode, 3)
 * process.exitCode = 0
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<NodeShutdown | Cancellation> =>
  Layer.scopedContext(make(options))
