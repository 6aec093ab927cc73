/**
 * What happens to an agent, as data: the entries of its `Session`.
 *
 * An event says what has happened, in the step in which it did, and is never changed. It is plain JSON and means the same
 * before it was stored and after. Everything else that is known of a session (the messages that a model is shown, what is
 * queued, how far the turns have come) is derived from its events.
 *
 * A *turn* is what one piece of input leads to, until the model rests; a *step* is one model request and the calls that it
 * causes. Turns are counted from 1 over the whole session, steps from 1 in each turn, attempts of a request from 1 in each
 * step.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as CancelCause from "./CancelCause.js"
import * as Content from "./Content.js"
import * as Model from "./capability/Model.js"
import * as ToolResult from "./ToolResult.js"

/**
 * The version of what is stored. A session that was written in another one is not opened.
 *
 * @since 0.1.0
 * @category models
 */
export const version = 1

// What is appended is JSON, so what is read is, too: more than a schema of unknown values can say.
const Result = ToolResult.ToolResult as Schema.Schema<any> as Schema.Schema<ToolResult.ToolResult>
const Count = Schema.Int.pipe(Schema.positive())
const Ids = Schema.Array(Schema.String)
const inTurn = { turn: Count }
const inStep = { turn: Count, step: Count }
const inCall = { parentId: Schema.String, rootId: Schema.String }
const inAttempt = { turn: Count, step: Count, attempt: Count }

/**
 * The session began. The first event, and the only one of its kind.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionStarted = Schema.TaggedStruct("SessionStarted", { version: Schema.Int, agent: Schema.String })

/**
 * Somebody opened a session that had been stored. What had been left open when its program ended is closed by the events
 * that follow.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionReopened = Schema.TaggedStruct("SessionReopened", {})

/**
 * The session was closed. Only `SessionReopened` may follow; where that follows something else, a program has crashed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionClosed = Schema.TaggedStruct("SessionClosed", {})

/**
 * What was found wrong when a session was reopened, and what was done about it, in words.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Repaired = Schema.TaggedStruct("Repaired", { what: Schema.Array(Schema.String) })

/**
 * A message to the agent, told from others by its `id`. `source` is who sent it, where it was not a person.
 *
 * @since 0.1.0
 * @category schemas
 */
export const InputMessage = Schema.Struct({
  id: Schema.String,
  content: Schema.Array(Content.Content),
  source: Schema.optional(Schema.String)
})

/**
 * A message to the agent.
 *
 * @since 0.1.0
 * @category models
 */
export type InputMessage = typeof InputMessage.Type

/**
 * A message was accepted: for the next `step`, or for a `turn` of its own. `wakes` says that it is reason enough to begin
 * a turn.
 *
 * @since 0.1.0
 * @category schemas
 */
export const InputQueued = Schema.TaggedStruct("InputQueued", {
  message: InputMessage,
  target: Schema.Literal("step", "turn"),
  wakes: Schema.Boolean
})

/**
 * Queued messages were taken away and will not be run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const InputDiscarded = Schema.TaggedStruct("InputDiscarded", { ids: Ids, reason: Schema.String })

/**
 * Queued messages stay queued and wake nobody until something else does (L11).
 *
 * @since 0.1.0
 * @category schemas
 */
export const InputParked = Schema.TaggedStruct("InputParked", { ids: Ids, reason: Schema.String })

/**
 * Messages that a turn had claimed and that the model never saw went back to the head of their queue.
 *
 * @since 0.1.0
 * @category schemas
 */
export const InputReturned = Schema.TaggedStruct("InputReturned", { ids: Ids })

/**
 * A turn began.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TurnStarted = Schema.TaggedStruct("TurnStarted", inTurn)

/**
 * A turn took messages from the queue.
 *
 * @since 0.1.0
 * @category schemas
 */
export const InputClaimed = Schema.TaggedStruct("InputClaimed", { ...inTurn, ids: Ids })

/**
 * A step began.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StepStarted = Schema.TaggedStruct("StepStarted", inStep)

/**
 * What the model is told on behalf of a person. `id` is that of the queued message that it was, if it was one.
 *
 * @since 0.1.0
 * @category schemas
 */
export const UserMessage = Schema.TaggedStruct("UserMessage", {
  ...inStep,
  id: Schema.optional(Schema.String),
  content: Schema.Array(Content.Content)
})

/**
 * The model was asked.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ModelRequested = Schema.TaggedStruct("ModelRequested", { ...inAttempt, model: Schema.String })

/**
 * A piece of the model's answer came in.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ModelChunk = Schema.TaggedStruct("ModelChunk", { ...inAttempt, chunk: Model.Chunk })

/**
 * A request failed. Nothing of its answer counts. `retried` says that another attempt follows.
 *
 * @since 0.1.0
 * @category schemas
 */
export const RequestFailed = Schema.TaggedStruct("RequestFailed", {
  ...inAttempt,
  code: Schema.String,
  message: Schema.String,
  retried: Schema.Boolean
})

/**
 * What the model said in a step, as the next requests will hold it. `interrupted` says that it is the beginning of an
 * answer that was stopped; such a message has no tool calls. `chunkSeqs` are the events that it was put together from.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AssistantMessage = Schema.TaggedStruct("AssistantMessage", {
  ...inStep,
  blocks: Schema.Array(Model.Block),
  interrupted: Schema.Boolean,
  usage: Schema.optional(Model.Usage),
  finish: Schema.optional(Model.FinishReason),
  chunkSeqs: Schema.Array(Count)
})

/**
 * A call of the model was handed to the runtime. Stored before anything of it runs: a call without this event has not
 * been started (L13).
 *
 * @since 0.1.0
 * @category schemas
 */
export const CallStarted = Schema.TaggedStruct("CallStarted", {
  ...inStep,
  callId: Schema.String,
  tool: Schema.String,
  parameters: Schema.Unknown
})

/**
 * A call has its result.
 *
 * @since 0.1.0
 * @category schemas
 */
export const CallEnded = Schema.TaggedStruct("CallEnded", { ...inStep, result: Result })

/**
 * The body of a call made a call of its own. Stored before anybody is asked about it: a call without this event has not
 * been started (L13). `parentId` is the call whose body made it, `rootId` the call of the model.
 *
 * @since 0.1.0
 * @category schemas
 */
export const NestedCallStarted = Schema.TaggedStruct("NestedCallStarted", {
  ...inStep,
  ...inCall,
  callId: Schema.String,
  tool: Schema.String,
  parameters: Schema.Unknown
})

/**
 * A call that a body made has its result. It comes before that of the call whose body made it (L8), and the model does not
 * see it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const NestedCallEnded = Schema.TaggedStruct("NestedCallEnded", { ...inStep, ...inCall, result: Result })

/**
 * What a call wants the model to be told beside its result (L12). The model sees it behind all results of the step.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ContextAdded = Schema.TaggedStruct("ContextAdded", {
  ...inStep,
  callId: Schema.String,
  content: Schema.Array(Content.Content)
})

/**
 * A step ended: every call of it has its result (L8).
 *
 * @since 0.1.0
 * @category schemas
 */
export const StepEnded = Schema.TaggedStruct("StepEnded", inStep)

/**
 * Schema for how a turn ended.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Outcome = Schema.Union(
  Schema.TaggedStruct("Completed", {}),
  Schema.TaggedStruct("MaxTokens", {}),
  Schema.TaggedStruct("Blocked", { reason: Schema.String }),
  Schema.TaggedStruct("Cancelled", { cause: Schema.encodedSchema(CancelCause.CancelCause) }),
  Schema.TaggedStruct("Error", { code: Schema.String, message: Schema.String }),
  Schema.TaggedStruct("Interrupted", {})
)

/**
 * How a turn ended.
 *
 * - `Completed`: the model rests
 * - `MaxTokens`: an answer ran into its limit
 * - `Blocked`: a policy let nothing in
 * - `Cancelled`: its owner was cancelled; `cause` as `CancelCause.encode` gives it
 * - `Error`: something failed
 * - `Interrupted`: the program ended in the middle of it. Only found when a session is reopened
 *
 * @since 0.1.0
 * @category models
 */
export type Outcome = typeof Outcome.Type

/**
 * A turn ended, and nothing of it runs any more.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TurnEnded = Schema.TaggedStruct("TurnEnded", { ...inTurn, outcome: Outcome })

/**
 * Schema for an event. What is stored and what is decoded are the same.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgentEvent = Schema.Union(
  SessionStarted,
  SessionReopened,
  SessionClosed,
  Repaired,
  InputQueued,
  InputDiscarded,
  InputParked,
  InputReturned,
  TurnStarted,
  InputClaimed,
  StepStarted,
  UserMessage,
  ModelRequested,
  ModelChunk,
  RequestFailed,
  AssistantMessage,
  CallStarted,
  CallEnded,
  NestedCallStarted,
  NestedCallEnded,
  ContextAdded,
  StepEnded,
  TurnEnded
)

/**
 * Something that has happened to an agent.
 *
 * @since 0.1.0
 * @category models
 */
export type AgentEvent = typeof AgentEvent.Type

/**
 * Checks whether a value is an event.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { AgentEvent } from "quiesce"
 *
 * assert.strictEqual(AgentEvent.isAgentEvent(AgentEvent.TurnStarted.make({ turn: 1 })), true)
 * assert.strictEqual(AgentEvent.isAgentEvent({ _tag: "TurnStarted", turn: 0 }), false)
 * ```
 *
 * @since 0.1.0
 * @category guards
 */
export const isAgentEvent: (u: unknown) => u is AgentEvent = Schema.is(AgentEvent)

/**
 * Schema for an event with its place in the session: `seq` counts from 1, and `at` is when it was appended, in
 * milliseconds since 1970.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Envelope = Schema.Struct({ seq: Count, at: Schema.Finite, event: AgentEvent })

/**
 * An event with its place in the session.
 *
 * @since 0.1.0
 * @category models
 */
export type Envelope = typeof Envelope.Type

/**
 * Checks whether a value is an event with its place.
 *
 * @since 0.1.0
 * @category guards
 */
export const isEnvelope: (u: unknown) => u is Envelope = Schema.is(Envelope)
