/**
 * A server that plays a provider of OpenAI's chat completions, as a test directs it.
 */
import * as http from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { Deferred, Effect, type Scope } from "effect"

/** A request, and the way to answer it. */
export interface Exchange {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: http.IncomingHttpHeaders
  readonly body: any
  readonly response: http.ServerResponse
}

export interface ModelServer {
  readonly baseUrl: string
  readonly requests: ReadonlyArray<Exchange>
  readonly awaitRequest: Effect.Effect<void>
  /** Sockets that are open, as the server sees it. */
  readonly sockets: ReadonlySet<Socket>
  /** Waits until the server sees no open socket. */
  readonly closed: Effect.Effect<void>
}

export const sse = (response: http.ServerResponse): http.ServerResponse =>
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" })

export const frame = (value: unknown): string =>
  `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`

/** A frame with one choice. */
export const delta = (delta: object, finish_reason: string | null = null): string =>
  frame({ id: "chatcmpl-1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })

/** A server on a port of its own, for the life of the scope. */
export const modelServer = (answer: (exchange: Exchange) => void): Effect.Effect<ModelServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests: Array<Exchange> = []
    const sockets = new Set<Socket>()
    const arrived = yield* Deferred.make<void>()
    let whenClosed: Array<() => void> = []
    const server = http.createServer((request, response) => {
      const parts: Array<Buffer> = []
      request.on("data", (part: Buffer) => parts.push(part))
      request.on("end", () => {
        const text = Buffer.concat(parts).toString("utf8")
        const { headers, method, url } = request
        const exchange = { method, url, headers, body: text === "" ? undefined : JSON.parse(text), response }
        requests.push(exchange)
        Deferred.unsafeDone(arrived, Effect.void)
        answer(exchange)
      })
      response.on("error", () => {})
    })
    server.on("connection", (socket) => {
      sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => {
        sockets.delete(socket)
        if (sockets.size > 0) return
        const waiting = whenClosed
        whenClosed = []
        for (const done of waiting) done()
      })
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    return {
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      requests,
      awaitRequest: Deferred.await(arrived),
      sockets,
      closed: Effect.async<void>((resume) => {
        if (sockets.size === 0) resume(Effect.void)
        else whenClosed.push(() => resume(Effect.void))
      })
    }
  })
