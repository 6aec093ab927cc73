// An agent with a scripted model, on a session in memory, and what the tests of it look at.
import { Deferred, Effect, Layer, Logger, Schema } from "effect"
import {
  Agent,
  type AgentEvent,
  CancelCause,
  type Cancellation,
  Content,
  type Policy,
  Session,
  Tool,
  Toolkit,
  ToolRuntime
} from "quiesce"
import type { Approval, Model } from "quiesce/capability"
import { ScriptedModel } from "quiesce/testing"

export const user = CancelCause.user()

/** Lets everything that can go on do so. */
export const settle = Effect.repeatN(Effect.yieldNow(), 60)

export interface Setup {
  readonly answers: ScriptedModel.Answers
  readonly agent?: Partial<Agent.Options<Cancellation.Cancellation>>
  readonly tools?: ReadonlyArray<Tool.Any>
  readonly policies?: ReadonlyArray<Policy.Any>
  readonly approval?: Layer.Layer<Approval.Approval>
  readonly session?: Layer.Layer<Session.Session, Session.SessionError>
}

export interface Stage {
  readonly agent: Agent.Handle
  readonly model: ScriptedModel.Scripted
  readonly session: Session.Service
}

export const onStage = <A, E>(setup: Setup, use: (stage: Stage) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    const model = yield* ScriptedModel.make(setup.answers)
    const runtime = ToolRuntime.layer({
      toolkit: Toolkit.make(...(setup.tools ?? [])),
      policies: setup.policies ?? []
    }) as Layer.Layer<ToolRuntime.ToolRuntime>
    const approved = setup.approval === undefined ? runtime : Layer.provide(runtime, setup.approval)
    const layer = Layer.mergeAll(model.layer, approved, Layer.orDie(setup.session ?? Session.layerMemory()))
    return yield* Effect.scoped(
      Effect.flatMap(Agent.make({ id: "clerk", model: "scripted", ...setup.agent }), (agent) =>
        use({ agent, model, session: agent.session })
      )
    ).pipe(Effect.provide(layer))
  })

export const tags = (
  session: Session.Service,
  without: ReadonlyArray<string> = ["ModelChunk"]
): ReadonlyArray<string> =>
  session
    .events()
    .map(({ event }) => event._tag)
    .filter((tag) => !["SessionStarted", ...without].includes(tag))

export const ends = (session: Session.Service): ReadonlyArray<unknown> =>
  session.events().flatMap(({ event }) => (event._tag === "TurnEnded" ? [event.outcome] : []))

export const endTags = (session: Session.Service): ReadonlyArray<string> =>
  (ends(session) as ReadonlyArray<AgentEvent.Outcome>).map(({ _tag }) => _tag)

export const said = (session: Session.Service): ReadonlyArray<string> =>
  session.events().flatMap(({ event }) => (event._tag === "UserMessage" ? [Content.toText(event.content)] : []))

export const text = (text: string): Model.Chunk => ({ _tag: "Text", text })
export const finish: Model.Chunk = { _tag: "Finish", reason: "stop" }
export const toolCall = (id: string, name: string, parameters: unknown = {}): ReadonlyArray<Model.Chunk> => [
  { _tag: "ToolCallStart", id, name },
  { _tag: "ToolCallArguments", id, text: JSON.stringify(parameters) }
]
export const calling = (...chunks: ReadonlyArray<ReadonlyArray<Model.Chunk>>): ReadonlyArray<Model.Chunk> => [
  ...chunks.flat(),
  { _tag: "Finish", reason: "tool-calls" }
]

export const gatedTool = (gate: Deferred.Deferred<void>) =>
  Tool.make("work", {
    description: "Works until its gate is open",
    parameters: {},
    success: Schema.String,
    handler: () => Effect.as(Deferred.await(gate), "done")
  })

export const quickTool = Tool.make("quick", {
  description: "Is done after a step",
  parameters: {},
  success: Schema.String,
  concurrency: "parallel",
  handler: () => Effect.as(Effect.yieldNow(), "done")
})

/** Without the warnings that a test provokes. */
export const silently = Effect.provide(Logger.remove(Logger.defaultLogger))
