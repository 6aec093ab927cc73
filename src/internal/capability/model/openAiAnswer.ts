/**
 * Reads the answer of OpenAI's chat completions, frame by frame, and makes chunks of it.
 *
 * https://platform.openai.com/docs/api-reference/chat-streaming. Servers that imitate it differ: in what reasoning is
 * called, in whether calls have an index and each an id of its own, in whether the usage comes before the end or behind
 * it. All of that is read.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { Chunk, FinishReason, Usage } from "../../../capability/Model.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const CallDelta = Schema.Struct({
  index: optional(Schema.Number),
  id: optional(Schema.String),
  function: optional(Schema.Struct({ name: optional(Schema.String), arguments: optional(Schema.String) }))
})

const Delta = Schema.Struct({
  content: optional(Schema.String),
  refusal: optional(Schema.String),
  reasoning_content: optional(Schema.String),
  reasoning: optional(Schema.String),
  tool_calls: optional(Schema.Array(CallDelta))
})

const Choice = Schema.Struct({
  index: optional(Schema.Number),
  delta: optional(Delta),
  finish_reason: optional(Schema.String)
})

const Frame = Schema.Struct({
  id: optional(Schema.String),
  choices: optional(Schema.Array(Choice)),
  // Not worth an answer when it is odd: read apart.
  usage: Schema.optional(Schema.Unknown),
  error: Schema.optional(Schema.Unknown)
})

const decodeFrame = Schema.decodeUnknownEither(Schema.parseJson(Frame))

const decodeUsage = Schema.decodeUnknownEither(
  Schema.Struct({
    prompt_tokens: Schema.NonNegativeInt,
    completion_tokens: Schema.NonNegativeInt,
    prompt_tokens_details: optional(Schema.Struct({ cached_tokens: optional(Schema.NonNegativeInt) })),
    completion_tokens_details: optional(Schema.Struct({ reasoning_tokens: optional(Schema.NonNegativeInt) }))
  })
)

const reasons: { readonly [reason: string]: FinishReason } = {
  stop: "stop",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  length: "length",
  content_filter: "content-filter",
  abort: "aborted",
  error: "error"
}

/**
 * What a frame that is no part of an answer says: its `error`, or that it cannot be read.
 *
 * @internal
 */
export type Broken =
  | { readonly _tag: "Refused"; readonly error: unknown }
  | { readonly _tag: "Unreadable"; readonly why: string }

interface Call {
  readonly key: number
  /** As the provider has it; what the chunks have is `chunkId`. */
  id: string | undefined
  /** Set when it has begun, with its name. */
  chunkId: string | undefined
  pending: string
}

/** @internal */
export class OpenAiAnswer {
  private readonly calls: Array<Call> = []
  private isRefusal = false
  private completionId = "call"

  /** Why the model ended, once it has said so. */
  reason: FinishReason | undefined

  /** The chunks of a frame. */
  read(data: string): Either.Either<ReadonlyArray<Chunk>, Broken> {
    return Either.flatMap(
      Either.mapLeft(decodeFrame(data), (error): Broken => ({ _tag: "Unreadable", why: error.message })),
      (frame): Either.Either<ReadonlyArray<Chunk>, Broken> => {
        if (frame.error !== undefined && frame.error !== null) {
          return Either.left({ _tag: "Refused", error: frame.error })
        }
        if (frame.id) this.completionId = frame.id
        const chunks: Array<Chunk> = []
        // Further choices are answers that nobody asked for.
        const choice = frame.choices?.find(({ index }) => (index ?? 0) === 0)
        if (choice?.delta) this.readDelta(choice.delta, chunks)
        if (choice?.finish_reason) this.reason = this.reasonOf(choice.finish_reason)
        const usage = usageOf(frame.usage)
        if (usage !== undefined) chunks.push(usage)
        return Either.right(chunks)
      }
    )
  }

  /** A call that never got a name: nobody could answer it. */
  get hasNamelessCall(): boolean {
    return this.calls.some(({ chunkId }) => chunkId === undefined)
  }

  private reasonOf(reason: string): FinishReason {
    const known = Object.hasOwn(reasons, reason) ? (reasons[reason] as FinishReason) : "stop"
    if (known !== "stop") return known
    if (this.isRefusal) return "content-filter"
    // Some say "stop" also where they wait for results.
    return this.calls.length > 0 ? "tool-calls" : "stop"
  }

  private readDelta(delta: typeof Delta.Type, chunks: Array<Chunk>): void {
    const reasoning = delta.reasoning_content || delta.reasoning
    if (reasoning) chunks.push({ _tag: "Reasoning", text: reasoning })
    if (delta.content) chunks.push({ _tag: "Text", text: delta.content })
    if (delta.refusal) {
      this.isRefusal = true
      chunks.push({ _tag: "Text", text: delta.refusal })
    }
    for (const call of delta.tool_calls ?? []) this.readCall(call, chunks)
  }

  private readCall(delta: typeof CallDelta.Type, chunks: Array<Chunk>): void {
    const call = this.callOf(delta)
    const name = delta.function?.name
    call.pending += delta.function?.arguments ?? ""
    if (call.chunkId === undefined) {
      if (!name) return
      call.chunkId = this.freshId(call)
      chunks.push({ _tag: "ToolCallStart", id: call.chunkId, name })
    }
    if (call.pending === "") return
    chunks.push({ _tag: "ToolCallArguments", id: call.chunkId, text: call.pending })
    call.pending = ""
  }

  // By index; where that is missing or always the same, a new id with a name begins a new call.
  private callOf({ function: fn, id, index }: typeof CallDelta.Type): Call {
    const last = this.calls.at(-1)
    const key = index ?? (last === undefined || (id && id !== last.id) ? this.calls.length : last.key)
    const known = this.calls.findLast((call) => call.key === key)
    const isAnother = known?.chunkId !== undefined && Boolean(id) && id !== known.id && Boolean(fn?.name)
    if (known !== undefined && !isAnother) {
      known.id ??= id || undefined
      return known
    }
    const call: Call = { key, id: id || undefined, chunkId: undefined, pending: "" }
    this.calls.push(call)
    return call
  }

  // Within an answer ids tell the calls apart. Some providers send none, or the same for all.
  private freshId({ id }: Call): string {
    const isTaken = (wanted: string) => this.calls.some(({ chunkId }) => chunkId === wanted)
    const base = id ?? `${this.completionId}_${this.calls.length - 1}`
    let fresh = base
    for (let n = 2; isTaken(fresh); n++) fresh = `${base}_${n}`
    return fresh
  }
}

const usageOf = (usage: unknown): Usage | undefined => {
  const decoded = Either.getOrUndefined(decodeUsage(usage))
  if (decoded === undefined) return undefined
  const cached = decoded.prompt_tokens_details?.cached_tokens
  const reasoning = decoded.completion_tokens_details?.reasoning_tokens
  return {
    _tag: "Usage",
    inputTokens: decoded.prompt_tokens,
    outputTokens: decoded.completion_tokens,
    ...(cached == null ? {} : { cachedInputTokens: cached }),
    ...(reasoning == null ? {} : { reasoningTokens: reasoning })
  }
}
