/**
 * A `CodeRuntime` whose code is scripts of a test: no JavaScript is evaluated, and nothing is started.
 *
 * It keeps the promises of the real one where they are about owners, calls, limits of time and the end of a run, since
 * both share that code, and passes the same contract tests. A script is an effect on the fiber's `Clock`, so a test can
 * hold it with `TestClock` or a gate, and a scenario of `Explore` can run it.
 *
 * What it does not do: it measures no memory, and counts the bytes of a log and of a value as the units of their text.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as CodeRuntime from "../capability/CodeRuntime.js"
import { run } from "../internal/capability/code/run.js"
import { ScriptedEnd, ScriptedEngine } from "../internal/testing/scriptedEngine.js"

/**
 * What a binding has thrown in the code.
 *
 * @since 0.1.0
 * @category models
 */
export interface Thrown {
  readonly message: string
  readonly name?: string
  readonly code?: string
}

/**
 * What code can do.
 *
 * @since 0.1.0
 * @category models
 */
export interface Inside {
  /** Logs a line. Default level: `log`. */
  readonly log: (text: string, level?: CodeRuntime.Log["level"]) => Effect.Effect<void>
  /** Calls a binding, and waits for its answer. */
  readonly call: (name: string, argument?: unknown) => Effect.Effect<unknown, Thrown>
}

/**
 * What code does. What it succeeds with is its value, what it fails with is an exception, unless it is made by `ends`.
 * `Effect.never` is an endless loop. It is interrupted when the code is stopped, and the run waits for its end.
 *
 * @since 0.1.0
 * @category models
 */
export type Script = (inside: Inside) => Effect.Effect<unknown, unknown>

/**
 * A service, and what a test sees of its runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handle {
  readonly code: CodeRuntime.Service
  /** The code of each run that was started, in order. */
  readonly started: Effect.Effect<ReadonlyArray<string>>
  /** How many of them have not ended. */
  readonly running: Effect.Effect<number>
}

/**
 * An end of code that is no exception, such as `OutOfMemory`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ends = (reason: CodeRuntime.Reason, detail?: string): Effect.Effect<never, unknown> =>
  Effect.fail(new ScriptedEnd(detail === undefined ? { reason } : { reason, detail }))

/**
 * A `CodeRuntime` that runs these scripts: each in the place of the code that is its key. Other code is not JavaScript.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { CodeRuntime } from "quiesce/capability"
 * import { ScriptedCode } from "quiesce/testing"
 *
 * const { code, running } = ScriptedCode.make({
 *   "return await double(21)": ({ call }) => call("double", 21)
 * })
 * const program = CodeRuntime.run({
 *   code: "return await double(21)",
 *   bindings: { double: (n) => Effect.succeed(Number(n) * 2) }
 * })
 * const result = await Effect.runPromise(
 *   Cancellation.own(Effect.provideService(program, CodeRuntime.CodeRuntime, code))
 * )
 * assert.strictEqual(result.value, 42)
 * assert.strictEqual(Effect.runSync(running), 0)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (scripts: { readonly [code: string]: Script }): Handle => {
  const engine = new ScriptedEngine(
    (code) => (Object.hasOwn(scripts, code) ? scripts[code] : undefined) ?? (() => ends("Syntax"))
  )
  return {
    code: { run: run(engine) },
    started: Effect.sync(() => [...engine.started]),
    running: Effect.sync(() => engine.running)
  }
}

/**
 * Layer of a `CodeRuntime` that runs these scripts.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { CodeRuntime } from "quiesce/capability"
 * import { ScriptedCode } from "quiesce/testing"
 *
 * const layer = ScriptedCode.layer({ hog: () => ScriptedCode.ends("OutOfMemory") })
 * const program = Effect.flip(CodeRuntime.run({ code: "hog" }))
 * const error = await Effect.runPromise(Cancellation.own(Effect.provide(program, layer)))
 * assert.strictEqual(error.code, "CODE_OUT_OF_MEMORY")
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (scripts: { readonly [code: string]: Script }): Layer.Layer<CodeRuntime.CodeRuntime> =>
  Layer.sync(CodeRuntime.CodeRuntime, () => make(scripts).code)
