/**
 * One request on one socket of its own, from the step that opened the socket until that is closed.
 *
 * Invariants
 *
 * X1. The socket is made in the step in which the exchange is, and known from then on: no agent, no pool, no keep-alive.
 * X2. `closed` settles when the socket is closed *and* no name is being looked up: what the system looks up for us
 *     cannot be taken back, so it is waited for (L3, L4).
 * X3. It ends once: at the end of the body, with a failure, or stopped. What Node reports later is heard and dropped; no
 *     event of an error is ever without a listener.
 * X4. Nothing is read from the socket that nobody asked for: what is unpacked waits in buffers of bounded size.
 * X5. The socket connects to the addresses that the guard has seen, and to no other.
 * X6. A connection that is given up is reset: the server sees its end at once, also behind data that it has not read.
 */
import { type LookupAddress, lookup as systemLookup } from "node:dns"
import * as http from "node:http"
import * as net from "node:net"
import type { Readable } from "node:stream"
import * as tls from "node:tls"
import * as Headers from "@effect/platform/Headers"
import {
  done,
  type Exchange,
  failed,
  type Head,
  type Outcome,
  type Outgoing,
  type Problem
} from "../../capability/http/transport.js"
import { quoted } from "../../quoted.js"
import { Settlement } from "../../settlement.js"
import { problemOf } from "./failure.js"
import { type Guard, hostOf, Refused } from "./guard.js"
import { acceptedEncodings, unpacker } from "./unpack.js"

/** @internal */
export interface Connecting {
  readonly guard: Guard
  readonly lookup: net.LookupFunction | undefined
  readonly ca: string | ReadonlyArray<string> | undefined
}

const defaults = { accept: "*/*", "accept-encoding": acceptedEncodings, "user-agent": "quiesce", connection: "close" }

/** Of the response: one that goes on for ever ends there. */
const maxHeaderSize = 16 * 1024

/**
 * Where the server has ended its side, Node ends ours, and until that is done the system refuses a reset: Node then tells of
 * an error and never closes the socket. Such a server is there, and sees a mere close.
 */
const canReset = (socket: net.Socket): boolean =>
  !socket.connecting && !socket.destroyed && (!socket.writableEnded || socket.writableFinished)

/** @internal */
export class NodeExchange implements Exchange {
  readonly head = new Settlement<Outcome<Head>>()
  readonly closed = new Settlement<void>()
  private readonly outgoing: Outgoing
  private readonly connecting: Connecting
  private request: http.ClientRequest | undefined
  /** The connection itself, below TLS. */
  private raw: net.Socket | undefined
  private socket: net.Socket | undefined
  private body: Readable | undefined
  private reader: Settlement<Outcome<Uint8Array | undefined>> | undefined
  private writer: Settlement<Outcome<void>> | undefined
  private ending: Outcome<undefined> | undefined
  private isConnected = false
  private isOpen = true
  private lookups = 0

  constructor(outgoing: Outgoing, connecting: Connecting) {
    this.outgoing = outgoing
    this.connecting = connecting
    try {
      this.start()
    } catch (error) {
      if (this.raw === undefined) this.socketClosed()
      this.fail(problemOf(error, { isConnected: false, certificate: undefined }))
    }
  }

  pull(): Settlement<Outcome<Uint8Array | undefined>> {
    const reader = new Settlement<Outcome<Uint8Array | undefined>>()
    this.reader = reader
    this.advance()
    return reader
  }

  send(bytes: Uint8Array): Settlement<Outcome<void>> {
    const writer = new Settlement<Outcome<void>>()
    if (this.ending !== undefined) writer.settle(this.ending)
    // Node tells of an error by an event, too, which says more.
    else {
      this.writer = writer
      this.request?.write(bytes, () => writer.settle(done(undefined)))
    }
    return writer
  }

  sent(): void {
    if (this.ending === undefined) this.request?.end()
  }

  end(outcome: Outcome<never>): void {
    this.finish(outcome)
    this.destroy()
  }

  private start(): void {
    const { body, headers, method, url } = this.outgoing
    const request = http.request({
      method,
      path: `${url.pathname}${url.search}`,
      headers: {
        ...defaults,
        ...headers,
        host: url.host,
        ...(body instanceof Uint8Array ? { "content-length": body.length } : {})
      },
      setHost: false,
      maxHeaderSize,
      createConnection: () => this.connect() // X1
    })
    this.request = request
    request.on("error", (error: NodeJS.ErrnoException) => this.requestBroken(error)) // X3
    request.on("response", (response) => this.begin(response))
    if (body !== "streamed") request.end(body)
    else request.flushHeaders()
  }

  private connect(): net.Socket {
    const { url } = this.outgoing
    const host = hostOf(url)
    const isSecure = url.protocol === "https:"
    const options = { host, port: Number(url.port || (isSecure ? 443 : 80)), lookup: this.lookup }
    const { ca } = this.connecting
    const raw = net.connect(options)
    this.raw = raw
    raw.on("error", (error: NodeJS.ErrnoException) => this.requestBroken(error)) // X3
    raw.once("close", () => this.socketClosed())
    const socket = isSecure
      ? tls.connect({
          socket: raw,
          servername: net.isIP(host) === 0 ? host : "",
          ALPNProtocols: ["http/1.1"],
          ...(ca === undefined ? {} : { ca: [...tls.rootCertificates, ...(typeof ca === "string" ? [ca] : ca)] })
        })
      : raw
    this.socket = socket
    socket.once(isSecure ? "secureConnect" : "connect", () => {
      this.isConnected = true
    })
    if (isSecure) socket.on("error", (error: NodeJS.ErrnoException) => this.requestBroken(error)) // X3
    return socket
  }

  private readonly lookup: net.LookupFunction = (host, options, callback) => {
    this.lookups++
    let isAnswered = false
    const answer = (error: NodeJS.ErrnoException | null, addresses: ReadonlyArray<LookupAddress>): void => {
      if (isAnswered) return
      isAnswered = true
      this.lookups--
      const problem = error ?? this.refusal(host, addresses)
      const [first] = addresses
      if (options.all)
        callback(problem, problem === null ? [...addresses] : []) // X5
      else callback(problem, problem === null ? (first?.address ?? "") : "", first?.family ?? 0) // X5
      this.settleClosed() // X2
    }
    const look = this.connecting.lookup ?? (systemLookup as net.LookupFunction)
    try {
      // With an error the system gives no addresses, not even none.
      look(host, { ...options, all: true }, (error, found: string | ReadonlyArray<LookupAddress> | undefined) =>
        answer(error, typeof found === "string" ? [{ address: found, family: net.isIP(found) }] : (found ?? []))
      )
    } catch (error) {
      answer(error instanceof Error ? error : new Error("the look-up of names threw", { cause: error }), [])
    }
  }

  private refusal(host: string, addresses: ReadonlyArray<LookupAddress>): Error | null {
    if (addresses.length === 0) return new Refused({ reason: "LookupFailed", detail: "its host has no address" })
    const refused = this.connecting.guard.refuseAddresses(
      host,
      addresses.map(({ address }) => address)
    )
    return refused === undefined ? null : new Refused(refused)
  }

  private begin(response: http.IncomingMessage): void {
    const { headers, statusCode: status = 0 } = response
    response.on("error", (error) => this.broken(error)) // X3
    const hasBody = this.outgoing.method !== "HEAD" && status !== 204 && status !== 304
    const unpack = hasBody ? unpacker(headers["content-encoding"]) : undefined
    if (unpack === "unknown") {
      const detail = `the body of the response is encoded as ${quoted(headers["content-encoding"] ?? "")}, which is not known`
      return this.fail({ reason: "InvalidResponse", status, detail })
    }
    const body = unpack === undefined ? response : response.pipe(unpack)
    unpack?.on("error", () => {
      const detail = `the body of the response is not the ${headers["content-encoding"]} that it says it is`
      this.fail({ reason: "InvalidResponse", status, detail })
    })
    this.body = body
    body.on("readable", () => this.advance()) // X4
    body.once("end", () => this.finish(done(undefined)))
    this.head.settle(done({ status, headers: Headers.fromInput(headers) }))
  }

  /** Gives the next piece to whoever waits for it. */
  private advance(): void {
    if (this.reader === undefined) return
    const piece: Uint8Array | null | undefined = this.ending === undefined ? this.body?.read() : undefined
    const outcome = piece === null || piece === undefined ? this.ending : done(piece)
    if (outcome === undefined) return
    const { reader } = this
    this.reader = undefined
    reader.settle(outcome)
  }

  private requestBroken(error: NodeJS.ErrnoException): void {
    // A server may answer and close while it is still being sent to: whether the answer is complete, it tells itself.
    if (this.body === undefined || error.code?.startsWith("HPE_")) this.broken(error)
  }

  private broken(error: Error): void {
    const { isConnected, socket } = this
    const certificate = socket instanceof tls.TLSSocket ? socket.authorizationError : undefined
    this.fail(problemOf(error, { isConnected, certificate }))
  }

  private fail(problem: Problem): void {
    this.end(failed(problem))
  }

  private finish(outcome: Outcome<undefined>): void {
    if (this.ending !== undefined) return // X3
    this.ending = outcome
    this.advance()
    if (outcome._tag === "Done") return
    this.head.settle(outcome)
    this.writer?.settle(outcome)
  }

  private destroy(): void {
    const { raw } = this
    // Before anything else has closed it. What was sent and not read would go before the end that a mere close sends:
    // a server that does not read would not learn of it.
    if (raw !== undefined && this.ending?._tag !== "Done" && canReset(raw)) raw.resetAndDestroy() // X6
    this.request?.destroy()
    this.body?.destroy()
    this.socket?.destroy()
    raw?.destroy()
  }

  private socketClosed(): void {
    this.isOpen = false
    // Where a response has begun, it tells by itself whether it was complete: the rest of it may still be in a buffer.
    if (this.body === undefined) {
      const detail = "the server closed the connection without an answer"
      this.finish(failed({ reason: this.isConnected ? "ConnectionLost" : "ConnectFailed", detail }))
    }
    this.settleClosed()
  }

  private settleClosed(): void {
    if (!this.isOpen && this.lookups === 0) this.closed.settle() // X2
  }
}
