/**
 * An agent: it takes messages, asks a model, runs the tools that the model calls, and rests.
 *
 * Who talks to it needs two promises. No message is lost: what was accepted is read, or parked by a rule that the log
 * states. And there is one way to stop it, `cancel`, and one way to know that nothing of it runs, `whenIdle` (L11).
 *
 * Messages wait in two lines: `followup` opens a turn of its own, `steer` is read before the next step of the turn that
 * runs, and `inject` is read with whatever comes next and wakes nobody. Everything that happens is in the session.
 *
 * Long because half of it is contracts: what each verb promises is said beside it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { isString } from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CancelCause from "./CancelCause.js"
import * as Cancellation from "./Cancellation.js"
import * as Content from "./Content.js"
import * as Model from "./capability/Model.js"
import type * as Inbox from "./Inbox.js"
import { Activities } from "./internal/agent/activities.js"
import { CallIds } from "./internal/agent/callIds.js"
import type { Retry as AnyRetry } from "./internal/agent/request.js"
import type { Event, Refusal } from "./internal/agent/transition.js"
import type { Entry as AnyEntry, StepInfo as AnyStepInfo } from "./internal/agent/turn.js"
import { Settlement } from "./internal/settlement.js"
import { originOf, startProtectedFiber } from "./internal/startFiber.js"
import * as Session from "./Session.js"
import * as ToolRuntime from "./ToolRuntime.js"

/**
 * Why an agent refused something.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Agent } from "quiesce"
 *
 * const error = new Agent.AgentError({ agent: "clerk", reason: "Closed" })
 * assert.strictEqual(error.code, "AGENT_CLOSED")
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentError extends Schema.TaggedError<AgentError>("quiesce/Agent/AgentError")("AgentError", {
  agent: Schema.String,
  reason: Schema.Literal("Closed", "Busy")
}) {
  /** The reason as a code: `AGENT_CLOSED` or `AGENT_BUSY`. */
  get code(): string {
    return `AGENT_${this.reason.toUpperCase()}`
  }

  override get message(): string {
    return this.reason === "Closed"
      ? `agent "${this.agent}" has been disposed of, so it takes nothing any more: make another one on its session`
      : `agent "${this.agent}" already has active work: wait with whenIdle, or cancel it`
  }
}

/**
 * A step of a turn, by number.
 *
 * @since 0.1.0
 * @category models
 */
export type StepInfo = AnyStepInfo

/**
 * What is to become of the messages that a step has claimed.
 *
 * @since 0.1.0
 * @category models
 */
export type Entry = AnyEntry

/**
 * What is to become of a request that failed.
 *
 * @since 0.1.0
 * @category models
 */
export type Retry = AnyRetry

/**
 * Lets a step go on with these messages: those that it claimed, or what is to be read instead.
 *
 * @since 0.1.0
 * @category constructors
 */
export const enter = (messages: ReadonlyArray<Inbox.Message>): Entry => ({ _tag: "Enter", messages })

/**
 * Refuses a step. The turn ends as blocked, and what the step had claimed is discarded.
 *
 * @since 0.1.0
 * @category constructors
 */
export const reject = (reason: string): Entry => ({ _tag: "Reject", reason })

/**
 * Sends a request once more, after some milliseconds in which a cancel ends the wait.
 *
 * @since 0.1.0
 * @category constructors
 */
export const retry = (afterMillis: number): Retry => ({ _tag: "Retry", afterMillis })

/**
 * Gives a request up. The turn ends with its error.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fail: Retry = { _tag: "Fail" }

/**
 * What an agent is made of. Its policies run under the turn's owner: a cancel stops them and waits for them (L4).
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<R = never> {
  /** Names the agent in logs, policies and approvals. */
  readonly id: string
  /** The name of the model, as the provider of `Model` knows it. */
  readonly model: string
  /** What the model is told first, in each request. A function is asked again for each step: prompt assembly. */
  readonly instructions?: string | ((step: StepInfo) => Effect.Effect<string, unknown, R>) | undefined
  readonly modelOptions?: Model.Options | undefined
  /** Asked before each step what becomes of the messages that it has claimed. Default: they are read. */
  readonly beforeStep?:
    | ((step: StepInfo, messages: ReadonlyArray<Inbox.Message>) => Effect.Effect<Entry, unknown, R>)
    | undefined
  /** Runs when a turn has nothing more to do, before it ends. What it sends is read in another turn. */
  readonly beforeStop?: ((turn: number) => Effect.Effect<void, unknown, R>) | undefined
  /** Asked of each request that failed. Default: three more attempts where the provider says that it may help. */
  readonly onRequestFailed?: ((problem: Model.Problem, attempt: number) => Effect.Effect<Retry, unknown, R>) | undefined
  /** How many parallel calls of one message may run at once. Default: 10. */
  readonly maxParallelCalls?: number | undefined
  /** What becomes of calls that had finished when the turn was cancelled: see `ToolRuntime.BatchOptions`. */
  readonly finishedSiblings?: "keep" | "abort" | undefined
}

/**
 * How a message is sent.
 *
 * @since 0.1.0
 * @category models
 */
export interface SendOptions {
  /** The line that it waits in. Default: `turn`. */
  readonly target?: Inbox.Target | undefined
  /** Whether it opens a turn where none runs. Default: `true`. */
  readonly wakes?: boolean | undefined
  /** Who says it, where that is not the person in front of the agent. */
  readonly source?: string | undefined
}

/** What can be said to an agent: text, or content. */
type Said = string | ReadonlyArray<Content.Content>

/**
 * What an agent is doing.
 *
 * @since 0.1.0
 * @category models
 */
export type Status = "idle" | "running" | "closed"

/**
 * What people do with an agent.
 *
 * @since 0.1.0
 * @category models
 */
export interface Agent {
  readonly id: string
  readonly options: Options<any>
  readonly session: Session.Service
  /** A turn that runs makes it `running`; maintenance does not. */
  readonly status: Effect.Effect<Status>
  /**
   * Accepts a message, and succeeds with its id. One synchronous step: when it has completed, the message is logged, and
   * where it woke the agent a turn has begun and claimed it. Fails, with nothing changed, for an agent that was disposed
   * of, and when the session cannot log it.
   *
   * Sent to a turn that was cancelled, a waking message opens the next turn as soon as that one has ended.
   */
  readonly send: (said: Said, options?: SendOptions) => Effect.Effect<string, AgentError | Session.SessionError>
  /** `send` for a turn of its own. */
  readonly followup: (said: Said) => Effect.Effect<string, AgentError | Session.SessionError>
  /** `send` for the next step of the turn that runs. */
  readonly steer: (said: Said) => Effect.Effect<string, AgentError | Session.SessionError>
  /** `send` for whatever comes next, waking nobody. */
  readonly inject: (said: Said) => Effect.Effect<string, AgentError | Session.SessionError>
  /**
   * Takes back a message that nobody has read, and succeeds with whether it still waited: `false` says that a turn has
   * it, or had. One synchronous step, logged before it holds; from `true` on no turn reads it. A wake that it was goes
   * with it, where no other message is left that wakes. Fails, with nothing changed, for an agent that was disposed of,
   * and when the session cannot log it.
   */
  readonly withdraw: (id: string) => Effect.Effect<boolean, AgentError | Session.SessionError>
  /**
   * Stops what runs, and clears what waits unless `keepInbox` is set; with it, messages that a step had claimed and not
   * read come back. Does not wait (`whenIdle` does), never fails, and stops first. The first cause stays (L6). An agent at
   * rest is left alone, with what is parked.
   */
  readonly cancel: (
    cause: CancelCause.CancelCause,
    options?: { readonly keepInbox?: boolean | undefined }
  ) => Effect.Effect<void>
  /**
   * Completes when nothing runs and nothing is about to. An interruption ends the wait and nothing else. Dies in a tool or
   * a policy of this very agent, where it would wait for itself.
   */
  readonly whenIdle: Effect.Effect<void>
  /**
   * Runs something while no turn does, under an owner that `cancel` cancels. A message that comes meanwhile opens its turn
   * afterwards. Fails with `Busy` where something runs already.
   */
  readonly runMaintenance: <A, E, R>(
    task: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | AgentError, Exclude<R, Cancellation.Cancellation>>
}

/**
 * An agent in the hands of who made it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handle extends Agent {
  /**
   * Cancels what runs with `Disposed`, waits until nothing does, and closes the agent: nothing starts after that. Shared:
   * whoever disposes waits for the same. What waits in the inbox stays in the session. A tool or a policy of this very
   * agent is cancelled by it and does not wait: it is what would be waited for.
   */
  readonly dispose: Effect.Effect<void>
}

// The sessions that an agent is open on.
const inUse = new WeakSet<Session.Service>()

const inUseMessage = (id: string): string =>
  `Agent "${id}" cannot be made: another agent is open on this session. Dispose of that one first, or give this one a session of its own`

const waitsForItself = (id: string): string =>
  `whenIdle was called in a turn, or in the maintenance, of agent "${id}", and would wait for itself: call it from outside, or start it on a fiber without the owner of the turn`

const contentOf = (said: Said): ReadonlyArray<Content.Content> => (isString(said) ? [Content.text(said)] : said)

const retryThrice = (problem: Model.Problem, attempt: number): Effect.Effect<Retry> =>
  Effect.succeed(
    problem.isRetryable && attempt <= 3 ? retry(problem.retryAfterMillis ?? 500 * 2 ** (attempt - 1)) : fail
  )

/**
 * Makes an agent on the session, the model and the tools in context. Closing the scope disposes of it.
 *
 * Dies where another agent is open on the session: two would write one log, each without knowing of the other.
 *
 * On a session that has been used it goes on from where that stands; messages that waited there are parked until
 * somebody wakes it. Under an owner in context it is cancelled and ends with that.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Layer, Stream } from "effect"
 * import { Agent, Session, ToolRuntime } from "quiesce"
 * import { Model } from "quiesce/capability"
 *
 * const model = Model.layer(() =>
 *   Stream.make<[Model.Chunk, Model.Chunk]>({ _tag: "Text", text: "Hello." }, { _tag: "Finish", reason: "stop" })
 * )
 * const program = Effect.gen(function* () {
 *   const agent = yield* Agent.make({ id: "clerk", model: "any" })
 *   yield* agent.followup("Say hello.")
 *   yield* agent.whenIdle
 *   return agent.session.messages()
 * })
 * const layer = Layer.mergeAll(model, ToolRuntime.layer(), Session.layerMemory())
 * const messages = await Effect.runPromise(Effect.scoped(program).pipe(Effect.provide(layer)))
 * assert.deepStrictEqual(messages.at(-1), { role: "assistant", content: [{ type: "text", text: "Hello." }] })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <R = never>(
  options: Options<R>
): Effect.Effect<
  Handle,
  never,
  Exclude<R, Cancellation.Cancellation> | Model.Model | Session.Session | ToolRuntime.ToolRuntime | Scope.Scope
> =>
  Effect.gen(function* () {
    const captured = yield* Effect.context<Exclude<R, Cancellation.Cancellation>>()
    const session = yield* Session.Session
    const { id } = options
    const owned = <A, E>(policy: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, Cancellation.Cancellation> =>
      Effect.flatMap(Cancellation.Cancellation, (owner) =>
        Effect.provide(
          policy(), // what it throws here is a failure of its own
          // The turn's owner over what the agent was made with.
          Context.add(captured, Cancellation.Cancellation, owner) as unknown as Context.Context<R>
        )
      )
    const { beforeStep, beforeStop, instructions, onRequestFailed } = options
    const owner = Cancellation.ownerIn(yield* Cancellation.ownScoped)
    const origin = yield* Effect.withFiberRuntime<ReturnType<typeof originOf>>((fiber, status) =>
      Effect.succeed(originOf(fiber, status))
    )
    const activities = new Activities(owner, origin, {
      agent: id,
      model: yield* Model.Model,
      runtime: yield* ToolRuntime.ToolRuntime,
      session,
      callIds: new CallIds(session.messages()),
      assemble: (step) =>
        Effect.map(
          typeof instructions === "function" ? owned(() => instructions(step)) : Effect.succeed(instructions ?? ""),
          (text) => ({
            model: options.model,
            instructions: text === "" ? [] : [Content.text(text)],
            options: options.modelOptions
          })
        ),
      beforeStep: (step, messages) =>
        beforeStep === undefined ? Effect.succeed(enter(messages)) : owned(() => beforeStep(step, messages)),
      onStopping: (turn) => (beforeStop === undefined ? Effect.void : owned(() => beforeStop(turn))),
      onFailure: (problem, attempt) =>
        onRequestFailed === undefined ? retryThrice(problem, attempt) : owned(() => onRequestFailed(problem, attempt)),
      batch: { maxParallel: options.maxParallelCalls, finishedSiblings: options.finishedSiblings }
    })
    const { machine } = activities
    const refuse = (reason: "Busy" | "Closed") => new AgentError({ agent: id, reason })
    // One step of the machine whose answer somebody waits for.
    const ask = <A>(
      event: () => Event,
      answer: (refusal: Refusal | undefined) => Effect.Effect<A, AgentError>,
      failed = (): void => {}
    ): Effect.Effect<A, AgentError | Session.SessionError> =>
      Effect.zipRight(
        machine.untilFree,
        Effect.suspend((): Effect.Effect<A, AgentError | Session.SessionError> => {
          try {
            return answer(machine.dispatch(event()))
          } catch (error) {
            failed()
            return error instanceof Session.SessionError ? Effect.fail(error) : Effect.die(error)
          }
        })
      )

    let sent = session.events().length
    const send: Agent["send"] = (said, { source, target = "turn", wakes = true } = {}) =>
      Effect.suspend(() => {
        let number = 0
        // Taken before the machine goes on: what that starts may send, too, within this very step.
        const event = (): Event => {
          number = ++sent
          const message = {
            id: `message-${number}`,
            content: contentOf(said),
            ...(source === undefined ? {} : { source })
          }
          return { _tag: "Sent", item: { message, target, wakes } }
        }
        // As many as there are events, at most: so the next agent on this session does not give one twice.
        const giveBack = (): void => {
          if (sent === number) sent--
        }
        const answer = (refusal: Refusal | undefined) => {
          if (refusal === undefined) return Effect.succeed(`message-${number}`)
          giveBack()
          return refuse("Closed")
        }
        return ask(event, answer, giveBack)
      })
    const withdraw: Agent["withdraw"] = (message) =>
      ask(
        () => ({ _tag: "Withdrawn", id: message }),
        (refusal) => (refusal === "closed" ? refuse("Closed") : Effect.succeed(refusal === undefined))
      )

    const disposed = new Settlement<void>()
    let isDisposing = false
    const beginDisposal = (): void => {
      if (isDisposing) return
      isDisposing = true
      machine.dispatch({ _tag: "Disposed", cause: CancelCause.disposed() })
      startProtectedFiber(machine.awaitRest(), Context.empty(), origin).addObserver(() => {
        inUse.delete(session)
        disposed.settle()
      })
    }
    const dispose = Effect.zipRight(
      machine.untilFree,
      Effect.withFiberRuntime<void>((fiber) => {
        beginDisposal()
        return activities.isPartOfIt(fiber.currentContext) ? Effect.void : disposed.waitTidily()
      })
    )
    yield* Effect.acquireRelease(
      Effect.suspend(() => {
        if (inUse.has(session)) return Effect.dieMessage(inUseMessage(id))
        inUse.add(session)
        return Effect.void
      }),
      () => dispose
    )

    const startMaintenance = (): Effect.Effect<void, AgentError> => {
      const refusal = machine.dispatch({ _tag: "MaintenanceStarted" })
      return refusal === undefined ? Effect.void : refuse(refusal === "busy" ? "Busy" : "Closed")
    }

    const agent: Handle = {
      id,
      options,
      session,
      status: Effect.sync(() => {
        const { _tag } = machine.state.phase
        return _tag === "Running" ? "running" : _tag === "Closed" ? "closed" : "idle"
      }),
      send,
      followup: (said) => send(said),
      steer: (said) => send(said, { target: "step" }),
      inject: (said) => send(said, { target: "step", wakes: false }),
      cancel: (cause, { keepInbox = false } = {}) =>
        Effect.sync(() => void machine.dispatch({ _tag: "Cancelled", cause, keepInbox })),
      withdraw,
      whenIdle: Effect.withFiberRuntime<void>((fiber) =>
        activities.isPartOfIt(fiber.currentContext) ? Effect.dieMessage(waitsForItself(id)) : machine.awaitRest()
      ),
      runMaintenance: (task) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.zipRight(
            Effect.zipRight(machine.untilFree, Effect.suspend(startMaintenance)),
            Effect.ensuring(
              restore(activities.maintain(task)),
              Effect.sync(() => machine.dispatch({ _tag: "MaintenanceEnded" }))
            )
          )
        ),
      dispose
    }
    return agent
  })
