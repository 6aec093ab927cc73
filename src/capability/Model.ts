/**
 * Language models that answer as a stream.
 *
 * A request is a value, and its answer is a stream of chunks that ends with exactly one `Finish`. Whatever goes wrong on
 * the provider's side (a refused key, a dead connection, nonsense on the wire) is that last chunk, never an error of the
 * stream: what was received before it stays usable. Only a cancellation ends the stream without a `Finish`, as an
 * interruption (L5).
 *
 * Long because every word of the protocol is a schema with its rules beside it; what makes a provider keep the contract
 * is in `internal/capability/model/`.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type Cancellation, timerMillis } from "../Cancellation.js"
import * as Content from "../Content.js"
import { deliver } from "../internal/capability/model/delivery.js"
import { describeThrown } from "../internal/thrown.js"
import type * as ToolCall from "../ToolCall.js"
import type * as ToolResult from "../ToolResult.js"

/**
 * What the model is told about its task. Comes first.
 *
 * @since 0.1.0
 * @category schemas
 */
export const System = Schema.Struct({ role: Schema.Literal("system"), content: Schema.Array(Content.Content) })

/**
 * What people, and the program on their behalf, say.
 *
 * @since 0.1.0
 * @category schemas
 */
export const User = Schema.Struct({ role: Schema.Literal("user"), content: Schema.Array(Content.Content) })

/**
 * A tool call, as the model wrote it. `arguments` is its text, unread: it may be empty, cut off, or no JSON at all.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolCallBlock = Schema.Struct({
  type: Schema.Literal("tool-call"),
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.String
})

/**
 * A tool call, as the model wrote it.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolCallBlock = typeof ToolCallBlock.Type

/**
 * Schema for one block of what a model says.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Block = Schema.Union(Content.Text, Content.Reasoning, ToolCallBlock)

/**
 * One block of what a model says.
 *
 * @since 0.1.0
 * @category models
 */
export type Block = typeof Block.Type

/**
 * What the model said.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Assistant = Schema.Struct({ role: Schema.Literal("assistant"), content: Schema.Array(Block) })

/**
 * What became of a tool call, as `ToolResult.toMessage` renders it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Tool: Schema.Schema<ToolResult.Message> = Schema.Struct({
  role: Schema.Literal("tool"),
  toolCallId: Schema.String,
  toolName: Schema.String,
  isError: Schema.Boolean,
  content: Schema.Array(Content.Content)
})

/**
 * Schema for a message.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Message = Schema.Union(System, User, Assistant, Tool)

/**
 * A message, told from others by its `role`.
 *
 * @since 0.1.0
 * @category models
 */
export type Message = typeof Message.Type

/**
 * What a model is told of a tool. Those of a runtime are `ToolRuntime.Service.schemas`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolSchema = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  /** A JSON Schema. */
  parameters: Schema.Object
})

/**
 * How a model is to answer. What is left out is the provider's choice.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Options = Schema.Struct({
  temperature: Schema.optional(Schema.Finite),
  topP: Schema.optional(Schema.Finite),
  /** The most tokens that the answer may have. */
  maxTokens: Schema.optional(Schema.Int.pipe(Schema.positive())),
  /** Texts at which the answer ends. */
  stop: Schema.optional(Schema.Array(Schema.String)),
  toolChoice: Schema.optional(Schema.Literal("auto", "none", "required"))
})

/**
 * How a model is to answer.
 *
 * @since 0.1.0
 * @category models
 */
export type Options = typeof Options.Type

/**
 * Schema for a request.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Request = Schema.Struct({
  /** The model's name, as its provider knows it. */
  model: Schema.String,
  messages: Schema.Array(Message),
  tools: Schema.optional(Schema.Array(ToolSchema)),
  options: Schema.optional(Options)
})

/**
 * What a model is asked.
 *
 * @since 0.1.0
 * @category models
 */
export type Request = typeof Request.Type

/**
 * A piece of text. It continues the text before it, if nothing else came in between.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Text = Schema.TaggedStruct("Text", { text: Schema.String })

/**
 * A piece of reasoning. It continues the reasoning before it, if nothing else came in between.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reasoning = Schema.TaggedStruct("Reasoning", { text: Schema.String })

/**
 * A tool call begins. Calls of one answer may grow side by side.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolCallStart = Schema.TaggedStruct("ToolCallStart", { id: Schema.String, name: Schema.String })

/**
 * A piece of the arguments of the tool call `id`, the latest that began under it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolCallArguments = Schema.TaggedStruct("ToolCallArguments", { id: Schema.String, text: Schema.String })

/**
 * What the answer cost so far, in tokens. The last one counts.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Usage = Schema.TaggedStruct("Usage", {
  inputTokens: Schema.NonNegativeInt,
  outputTokens: Schema.NonNegativeInt,
  /** Those of `inputTokens` that the provider had kept. */
  cachedInputTokens: Schema.optional(Schema.NonNegativeInt),
  /** Those of `outputTokens` that are reasoning. */
  reasoningTokens: Schema.optional(Schema.NonNegativeInt)
})

/**
 * What an answer cost, in tokens.
 *
 * @since 0.1.0
 * @category models
 */
export type Usage = typeof Usage.Type

/**
 * Schema for what a failed answer is told by.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ErrorCode = Schema.Literal(
  "ABORTED",
  "TIMEOUT",
  "INVALID_REQUEST",
  "CONTEXT_TOO_LONG",
  "UNAUTHORIZED",
  "FORBIDDEN",
  "NOT_FOUND",
  "QUOTA_EXCEEDED",
  "RATE_LIMITED",
  "OVERLOADED",
  "SERVER_ERROR",
  "CONNECTION_FAILED",
  "CONNECTION_LOST",
  "INVALID_RESPONSE",
  "PROVIDER_FAILURE"
)

/**
 * What a failed answer is told by.
 *
 * - `ABORTED`: the provider stopped by itself; nobody on this side has cancelled
 * - `TIMEOUT`: nothing came for too long
 * - `INVALID_REQUEST`, `CONTEXT_TOO_LONG`, `UNAUTHORIZED`, `FORBIDDEN`, `NOT_FOUND` (the model, or the address),
 *   `QUOTA_EXCEEDED`: the same request fails again until somebody changes something
 * - `RATE_LIMITED`, `OVERLOADED`, `SERVER_ERROR`: it may succeed later
 * - `CONNECTION_FAILED`: no answer has begun; `CONNECTION_LOST`: it ended in the middle
 * - `INVALID_RESPONSE`: what came is not the provider's protocol
 * - `PROVIDER_FAILURE`: the code of the provider failed, a bug
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorCode = typeof ErrorCode.Type

/**
 * Why an answer failed. No message holds a key.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Problem = Schema.Struct({
  code: ErrorCode,
  /** What happened, and what to do about it. */
  message: Schema.String,
  /** Whether the same request may succeed later. */
  isRetryable: Schema.Boolean,
  /** How long the provider asks to be left alone, in milliseconds. */
  retryAfterMillis: Schema.optional(Schema.NonNegativeInt)
})

/**
 * Why an answer failed.
 *
 * @since 0.1.0
 * @category models
 */
export type Problem = typeof Problem.Type

/**
 * Schema for why an answer ended.
 *
 * @since 0.1.0
 * @category schemas
 */
export const FinishReason = Schema.Literal("stop", "tool-calls", "length", "content-filter", "aborted", "error")

/**
 * Why an answer ended.
 *
 * - `stop`: the model has said what it had to say
 * - `tool-calls`: it waits for the results of its calls
 * - `length`: it ran into a limit; the last block may be cut off
 * - `content-filter`: the provider, or the model, refused to go on
 * - `aborted`: the provider stopped by itself, although the owner of the request lives: for an agent, an error
 * - `error`: it failed, and `Finish.error` says why
 *
 * @since 0.1.0
 * @category models
 */
export type FinishReason = typeof FinishReason.Type

/**
 * The end of an answer: the last chunk, and the only one of its kind. `error` is there where the reason is `error`, and
 * may be where it is `aborted`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Finish = Schema.TaggedStruct("Finish", { reason: FinishReason, error: Schema.optional(Problem) })

/**
 * The end of an answer.
 *
 * @since 0.1.0
 * @category models
 */
export type Finish = typeof Finish.Type

/**
 * Schema for one piece of an answer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Chunk = Schema.Union(Text, Reasoning, ToolCallStart, ToolCallArguments, Usage, Finish)

/**
 * One piece of an answer.
 *
 * @since 0.1.0
 * @category models
 */
export type Chunk = typeof Chunk.Type

/**
 * What an implementation of `Model` provides.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /**
   * Asks a model, and streams its answer: chunks, the last of which is the one `Finish`.
   *
   * Each run of the stream sends the request anew; under a cancelled owner it sends nothing (L10). When the `Finish` is
   * delivered, and when the stream has ended in whatever way, the provider is quiet: its stream has ended, its finalisers
   * have run, its connection is closed (L3). A cancellation of the owner and an interruption of the consumer stop the
   * provider at once and wait for that, as does a consumer that takes no more (L4). A stream whose owner was cancelled
   * ends as interrupted, and delivers no chunk after the cancellation, not even the `Finish`. The provider works only
   * while a chunk is waited for: how long the consumer thinks between two of them is charged to nobody.
   */
  readonly stream: (request: Request) => Stream.Stream<Chunk, never, Cancellation>
}

/**
 * Service that asks a language model.
 *
 * @since 0.1.0
 * @category services
 */
export class Model extends Context.Tag("quiesce/capability/Model")<Model, Service>() {}

/**
 * Asks the model in the context, and streams its answer. See `Service.stream`.
 *
 * @since 0.1.0
 * @category running
 */
export const stream = (request: Request): Stream.Stream<Chunk, never, Model | Cancellation> =>
  Stream.unwrap(Effect.map(Model, (model) => model.stream(request)))

// A last chunk where the provider gave none.
const lastOf = (exit: Exit.Exit<void>): Chunk => {
  if (Exit.isSuccess(exit)) {
    const message = "the answer ended without a word on why: it may be incomplete. Try again"
    return failed({ code: "INVALID_RESPONSE", message, isRetryable: true })
  }
  const message = Cause.isInterruptedOnly(exit.cause)
    ? "the provider interrupted itself: this is a bug in it"
    : `the provider failed: ${describeThrown(Cause.squash(exit.cause)).message}: this is a bug in it`
  return failed({ code: "PROVIDER_FAILURE", message, isRetryable: false })
}

const failed = (error: Problem): Finish => ({ _tag: "Finish", reason: "error", error })

/**
 * How a provider is watched.
 *
 * @since 0.1.0
 * @category models
 */
export interface LayerOptions {
  /**
   * How long a provider may send nothing while a chunk is waited for. An empty piece of its stream counts as something. A
   * provider that takes longer is stopped and awaited, and its answer ends with `TIMEOUT`. `Infinity` for no limit.
   * Default: 5 minutes.
   */
  readonly idleTimeout?: Duration.DurationInput | undefined
}

const watchdogOf = ({ idleTimeout = "5 minutes" }: LayerOptions) => {
  const duration = Duration.decode(idleTimeout)
  if (!Duration.isFinite(duration)) return undefined
  const millis = timerMillis(duration, "idleTimeout")
  const message = `the provider sent nothing for ${millis} milliseconds. Try again, or give it a longer \`idleTimeout\``
  return { millis, last: failed({ code: "TIMEOUT", message, isRetryable: true }) }
}

/**
 * Layer that asks with `ask`, and makes it keep the contract of `Service.stream`.
 *
 * `ask` opens what it needs inside its stream, and says what goes wrong in its last chunk. It is pulled only while a
 * chunk is waited for, is told to stop by an interruption, and may take its time to clean up. What it sends behind its
 * `Finish` is not read. If it ends without one, dies, or interrupts itself, it is given one that says so.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Stream } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Model } from "quiesce/capability"
 *
 * const parrot = Model.layer(({ messages }) =>
 *   Stream.make(Model.Text.make({ text: `${messages.length} messages` }), Model.Finish.make({ reason: "stop" }))
 * )
 * const answer = Stream.runCollect(Model.stream({ model: "parrot", messages: [] }))
 * const chunks = await Effect.runPromise(Cancellation.own(answer).pipe(Effect.provide(parrot)))
 * assert.deepStrictEqual(Model.prefix(Model.assemble(chunks)), [{ type: "text", text: "0 messages" }])
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(
  ask: (request: Request) => Stream.Stream<Chunk, never, R>,
  options: LayerOptions = {}
): Layer.Layer<Model, never, Exclude<R, Cancellation>> => {
  const watchdog = watchdogOf(options)
  return Layer.effect(
    Model,
    Effect.map(
      Effect.context<Exclude<R, Cancellation>>(),
      (context): Service => ({
        stream: (request) =>
          deliver<Chunk, Exclude<R, Cancellation>>({
            name: "ask a model",
            stream: Stream.suspend(() => ask(request)) as Stream.Stream<Chunk, never, Exclude<R, Cancellation>>,
            context,
            isLast: ({ _tag }) => _tag === "Finish",
            lastOf,
            watchdog
          })
      })
    )
  )
}

/**
 * A block of an answer, and whether more of it may come.
 *
 * @since 0.1.0
 * @category models
 */
export interface DraftBlock {
  readonly block: Block
  readonly isOpen: boolean
}

/**
 * An answer as far as it has come.
 *
 * @since 0.1.0
 * @category models
 */
export interface Draft {
  /** In the order in which they began. */
  readonly blocks: ReadonlyArray<DraftBlock>
  readonly usage: Usage | undefined
  readonly finish: Finish | undefined
}

/**
 * An answer of which nothing has come.
 *
 * @since 0.1.0
 * @category constructors
 */
export const emptyDraft: Draft = { blocks: [], usage: undefined, finish: undefined }

const closed = (entry: DraftBlock): DraftBlock => (entry.isOpen ? { ...entry, isOpen: false } : entry)
const isCall = ({ block }: DraftBlock): boolean => block.type === "tool-call"

// Text and reasoning end where something else begins. A call stays open: calls may grow side by side.
const withBlock = (draft: Draft, block: Block): Draft => ({
  ...draft,
  blocks: [...draft.blocks.map((entry) => (isCall(entry) ? entry : closed(entry))), { block, isOpen: true }]
})

const replaceAt = (draft: Draft, at: number, block: Block): Draft => ({
  ...draft,
  blocks: draft.blocks.with(at, { block, isOpen: true })
})

const withText = (draft: Draft, type: "text" | "reasoning", text: string): Draft => {
  if (text === "") return draft
  const last = draft.blocks.at(-1)?.block
  return last?.type === type
    ? replaceAt(draft, draft.blocks.length - 1, { type, text: last.text + text })
    : withBlock(draft, { type, text })
}

const withArguments = (draft: Draft, id: string, text: string): Draft => {
  const at = draft.blocks.findLastIndex(({ block }) => block.type === "tool-call" && block.id === id)
  const block = draft.blocks[at]?.block
  return block?.type === "tool-call" ? replaceAt(draft, at, { ...block, arguments: block.arguments + text }) : draft
}

/**
 * Adds a chunk to an answer.
 *
 * Text and reasoning are closed by the beginning of another block, tool calls by the `Finish`; a `Finish` that is
 * `aborted` or `error` closes nothing. Arguments of a call that has not begun, and what comes behind a `Finish`, change
 * nothing.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Model } from "quiesce/capability"
 *
 * const draft = Model.append(Model.emptyDraft, Model.Text.make({ text: "Hel" }))
 * assert.deepStrictEqual(Model.append(draft, Model.Text.make({ text: "lo" })).blocks, [
 *   { block: { type: "text", text: "Hello" }, isOpen: true }
 * ])
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const append = (draft: Draft, chunk: Chunk): Draft => {
  if (draft.finish !== undefined) return draft
  switch (chunk._tag) {
    case "Text":
      return withText(draft, "text", chunk.text)
    case "Reasoning":
      return withText(draft, "reasoning", chunk.text)
    case "ToolCallStart":
      return withBlock(draft, { type: "tool-call", id: chunk.id, name: chunk.name, arguments: "" })
    case "ToolCallArguments":
      return withArguments(draft, chunk.id, chunk.text)
    case "Usage":
      return { ...draft, usage: chunk }
    case "Finish": {
      const isWhole = chunk.reason !== "aborted" && chunk.reason !== "error"
      return { ...draft, blocks: isWhole ? draft.blocks.map(closed) : draft.blocks, finish: chunk }
    }
  }
}

/**
 * Folds chunks into an answer.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Model } from "quiesce/capability"
 *
 * const draft = Model.assemble([
 *   Model.ToolCallStart.make({ id: "call_1", name: "read_file" }),
 *   Model.ToolCallArguments.make({ id: "call_1", text: `{"path":` }),
 *   Model.ToolCallArguments.make({ id: "call_1", text: `"a.txt"}` }),
 *   Model.Finish.make({ reason: "tool-calls" })
 * ])
 * assert.deepStrictEqual(draft.blocks, [
 *   { block: { type: "tool-call", id: "call_1", name: "read_file", arguments: `{"path":"a.txt"}` }, isOpen: false }
 * ])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const assemble = (chunks: Iterable<Chunk>): Draft => {
  let draft = emptyDraft
  for (const chunk of chunks) draft = append(draft, chunk)
  return draft
}

/**
 * What is kept of an answer that was cancelled: its text and reasoning, open or closed, that is not blank, in the order
 * of the stream. Tool calls are dropped, complete ones too: nobody will answer them (L8).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Model } from "quiesce/capability"
 *
 * const draft = Model.assemble([
 *   Model.Text.make({ text: "Let me look." }),
 *   Model.ToolCallStart.make({ id: "call_1", name: "read_file" })
 * ])
 * assert.deepStrictEqual(Model.prefix(draft), [{ type: "text", text: "Let me look." }])
 * ```
 *
 * @since 0.1.0
 * @category converting
 */
export const prefix = (draft: Draft): ReadonlyArray<Content.Content> =>
  draft.blocks.flatMap(({ block }) => (block.type === "tool-call" || block.text.trim() === "" ? [] : [block]))

/**
 * The tool call that a block asks for. Arguments that are empty are `{}`; those that are no JSON are the text as it is,
 * which the schema of the tool then refuses.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Model } from "quiesce/capability"
 *
 * const call = Model.toToolCall({ type: "tool-call", id: "call_1", name: "list_files", arguments: "" })
 * assert.deepStrictEqual(call, { id: "call_1", name: "list_files", parameters: {} })
 * ```
 *
 * @since 0.1.0
 * @category converting
 */
export const toToolCall = ({ arguments: text, id, name }: ToolCallBlock): ToolCall.ToolCall => ({
  id,
  name,
  parameters: text.trim() === "" ? {} : parsed(text)
})

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
