/**
 * Language models of providers that speak OpenAI's chat completions, over `Http`.
 *
 * Platform-free, so it stands beside the capabilities that it connects: the sockets are those of the `Http` in the context,
 * and so is what they may reach (a server on this machine must be allowed there).
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import type { Cancellation } from "../Cancellation.js"
import { OpenAiAnswer } from "../internal/capability/model/openAiAnswer.js"
import {
  problem,
  problemOfError,
  problemOfFrame,
  problemOfHttp,
  problemOfStatus,
  problemOfType
} from "../internal/capability/model/openAiProblem.js"
import { bodyOf } from "../internal/capability/model/openAiRequest.js"
import { type SseEvent, SseParser } from "../internal/capability/model/sse.js"
import { misuse } from "../internal/invariant.js"
import * as Http from "./Http.js"
import * as Model from "./Model.js"

/**
 * Where a provider is, and how it differs from others.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends Model.LayerOptions {
  /** Up to `/chat/completions`, such as `https://api.openai.com/v1`. */
  readonly baseUrl: string
  /** Sent as a bearer token. It appears in no error and in no log. Default: none is sent. */
  readonly apiKey?: Redacted.Redacted | undefined
  /** More headers, over those that are sent anyway. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** More of the body of each request, over what is sent anyway. What is `undefined` in it is not sent. */
  readonly body?: { readonly [key: string]: unknown } | undefined
  /**
   * What the limit of an answer is called. OpenAI's reasoning models know only `max_completion_tokens`, many other servers
   * only `max_tokens`. Default: `max_tokens`.
   */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined
  /** What the model's own reasoning is called when it is sent back, for providers that ask for it. Default: it is not sent. */
  readonly reasoningField?: "reasoning_content" | "reasoning" | undefined
  /** The most bytes that an answer may have. A frame of one word has about 300. Default: 64 MiB. */
  readonly maxBytes?: number | undefined
}

const errorBytes = 64 * 1024

// The start of a body that is no answer. Should it break off, what was read says enough.
const startOf = (body: Http.Response["body"]): Effect.Effect<string, never, Cancellation> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let text = ""
    return Stream.runForEachWhile(body, (bytes) => {
      text += decoder.decode(bytes, { stream: true })
      return Effect.succeed(text.length < errorBytes)
    }).pipe(
      Effect.ignore,
      Effect.map(() => text)
    )
  })

const ended = (error: Model.Problem): Model.Finish => ({ _tag: "Finish", reason: "error", error })

const errorOf = (data: string): Model.Problem =>
  problemOfError(Option.getOrElse(Option.liftThrowable(JSON.parse)(data), (): unknown => data))

/** One answer, from its bytes. */
class Reader {
  private readonly parser = new SseParser()
  private readonly answer = new OpenAiAnswer()

  /** The chunks in these bytes. None at all, where they are a sign of life and no more. */
  read(bytes: Uint8Array): ReadonlyArray<Model.Chunk> {
    return this.parser.push(bytes).flatMap((event) => this.readEvent(event))
  }

  private readEvent({ data, event }: SseEvent): ReadonlyArray<Model.Chunk> {
    if (data.trim() === "[DONE]") return [this.finish()]
    if (event === "error") return [ended(errorOf(data))]
    return Either.getOrElse(
      this.answer.read(data),
      (broken): ReadonlyArray<Model.Chunk> => [
        ended(broken._tag === "Refused" ? problemOfError(broken.error) : problemOfFrame(data))
      ]
    )
  }

  private finish(): Model.Finish {
    const { hasNamelessCall, reason } = this.answer
    if (hasNamelessCall) return ended(problem("INVALID_RESPONSE", "the provider sent a tool call without a name"))
    switch (reason) {
      case undefined:
        return ended(problem("INVALID_RESPONSE", "the provider ended the answer without a `finish_reason`"))
      case "error":
        return ended(problem("SERVER_ERROR", "the provider says that the answer failed"))
      default:
        return { _tag: "Finish", reason }
    }
  }

  /** What is left when the bytes have ended. Not all servers say `[DONE]`: a reason to finish is an end, too. */
  end(): ReadonlyArray<Model.Chunk> {
    const pending = this.parser.end()
    if (pending?.data.trim() === "[DONE]") return [this.finish()]
    const rest = pending === undefined ? [] : Either.getOrElse(this.answer.read(pending.data), () => [])
    return [...rest, this.broken(problem("CONNECTION_LOST", "the answer ended in the middle"))]
  }

  /** The end where the connection failed: what the model had finished before stays finished. */
  broken(why: Model.Problem): Model.Finish {
    return this.answer.reason === undefined ? ended(why) : this.finish()
  }
}

const isEventStream = (contentType: string): boolean => /^\s*(?:text\/event-stream\b|$)/i.test(contentType)

const answerIn = ({ body, headers, status }: Http.Response): Stream.Stream<Model.Chunk, never, Cancellation> => {
  if (status < 200 || status > 299) {
    const refused = Effect.zipWith(startOf(body), Clock.currentTimeMillis, (body, now) =>
      ended(problemOfStatus({ status, headers, body }, now))
    )
    return Stream.fromEffect(refused)
  }
  const contentType = headers["content-type"] ?? ""
  if (!isEventStream(contentType)) {
    return Stream.fromEffect(Effect.map(startOf(body), (text) => ended(problemOfType(contentType, text))))
  }
  const reader = new Reader()
  return Stream.mapChunks(body, (pieces) =>
    Chunk.flatMap(pieces, (bytes) => Chunk.fromIterable(reader.read(bytes)))
  ).pipe(
    Stream.catchAll((error) => Stream.succeed(reader.broken(problemOfHttp(error)))),
    Stream.concat(Stream.suspend(() => Stream.fromIterable(reader.end())))
  )
}

// A server may say in an error what it was sent.
const withoutKey =
  (key: string) =>
  (chunk: Model.Chunk): Model.Chunk =>
    key !== "" && chunk._tag === "Finish" && chunk.error !== undefined
      ? { ...chunk, error: { ...chunk.error, message: chunk.error.message.replaceAll(key, "<redacted>") } }
      : chunk

/**
 * Layer that asks a provider which speaks OpenAI's chat completions.
 *
 * Each request has a connection of its own. It is closed, and its close awaited, before the `Finish` is delivered, and
 * when the stream is stopped in whatever way. Nothing is sent twice: retries are the caller's, to whom
 * `Problem.isRetryable` and `retryAfterMillis` tell what the provider said. A redirect is not followed, since the key
 * would go with it. `idleTimeout` counts bytes: a comment that keeps the connection alive is a sign of life.
 *
 * What a call's arguments are is not checked here. Where they were no JSON object, the model is sent them back as
 * `{"INVALID_JSON": "..."}`.
 *
 * @example
 * ```ts no-run
 * import { Config, Effect, Layer, Stream } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Model, OpenAiModel } from "quiesce/capability"
 * import { NodeHttp } from "quiesce/node"
 *
 * const model = Layer.unwrapEffect(
 *   Effect.map(Config.redacted("OPENAI_API_KEY"), (apiKey) =>
 *     OpenAiModel.layer({ baseUrl: "https://api.openai.com/v1", apiKey })
 *   )
 * ).pipe(Layer.provide(NodeHttp.layer({ hosts: ["api.openai.com"] })))
 *
 * const hello = { role: "user", content: [{ type: "text", text: "Hello" }] } as const
 * const answer = Stream.runCollect(Model.stream({ model: "gpt-4.1-mini", messages: [hello] }))
 * const chunks = await Effect.runPromise(Cancellation.own(answer).pipe(Effect.provide(model)))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Model.Model, never, Http.Http> => {
  const { apiKey, baseUrl, body = {}, headers, maxBytes = 64 * 1024 * 1024, maxTokensField = "max_tokens" } = options
  if (!/^https?:\/\//i.test(baseUrl) || !URL.canParse(baseUrl)) {
    return misuse(`baseUrl must be an absolute URL of http: or https:, such as "https://api.openai.com/v1"`)
  }
  const key = apiKey === undefined ? "" : Redacted.value(apiKey).trim()
  const url = `${baseUrl.replace(/\/+$/, "")}/chat/completions`
  const dialect = { body, maxTokensField, reasoningField: options.reasoningField }
  const send = (request: Model.Request) =>
    Http.request({
      url,
      method: "POST",
      headers: {
        accept: "text/event-stream",
        "content-type": "application/json",
        ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
        ...headers
      },
      body: JSON.stringify(bodyOf(request, dialect)),
      timeout: Number.POSITIVE_INFINITY, // an answer may take long: it is watched for silence instead
      maxBytes,
      redirects: 0
    })
  const ask = (request: Model.Request): Stream.Stream<Model.Chunk, never, Http.Http | Cancellation> =>
    Stream.unwrapScoped(
      Effect.match(send(request), {
        onFailure: (error) => Stream.succeed(ended(problemOfHttp(error))),
        onSuccess: answerIn
      })
    )
  return Model.layer((request) => Stream.map(ask(request), withoutKey(key)), options)
}
