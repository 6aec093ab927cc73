/** What a scenario of an agent is written against, and the two drivers that run it. */
import { Effect, Exit, Layer, Option, Runtime, Schema, Scope, Stream } from "effect"
import {
  Abort,
  Agent,
  type AgentEvent,
  CancelCause,
  Cancellation,
  Content,
  Session,
  Tool,
  Toolkit,
  ToolRuntime
} from "quiesce"
import { Model } from "quiesce/capability"
import { createAgent, createRuntime, defineTool, type Agent as Facade } from "quiesce/promise"

/** The answers of a model, by the number of the request. */
export type Answers = (
  request: Model.Request,
  given: { readonly signal: AbortSignal },
  index: number
) => AsyncIterable<Model.Chunk>

export interface AgentStages {
  readonly answers: Answers
  readonly instructions?: (given: { readonly signal: AbortSignal }) => Promise<string>
  readonly beforeStep?: (given: { readonly signal: AbortSignal }) => Promise<"enter" | "reject" | "nothing">
  readonly beforeStop?: (given: { readonly signal: AbortSignal }) => Promise<void>
  /** The body of the one tool, `work`. */
  readonly work?: (given: { readonly signal: AbortSignal }) => Promise<string>
}

/** What both agents have. */
export type Played = Pick<
  Facade,
  | "status"
  | "followup"
  | "steer"
  | "inject"
  | "cancel"
  | "whenIdle"
  | "runMaintenance"
  | "messages"
  | "dispose"
  | "session"
>

export interface AgentDriver {
  readonly make: (stages: AgentStages) => Promise<Played>
}

export interface AgentScenario {
  readonly title: string
  readonly run: (driver: AgentDriver) => Promise<void>
}

const done = async () => "done"

export const facadeAgents: AgentDriver = {
  make: ({ answers, beforeStep, beforeStop, instructions, work = done }) => {
    let requests = 0
    const tool = defineTool({
      name: "work",
      description: "Works",
      parameters: Schema.standardSchemaV1(Schema.Struct({})),
      execute: (_, { signal }) => work({ signal })
    })
    return createAgent({
      id: "clerk",
      runtime: createRuntime({ tools: [tool] }),
      model: (request, given) => answers(request, given, requests++),
      instructions: instructions && ((_, given) => instructions(given)),
      beforeStep:
        beforeStep &&
        (async (_, messages, given) => {
          const answer = await beforeStep(given)
          if (answer === "reject") return { kind: "reject", reason: "not now" }
          return { kind: "enter", messages: answer === "enter" ? messages : [] }
        }),
      beforeStop: beforeStop && ((_, given) => beforeStop(given)),
      onRequestFailed: () => ({ kind: "fail" })
    })
  }
}

const awaiting = <A>(f: (body: Abort.Body) => Promise<A>) => Abort.fromPromise({ try: f, catch: (error) => error })

export const effectAgents: AgentDriver = {
  make: async ({ answers, beforeStep, beforeStop, instructions, work = done }) => {
    let requests = 0
    const Work = Tool.make("work", {
      description: "Works",
      parameters: {},
      success: Schema.String,
      failure: Schema.Unknown,
      handler: () => awaiting(work)
    })
    const model = Model.layer((request) =>
      Stream.unwrap(
        Effect.map(Cancellation.signal, (signal) => {
          const iterator = answers(request, { signal }, requests++)[Symbol.asyncIterator]()
          // What it is stopped with is awaited: the end of an answer is the end of its iterator.
          return Stream.ensuring(
            Stream.repeatEffectOption(
              Effect.flatMap(
                Effect.orDie(awaiting(() => iterator.next())),
                (step): Effect.Effect<Model.Chunk, Option.Option<never>> =>
                  step.done === true ? Effect.fail(Option.none<never>()) : Effect.succeed(step.value)
              )
            ),
            Cancellation.own(Effect.orDie(awaiting(async () => iterator.return?.())))
          )
        })
      )
    )
    const layer = Layer.mergeAll(model, ToolRuntime.layer({ toolkit: Toolkit.make(Work) }), Session.layerMemory())
    const scope = await Effect.runPromise(Scope.make())
    const make = Agent.make({
      id: "clerk",
      model: "default",
      instructions: instructions && (() => awaiting(instructions)),
      beforeStep:
        beforeStep &&
        ((_, messages) =>
          Effect.map(awaiting(beforeStep), (answer) =>
            answer === "reject" ? Agent.reject("not now") : Agent.enter(answer === "enter" ? messages : [])
          )),
      beforeStop: beforeStop && (() => awaiting(beforeStop)),
      onRequestFailed: () => Effect.succeed(Agent.fail)
    })
    const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
    const agent = await Effect.runPromise(Effect.provide(Scope.extend(make, scope), context))
    const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
      const promise = new Promise<A>((resolve, reject) => {
        Runtime.runFork(Runtime.defaultRuntime)(effect).addObserver((exit) => {
          if (Exit.isSuccess(exit)) resolve(exit.value)
          else reject(exit.cause._tag === "Fail" ? exit.cause.error : exit.cause)
        })
      })
      promise.catch(() => {})
      return promise
    }
    let disposed: Promise<void> | undefined
    return {
      session: agent.session,
      status: () => Effect.runSync(agent.status),
      followup: (said) => run(agent.followup(said)),
      steer: (said) => run(agent.steer(said)),
      inject: (said) => run(agent.inject(said)),
      cancel: ({ keepInbox, reason } = {}) =>
        Effect.runSync(
          agent.cancel(reason === undefined ? CancelCause.user() : CancelCause.hostSignal(reason), { keepInbox })
        ),
      whenIdle: () => run(agent.whenIdle),
      runMaintenance: (task) => run(agent.runMaintenance(awaiting(async (given) => task(given)))),
      messages: () => agent.session.messages(),
      dispose: () => {
        disposed ??= run(Effect.zipRight(agent.dispose, Scope.close(scope, Exit.void)))
        return disposed
      }
    }
  }
}

const events = ({ session }: Played): ReadonlyArray<AgentEvent.AgentEvent> => session.events().map(({ event }) => event)

export const tags = (agent: Played): ReadonlyArray<string> =>
  events(agent)
    .map(({ _tag }) => _tag)
    .filter((tag) => tag !== "ModelChunk" && !tag.startsWith("Session"))

export const ends = (agent: Played): ReadonlyArray<AgentEvent.Outcome> =>
  events(agent).flatMap((event) => (event._tag === "TurnEnded" ? [event.outcome] : []))

export const endTags = (agent: Played): ReadonlyArray<string> => ends(agent).map(({ _tag }) => _tag)

export const said = (agent: Played): ReadonlyArray<string> =>
  events(agent).flatMap((event) => (event._tag === "UserMessage" ? [Content.toText(event.content)] : []))

export const answered = (agent: Played): ReadonlyArray<string> =>
  events(agent).flatMap((event) =>
    event._tag === "AssistantMessage"
      ? [event.blocks.map((block) => ("text" in block ? block.text : "call")).join() + (event.interrupted ? "…" : "")]
      : []
  )
