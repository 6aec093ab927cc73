/**
 * An agent for code that has promises: it takes messages, asks a model, runs the tools that the model calls, and rests.
 *
 * The same as `Agent` of `quiesce`: no accepted message is lost, `cancel` is the one way to stop it, and `whenIdle` the
 * one way to know that nothing of it runs (L11). The model is a function that gives an async iterable of chunks.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Core from "../Agent.js"
import type * as AgentEvent from "../AgentEvent.js"
import * as CancelCause from "../CancelCause.js"
import type * as Content from "../Content.js"
import * as Model from "../capability/Model.js"
import type * as Inbox from "../Inbox.js"
import { answerOf, asked } from "../internal/promise/asked.js"
import { behindRuntime } from "../internal/promise/runtimes.js"
import * as Session from "../Session.js"
import { ToolRuntime } from "../ToolRuntime.js"
import type { Runtime } from "./Runtime.js"

/**
 * What a function of an agent is given beside its arguments: a signal that aborts when its turn is cancelled. The
 * function is awaited whatever it does with that (L4).
 *
 * @since 0.1.0
 * @category models
 */
export interface Asked {
  readonly signal: AbortSignal
}

/**
 * Asks a language model: what it gives ends with a chunk `Finish`. A cancel aborts the signal, and the end of the
 * iterable is awaited. What it throws ends the answer, and is told as a request that failed.
 *
 * @since 0.1.0
 * @category models
 */
export type AskModel = (request: Model.Request, given: Asked) => AsyncIterable<Model.Chunk>

/**
 * What is to become of the messages that a step has claimed: the step goes on with these, or is refused.
 *
 * @since 0.1.0
 * @category models
 */
export type StepEntry =
  | { readonly kind: "enter"; readonly messages: ReadonlyArray<Inbox.Message> }
  | { readonly kind: "reject"; readonly reason: string }

/**
 * What is to become of a request that failed.
 *
 * @since 0.1.0
 * @category models
 */
export type RequestRetry = { readonly kind: "retry"; readonly afterMillis: number } | { readonly kind: "fail" }

/**
 * What an agent is made of.
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentOptions {
  /** Names the agent in logs, policies and approvals. */
  readonly id: string
  readonly model: AskModel
  /** Runs the tools that the model calls. Not disposed of with the agent. */
  readonly runtime: Runtime
  /** The name of the model, as requests have it. Default: `default`. */
  readonly modelName?: string | undefined
  readonly modelOptions?: Model.Options | undefined
  /** How long the model may send nothing while a chunk is waited for. Default: 5 minutes. */
  readonly idleTimeout?: Duration.DurationInput | undefined
  /** What the model is told first, in each request. A function is asked again for each step. */
  readonly instructions?: string | ((step: Core.StepInfo, given: Asked) => string | Promise<string>) | undefined
  /** Asked before each step what becomes of the messages that it has claimed. Default: they are read. */
  readonly beforeStep?:
    | ((step: Core.StepInfo, messages: ReadonlyArray<Inbox.Message>, given: Asked) => StepEntry | Promise<StepEntry>)
    | undefined
  /** Runs when a turn has nothing more to do, before it ends. */
  readonly beforeStop?: ((turn: number, given: Asked) => void | Promise<void>) | undefined
  /** Asked of each request that failed. Default: three more attempts where the provider says that it may help. */
  readonly onRequestFailed?:
    | ((problem: Model.Problem, attempt: number, given: Asked) => RequestRetry | Promise<RequestRetry>)
    | undefined
  /** How many parallel calls of one message may run at once. Default: 10. */
  readonly maxParallelCalls?: number | undefined
  /** What becomes of calls that had finished when the turn was cancelled. Default: `keep`. */
  readonly finishedSiblings?: "keep" | "abort" | undefined
  /** The log. Default: one in memory, which is closed with the agent. */
  readonly session?: Session.Service | undefined
}

type Said = string | ReadonlyArray<Content.Content>

/**
 * What people do with an agent.
 *
 * @since 0.1.0
 * @category services
 */
export interface Agent extends AsyncDisposable {
  readonly id: string
  readonly session: Session.Service
  readonly status: () => Core.Status
  /**
   * Accepts a message, in this very step, and resolves with its id. Rejects, with nothing changed, for an agent that was
   * disposed of, and when the session cannot log it.
   */
  readonly send: (said: Said, options?: Core.SendOptions) => Promise<string>
  /** `send` for a turn of its own. */
  readonly followup: (said: Said) => Promise<string>
  /** `send` for the next step of the turn that runs. */
  readonly steer: (said: Said) => Promise<string>
  /** `send` for whatever comes next, waking nobody. */
  readonly inject: (said: Said) => Promise<string>
  /** Takes back a message that nobody has read, and resolves with whether it still waited. */
  readonly withdraw: (id: string) => Promise<boolean>
  /**
   * Stops what runs, and clears what waits unless `keepInbox` is set. Does not wait (`whenIdle` does), never throws, and
   * stops first. Signals abort with `reason`, the same object; without one, as where a person stops it. The first stays.
   */
  readonly cancel: (options?: { readonly reason?: unknown; readonly keepInbox?: boolean | undefined }) => void
  /** Resolves when nothing runs and nothing is about to. Not for tools of this agent, which it would wait for. */
  readonly whenIdle: () => Promise<void>
  /** Runs something while no turn does, with a signal that `cancel` aborts. Rejects where something runs already. */
  readonly runMaintenance: <A>(task: (given: Asked) => A | Promise<A>) => Promise<A>
  /** Everything that has happened and will happen, until the session is closed or the signal aborts. */
  readonly events: (options: {
    readonly signal: AbortSignal
    /** The number of the first event. Default: 1. */
    readonly from?: number | undefined
  }) => AsyncIterable<AgentEvent.Envelope>
  /** What a request made now would hold. */
  readonly messages: () => ReadonlyArray<Model.Message>
  /**
   * Stops what runs, waits until nothing does, and closes the agent: nothing starts after that. Again and again it is one
   * promise. A tool or a function of this agent must not wait for it.
   */
  readonly dispose: () => Promise<void>
}

// JavaScript can answer with anything.
const entryOf = (entry: StepEntry | undefined): Core.Entry => {
  if (entry?.kind === "reject") return Core.reject(entry.reason)
  if (entry?.kind === "enter" && Array.isArray(entry.messages)) return Core.enter(entry.messages)
  throw new TypeError('beforeStep must answer { kind: "enter", messages } or { kind: "reject", reason }')
}

const retryOf = (retry: RequestRetry | undefined): Core.Retry => {
  if (retry?.kind === "retry") return Core.retry(retry.afterMillis)
  if (retry?.kind === "fail") return Core.fail
  throw new TypeError('onRequestFailed must answer { kind: "retry", afterMillis } or { kind: "fail" }')
}

const coreOptions = (options: AgentOptions): Core.Options<any> => {
  const { beforeStep, beforeStop, instructions, onRequestFailed } = options
  return {
    id: options.id,
    model: options.modelName ?? "default",
    modelOptions: options.modelOptions,
    maxParallelCalls: options.maxParallelCalls,
    finishedSiblings: options.finishedSiblings,
    instructions:
      typeof instructions === "function" ? (step) => asked((given) => instructions(step, given)) : instructions,
    beforeStep:
      beforeStep && ((step, messages) => asked(async (given) => entryOf(await beforeStep(step, messages, given)))),
    beforeStop: beforeStop && ((turn) => asked((given) => beforeStop(turn, given))),
    onRequestFailed:
      onRequestFailed &&
      ((problem, attempt) => asked(async (given) => retryOf(await onRequestFailed(problem, attempt, given))))
  }
}

/**
 * Makes an agent. Resolves when it takes messages; rejects where another agent is open on the session.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { createAgent, createRuntime } from "quiesce/promise"
 *
 * await using runtime = createRuntime()
 * await using agent = await createAgent({
 *   id: "clerk",
 *   runtime,
 *   model: async function* ({ messages }) {
 *     yield { _tag: "Text", text: `I was told ${messages.length} things.` }
 *     yield { _tag: "Finish", reason: "stop" }
 *   }
 * })
 * await agent.followup("Hello.")
 * await agent.whenIdle()
 * assert.deepStrictEqual(agent.messages().at(-1), {
 *   role: "assistant",
 *   content: [{ type: "text", text: "I was told 1 things." }]
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const createAgent = async (options: AgentOptions): Promise<Agent> => {
  const { host, service } = behindRuntime(options.runtime)
  const scope = host.now(Scope.make())
  const model = Model.layer((request) => answerOf((given) => options.model(request, given)), {
    idleTimeout: options.idleTimeout
  })
  const make = Effect.gen(function* () {
    const session = options.session ?? (yield* Session.make({ agent: options.id }))
    return yield* Core.make(coreOptions(options)).pipe(
      Effect.provideService(Session.Session, session),
      Effect.provideService(ToolRuntime, service),
      Effect.provide(model)
    )
  }) as Effect.Effect<Core.Handle, Session.SessionError, Scope.Scope>
  const close = Scope.close(scope, Exit.void)
  const core = await host.finish(Effect.onError(Scope.extend(make, scope), () => close))
  let disposed: Promise<void> | undefined

  const agent: Agent = {
    id: core.id,
    session: core.session,
    status: () => host.now(core.status),
    send: (said, options) => host.finish(core.send(said, options)),
    followup: (said) => host.finish(core.followup(said)),
    steer: (said) => host.finish(core.steer(said)),
    inject: (said) => host.finish(core.inject(said)),
    withdraw: (id) => host.finish(core.withdraw(id)),
    cancel: ({ keepInbox, reason } = {}) =>
      host.now(core.cancel(reason === undefined ? CancelCause.user() : CancelCause.hostSignal(reason), { keepInbox })),
    whenIdle: () => host.finish(core.whenIdle),
    runMaintenance: (task) => host.finish(core.runMaintenance(asked(task))),
    events: ({ from, signal }) => host.iterate(core.session.follow(from), signal),
    messages: () => core.session.messages(),
    dispose: () => {
      disposed ??= host.finish(Effect.zipRight(core.dispose, close))
      return disposed
    },
    [Symbol.asyncDispose]: () => agent.dispose()
  }
  return Object.freeze(agent)
}
