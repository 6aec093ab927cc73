/**
 * One request to a server that is a function, over a connection that is a pair of pipes.
 *
 * The server's side runs on a fiber of its own. The connection counts as closed when that fiber has ended.
 */
import * as Headers from "@effect/platform/Headers"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import {
  done,
  type Exchange,
  failed,
  type Head,
  type Outcome,
  type Outgoing,
  type Problem
} from "../capability/http/transport.js"
import { Settlement } from "../settlement.js"
import { type Origin, startFiber } from "../startFiber.js"
import { Pipe } from "./pipe.js"

/** What the server gets. */
interface Received {
  readonly method: string
  readonly url: string
  readonly headers: Headers.Headers
  readonly body: Stream.Stream<Uint8Array>
}

/** What it answers, where it does. */
interface Answer {
  readonly status?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | Uint8Array | Stream.Stream<Uint8Array, unknown> | undefined
}

/** @internal */
export type Serve = (received: Received) => Effect.Effect<Answer, unknown>

const lost: Problem = { reason: "ConnectionLost" }

const piecesOf = (body: Answer["body"]): Stream.Stream<Uint8Array, unknown> => {
  if (body === undefined) return Stream.empty
  if (typeof body === "string") return Stream.make(new TextEncoder().encode(body))
  return body instanceof Uint8Array ? Stream.make(body) : body
}

/** @internal */
export class ScriptedExchange implements Exchange {
  readonly head = new Settlement<Outcome<Head>>()
  readonly closed = new Settlement<void>()
  private readonly request = new Pipe()
  private readonly response = new Pipe()
  private readonly server: Fiber.RuntimeFiber<void>
  private hasEnded = false

  constructor(outgoing: Outgoing, serve: Serve, origin: Origin) {
    const { body, headers, method, url } = outgoing
    const received: Received = {
      method,
      url: url.href,
      headers,
      body: body === "streamed" ? this.upload : body === undefined ? Stream.empty : Stream.make(body)
    }
    // Suspended: what throws is the server's failure.
    const serving = Effect.suspend(() => serve(received))
    const answering = Effect.flatMap(serving, (answer) => this.answer(answer, method)).pipe(
      Effect.catchAllCause((cause) =>
        Effect.sync(() =>
          this.end(failed(Cause.isInterruptedOnly(cause) ? lost : { ...lost, cause: Cause.squash(cause) }))
        )
      )
    )
    this.server = startFiber(answering, Context.empty(), origin)
    this.server.addObserver(() => this.closed.settle())
    if (this.hasEnded) this.hangUp()
  }

  pull(): Settlement<Outcome<Uint8Array | undefined>> {
    return this.response.take()
  }

  send(bytes: Uint8Array): Settlement<Outcome<void>> {
    return this.request.put(bytes)
  }

  sent(): void {
    this.request.end(done(undefined))
  }

  end(outcome: Outcome<never>): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.head.settle(outcome)
    this.request.end(outcome)
    this.response.end(outcome)
    this.hangUp()
  }

  private hangUp(): void {
    // Unset while the constructor runs the first steps of the server.
    const server: Fiber.RuntimeFiber<void> | undefined = this.server
    server?.unsafeInterruptAsFork(FiberId.none)
  }

  private readonly upload: Stream.Stream<Uint8Array> = Stream.repeatEffectOption(
    Effect.flatMap(
      Effect.suspend(() => this.request.take().wait()),
      (outcome) =>
        outcome._tag === "Done" && outcome.value !== undefined
          ? Effect.succeed(outcome.value)
          : outcome._tag === "Done"
            ? Effect.fail(Option.none())
            : Effect.interrupt
    )
  )

  private answer({ body, headers, status = 200 }: Answer, method: string): Effect.Effect<void, unknown> {
    const pieces = method === "HEAD" ? Stream.empty : piecesOf(body)
    return Effect.zipRight(
      Effect.sync(() => this.head.settle(done({ status, headers: Headers.fromInput(headers) }))),
      Effect.zipRight(
        Stream.runForEachWhile(
          Stream.filter(pieces, ({ length }) => length > 0),
          (piece) =>
            Effect.map(
              Effect.suspend(() => this.response.put(piece).wait()),
              ({ _tag }) => _tag === "Done"
            )
        ),
        Effect.sync(() => this.response.end(done(undefined)))
      )
    )
  }
}
