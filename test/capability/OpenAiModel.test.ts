import { Headers } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Exit, FastCheck, Fiber, Layer, Logger, Redacted, Stream, TestClock } from "effect"
import { Cancellation, Content } from "quiesce"
import { Http, Model, OpenAiModel } from "quiesce/capability"
import { NodeHttp } from "quiesce/node"
import { Leaks } from "quiesce/testing"
import { delta, type Exchange, frame, modelServer, sse } from "../support/modelServer.js"

const user = (text: string): Model.Message => ({ role: "user", content: [Content.text(text)] })
const request: Model.Request = { model: "test-model", messages: [user("Hello")] }
const text = (text: string): Model.Chunk => Model.Text.make({ text })
const finish = (reason: Model.FinishReason): Model.Chunk => Model.Finish.make({ reason })
const done = frame("[DONE]")

type Options = Partial<OpenAiModel.Options>

/** Asks a server that answers with `answer`. */
const ask = (answer: (exchange: Exchange) => void, options: Options = {}, asked = request) =>
  Effect.gen(function* () {
    const server = yield* modelServer(answer)
    const provider = OpenAiModel.layer({ baseUrl: server.baseUrl, ...options })
    const chunks = yield* Stream.runCollect(Model.stream(asked)).pipe(
      Cancellation.own,
      Effect.provide(Layer.provide(provider, NodeHttp.layer({ allowPrivate: ["127.0.0.1"] })))
    )
    yield* server.closed
    return { chunks: Chunk.toReadonlyArray(chunks), server }
  })

/** The chunks of an answer that comes as these frames. */
const read = (...frames: ReadonlyArray<string>) =>
  Effect.map(
    ask(({ response }) => sse(response).end(frames.join(""))),
    ({ chunks }) => chunks
  )

/** The error with which an answer ends, and nothing but it is its end. */
const errorOf = (chunks: ReadonlyArray<Model.Chunk>): Model.Problem => {
  const last = chunks.at(-1)
  assert.strictEqual(chunks.filter(({ _tag }) => _tag === "Finish").length, 1)
  if (last?._tag !== "Finish" || last.error === undefined) return assert.fail(`no error: ${JSON.stringify(chunks)}`)
  assert.strictEqual(last.reason, "error")
  return last.error
}

const refused = (status: number, body: string, headers: Record<string, string> = {}, options: Options = {}) =>
  Effect.map(
    ask(({ response }) => response.writeHead(status, headers).end(body), options),
    ({ chunks }) => {
      assert.strictEqual(chunks.length, 1)
      return errorOf(chunks)
    }
  )

const call = (index: number, more: object, fn: object) => ({ tool_calls: [{ index, ...more, function: fn }] })

const blocksOf = (chunks: ReadonlyArray<Model.Chunk>) => Model.assemble(chunks).blocks.map(({ block }) => block)

describe("OpenAiModel", () => {
  describe("what is sent", () => {
    const bodyOf = (asked: Model.Request, options: Options = {}) =>
      Effect.map(
        ask(({ response }) => sse(response).end(delta({}, "stop") + done), options, asked),
        ({ server }) => server.requests[0]?.body
      )

    it.scopedLive("is a streaming chat completion, with the key as a bearer token", () =>
      Effect.gen(function* () {
        const options = { apiKey: Redacted.make(" sk-secret\n"), headers: { "x-title": "test" } }
        const { server } = yield* ask(({ response }) => sse(response).end(delta({}, "stop") + done), options)
        const [sent] = server.requests
        assert.strictEqual(sent?.method, "POST")
        assert.strictEqual(sent?.url, "/v1/chat/completions")
        assert.strictEqual(sent?.headers.authorization, "Bearer sk-secret")
        assert.strictEqual(sent?.headers["content-type"], "application/json")
        assert.strictEqual(sent?.headers["x-title"], "test")
        assert.deepStrictEqual(sent?.body, {
          model: "test-model",
          messages: [{ role: "user", content: "Hello" }],
          stream: true,
          stream_options: { include_usage: true }
        })
      })
    )

    it.scopedLive("has no key where none is given, and one slash", () =>
      Effect.gen(function* () {
        const server = yield* modelServer(({ response }) => sse(response).end(delta({}, "stop") + done))
        const provider = OpenAiModel.layer({ baseUrl: `${server.baseUrl}//` })
        yield* Stream.runDrain(Model.stream(request)).pipe(
          Cancellation.own,
          Effect.provide(Layer.provide(provider, NodeHttp.layer({ allowPrivate: true })))
        )
        assert.strictEqual(server.requests[0]?.url, "/v1/chat/completions")
        assert.notProperty(server.requests[0]?.headers, "authorization")
      })
    )

    it.scopedLive("has tools and options where there are some", () =>
      Effect.gen(function* () {
        const parameters = { type: "object", properties: {} }
        const tool = { name: "read_file", description: "Reads", parameters }
        const options = { temperature: 0.5, topP: 0.9, maxTokens: 10, stop: ["END"], toolChoice: "required" } as const
        const body = yield* bodyOf({ ...request, tools: [tool], options })
        assert.deepInclude(body, {
          tools: [{ type: "function", function: tool }],
          tool_choice: "required",
          temperature: 0.5,
          top_p: 0.9,
          max_tokens: 10,
          stop: ["END"]
        })
        const none = yield* bodyOf(
          { ...request, tools: [], options: { maxTokens: 10, toolChoice: "auto" } },
          {
            maxTokensField: "max_completion_tokens",
            body: { stream_options: undefined, seed: 7 }
          }
        )
        assert.sameMembers(Object.keys(none), ["model", "messages", "max_completion_tokens", "stream", "seed"])
      })
    )

    it.scopedLive("has messages in the provider's words", () =>
      Effect.gen(function* () {
        const messages: ReadonlyArray<Model.Message> = [
          { role: "system", content: [Content.text("Be"), Content.text("brief.")] },
          { role: "user", content: [Content.text("Look:"), { type: "image", data: "aGk=", mediaType: "image/png" }] },
          {
            role: "assistant",
            content: [
              { type: "reasoning", text: "hm" },
              { type: "text", text: "I look." },
              { type: "tool-call", id: "a", name: "read_file", arguments: `{"path":"a"}` },
              { type: "tool-call", id: "b", name: "list_files", arguments: "" },
              { type: "tool-call", id: "c", name: "list_files", arguments: `{"path":` },
              { type: "tool-call", id: "d", name: "list_files", arguments: "[1]" }
            ]
          },
          { role: "tool", toolCallId: "a", toolName: "read_file", isError: false, content: [Content.text("hi")] },
          { role: "assistant", content: [{ type: "reasoning", text: "only this" }] },
          { role: "assistant", content: [{ type: "text", text: "Done." }] }
        ]
        const body = yield* bodyOf({ model: "m", messages })
        const fn = (id: string, name: string, args: string) => ({
          id,
          type: "function",
          function: { name, arguments: args }
        })
        assert.deepStrictEqual(body.messages, [
          { role: "system", content: "Be\nbrief." },
          {
            role: "user",
            content: [
              { type: "text", text: "Look:" },
              { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } }
            ]
          },
          {
            role: "assistant",
            content: "I look.",
            tool_calls: [
              fn("a", "read_file", `{"path":"a"}`),
              fn("b", "list_files", "{}"),
              fn("c", "list_files", `{"INVALID_JSON":"{\\"path\\":"}`),
              fn("d", "list_files", `{"INVALID_JSON":"[1]"}`)
            ]
          },
          { role: "tool", tool_call_id: "a", content: "hi" },
          { role: "assistant", content: "Done." }
        ])
        const withReasoning = yield* bodyOf(
          { model: "m", messages: messages.slice(2, 5) },
          { reasoningField: "reasoning" }
        )
        assert.strictEqual(withReasoning.messages[0].reasoning, "hm")
        assert.deepStrictEqual(withReasoning.messages[2], { role: "assistant", content: "", reasoning: "only this" })
        const callsOnly = {
          role: "assistant",
          content: [{ type: "tool-call", id: "a", name: "f", arguments: "{}" }]
        } as const
        assert.isNull((yield* bodyOf({ model: "m", messages: [callsOnly] })).messages[0].content)
      })
    )
  })

  describe("what comes", () => {
    it.scopedLive("is text, reasoning under either name, and usage wherever it stands", () =>
      Effect.gen(function* () {
        const usage = {
          prompt_tokens: 5,
          completion_tokens: 2,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 1 }
        }
        const chunks = yield* read(
          delta({ role: "assistant", content: "" }),
          delta({ reasoning_content: "a", reasoning: "a" }),
          delta({ reasoning: "b", content: null }),
          delta({ content: "c" }),
          delta({}, "stop"),
          frame({ choices: [], usage }),
          done
        )
        assert.deepStrictEqual(chunks, [
          Model.Reasoning.make({ text: "a" }),
          Model.Reasoning.make({ text: "b" }),
          text("c"),
          Model.Usage.make({ inputTokens: 5, outputTokens: 2, cachedInputTokens: 4, reasoningTokens: 1 }),
          finish("stop")
        ])
        const odd = yield* read(
          delta({ content: "c" }),
          frame({ choices: [], usage: { tokens: "many" } }),
          delta({}, "stop"),
          done
        )
        assert.deepStrictEqual(odd, [text("c"), finish("stop")])
      })
    )

    it.scopedLive("is a refusal as text, and an end that says so", () =>
      Effect.gen(function* () {
        const chunks = yield* read(delta({ refusal: "I " }), delta({ refusal: "won't." }), delta({}, "stop"), done)
        assert.deepStrictEqual(chunks, [text("I "), text("won't."), finish("content-filter")])
      })
    )

    it.scopedLive("is the first choice alone", () =>
      Effect.gen(function* () {
        const other = frame({ choices: [{ index: 1, delta: { content: "no" }, finish_reason: "length" }] })
        assert.deepStrictEqual(yield* read(other, delta({ content: "yes" }), delta({}, "stop"), other, done), [
          text("yes"),
          finish("stop")
        ])
      })
    )

    it.scopedLive("ends for the reason that the provider has", () =>
      Effect.gen(function* () {
        const reasonOf = (reason: string, ...before: ReadonlyArray<string>) =>
          Effect.map(read(...before, delta({}, reason), done), (chunks) => {
            const last = chunks.at(-1)
            return last?._tag === "Finish" ? last.reason : undefined
          })
        assert.strictEqual(yield* reasonOf("stop"), "stop")
        assert.strictEqual(yield* reasonOf("length"), "length")
        assert.strictEqual(yield* reasonOf("content_filter"), "content-filter")
        assert.strictEqual(yield* reasonOf("tool_calls"), "tool-calls")
        assert.strictEqual(yield* reasonOf("function_call"), "tool-calls")
        assert.strictEqual(yield* reasonOf("end_of_turn"), "stop")
        assert.strictEqual(yield* reasonOf("constructor"), "stop")
        assert.strictEqual(yield* reasonOf("abort"), "aborted")
        assert.strictEqual(yield* reasonOf("error"), "error")
        assert.strictEqual(yield* reasonOf("stop", delta(call(0, { id: "a" }, { name: "f" }))), "tool-calls")
      })
    )

    describe("is tool calls", () => {
      const cases: ReadonlyArray<{
        of: string
        deltas: ReadonlyArray<object>
        calls: ReadonlyArray<readonly [string, string, string]>
      }> = [
        {
          of: "one after the other",
          deltas: [
            call(0, { id: "a" }, { name: "f", arguments: "" }),
            call(0, {}, { arguments: `{"x"` }),
            call(0, {}, { arguments: ":1}" }),
            call(1, { id: "b" }, { name: "g", arguments: "{}" })
          ],
          calls: [
            ["a", "f", `{"x":1}`],
            ["b", "g", "{}"]
          ]
        },
        {
          of: "side by side",
          deltas: [
            call(0, { id: "a" }, { name: "f" }),
            call(1, { id: "b" }, { name: "g" }),
            call(0, {}, { arguments: "[0" }),
            call(1, {}, { arguments: "[1" }),
            call(0, {}, { arguments: "]" }),
            call(1, {}, { arguments: "]" })
          ],
          calls: [
            ["a", "f", "[0]"],
            ["b", "g", "[1]"]
          ]
        },
        {
          of: "several in one delta, whole, without an index",
          deltas: [
            {
              tool_calls: [
                { id: "a", function: { name: "f", arguments: "{}" } },
                { id: "b", function: { name: "f", arguments: "[]" } }
              ]
            }
          ],
          calls: [
            ["a", "f", "{}"],
            ["b", "f", "[]"]
          ]
        },
        {
          of: "all under index 0, with ids of their own",
          deltas: [
            call(0, { id: "a" }, { name: "f", arguments: "{}" }),
            call(0, { id: "b" }, { name: "f", arguments: "[]" })
          ],
          calls: [
            ["a", "f", "{}"],
            ["b", "f", "[]"]
          ]
        },
        {
          of: "with the id said again",
          deltas: [
            call(0, { id: "a" }, { name: "f", arguments: "{" }),
            call(0, { id: "a" }, { name: "f", arguments: "}" })
          ],
          calls: [["a", "f", "{}"]]
        },
        {
          of: "without ids",
          deltas: [call(0, {}, { name: "f", arguments: "{}" }), call(1, { id: "" }, { name: "g", arguments: "[]" })],
          calls: [
            ["chatcmpl-1_0", "f", "{}"],
            ["chatcmpl-1_1", "g", "[]"]
          ]
        },
        {
          of: "with one id for two",
          deltas: [
            call(0, { id: "a" }, { name: "f" }),
            call(1, { id: "a" }, { name: "g" }),
            call(0, {}, { arguments: "{}" })
          ],
          calls: [
            ["a", "f", "{}"],
            ["a_2", "g", ""]
          ]
        },
        {
          of: "with the name behind the first arguments, and the id behind that",
          deltas: [
            call(0, {}, { arguments: "{" }),
            call(0, { id: "a" }, { name: "f" }),
            call(0, {}, { arguments: "}" })
          ],
          calls: [["a", "f", "{}"]]
        }
      ]

      it.scopedLive.each(cases)("$of", ({ calls, deltas }) =>
        Effect.gen(function* () {
          const chunks = yield* read(...deltas.map((one) => delta(one)), delta({}, "tool_calls"), done)
          assert.deepStrictEqual(
            blocksOf(chunks),
            calls.map(([id, name, args]) => ({ type: "tool-call", id, name, arguments: args }))
          )
          assert.deepStrictEqual(chunks.at(-1), finish("tool-calls"))
        })
      )
    })

    it.scopedLive("ends without [DONE], or with one that is not terminated, where the model had finished", () =>
      Effect.gen(function* () {
        const expected = [text("a"), finish("stop")]
        assert.deepStrictEqual(yield* read(delta({ content: "a" }), delta({}, "stop")), expected)
        assert.deepStrictEqual(yield* read(delta({ content: "a" }), delta({}, "stop").trimEnd()), expected)
        assert.deepStrictEqual(yield* read(delta({ content: "a" }), delta({}, "stop"), "data: [DONE]"), expected)
        const { chunks } = yield* ask(({ response }) => {
          sse(response).write(delta({ content: "a" }) + delta({}, "stop"), () => response.socket?.destroy())
        })
        assert.deepStrictEqual(chunks, expected)
      })
    )

    // However the network cuts them: between two bytes of a character, between CR and LF, within a frame.
    const wire = [
      ": keep-alive\r\n\r\n",
      delta({ reasoning: "Größe 🚀" }),
      delta({ content: "naïve " }).replaceAll("\n", "\r\n"),
      `data: {"choices":[{"delta":\ndata: {"content":"日本"}}]}\n\n`,
      delta(call(0, { id: "a" }, { name: "f", arguments: `{"q":"é` })).replaceAll("\n", "\r"),
      delta(call(0, {}, { arguments: `"}` })),
      delta({}, "tool_calls"),
      frame({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }),
      done
    ]
    const bytes = new TextEncoder().encode(wire.join(""))

    const overPieces = (pieces: ReadonlyArray<Uint8Array>) => {
      const response: Http.Response = {
        url: "http://localhost/v1/chat/completions",
        status: 200,
        headers: Headers.fromInput({ "content-type": "text/event-stream" }),
        body: Stream.fromIterable(pieces).pipe(Stream.rechunk(1)),
        text: Effect.succeed(""),
        drop: Effect.void
      }
      const unused = () => Effect.dieMessage("not used")
      const http = Layer.succeed(Http.Http, {
        request: () => Effect.succeed(response),
        text: unused,
        stream: () => Stream.dieMessage("not used"),
        download: unused
      })
      const provider = Layer.provide(OpenAiModel.layer({ baseUrl: "http://localhost/v1" }), http)
      return Effect.map(Cancellation.own(Effect.provide(Stream.runCollect(Model.stream(request)), provider)), (all) => [
        ...all
      ])
    }

    const cuts = FastCheck.array(FastCheck.nat(bytes.length), { maxLength: 20 })
    it.effect.prop(
      "is the same however its bytes are cut",
      [cuts],
      ([cuts]) =>
        Effect.gen(function* () {
          const places = [...new Set([0, ...cuts, bytes.length])].sort((a, b) => a - b)
          const pieces = places.slice(1).map((to, i) => bytes.subarray(places[i], to))
          const chunks = yield* overPieces(pieces)
          assert.deepStrictEqual(chunks, [
            Model.Reasoning.make({ text: "Größe 🚀" }),
            text("naïve "),
            text("日本"),
            Model.ToolCallStart.make({ id: "a", name: "f" }),
            Model.ToolCallArguments.make({ id: "a", text: `{"q":"é` }),
            Model.ToolCallArguments.make({ id: "a", text: `"}` }),
            Model.Usage.make({ inputTokens: 1, outputTokens: 2 }),
            finish("tool-calls")
          ])
        }),
      { fastCheck: { numRuns: 25 }, timeout: 30_000 }
    )

    it.effect("is the same byte by byte", () =>
      Effect.gen(function* () {
        const single = yield* overPieces(Array.from(bytes, (byte) => Uint8Array.of(byte)))
        assert.deepStrictEqual(single, yield* overPieces([bytes]))
        assert.strictEqual(single.length, 8)
      })
    )
  })

  describe("what goes wrong", () => {
    const json = (error: object) => JSON.stringify({ error })

    it.scopedLive.each([
      { status: 400, body: json({ message: "bad" }), code: "INVALID_REQUEST", again: false },
      {
        status: 400,
        body: json({ message: "x", code: "context_length_exceeded" }),
        code: "CONTEXT_TOO_LONG",
        again: false
      },
      {
        status: 400,
        body: json({ message: "This model's maximum context length is 8192 tokens" }),
        code: "CONTEXT_TOO_LONG",
        again: false
      },
      { status: 401, body: json({ message: "bad key" }), code: "UNAUTHORIZED", again: false },
      { status: 402, body: "", code: "QUOTA_EXCEEDED", again: false },
      { status: 403, body: json({ message: "no" }), code: "FORBIDDEN", again: false },
      { status: 404, body: json({ message: "no such model" }), code: "NOT_FOUND", again: false },
      { status: 408, body: "", code: "SERVER_ERROR", again: true },
      { status: 422, body: JSON.stringify({ detail: "bad" }), code: "INVALID_REQUEST", again: false },
      { status: 429, body: json({ message: "slow down" }), code: "RATE_LIMITED", again: true },
      { status: 429, body: json({ message: "pay", code: "insufficient_quota" }), code: "QUOTA_EXCEEDED", again: false },
      { status: 500, body: "oops", code: "SERVER_ERROR", again: true },
      { status: 502, body: "<html><title>Bad gateway</title></html>", code: "SERVER_ERROR", again: true },
      { status: 503, body: JSON.stringify({ error: "loading" }), code: "OVERLOADED", again: true },
      { status: 529, body: json({ message: "overloaded" }), code: "OVERLOADED", again: true }
    ])("status $status is $code", ({ again, body, code, status }) =>
      Effect.gen(function* () {
        const error = yield* refused(status, body)
        assert.strictEqual(error.code, code)
        assert.strictEqual(error.isRetryable, again)
        assert.include(error.message, `status ${status}`)
      })
    )

    it.scopedLive("says what the server said", () =>
      Effect.gen(function* () {
        assert.include(
          (yield* refused(401, json({ message: "bad key" }))).message,
          "status 401: bad key. Check the key"
        )
        assert.include((yield* refused(503, JSON.stringify({ error: "loading" }))).message, "loading. Try again later")
        assert.include(
          (yield* refused(502, "<html><title>Bad gateway</title></html>")).message,
          `a page of HTML, "Bad gateway"`
        )
        const long = (yield* refused(500, "x".repeat(200_000))).message
        assert.isBelow(long.length, 700)
      })
    )

    it.scopedLive("says how long to wait", () =>
      Effect.gen(function* () {
        const waitOf = (headers: Record<string, string>) =>
          Effect.map(refused(429, "", headers), (e) => e.retryAfterMillis)
        assert.strictEqual(yield* waitOf({ "retry-after": "7" }), 7000)
        assert.strictEqual(yield* waitOf({ "retry-after": "0" }), 0)
        assert.strictEqual(yield* waitOf({ "retry-after": "7", "retry-after-ms": "1500" }), 1500)
        assert.strictEqual(yield* waitOf({ "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }), 0)
        assert.isUndefined(yield* waitOf({ "retry-after": "soon" }))
        assert.isUndefined(yield* waitOf({}))
        const inYears = (yield* waitOf({ "retry-after": "Fri, 01 Jan 2100 00:00:00 GMT" })) ?? 0
        assert.isAbove(inYears, 1000 * 60 * 60 * 24 * 365)
      })
    )

    it.scopedLive("the key is in no message and in no log, also where the server says it again", () =>
      Effect.gen(function* () {
        const key = "sk-very-secret"
        const logged: Array<unknown> = []
        const logger = Logger.replace(
          Logger.defaultLogger,
          Logger.make((entry) => void logged.push(JSON.stringify(entry)))
        )
        const options = { apiKey: Redacted.make(key) }
        const errors = Effect.gen(function* () {
          const inBody = yield* refused(401, json({ message: `Incorrect key: ${key}` }), {}, options)
          assert.include(inBody.message, "Incorrect key: <redacted>")
          const inFrame = yield* ask(({ response }) => sse(response).end(frame(`broken ${key}`)), options)
          const lost = yield* ask(({ response }) => void response.socket?.destroy(), options)
          return [inBody, errorOf(inFrame.chunks), errorOf(lost.chunks)]
        })
        assert.notInclude(JSON.stringify(yield* Effect.provide(errors, logger)), key)
        assert.notInclude(logged.join("\n"), key)
      })
    )

    it.scopedLive("a redirect is not followed, and the key stays", () =>
      Effect.gen(function* () {
        const elsewhere = yield* modelServer(({ response }) => response.end())
        const error = yield* refused(307, "", { location: `${elsewhere.baseUrl}?a=b` }, { apiKey: Redacted.make("k") })
        assert.strictEqual(error.code, "NOT_FOUND")
        assert.include(error.message, `to ${elsewhere.baseUrl} (status 307)`)
        assert.strictEqual(elsewhere.requests.length, 0)
      })
    )

    it.scopedLive("an answer of another kind is none", () =>
      Effect.gen(function* () {
        const html = yield* refused(200, "<!doctype html><title>Sign in</title>", { "content-type": "text/html" })
        assert.deepInclude(html, { code: "INVALID_RESPONSE", isRetryable: false })
        assert.match(html.message, /"text\/html" .* a page of HTML, "Sign in".*base URL/)
        const whole = yield* refused(200, JSON.stringify({ choices: [] }), { "content-type": "application/json" })
        assert.match(whole.message, /whether the server can stream/)
        const error = yield* refused(200, json({ message: "no credit", code: 402 }), {
          "content-type": "application/json"
        })
        assert.strictEqual(error.code, "QUOTA_EXCEEDED")
        const untyped = yield* ask(({ response }) => response.writeHead(200).end(delta({}, "stop") + done))
        assert.deepStrictEqual(untyped.chunks, [finish("stop")])
      })
    )

    it.scopedLive("keeps what came before it", () =>
      Effect.gen(function* () {
        const before = delta({ content: "a" })
        const endings = [
          {
            frames: [frame(`{"choices":[`)],
            code: "INVALID_RESPONSE",
            message: /no chunk of a chat completion: \{"choices":\[/
          },
          { frames: [frame(`{"choices":7}`)], code: "INVALID_RESPONSE", message: /no chunk of a chat completion/ },
          {
            frames: [frame({ error: { message: "overloaded", code: 503 } })],
            code: "OVERLOADED",
            message: /broke the answer off: overloaded/
          },
          { frames: [frame({ error: "gone" })], code: "SERVER_ERROR", message: /gone/ },
          {
            frames: ["event: error\n", frame({ message: "bad", status: 400 })],
            code: "INVALID_REQUEST",
            message: /bad/
          },
          { frames: ["event: error\n", frame("no JSON")], code: "SERVER_ERROR", message: /no JSON/ },
          { frames: [done], code: "INVALID_RESPONSE", message: /without a `finish_reason`/ },
          { frames: [], code: "CONNECTION_LOST", message: /ended in the middle/ },
          { frames: [`data: {"choi`], code: "CONNECTION_LOST", message: /ended in the middle/ },
          { frames: [delta({}, "error"), done], code: "SERVER_ERROR", message: /says that the answer failed/ },
          {
            frames: [delta(call(0, { id: "x" }, { arguments: "{}" })), delta({}, "tool_calls"), done],
            code: "INVALID_RESPONSE",
            message: /without a name/
          }
        ]
        for (const { code, frames, message } of endings) {
          // What follows an end is not read.
          const chunks = yield* read(before, ...frames)
          assert.deepStrictEqual(chunks[0], text("a"))
          assert.strictEqual(chunks.length, 2)
          assert.strictEqual(errorOf(chunks).code, code, frames.join(""))
          assert.match(errorOf(chunks).message, message)
        }
      })
    )

    it.scopedLive("a connection that dies", () =>
      Effect.gen(function* () {
        const inTheMiddle = yield* ask(({ response }) => {
          sse(response).write(delta({ content: "a" }), () => response.socket?.destroy())
        })
        assert.deepStrictEqual(inTheMiddle.chunks[0], text("a"))
        assert.deepInclude(errorOf(inTheMiddle.chunks), { code: "CONNECTION_LOST", isRetryable: true })
        const before = yield* ask(({ response }) => void response.socket?.destroy())
        assert.deepInclude(errorOf(before.chunks), { code: "CONNECTION_LOST", isRetryable: true })
      })
    )

    const without = (baseUrl: string, http: NodeHttp.Options) =>
      Stream.runCollect(Model.stream(request)).pipe(
        Cancellation.own,
        Effect.provide(Layer.provide(OpenAiModel.layer({ baseUrl }), NodeHttp.layer(http))),
        Effect.map((chunks) => errorOf([...chunks]))
      )

    it.scopedLive("a server that cannot be reached", () =>
      Effect.gen(function* () {
        const gone = yield* Effect.scoped(
          Effect.map(
            modelServer(() => {}),
            ({ baseUrl }) => baseUrl
          )
        )
        const refusedToConnect = yield* without(gone, { allowPrivate: true })
        assert.deepInclude(refusedToConnect, { code: "CONNECTION_FAILED", isRetryable: true })
        const notAllowed = yield* without(gone, {})
        assert.deepInclude(notAllowed, { code: "INVALID_REQUEST", isRetryable: false })
        assert.match(notAllowed.message, /private or reserved/)
      })
    )

    it.scopedLive("an answer that is too large", () =>
      Effect.gen(function* () {
        const { chunks } = yield* ask(
          ({ response }) => {
            sse(response)
            const more = () => {
              if (!response.destroyed) response.write(delta({ content: "x".repeat(1000) }), more)
            }
            more()
          },
          { maxBytes: 10_000 }
        )
        assert.deepInclude(errorOf(chunks), { code: "INVALID_RESPONSE", isRetryable: false })
        assert.match(errorOf(chunks).message, /maxBytes/)
      })
    )
  })

  describe("the watchdog", () => {
    /** Waits until somebody sleeps until `millis` on the clock of the test. */
    const awaitSleeper = (millis: number): Effect.Effect<void> =>
      TestClock.sleeps().pipe(
        Effect.zipLeft(Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))),
        Effect.repeat({ until: (sleeps) => Chunk.some(sleeps, (at) => at === millis) }),
        Effect.asVoid
      )

    const minutes = (n: number) => n * 60_000

    const asking = (server: { readonly baseUrl: string }, options: Options = {}) =>
      Stream.runCollect(Model.stream(request)).pipe(
        Effect.provide(
          Layer.provide(
            OpenAiModel.layer({ baseUrl: server.baseUrl, ...options }),
            NodeHttp.layer({ allowPrivate: ["127.0.0.1"] })
          )
        )
      )

    it.scoped("229: ends an answer that does not begin, or goes silent, with TIMEOUT after 5 minutes", () =>
      Effect.gen(function* () {
        for (const start of ["", delta({ content: "a" })]) {
          const server = yield* modelServer(({ response }) => {
            if (start !== "") sse(response).write(start)
          })
          const from = yield* TestClock.currentTimeMillis
          const fiber = yield* Effect.fork(Cancellation.own(asking(server)))
          yield* server.awaitRequest
          yield* awaitSleeper(from + minutes(5))
          yield* TestClock.adjust("299 seconds")
          assert.isNull(fiber.unsafePoll())
          // The silence is counted from what came last.
          yield* Effect.repeat(TestClock.adjust("1 second"), { until: () => fiber.unsafePoll() !== null, times: 300 })
          const chunks = [...(yield* Fiber.join(fiber))]
          assert.deepInclude(errorOf(chunks), { code: "TIMEOUT", isRetryable: true })
          assert.strictEqual(chunks.length, start === "" ? 1 : 2)
          yield* server.closed
        }
      })
    )

    it.scoped("takes a comment for a sign of life", () =>
      Effect.gen(function* () {
        let exchange: Exchange | undefined
        const server = yield* modelServer((arrived) => {
          exchange = arrived
          sse(arrived.response).flushHeaders()
        })
        const fiber = yield* Effect.fork(Cancellation.own(asking(server)))
        yield* server.awaitRequest
        yield* awaitSleeper(minutes(5))
        for (const n of [1, 2, 3]) {
          yield* TestClock.adjust("4 minutes")
          exchange?.response.write(": ping\n\n")
          yield* awaitSleeper(minutes(4 * n + 5))
        }
        exchange?.response.end(delta({ content: "a" }) + delta({}, "stop") + done)
        assert.deepStrictEqual([...(yield* Fiber.join(fiber))], [text("a"), finish("stop")])
      })
    )

    it.scoped("229: is told apart from a cancellation that came before it", () =>
      Effect.gen(function* () {
        const server = yield* modelServer(({ response }) => sse(response).flushHeaders())
        const controller = new AbortController()
        const fiber = yield* Effect.fork(
          Effect.exit(Cancellation.ownSignal(asking(server, { idleTimeout: "1 minute" }), controller.signal))
        )
        yield* server.awaitRequest
        yield* awaitSleeper(minutes(1))
        yield* TestClock.adjust("59 seconds")
        controller.abort()
        yield* TestClock.adjust("1 hour")
        assert.isTrue(Exit.isInterrupted(yield* Fiber.join(fiber)))
        yield* server.closed
        assert.strictEqual(yield* Leaks.listeners(controller.signal), 0)
      })
    )
  })

  it("refuses a base URL that cannot work", () => {
    for (const baseUrl of ["", "api.openai.com/v1", "ftp://example.com", "http://"]) {
      assert.throws(() => OpenAiModel.layer({ baseUrl }), /baseUrl must be an absolute URL/)
    }
  })

  it("refuses an idle timeout that no timer can wait for", () => {
    assert.throws(() => OpenAiModel.layer({ baseUrl: "http://localhost", idleTimeout: 0 }), /idleTimeout/)
    assert.throws(() => OpenAiModel.layer({ baseUrl: "http://localhost", idleTimeout: "30 days" }), /idleTimeout/)
  })
})
