/**
 * Runs code that a model has written, and lets it call functions of the host.
 *
 * The code is JavaScript: the body of an async function, whose `return` gives the value. It runs in a place of its own,
 * which is gone when the run has been answered (L3), and has nothing there but the language, `console` and its bindings.
 * What that keeps out, and what it does not, is said by the provider (`NodeCodeRuntime`) and in the guide on code.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Cancellation } from "../Cancellation.js"
import { oneLine } from "../internal/quoted.js"

/**
 * Schema for one line that the code has logged.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Log = Schema.Struct({
  level: Schema.Literal("debug", "info", "log", "warn", "error"),
  text: Schema.String
})

/**
 * One line that the code has logged.
 *
 * @since 0.1.0
 * @category models
 */
export type Log = typeof Log.Type

/**
 * Schema for why code has no value.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal(
  "InvalidOptions",
  "Syntax",
  "Exception",
  "Unsettled",
  "Timeout",
  "OutOfMemory",
  "InvalidOutput",
  "OutputLimit",
  "WorkerFailed"
)

/**
 * Why code has no value.
 *
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

// For each reason what happened, and what to do about it.
const texts: { readonly [R in Reason]: readonly [what: string, advice: string] } = {
  InvalidOptions: ["was not run, because its options cannot work", "Correct them"],
  Syntax: ["is not the body of an async function in JavaScript", "Correct it"],
  Exception: ["threw", "Correct it, or catch that"],
  Unsettled: ["waits for something that never comes", "Await only calls, and promises that are settled"],
  Timeout: ["took too long", "Do less at once, or raise the `timeout`"],
  OutOfMemory: ["needed more memory than it may", "Hold less at once, or raise `maxMemoryMb`"],
  InvalidOutput: [
    "returned something that is not JSON",
    "Return plain objects, arrays, strings, numbers, booleans, null"
  ],
  OutputLimit: ["returned more than it may", "Return a part, or raise `maxOutputBytes`"],
  WorkerFailed: ["could not be run to its end", "Try again"]
}

/**
 * Code has no value. Nothing of it runs any more. A cancellation is an interruption and never one of these (W3).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { CodeRuntime } from "quiesce/capability"
 *
 * const error = new CodeRuntime.CodeError({
 *   reason: "Exception",
 *   detail: "TypeError: x is not a function",
 *   line: 3,
 *   logs: [],
 *   logsTruncated: false
 * })
 * assert.strictEqual(error.code, "CODE_EXCEPTION")
 * assert.strictEqual(
 *   error.message,
 *   "The code threw (TypeError: x is not a function, line 3): Correct it, or catch that."
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class CodeError extends Schema.TaggedError<CodeError>("quiesce/capability/CodeRuntime/CodeError")("CodeError", {
  reason: Reason,
  /** What was thrown, returned or refused, in words. */
  detail: Schema.optional(Schema.String),
  /** The line of the code, counted from 1. */
  line: Schema.optional(Schema.Int),
  /** The stack of what was thrown, as far as it is the code's. */
  stack: Schema.optional(Schema.String),
  /** What the code had logged by then. */
  logs: Schema.Array(Log),
  logsTruncated: Schema.Boolean
}) {
  /** The reason as the code of a failed call, such as `CODE_OUT_OF_MEMORY`. */
  get code(): string {
    return `CODE_${this.reason.replace(/(?<!^)(?=[A-Z])/g, "_").toUpperCase()}`
  }

  override get message(): string {
    const [what, advice] = texts[this.reason]
    const place = this.line === undefined ? [] : [`line ${this.line}`]
    const facts = [...(this.detail === undefined ? [] : [oneLine(this.detail)]), ...place]
    return `The code ${what}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}: ${advice}.`
  }
}

/**
 * Functions of the host that the code can call, by their names in the code.
 *
 * There they take one argument and give a promise. The argument arrives as deep-frozen JSON, `null` where there is none.
 * What the effect succeeds with must be JSON too, and is what the promise gives; what it fails with is thrown, an `Error`
 * with the `message`, and with `name` and `code` where the failure has a `_tag`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Bindings<R = never> {
  readonly [name: string]: (argument: unknown) => Effect.Effect<unknown, unknown, R>
}

/**
 * What to run, and within which limits.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunOptions<R = never> {
  /** The body of an async function. Code that returns nothing has the value `null`. */
  readonly code: string
  readonly bindings?: Bindings<R> | undefined
  /** How long it may take, what it waits for included. Default: 1 minute. `Infinity` for no limit. */
  readonly timeout?: Duration.DurationInput | undefined
  /** How large its heap may grow, in MiB; at least 16. Default: 128. */
  readonly maxMemoryMb?: number | undefined
  /** How long its value, and the argument of a call, may be as JSON. Default: 1 MiB. */
  readonly maxOutputBytes?: number | undefined
  /** How much of what it logs is kept; what comes first is. Default: 64 000. */
  readonly maxLogBytes?: number | undefined
  /** How many calls of bindings run at once; the others wait in their order. Default: 10, as many as a body may make. */
  readonly maxCalls?: number | undefined
  /** Told of each line of the log as it comes: all that is kept of a run that is cancelled. */
  readonly onLog?: ((log: Log) => void) | undefined
}

/**
 * What code has come to.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunResult {
  /** JSON, deep-frozen. */
  readonly value: unknown
  readonly logs: ReadonlyArray<Log>
  /** Whether it has logged more than `maxLogBytes`. */
  readonly logsTruncated: boolean
}

/**
 * What an implementation of `CodeRuntime` provides.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /** Runs code and waits until nothing of it is left (see `run`). It has no commit point: what its calls did stays done. */
  readonly run: (options: RunOptions<Cancellation>) => Effect.Effect<RunResult, CodeError, Cancellation>
}

/**
 * Service that runs code which a model has written.
 *
 * @since 0.1.0
 * @category services
 */
export class CodeRuntime extends Context.Tag("quiesce/capability/CodeRuntime")<CodeRuntime, Service>() {}

/**
 * Runs code and waits until nothing of it is left.
 *
 * When it completes, in whatever way, the place in which the code ran is gone, and every call of a binding has ended: when
 * the code has settled, those that still run are interrupted and awaited, those that waited for their turn were never
 * made, and what the code would go on to do is not done (L3). An interruption does the same to code that is in an endless
 * loop too, and completes only then (L4). The first of the code's end, its time limit and a cancellation counts (L6, L7);
 * a failure that came before a cancellation stays one (L5).
 *
 * Calls of bindings run under an owner that derives from this one, with the context of this effect. Under an owner that
 * is cancelled already nothing is started (L10).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { CodeRuntime } from "quiesce/capability"
 * import { NodeCodeRuntime } from "quiesce/node"
 *
 * const program = CodeRuntime.run({
 *   code: `
 *     const sizes = await Promise.all(["a.txt", "b.txt"].map((path) => size({ path })))
 *     console.log("asked for", sizes.length)
 *     return sizes.reduce((sum, next) => sum + next, 0)
 *   `,
 *   bindings: { size: () => Effect.succeed(21) }
 * })
 * const result = await Effect.runPromise(Cancellation.own(Effect.provide(program, NodeCodeRuntime.layer)))
 * assert.strictEqual(result.value, 42)
 * assert.deepStrictEqual(result.logs, [{ level: "log", text: "asked for 2" }])
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const run = <R = never>(
  options: RunOptions<R>
): Effect.Effect<RunResult, CodeError, Exclude<R, Cancellation> | CodeRuntime | Cancellation> =>
  Effect.flatMap(Effect.context<Exclude<R, Cancellation> | CodeRuntime>(), (context) => {
    const bindings: Record<string, Bindings<Cancellation>[string]> = {}
    for (const [name, binding] of Object.entries(options.bindings ?? {})) {
      bindings[name] = (argument) =>
        Effect.flatMap(Cancellation, (owner) =>
          // The owner of the call over what was captured.
          Effect.provide(
            Effect.suspend(() => binding(argument)),
            Context.add(context, Cancellation, owner) as unknown as Context.Context<R>
          )
        )
    }
    return Context.get(context, CodeRuntime).run({ ...options, bindings })
  })
