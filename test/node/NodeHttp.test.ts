import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import * as path from "node:path"
import * as tls from "node:tls"
import * as zlib from "node:zlib"
import { assert, describe, it, vi } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Option, Schedule, Stream } from "effect"
import { Cancellation } from "quiesce"
import * as Http from "quiesce/capability/Http"
import * as NodeHttp from "quiesce/node/NodeHttp"
import type { ScriptedHttp } from "quiesce/testing"
import { certificate, privateKey } from "../support/certificate.js"
import { httpContract, type Setup } from "../support/contracts/http.js"
import { makeFolder } from "../support/folder.js"
import { established, listen, listenRaw, play } from "../support/httpServer.js"
import { waitUntil } from "../support/processes.js"

/** Every name is at home here. */
const here: net.LookupFunction = (_host, options, done) =>
  options.all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4)

const setup: Setup = (server, rules) =>
  Effect.gen(function* () {
    const received: Array<ScriptedHttp.Received> = []
    const port = yield* play(server, received)
    const folder = yield* makeFolder
    const file = path.join(folder, "file")
    return {
      layer: NodeHttp.layer({ ...rules, allowPrivate: ["*.test"], lookup: here, root: folder }),
      url: (host, at) => `http://${host}:${port}${at}`,
      open: () => established(port),
      received: () => received,
      path: file,
      file: () => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined),
      putFile: (text) => fs.writeFileSync(file, text),
      staged: () => fs.readdirSync(folder).filter((name) => name !== "file").length
    }
  })

describe("NodeHttp", () => {
  describe("keeps the contract of Http", () => httpContract(setup))

  const layer = NodeHttp.layer({ allowPrivate: ["*.test"], lookup: here, ca: certificate })

  const get = (port: number, options: Partial<Http.RequestOptions> = {}) =>
    Http.text({ url: `http://a.test:${port}/`, timeout: "10 seconds", ...options })

  const run = <A>(operation: Effect.Effect<A, Http.HttpError, Http.Http | Cancellation.Cancellation>) =>
    Cancellation.own(Effect.provide(operation, layer))

  /** The failure of a request to a server that writes what `talk` says, whatever it is asked. */
  const failureOf = (talk: (socket: net.Socket) => void, options?: Partial<Http.RequestOptions>) =>
    Effect.gen(function* () {
      const port = yield* listenRaw((socket) => socket.once("data", () => talk(socket)))
      const error = yield* Effect.flip(run(get(port, options)))
      assert.strictEqual(established(port), 0)
      return error
    })

  const ok = "HTTP/1.1 200 OK\r\n"

  describe("a hostile server", () => {
    it.scopedLive.each([
      ["that closes without an answer", "ConnectionLost", (s) => s.end()],
      ["that resets without an answer", "ConnectionLost", (s) => s.resetAndDestroy()],
      ["that closes within the headers", "ConnectionLost", (s) => s.end(`${ok}x-one: 1\r\nx-t`)],
      ["that speaks something else", "InvalidResponse", (s) => s.end("220 mail.test ESMTP\r\n")],
      [
        "that switches protocols uninvited",
        "ConnectionLost",
        (s) => s.write("HTTP/1.1 101 Yes\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n")
      ],
      ["whose body is shorter than it says", "ConnectionLost", (s) => s.end(`${ok}content-length: 10\r\n\r\nshort`)],
      [
        "whose chunks end early",
        "ConnectionLost",
        (s) => s.end(`${ok}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`)
      ],
      ["whose chunks have no size", "InvalidResponse", (s) => s.write(`${ok}transfer-encoding: chunked\r\n\r\nzz\r\n`)],
      [
        "whose lengths contradict each other",
        "InvalidResponse",
        (s) => s.write(`${ok}content-length: 1\r\ncontent-length: 2\r\n\r\n`)
      ],
      [
        "that resets within the body",
        "ConnectionLost",
        (s) => s.write(`${ok}content-length: 10\r\n\r\nshort`, () => s.resetAndDestroy())
      ],
      ["whose packing is unknown", "InvalidResponse", (s) => s.write(`${ok}content-encoding: zstd9\r\n\r\nx`)],
      [
        "whose packing is a property of objects",
        "InvalidResponse",
        (s) => s.write(`${ok}content-encoding: constructor\r\n\r\nx`)
      ],
      ["whose gzip is none", "InvalidResponse", (s) => s.write(`${ok}content-encoding: gzip\r\n\r\nhello, hello`)]
    ] satisfies ReadonlyArray<readonly [string, Http.Reason, (socket: net.Socket) => void]>)("%s", ([, reason, talk]) =>
      Effect.gen(function* () {
        const error = yield* failureOf(talk)
        assert.strictEqual(error.reason, reason, error.message)
        assert.match(error.message, /^GET http:\/\/a\.test:\d+\/ failed: .+\. .+\.$/)
      })
    )

    it.scopedLive("whose headers never end is cut off, and one that drips them is timed out", () =>
      Effect.gen(function* () {
        const flood = (socket: net.Socket): void => {
          const more = (): boolean => socket.writable && socket.write(`x: ${"y".repeat(1000)}\r\n`, more)
          socket.write(ok, more)
        }
        assert.include((yield* failureOf(flood)).message, "headers of the response are larger than 16 KiB")
        const drip = (socket: net.Socket, text: string): void => {
          socket.write(`${ok}x: `)
          // @effect-diagnostics-next-line globalTimers:off
          const timer = setInterval(() => socket.write(text), 5)
          socket.once("close", () => clearInterval(timer))
        }
        const timeout = "100 millis"
        assert.strictEqual((yield* failureOf((s) => drip(s, "y"), { timeout })).reason, "TimedOut")
        assert.strictEqual((yield* failureOf((s) => drip(s, "\r\n\r\nyyyyyyyy"), { timeout })).reason, "TimedOut")
      })
    )

    it.scopedLive.each([
      ["gzip", zlib.gzipSync],
      ["deflate", zlib.deflateSync],
      [
        "br",
        (bytes: Buffer) => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })
      ]
    ] as const)("what unpacks to more than its cap is cut off: %s", ([encoding, pack]) =>
      Effect.gen(function* () {
        const bomb = pack(Buffer.alloc(64 * 1024 * 1024))
        const server: ScriptedHttp.Server = ({ url }) =>
          Effect.succeed({
            headers: { "content-encoding": encoding },
            body: url.endsWith("/bomb") ? bomb : pack(Buffer.from("hello"))
          })
        const port = yield* play(server, [])
        const before = process.memoryUsage().rss
        const error = yield* Effect.flip(run(get(port, { url: `http://a.test:${port}/bomb`, maxBytes: 100_000 })))
        assert.strictEqual(error.reason, "TooLarge")
        assert.isBelow(process.memoryUsage().rss - before, 32 * 1024 * 1024)
        assert.strictEqual(yield* run(get(port)), "hello")
        assert.strictEqual(established(port), 0)
      })
    )

    it.scopedLive("that answers and closes before it was sent everything is heard", () =>
      Effect.gen(function* () {
        const port = yield* listenRaw((socket) =>
          socket.once("data", () => socket.end("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno"))
        )
        const body = Stream.repeatEffect(Effect.as(Effect.sleep(1), new Uint8Array(100)))
        const post = Http.request({ url: `http://a.test:${port}/`, method: "POST", body, timeout: "10 seconds" })
        const program = Effect.flatMap(post, ({ status, text }) => Effect.map(text, (t) => `${status} ${t}`))
        assert.strictEqual(yield* run(Effect.scoped(program)), "413 no")
      })
    )
  })

  describe("connecting", () => {
    it.scopedLive("to where nobody listens, or that nobody knows, is a failure that may be retried", () =>
      Effect.gen(function* () {
        const port = yield* Effect.scoped(listenRaw(() => {}))
        const error = yield* Effect.flip(run(get(port)))
        assert.strictEqual(error.reason, "ConnectFailed")
        assert.include(error.message, "nothing accepts connections at its port")
        const lookup: net.LookupFunction = (_host, _options, done) =>
          done(Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" }), [])
        const unknown = Cancellation.own(Effect.provide(get(port), NodeHttp.layer({ lookup })))
        assert.strictEqual((yield* Effect.flip(unknown)).reason, "LookupFailed")
        // A name that the system's own resolver refuses without asking anybody.
        const url = `http://${"x".repeat(64)}.test/`
        const system = Cancellation.own(Effect.provide(get(port, { url }), NodeHttp.layer()))
        assert.strictEqual((yield* Effect.flip(system)).reason, "LookupFailed")
      })
    )

    it.scopedLive.each<readonly [string, Http.Reason, net.LookupFunction]>([
      ["throws", "ConnectFailed", () => assert.fail("the resolver is broken")],
      ["has no address", "LookupFailed", (_host, _options, done) => done(null, [])],
      ["has an address that is none", "AddressNotAllowed", (_host, _options, done) => done(null, "nowhere")],
      [
        "answers twice",
        "AddressNotAllowed",
        (_host, _options, done) => {
          done(null, "10.0.0.1", 4)
          done(null, "127.0.0.1", 4)
        }
      ],
      // As the system does.
      [
        "fails without addresses",
        "LookupFailed",
        (_host, _options, done) =>
          (done as (error: Error) => void)(Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" }))
      ]
    ])("a resolver that %s is a failure", ([, reason, lookup]) =>
      Effect.gen(function* () {
        const port = yield* listenRaw(() => assert.fail("it was connected to"))
        const own = Cancellation.own(Effect.provide(get(port), NodeHttp.layer({ lookup })))
        assert.strictEqual((yield* Effect.flip(own)).reason, reason)
      })
    )

    it.scopedLive("a stop waits for a name that is being looked up, and never connects to it", () =>
      Effect.gen(function* () {
        let connections = 0
        const port = yield* listenRaw(() => connections++)
        let answer: (() => void) | undefined
        const lookup: net.LookupFunction = (host, options, done) => {
          answer = () => here(host, options, done)
        }
        const slow = NodeHttp.layer({ allowPrivate: true, lookup })
        const fiber = yield* Effect.fork(Cancellation.own(Effect.provide(get(port), slow)))
        yield* waitUntil(() => answer !== undefined)
        yield* Fiber.interruptFork(fiber)
        // Were it not waited for, it would have ended long before another request has.
        const other = yield* play(() => Effect.succeed({ body: "hello" }), [])
        assert.strictEqual(yield* run(get(other)), "hello")
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        answer?.()
        const exit = yield* Fiber.await(fiber)
        assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
        assert.strictEqual(connections, 0)
      })
    )

    it.scopedLive("a stop ends a connection that is not made yet", () =>
      Effect.gen(function* () {
        // Its queue is full, and it takes nobody out: the system lets others wait.
        const script = `require("net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, function () {
          process.stdout.write(this.address().port + "\\n", () => process.kill(process.pid, "SIGSTOP")) })`
        const child = yield* Effect.acquireRelease(
          Effect.sync(() => spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] })),
          (child) => Effect.sync(() => child.kill("SIGKILL"))
        )
        let port = 0
        child.stdout.once("data", (text) => {
          port = Number(text)
        })
        yield* waitUntil(() => port !== 0)
        const sockets = Array.from({ length: 3 }, () => net.connect(port, "127.0.0.1").on("error", () => {}))
        yield* Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((socket) => void socket.destroy())))
        yield* waitUntil(() => sockets.filter((socket) => !socket.connecting).length === 2)
        const waiting = (): number =>
          fs
            .readFileSync("/proc/net/tcp", "utf8")
            .split("\n")
            .filter((line) => {
              const [, , remote = "", state] = line.trim().split(/\s+/)
              return state === "02" && remote.endsWith(`:${port.toString(16).toUpperCase().padStart(4, "0")}`)
            }).length
        yield* waitUntil(() => waiting() === 1)
        const fiber = yield* Effect.fork(run(get(port)))
        yield* waitUntil(() => waiting() === 2)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(waiting(), 1)
        const error = yield* Effect.flip(run(get(port, { timeout: "50 millis" })))
        assert.deepStrictEqual([error.reason, waiting()], ["TimedOut", 1])
      })
    )

    it.scopedLive("a name is looked up for each connection, and its address then, not before, decides", () =>
      Effect.gen(function* () {
        const port = yield* play(() => Effect.succeed({ status: 302, headers: { location: "/" } }), [])
        const asked: Array<string> = []
        const lookup: net.LookupFunction = (host, options, done) => {
          asked.push(host)
          // At first it is what the policy allows, and then something else.
          if (asked.length === 1) here(host, options, done)
          else done(null, [{ address: "10.0.0.1", family: 4 }])
        }
        const rebinding = NodeHttp.layer({ allowPrivate: ["127.0.0.1"], lookup })
        const error = yield* Effect.flip(Cancellation.own(Effect.provide(get(port), rebinding)))
        assert.strictEqual(error.reason, "AddressNotAllowed")
        assert.notInclude(error.message, "127.0.0.1")
        const allowed = NodeHttp.layer({ allowPrivate: ["a.test"], lookup: here })
        const looped = yield* Effect.flip(Cancellation.own(Effect.provide(get(port), allowed)))
        assert.strictEqual(looped.reason, "TooManyRedirects")
      })
    )

    it.live("this machine, by its own name and resolver, is refused", () =>
      Effect.gen(function* () {
        const own = Cancellation.own(Effect.provide(get(1, { url: "http://localhost:1/" }), NodeHttp.layer()))
        assert.strictEqual((yield* Effect.flip(own)).reason, "AddressNotAllowed")
      })
    )
  })

  describe("TLS", () => {
    const secure = (talk: (socket: tls.TLSSocket) => void) =>
      listen(tls.createServer({ cert: certificate, key: privateKey }, talk).on("tlsClientError", () => {}))
    const hello = (socket: tls.TLSSocket): void => {
      socket.once("data", () => socket.end(`${ok}content-length: 5\r\n\r\nhello`)).on("error", () => {})
    }

    it.scopedLive("a certificate that is trusted is, one that is not, or is for another host, is refused", () =>
      Effect.gen(function* () {
        const port = yield* secure(hello)
        assert.strictEqual(yield* run(get(port, { url: `https://secure.test:${port}/` })), "hello")
        const other = yield* Effect.flip(run(get(port, { url: `https://other.test:${port}/` })))
        assert.strictEqual(other.reason, "CertificateRejected")
        assert.include(other.message, "ERR_TLS_CERT_ALTNAME_INVALID")
        const untrusting = NodeHttp.layer({ allowPrivate: true, lookup: here })
        const own = Cancellation.own(Effect.provide(get(port, { url: `https://secure.test:${port}/` }), untrusting))
        assert.strictEqual((yield* Effect.flip(own)).reason, "CertificateRejected")
        yield* waitUntil(() => established(port) === 0)
      })
    )

    it.scopedLive("a server that does not speak it is a failure", () =>
      Effect.gen(function* () {
        const port = yield* listenRaw((socket) => socket.end("HTTP/1.1 400 Bad\r\n\r\n"))
        const error = yield* Effect.flip(run(get(port, { url: `https://secure.test:${port}/` })))
        assert.strictEqual(error.reason, "ConnectFailed")
      })
    )

    it.scopedLive("a stop ends its handshake, and an upload that nobody reads", () =>
      Effect.gen(function* () {
        const deaf = yield* listenRaw(() => {})
        const pulled = yield* Deferred.make<void>()
        const body = Stream.tap(Stream.repeat(Stream.make(new Uint8Array(64 * 1024)), Schedule.forever), () =>
          Deferred.succeed(pulled, undefined)
        )
        const port = yield* secure((socket) => socket.pause().on("error", () => {}))
        for (const [at, options] of [
          [deaf, {}],
          [port, { method: "POST", body }]
        ] as const) {
          const fiber = yield* Effect.fork(run(get(at, { url: `https://secure.test:${at}/`, ...options })))
          yield* waitUntil(() => established(at) === 1)
          if ("body" in options) yield* Deferred.await(pulled)
          yield* Fiber.interrupt(fiber)
          assert.strictEqual(established(at), 0)
        }
      })
    )
  })

  describe("download", () => {
    it.scopedLive(
      "L3: is closed also when it is given up while the server ends the connection",
      () =>
        Effect.gen(function* () {
          const port = yield* listenRaw((socket) =>
            socket.once("data", () => socket.end(`${ok}content-length: 3\r\nconnection: close\r\n\r\nnew`))
          )
          const root = yield* makeFolder
          const rooted = NodeHttp.layer({ allowPrivate: true, lookup: here, root })
          // It is given up some steps behind the head, which differ: one of the tries meets the end.
          for (let i = 0; i < 60; i++) {
            const download = Http.download({ url: `http://a.test:${port}/`, path: "none/x" })
            const error = yield* Effect.flip(Cancellation.own(Effect.provide(download, rooted)))
            assert.include(error.message, "its folder does not exist")
          }
          assert.strictEqual(established(port), 0)
        }),
      20_000
    )

    it.scopedLive("goes to its folder and to no other, and says what is in the way", () =>
      Effect.gen(function* () {
        const port = yield* play(() => Effect.succeed({ body: "new" }), [])
        const root = yield* makeFolder
        const outside = yield* makeFolder
        fs.symlinkSync(outside, path.join(root, "out"))
        fs.mkdirSync(path.join(root, "folder"))
        fs.writeFileSync(path.join(root, "folder", "x"), "")
        const rooted = NodeHttp.layer({ allowPrivate: true, lookup: here, root })
        const download = (to: string) =>
          Cancellation.own(Effect.provide(Http.download({ url: `http://a.test:${port}/`, path: to }), rooted))
        for (const to of ["../x", "out/x", path.join(outside, "x")]) {
          const error = yield* Effect.flip(download(to))
          assert.include(error.message, "outside of the folder that may be used")
        }
        assert.include((yield* Effect.flip(download("none/x"))).message, "its folder does not exist")
        assert.include((yield* Effect.flip(download("folder"))).message, "there is a folder of that name")
        assert.include((yield* Effect.flip(download("nul\0byte"))).message, "no path that the system accepts")
        assert.include((yield* Effect.flip(download("nul\0byte/x"))).message, "no path that the system accepts")
        assert.include((yield* Effect.flip(download("x".repeat(300)))).message, "its name is too long")
        assert.deepStrictEqual(fs.readdirSync(outside), [])
        assert.sameMembers(fs.readdirSync(root), ["out", "folder"])
        yield* download("x")
        assert.strictEqual(fs.readFileSync(path.join(root, "x"), "utf8"), "new")
      })
    )

    it.scopedLive.skipIf(process.platform !== "linux")(
      "a link that takes the place of its folder, or of what is staged in it, while it comes leads nowhere",
      () =>
        Effect.gen(function* () {
          const root = yield* makeFolder
          const outside = yield* makeFolder
          const folder = path.join(root, "folder")
          for (const swaps of ["folder", "staging"]) {
            fs.mkdirSync(folder)
            const swap = () => {
              const [staging = ""] = fs.readdirSync(folder)
              assert.include(staging, ".quiesce-")
              const place = swaps === "folder" ? folder : path.join(folder, staging)
              fs.renameSync(place, path.join(root, "away"))
              fs.symlinkSync(outside, place)
            }
            // Its head is there, so its file is staged; and there is more to come.
            const server = http.createServer((_request, response) => {
              response.write("first")
              const isStaged = () => assert.isNotEmpty(fs.readdirSync(folder))
              void vi.waitFor(isStaged, { timeout: 5000, interval: 5 }).then(() => {
                swap()
                response.end("second")
              })
            })
            server.listen(0, "127.0.0.1")
            yield* Effect.promise(() => once(server, "listening"))
            const { port } = server.address() as net.AddressInfo
            const rooted = NodeHttp.layer({ allowPrivate: true, lookup: here, root })
            const exit = yield* Http.download({ url: `http://a.test:${port}/`, path: "folder/x" }).pipe(
              Effect.provide(rooted),
              Cancellation.own,
              Effect.exit
            )
            server.close()
            assert.deepStrictEqual(fs.readdirSync(outside), [])
            if (swaps === "folder") {
              assert.include(JSON.stringify(exit), "its folder was moved, or became a link")
              assert.deepStrictEqual(fs.readdirSync(path.join(root, "away")), [])
            } else {
              assert.strictEqual(fs.readFileSync(path.join(folder, "x"), "utf8"), "firstsecond")
              assert.deepStrictEqual(fs.readdirSync(folder), ["x"])
            }
            for (const name of fs.readdirSync(root)) fs.rmSync(path.join(root, name), { recursive: true })
          }
        })
    )
  })
})
