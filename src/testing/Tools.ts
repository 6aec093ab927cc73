/**
 * Tools that a test controls: it sees when a body runs, and says when and how it ends.
 *
 * With them the tests of a policy, a runtime or an agent hold a call in any state: waiting (`gated`), deaf to its
 * cancellation (`stubborn`), obedient (`cooperative`), failing too late (`late`), leaving work behind (`leaky`). All take
 * an optional `text` and, where they succeed, succeed with it, so that one call fits them all. Each constructor is an
 * effect, since a tool of this kind has state: make it inside the test, or inside the scenario that is explored.
 *
 * What they do not do: they judge nothing. Whether a runtime waited for them is what `running`, `left` and `Leaks` tell.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Abort from "../Abort.js"
import type * as Cancellation from "../Cancellation.js"
import { onAbort } from "../internal/abortListener.js"
import { Control } from "../internal/testing/control.js"
import { type Leftover, leaveBehind } from "../internal/testing/leftovers.js"
import * as Tool from "../Tool.js"

/**
 * How a tool is called, and what it tells the runtime.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<Name extends string> {
  /** Default: the name of the constructor. */
  readonly name?: Name | undefined
  readonly timeout?: Duration.DurationInput | undefined
  /** Default: `exclusive`, as for any tool. */
  readonly concurrency?: Tool.Concurrency | undefined
}

/**
 * What a test sees and does of a tool. All calls of the tool share one count and one release.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handle {
  /** How often the handler was called. */
  readonly entered: Effect.Effect<number>
  /** How many bodies run now, finalizers included. */
  readonly running: Effect.Effect<number>
  /** Waits until bodies have begun to run so many times in all. Default: once. */
  readonly awaitStarted: (times?: number) => Effect.Effect<void>
  /** Lets bodies that wait succeed, and later ones too. */
  readonly release: Effect.Effect<void>
}

/**
 * A tool, and its handle.
 *
 * @since 0.1.0
 * @category models
 */
export interface Controlled<Name extends string, E = never, R = never> extends Handle {
  readonly tool: Tool.Tool<Name, { readonly text: string }, string, E, R>
}

/**
 * Any tool of this kind, and its handle.
 *
 * @since 0.1.0
 * @category utility types
 */
export interface Any extends Handle {
  readonly tool: Tool.Any
}

/**
 * A tool whose calls leave something behind.
 *
 * @since 0.1.0
 * @category models
 */
export interface Leaky<Name extends string> extends Controlled<Name, never, Cancellation.Cancellation> {
  /** How much of what the calls left is still there. `release` ends it. */
  readonly left: Effect.Effect<number>
}

/**
 * The failure of `failing` and of `late`.
 *
 * @since 0.1.0
 * @category errors
 */
export class ControlledFailure extends Schema.TaggedError<ControlledFailure>("quiesce/testing/Tools/ControlledFailure")(
  "ControlledFailure",
  { message: Schema.String }
) {}

type Body<E, R> = (text: string, control: Control) => Effect.Effect<string, E, R>

const make = <const Name extends string, E, R>(
  name: Name,
  description: string,
  failure: Schema.Schema.All,
  options: Options<Name>,
  body: Body<E, R>
): Effect.Effect<Leaky<Name> & Controlled<Name, E, R>> =>
  Effect.sync(() => {
    const control = new Control()
    const tool = Tool.make(options.name ?? name, {
      description,
      parameters: { text: Schema.optionalWith(Schema.String, { default: () => "" }) },
      success: Schema.String,
      failure,
      timeout: options.timeout,
      concurrency: options.concurrency,
      handler: ({ text }) => body(text, control)
    })
    return {
      tool,
      entered: Effect.sync(() => control.entered),
      running: Effect.sync(() => control.running),
      left: Effect.sync(() => control.left),
      awaitStarted: (times = 1) => control.awaitStarted(times),
      release: Effect.sync(() => {
        control.released.settle()
      })
    } as Leaky<Name> & Controlled<Name, E, R> // only a leaky tool shows what is left
  })

/**
 * Makes a tool that answers at once with the text of its call.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Tools } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const echo = yield* Tools.echo()
 *   assert.strictEqual(yield* echo.tool.handler({ text: "hi" }), "hi")
 *   return yield* echo.entered
 * })
 * assert.strictEqual(await Effect.runPromise(program), 1)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const echo = <const Name extends string = "echo">(
  options: Options<Name> = {}
): Effect.Effect<Controlled<Name>> =>
  make("echo" as Name, "Says it again", Schema.Never, options, (text, control) => control.enter(Effect.succeed(text)))

/**
 * Makes a tool that waits for `release`. A cancellation ends it at once.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Fiber } from "effect"
 * import { Cancellation, Toolkit, ToolRuntime } from "quiesce"
 * import { Tools } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const slow = yield* Tools.gated({ name: "slow" })
 *   const call = yield* ToolRuntime.execute({ id: "call_1", name: "slow", parameters: { text: "done" } }).pipe(
 *     Cancellation.own,
 *     Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(slow.tool) })),
 *     Effect.fork
 *   )
 *   yield* slow.awaitStarted()
 *   assert.strictEqual(yield* slow.running, 1)
 *   yield* slow.release
 *   return yield* Fiber.join(call)
 * })
 * const result = await Effect.runPromise(program)
 * assert.ok(result._tag === "Success")
 * assert.strictEqual(result.value, "done")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const gated = <const Name extends string = "gated">(
  options: Options<Name> = {}
): Effect.Effect<Controlled<Name>> =>
  make("gated" as Name, "Waits to be released", Schema.Never, options, (text, control) =>
    control.enter(Effect.as(control.released.wait(), text))
  )

/**
 * Makes a tool that waits for `release`, and ignores its cancellation until then.
 *
 * Nothing that stops it may be answered before that (L4). Cancelled, it ends as interrupted: what an Effect returns from
 * a protected region is replaced by the interrupt that waits at its end.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Fiber } from "effect"
 * import { Tools } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const stubborn = yield* Tools.stubborn()
 *   const fiber = yield* Effect.fork(stubborn.tool.handler({ text: "done" }))
 *   yield* stubborn.awaitStarted()
 *   yield* Fiber.interruptFork(fiber)
 *   assert.strictEqual(yield* stubborn.running, 1)
 *   yield* stubborn.release
 *   yield* Fiber.await(fiber)
 *   return yield* stubborn.running
 * })
 * assert.strictEqual(await Effect.runPromise(program), 0)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const stubborn = <const Name extends string = "stubborn">(
  options: Options<Name> = {}
): Effect.Effect<Controlled<Name>> =>
  make("stubborn" as Name, "Ignores its cancellation", Schema.Never, options, (text, control) =>
    Effect.uninterruptible(control.enter(Effect.as(control.released.wait(), text)))
  )

/** A promise that `release` resolves, and that ends as `told` says when its signal aborts. */
const promising =
  (told: (signal: AbortSignal) => unknown): Body<ControlledFailure, Cancellation.Cancellation> =>
  (text, control) =>
    control.enter(
      Abort.fromPromise({
        try: ({ signal }) =>
          new Promise<string>((resolve, reject) => {
            const unlisten = onAbort(signal, () => reject(told(signal)))
            control.released.whenSettled(() => {
              unlisten()
              resolve(text)
            })
          }),
        catch: (error) => error as ControlledFailure
      })
    )

/**
 * Makes a tool of promise code that waits for `release`, and rejects with the reason of its signal when that aborts.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Exit, Fiber } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Tools } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const cooperative = yield* Tools.cooperative()
 *   const fiber = yield* Effect.fork(Cancellation.own(cooperative.tool.handler({ text: "" })))
 *   yield* cooperative.awaitStarted()
 *   return yield* Fiber.interrupt(fiber)
 * })
 * assert.ok(Exit.isInterrupted(await Effect.runPromise(program)))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const cooperative = <const Name extends string = "cooperative">(
  options: Options<Name> = {}
): Effect.Effect<Controlled<Name, never, Cancellation.Cancellation>> =>
  make(
    "cooperative" as Name,
    "Ends when it is told to",
    Schema.Never,
    options,
    promising((signal) => signal.reason) as Body<never, Cancellation.Cancellation>
  )

/**
 * Makes a tool of promise code that waits for `release`, and fails with a `ControlledFailure` when its signal aborts.
 *
 * That failure is its own, so it is what the call ended with, although the call was cancelled (L5).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { CancelCause, Cancellation, Toolkit, ToolRuntime } from "quiesce"
 * import { Tools } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const late = yield* Tools.late({ message: "disk full" })
 *   return yield* Effect.gen(function* () {
 *     const call = yield* ToolRuntime.start({ id: "call_1", name: "late", parameters: {} })
 *     yield* late.awaitStarted()
 *     yield* call.cancel(CancelCause.user())
 *     return yield* call.result
 *   }).pipe(Cancellation.own, Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(late.tool) })))
 * })
 * const result = await Effect.runPromise(program)
 * assert.ok(result._tag === "Failure")
 * assert.strictEqual(result.message, "disk full")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const late = <const Name extends string = "late">(
  options: Options<Name> & { readonly message?: string | undefined } = {}
): Effect.Effect<Controlled<Name, ControlledFailure, Cancellation.Cancellation>> => {
  const { message = "failed after it was told to stop" } = options
  return make(
    "late" as Name,
    "Fails when it is told to stop",
    ControlledFailure,
    options,
    promising(() => new ControlledFailure({ message }))
  )
}

/**
 * Makes a tool that fails at once: with a `ControlledFailure`, or with a defect that is an `Error`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Tools } from "quiesce/testing"
 *
 * const failure = Effect.gen(function* () {
 *   const failing = yield* Tools.failing({ message: "no such file" })
 *   return yield* Effect.flip(failing.tool.handler({ text: "" }))
 * })
 * assert.strictEqual((await Effect.runPromise(failure)).message, "no such file")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const failing = <const Name extends string = "failing">(
  options: Options<Name> & {
    readonly message?: string | undefined
    /** Default: `failure`. */
    readonly as?: "failure" | "defect" | undefined
  } = {}
): Effect.Effect<Controlled<Name, ControlledFailure>> => {
  const { message = "failed" } = options
  return make("failing" as Name, "Fails", ControlledFailure, options, (_, control) =>
    control.enter(options.as === "defect" ? Effect.die(new Error(message)) : new ControlledFailure({ message }))
  )
}

/**
 * What a leaky tool leaves.
 *
 * @since 0.1.0
 * @category models
 */
export interface LeakyOptions<Name extends string> extends Options<Name> {
  /**
   * - `operation`: a daemon fiber that runs an operation of the call's owner, which stops it
   * - `stubborn operation`: the same, and it ignores that until `release`
   * - `fiber`: a daemon fiber that uses no capability; no runtime sees it
   * - `timer`: a timer of an hour
   *
   * Default: `operation`.
   */
  readonly leaves?: Leftover | undefined
}

/**
 * Makes a tool that answers at once and leaves something running.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation, Toolkit, ToolRuntime } from "quiesce"
 * import { Tools } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const leaky = yield* Tools.leaky()
 *   yield* ToolRuntime.execute({ id: "call_1", name: "leaky", parameters: {} }).pipe(
 *     Cancellation.own,
 *     Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(leaky.tool) }))
 *   )
 *   return yield* leaky.left
 * })
 * assert.strictEqual(await Effect.runPromise(program), 0) // the runtime has stopped it
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const leaky = <const Name extends string = "leaky">(
  options: LeakyOptions<Name> = {}
): Effect.Effect<Leaky<Name>> =>
  make("leaky" as Name, "Leaves something behind", Schema.Never, options, (text, control) =>
    control.enter(Effect.as(leaveBehind(options.leaves ?? "operation", control), text))
  )
