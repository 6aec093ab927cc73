/**
 * A language model that says what a test wrote down, when the test lets it.
 *
 * A script is a list of steps: a chunk is sent, an effect is run and waited for. So delays are `Effect.sleep` on the clock
 * of the test, a stall is `Effect.never`, a provider that breaks is `Effect.die`, one that cleans up has
 * `Effect.addFinalizer`, and a `gate` waits until the test opens it. A script may be wrong (no `Finish`, two of them,
 * chunks behind it): what a consumer sees is then what `Model.layer` makes of such a provider. Nothing in it needs a
 * native timer, so the explorer can explore it.
 *
 * What it does not do: it reads no request. Which answer comes is decided by its number, or by a function of the test.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Cancellation } from "../Cancellation.js"
import * as Model from "../capability/Model.js"
import { Settlement } from "../internal/settlement.js"
import type * as ToolCall from "../ToolCall.js"

/**
 * A chunk that is sent, or an effect that is run. Its finalizers run when the answer has ended.
 *
 * @since 0.1.0
 * @category models
 */
export type Step<R = never> = Model.Chunk | Effect.Effect<unknown, never, R>

/**
 * One answer. It ends, of whatever kind that end is, with its last step.
 *
 * @since 0.1.0
 * @category models
 */
export type Script<R = never> = ReadonlyArray<Step<R>>

/**
 * The answers in turn, or which one there is to a request.
 *
 * @since 0.1.0
 * @category models
 */
export type Answers<R = never> =
  | ReadonlyArray<Script<R>>
  | ((request: Model.Request, index: number) => Script<R> | undefined)

/**
 * A place in a script that waits for the test.
 *
 * @since 0.1.0
 * @category models
 */
export interface Gate {
  /** The step: waits until the gate is open. An interruption ends the wait. */
  readonly wait: Effect.Effect<void>
  /** Waits until a script has come to the gate. */
  readonly reached: Effect.Effect<void>
  /** Opens the gate for good, also before a script has come to it. */
  readonly open: Effect.Effect<void>
}

/**
 * A model that is scripted, and what a test sees of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Scripted<R = never> {
  readonly layer: Layer.Layer<Model.Model, never, Exclude<Exclude<R, Scope.Scope>, Cancellation>>
  /** What was asked so far. A request counts from the first chunk that somebody waits for. */
  readonly requests: Effect.Effect<ReadonlyArray<Model.Request>>
  /** Waits until there were so many requests in all. Default: one. */
  readonly awaitRequest: (count?: number) => Effect.Effect<Model.Request>
  /** How many answers are under way, finalizers included. */
  readonly running: Effect.Effect<number>
}

/**
 * Makes a gate.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Fiber, Stream } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Model } from "quiesce/capability"
 * import { ScriptedModel } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const gate = yield* ScriptedModel.gate
 *   const model = yield* ScriptedModel.make([[Model.Text.make({ text: "a" }), gate.wait, ...ScriptedModel.reply("b")]])
 *   const reading = Stream.runDrain(Model.stream({ model: "scripted", messages: [] }))
 *   const reader = yield* Effect.fork(Cancellation.own(Effect.provide(reading, model.layer)))
 *   yield* gate.reached
 *   yield* Fiber.interrupt(reader)
 *   return yield* model.running
 * })
 * assert.strictEqual(await Effect.runPromise(program), 0)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const gate: Effect.Effect<Gate> = Effect.sync(() => {
  const reached = new Settlement<void>()
  const opened = new Settlement<void>()
  return {
    wait: Effect.suspend(() => {
      reached.settle()
      return opened.waitTidily()
    }),
    reached: reached.wait(),
    open: Effect.sync(() => void opened.settle())
  }
})

class Prompter<R> {
  readonly requests: Array<Model.Request> = []
  running = 0
  private readonly answers: Answers<R>
  private readonly arrivals: Array<Settlement<Model.Request>> = []

  constructor(answers: Answers<R>) {
    this.answers = answers
  }

  arrival(count: number): Settlement<Model.Request> {
    this.arrivals[count] ??= new Settlement()
    return this.arrivals[count]
  }

  private begin(request: Model.Request): Script<R> {
    const count = this.requests.push(request)
    this.running++
    this.arrival(count).settle(request)
    const script = typeof this.answers === "function" ? this.answers(request, count - 1) : this.answers[count - 1]
    return script ?? [Effect.dieMessage(`the script has no answer to request ${count}`)]
  }

  answer(request: Model.Request): Stream.Stream<Model.Chunk, never, Exclude<R, Scope.Scope>> {
    const begin = Effect.acquireRelease(
      Effect.sync(() => this.begin(request)),
      () => Effect.sync(() => void this.running--)
    )
    return Stream.unwrapScoped(
      Effect.zipWith(begin, Effect.scope, (script, scope) =>
        Stream.flatMap(Stream.fromIterable(script), (step) =>
          Effect.isEffect(step)
            ? Stream.drain(Stream.fromEffect(Effect.provideService(step, Scope.Scope, scope)))
            : Stream.succeed(step)
        )
      )
    )
  }
}

/**
 * Makes a model whose n-th answer is the n-th of `answers`, or what `answers` says of the request and its index. A request
 * too many is answered by a `Finish` that says so. Nothing watches how long it takes, unless `idleTimeout` says so.
 *
 * As any model it keeps the contract of `Model.Service.stream`: it stops at once when it is told to, runs the finalizers
 * of its steps, and is awaited.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Stream } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Model } from "quiesce/capability"
 * import { ScriptedModel } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const model = yield* ScriptedModel.make([ScriptedModel.reply("Hello.")])
 *   const answer = Model.stream({ model: "scripted", messages: [{ role: "user", content: [] }] })
 *   const chunks = yield* Cancellation.own(Effect.provide(Stream.runCollect(answer), model.layer))
 *   assert.strictEqual((yield* model.requests).length, 1)
 *   return Model.assemble(chunks).blocks
 * })
 * assert.deepStrictEqual(await Effect.runPromise(program), [
 *   { block: { type: "text", text: "Hello." }, isOpen: false }
 * ])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <R = never>(
  answers: Answers<R>,
  { idleTimeout = Number.POSITIVE_INFINITY }: Model.LayerOptions = {}
): Effect.Effect<Scripted<R>> =>
  Effect.sync(() => {
    const prompter = new Prompter(answers)
    return {
      layer: Model.layer((request) => prompter.answer(request), { idleTimeout }),
      requests: Effect.sync(() => [...prompter.requests]),
      awaitRequest: (count = 1) => Effect.suspend(() => prompter.arrival(count).wait()),
      running: Effect.sync(() => prompter.running)
    }
  })

/**
 * An answer of one text.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { ScriptedModel } from "quiesce/testing"
 *
 * assert.deepStrictEqual(ScriptedModel.reply("Hello."), [
 *   { _tag: "Text", text: "Hello." },
 *   { _tag: "Finish", reason: "stop" }
 * ])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const reply = (text: string): ReadonlyArray<Model.Chunk> => [
  Model.Text.make({ text }),
  Model.Finish.make({ reason: "stop" })
]

/**
 * An answer of tool calls.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { ScriptedModel } from "quiesce/testing"
 *
 * assert.deepStrictEqual(ScriptedModel.calls({ id: "call_1", name: "read_file", parameters: { path: "a" } }), [
 *   { _tag: "ToolCallStart", id: "call_1", name: "read_file" },
 *   { _tag: "ToolCallArguments", id: "call_1", text: `{"path":"a"}` },
 *   { _tag: "Finish", reason: "tool-calls" }
 * ])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const calls = (...toolCalls: ReadonlyArray<ToolCall.ToolCall>): ReadonlyArray<Model.Chunk> => [
  ...toolCalls.flatMap(({ id, name, parameters }) => [
    Model.ToolCallStart.make({ id, name }),
    Model.ToolCallArguments.make({ id, text: JSON.stringify(parameters) })
  ]),
  Model.Finish.make({ reason: "tool-calls" })
]
