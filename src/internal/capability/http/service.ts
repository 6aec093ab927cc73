/**
 * `Http` over a transport.
 *
 * Each operation runs in a protected region and opens it only where it waits. So a failure that came before an
 * interruption stays one: in an interruptible region Effect strips the failures of an interrupted fiber (L5).
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Cancellation from "../../../Cancellation.js"
import type * as Http from "../../../capability/Http.js"
import { originOf, startFiber } from "../../startFiber.js"
import { nowOf } from "../../timer.js"
import { Reply } from "./body.js"
import { Conversation, type Restore } from "./conversation.js"
import { errorOf, type Plan, plan, shown } from "./plan.js"
import { redirected } from "./redirect.js"
import { retryAfter, retrying } from "./retry.js"
import { type Exchange, failed, type Outgoing, type Problem, type Staging, type Transport } from "./transport.js"

type Owned<A, R = never> = Effect.Effect<A, Problem, Cancellation.Cancellation | R>

/** Sends a streamed body, as fast as it is taken. */
const upload = (source: NonNullable<Plan["source"]>, exchange: Exchange) =>
  Stream.runForEachWhile(source, (bytes) =>
    Effect.map(
      Effect.suspend(() => exchange.send(bytes).wait()),
      ({ _tag }) => _tag === "Done"
    )
  ).pipe(
    Effect.matchCause({
      onSuccess: () => exchange.sent(),
      // Also where it was interrupted by somebody else: a request whose body ends in the middle is never answered.
      onFailure: (cause) => exchange.end(failed({ reason: "UploadFailed", cause }))
    })
  )

const tooLarge = (length: number, maxBytes: number): Problem => ({
  reason: "TooLarge",
  detail: `its body has ${length} bytes, and at most ${maxBytes} may be read`
})

/** Whether the length that is told is that of what will be read. */
const announced = (method: string, { headers, status }: Reply["head"]): number =>
  method === "HEAD" || status === 304 || headers["content-encoding"] !== undefined
    ? 0
    : Number(headers["content-length"])

/** Sends the request, and follows where it leads: to a response, or a failure. */
const connect = (conversation: Conversation, plan: Plan, restore: Restore): Owned<Reply> =>
  Effect.flatMap(Effect.context<Cancellation.Cancellation>(), (context) => {
    const startUpload = (exchange: Exchange): Fiber.RuntimeFiber<void> | undefined =>
      plan.source && startFiber(upload(plan.source, exchange), context, conversation.origin)
    const hop = (outgoing: Outgoing, redirects: number): Effect.Effect<Reply, Problem> =>
      Effect.gen(function* () {
        conversation.url = outgoing.url
        const exchange = yield* conversation.open(
          outgoing,
          outgoing.body === "streamed" ? startUpload : () => undefined
        )
        const head = yield* conversation.await(exchange.head, restore)
        const next = plan.redirects === 0 ? undefined : redirected(outgoing, head)
        if (next === undefined) {
          const length = announced(outgoing.method, head)
          if (length > plan.maxBytes) return yield* Effect.fail(tooLarge(length, plan.maxBytes))
          return new Reply(conversation, exchange, head, plan.maxBytes)
        }
        if ("reason" in next) return yield* Effect.fail(next)
        const detail = `it was redirected more than ${plan.redirects} times`
        if (redirects === 0) return yield* Effect.fail<Problem>({ reason: "TooManyRedirects", detail })
        yield* conversation.drop // H1
        return yield* hop(next, redirects - 1)
      })
    return hop(plan.outgoing, plan.redirects)
  })

const mustBeOk = (reply: Reply): Effect.Effect<Reply, Problem> => {
  const { headers, status } = reply.head
  if (reply.isOk) return Effect.succeed(reply)
  const what = `the server answered with status ${status}`
  const retryAfterMillis = retryAfter(headers, nowOf(reply.conversation.origin))
  return Effect.fail<Problem>(
    retryAfterMillis === undefined
      ? { reason: "BadStatus", status, detail: what }
      : {
          reason: "BadStatus",
          status,
          retryAfterMillis,
          detail: `${what} and asks to wait ${Math.ceil(retryAfterMillis / 1000)} seconds`
        }
  )
}

/** Stages what comes, and gives it with the reply when all has come. */
const fill = (transport: Transport, path: string, reply: Reply, restore: Restore): Effect.Effect<Staging, Problem> =>
  Effect.flatMap(transport.stage(path), (staging) =>
    Effect.as(reply.forEach(restore, staging.write), staging).pipe(Effect.tapErrorCause(() => staging.discard))
  )

/** Publishes what was staged, unless the fiber was interrupted before. */
const commit = (staging: Staging, restore: Restore): Effect.Effect<void, Problem> =>
  Effect.ensuring(Effect.zipRight(restore(Effect.void), staging.commit), staging.discard) // L3

/** The response of a conversation that stays open. */
const responseOf = (method: string, reply: Reply): Http.Response => {
  const { conversation, head } = reply
  let isTaken = false
  const reading = <A>(
    name: string,
    read: (restore: Restore) => Effect.Effect<A, Problem>
  ): Effect.Effect<A, Http.HttpError, Cancellation.Cancellation> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.mapError(
        Effect.suspend(() => read(restore)),
        (problem) => errorOf(method, conversation.url, problem)
      )
    ).pipe(Cancellation.operation(`Http.${name}`))
  const take = Effect.suspend(() => {
    if (isTaken) return Effect.dieMessage("The body of a response was read twice: it comes once, so keep what you read")
    isTaken = true
    return Effect.void
  })
  const piece = Effect.flatMap(
    Effect.mapError(
      reading("body", (restore) => reply.next(restore)),
      Option.some
    ),
    (bytes) => (bytes === undefined ? Effect.fail(Option.none()) : Effect.succeed(bytes))
  )
  return {
    url: conversation.url.href,
    status: head.status,
    headers: head.headers,
    body: Stream.unwrap(Effect.as(take, Stream.repeatEffectOption(piece))),
    text: Effect.zipRight(
      take,
      reading("text", (restore) => reply.readText(restore))
    ),
    drop: reading("drop", () => conversation.close) as Effect.Effect<void, never, Cancellation.Cancellation>
  }
}

/**
 * Makes an `Http` of something that carries requests.
 *
 * @internal
 */
export const makeService = (transport: Transport): Http.Service => {
  const run = <A, R>(
    name: string,
    options: Http.RequestOptions,
    use: (conversation: Conversation, plan: Plan, restore: Restore) => Owned<A, R>,
    keepOpen = false
  ): Effect.Effect<A, Http.HttpError, Cancellation.Cancellation | R> =>
    Effect.withFiberRuntime<A, Http.HttpError, Cancellation.Cancellation | R>((fiber, status) =>
      Effect.uninterruptibleMask((restore) => {
        const planned = plan(options)
        const method = options.method ?? "GET"
        if ("reason" in planned) return Effect.fail(errorOf(method, shown(options.url), planned))
        const { outgoing, timeoutMillis } = planned
        const owner = Cancellation.ownerIn(fiber.currentContext)
        // In this step, so that there is no gap in which it exists and nobody closes it.
        const conversation = new Conversation(transport, outgoing.url, originOf(fiber, status), owner, timeoutMillis)
        const used = use(conversation, planned, restore)
        return Effect.mapError(
          keepOpen ? Effect.tapErrorCause(used, () => conversation.close) : Effect.ensuring(used, conversation.close), // L3
          (problem) => errorOf(method, conversation.url, problem)
        )
      })
    ).pipe(Cancellation.operation(`Http.${name}`))

  const open = (
    name: string,
    options: Http.RequestOptions,
    check: (reply: Reply) => Effect.Effect<Reply, Problem>
  ): Effect.Effect<Http.Response, Http.HttpError, Cancellation.Cancellation | Scope.Scope> =>
    run<Http.Response, Scope.Scope>(
      name,
      options,
      (conversation, plan, restore) =>
        retrying(conversation, plan, restore, Effect.flatMap(connect(conversation, plan, restore), check)).pipe(
          Effect.tap(() => Effect.addFinalizer(() => conversation.close)),
          Effect.tap(() => Effect.sync(() => conversation.stayOpen())),
          Effect.map((reply) => responseOf(plan.outgoing.method, reply))
        ),
      true
    )

  return {
    request: (options) => open("request", options, Effect.succeed),
    text: (options) =>
      run("text", options, (conversation, plan, restore) => {
        const attempt = Effect.flatMap(connect(conversation, plan, restore), mustBeOk)
        return retrying(
          conversation,
          plan,
          restore,
          Effect.flatMap(attempt, (reply) => reply.readText(restore))
        )
      }),
    stream: (options) => Stream.unwrapScoped(Effect.map(open("stream", options, mustBeOk), ({ body }) => body)),
    download: (options) =>
      run("download", options, (conversation, plan, restore) =>
        Effect.gen(function* () {
          const attempt = Effect.gen(function* () {
            const reply = yield* Effect.flatMap(connect(conversation, plan, restore), mustBeOk)
            return { reply, staging: yield* fill(transport, options.path, reply, restore) }
          })
          const { reply, staging } = yield* retrying(conversation, plan, restore, attempt)
          yield* conversation.drop
          yield* commit(staging, restore)
          const { headers, status } = reply.head
          return { url: conversation.url.href, status, headers, bytes: reply.bytes }
        })
      )
  }
}
