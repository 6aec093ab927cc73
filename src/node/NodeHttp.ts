/**
 * Sends requests on Node, each on a socket of its own.
 *
 * There is no pool: a connection that is kept for later belongs to nobody, and nobody could wait for its close. So a
 * request costs a connect, and over TLS a handshake, more than with an agent.
 *
 * @since 0.1.0
 */
import type { LookupFunction } from "node:net"
import * as Layer from "effect/Layer"
import * as Http from "../capability/Http.js"
import { makeService } from "../internal/capability/http/service.js"
import { NodeExchange } from "../internal/node/http/exchange.js"
import { Guard } from "../internal/node/http/guard.js"
import { stage } from "../internal/node/http/staging.js"

/**
 * Which hosts may be reached, and how.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * The only hosts that may be reached: `example.com` is that host, `*.example.com` every host below it. Ports are free.
   * Checked for each URL, those of redirects included. Default: every public host.
   */
  readonly hosts?: ReadonlyArray<string> | undefined
  /**
   * Which hosts may have an address that is not of the public internet (private, loopback, link-local, multicast,
   * reserved; of IPv4, IPv6, and IPv4 within IPv6). Checked on the very addresses that the socket connects to, for each
   * connection anew. Default: `false`, none.
   */
  readonly allowPrivate?: boolean | ReadonlyArray<string> | undefined
  /** The folder that downloads stay in, and that relative paths start from. Default: no limit, the working directory. */
  readonly root?: string | undefined
  /** Resolves names. What it answers is checked, too. Default: that of the system. */
  readonly lookup?: LookupFunction | undefined
  /** Certificates, in PEM, that are trusted beside those that Node trusts. */
  readonly ca?: string | ReadonlyArray<string> | undefined
}

/**
 * Layer of an `Http` on the sockets of this machine.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import * as http from "node:http"
 * import type { AddressInfo } from "node:net"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Http } from "quiesce/capability"
 * import { NodeHttp } from "quiesce/node"
 *
 * const server = http.createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1")
 * await new Promise((resolve) => server.once("listening", resolve))
 * const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
 *
 * const get = Cancellation.own(Http.text({ url, timeout: "10 seconds" }))
 * const refused = await Effect.runPromise(Effect.flip(Effect.provide(get, NodeHttp.layer())))
 * assert.strictEqual(refused.code, "HTTP_ADDRESS_NOT_ALLOWED")
 *
 * const text = await Effect.runPromise(Effect.provide(get, NodeHttp.layer({ allowPrivate: ["127.0.0.1"] })))
 * assert.strictEqual(text, "hello")
 * server.close()
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<Http.Http> =>
  Layer.sync(Http.Http, () => {
    const guard = new Guard(options)
    return makeService({
      admit: (url) => guard.refuseUrl(url),
      open: (outgoing) => new NodeExchange(outgoing, { guard, lookup: options.lookup, ca: options.ca }),
      stage: (path) => stage(options.root, path)
    })
  })
