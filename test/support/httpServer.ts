import * as fs from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import { Effect, Fiber, Option, type Scope, Stream } from "effect"
import type { ScriptedHttp } from "quiesce/testing"

/** How many connections of a port the system calls established, from the side of whoever listens there. */
export const established = (port: number): number => {
  const local = port.toString(16).toUpperCase().padStart(4, "0")
  const table = (name: string): ReadonlyArray<string> => fs.readFileSync(`/proc/net/${name}`, "utf8").split("\n")
  return [...table("tcp"), ...table("tcp6")].filter((line) => {
    const [, address = "", , state] = line.trim().split(/\s+/)
    return state === "01" && address.endsWith(`:${local}`)
  }).length
}

/** Listens on a port of its own as long as the scope. */
export const listen = <S extends net.Server>(server: S): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<number>((resume) => {
      const sockets = new Set<net.Socket>()
      server.on("connection", (socket: net.Socket) => {
        sockets.add(socket)
        socket.on("error", () => {})
        socket.on("close", () => sockets.delete(socket))
      })
      server.on("closing", () => {
        for (const socket of sockets) socket.destroy()
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as net.AddressInfo).port)))
    }),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.emit("closing")
      })
  )

/** A server on which a client can do nothing but connect. */
export const listenRaw = (
  connected: (socket: net.Socket) => void,
  options: net.ServerOpts = {}
): Effect.Effect<number, never, Scope.Scope> =>
  listen(net.createServer({ allowHalfOpen: false, ...options }, connected))

/** The body of a request, read as it is pulled. */
const bodyOf = (request: http.IncomingMessage): Stream.Stream<Uint8Array> =>
  Stream.repeatEffectOption(
    Effect.async<Uint8Array, Option.Option<never>>((resume) => {
      const look = (): void => {
        const piece: Buffer | null = request.read()
        if (piece === null && !request.readableEnded) return
        request.off("readable", look).off("end", look)
        resume(piece === null ? Effect.fail(Option.none()) : Effect.succeed(piece))
      }
      request.on("readable", look).on("end", look)
      look()
    })
  )

const answer = (response: http.ServerResponse, { body, headers, status = 200 }: ScriptedHttp.Answer) =>
  Effect.gen(function* () {
    response.writeHead(status, headers)
    response.flushHeaders()
    if (body === undefined || typeof body === "string" || body instanceof Uint8Array) return response.end(body)
    yield* Stream.runForEach(body, (piece) =>
      Effect.async<void>((resume) => {
        response.write(piece, () => resume(Effect.void))
      })
    )
    return response.end()
  })

/** Plays a scripted server on a real socket. What it does for a request is interrupted when the socket closes. */
export const play = (server: ScriptedHttp.Server, received: Array<ScriptedHttp.Received>) =>
  listen(
    http.createServer((request, response) => {
      const seen: ScriptedHttp.Received = {
        method: request.method ?? "",
        url: `http://${request.headers.host}${request.url}`,
        headers: request.headers as unknown as ScriptedHttp.Received["headers"],
        body: bodyOf(request)
      }
      received.push(seen)
      const serving = Effect.flatMap(server(seen), (given) => answer(response, given))
      const fiber = Effect.runFork(Effect.catchAllCause(serving, () => Effect.sync(() => response.socket?.destroy())))
      response.on("error", () => {})
      response.on("close", () => Effect.runFork(Fiber.interruptFork(fiber)))
    })
  )
