/**
 * An `Http` whose servers are a function of the test.
 *
 * Everything between the tool and the wire is that of the real one: policy, redirects, retries, time limits, caps,
 * text, the life of a connection. Only the wire is not there: a request is handed to the function, whose answer comes
 * back piece by piece as it is read. A gate (`Deferred`, `Effect.never`) in the function or in the stream that it answers
 * with holds the request in any phase, and failing there cuts the connection.
 *
 * What it does not do: it sends and unpacks nothing. So bodies are what they are after they were unpacked, and nothing
 * that is wrong with bytes on a wire or with a certificate can be played. Downloads go to a map.
 *
 * @since 0.1.0
 */
import type * as Headers from "@effect/platform/Headers"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Stream from "effect/Stream"
import * as Http from "../capability/Http.js"
import { makeService } from "../internal/capability/http/service.js"
import { failed, type Outgoing, type Problem, type Staging } from "../internal/capability/http/transport.js"
import { Guard, hostOf } from "../internal/node/http/guard.js"
import type { Origin } from "../internal/startFiber.js"
import { ScriptedExchange } from "../internal/testing/scriptedExchange.js"

/**
 * What a server receives.
 *
 * @since 0.1.0
 * @category models
 */
export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: Headers.Headers
  /** What was sent. A streamed body comes as it is read here, and no faster. */
  readonly body: Stream.Stream<Uint8Array>
}

/**
 * What a server answers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Answer {
  /** Default: 200. */
  readonly status?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** A stream is run as it is read. Its failure cuts the connection. */
  readonly body?: string | Uint8Array | Stream.Stream<Uint8Array, unknown> | undefined
}

/**
 * All servers there are. A failure closes the connection without an answer. It is interrupted when the connection is
 * closed by the other side.
 *
 * @since 0.1.0
 * @category models
 */
export type Server = (request: Received) => Effect.Effect<Answer, unknown>

/**
 * Which hosts there are, and which of them may be reached.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** As `NodeHttp.Options` has it. */
  readonly hosts?: ReadonlyArray<string> | undefined
  /** As `NodeHttp.Options` has it. */
  readonly allowPrivate?: boolean | ReadonlyArray<string> | undefined
  /** The addresses of hosts; a host without one does not exist. Default: a public one for every name. */
  readonly addresses?: Readonly<Record<string, ReadonlyArray<string>>> | undefined
}

/**
 * An `Http`, and what a test sees of its servers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handle {
  readonly layer: Layer.Layer<Http.Http>
  /** How many connections are open now. */
  readonly open: Effect.Effect<number>
  /** The requests that came, in their order. */
  readonly received: Effect.Effect<ReadonlyArray<Received>>
  /** The files that were downloaded, by the paths that were given. */
  readonly files: Effect.Effect<ReadonlyMap<string, Uint8Array>>
  /** How many downloads are staged now: begun, and neither published nor removed. */
  readonly staged: Effect.Effect<number>
}

const somewhere = ["93.184.215.14"]

const refuseAddresses = (guard: Guard, options: Options, host: string): Problem | undefined => {
  const addresses = options.addresses?.[host] ?? somewhere
  return addresses.length === 0 ? { reason: "LookupFailed" } : guard.refuseAddresses(host, addresses)
}

class World {
  open = 0
  staged = 0
  readonly received: Array<Received> = []
  readonly files = new Map<string, Uint8Array>()
  private readonly server: Server

  constructor(server: Server) {
    this.server = server
  }

  connect(outgoing: Outgoing, refused: Problem | undefined, origin: Origin): ScriptedExchange {
    this.open++
    const serve: Server = (request) => {
      this.received.push(request)
      return this.server(request)
    }
    const exchange = new ScriptedExchange(outgoing, refused === undefined ? serve : () => Effect.never, origin)
    if (refused !== undefined) exchange.end(failed(refused))
    exchange.closed.whenSettled(() => this.open--)
    return exchange
  }

  stage(path: string): Effect.Effect<Staging> {
    return Effect.sync(() => {
      const pieces: Array<Uint8Array> = []
      let isHere = true
      this.staged++
      return {
        write: (piece) => Effect.sync(() => void pieces.push(piece)),
        commit: Effect.sync(() => void this.files.set(path, Buffer.concat(pieces))),
        discard: Effect.sync(() => {
          if (isHere) this.staged--
          isHere = false
        })
      }
    })
  }
}

/**
 * Makes an `Http` of a function.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Http } from "quiesce/capability"
 * import { ScriptedHttp } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const http = yield* ScriptedHttp.make(({ url }) => Effect.succeed({ body: `you asked for ${url}` }))
 *   const text = Http.text({ url: "https://example.com/page" })
 *   assert.strictEqual(yield* Effect.provide(text, http.layer), "you asked for https://example.com/page")
 *   assert.strictEqual(yield* http.open, 0)
 * })
 * await Effect.runPromise(Cancellation.own(program))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (server: Server, options: Options = {}): Effect.Effect<Handle> =>
  Effect.sync(() => {
    const world = new World(server)
    const guard = new Guard(options)
    const service = makeService({
      admit: (url) => guard.refuseUrl(url),
      open: (outgoing, origin) =>
        world.connect(outgoing, refuseAddresses(guard, options, hostOf(outgoing.url)), origin),
      stage: (path) => world.stage(path)
    })
    return {
      layer: Layer.succeed(Http.Http, service),
      open: Effect.sync(() => world.open),
      received: Effect.sync(() => [...world.received]),
      files: Effect.sync(() => new Map(world.files)),
      staged: Effect.sync(() => world.staged)
    }
  })
