/**
 * What every `Http` does, asked of it from outside: by what a server sees, and by what lies on the disk.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Cause,
  Chunk,
  DateTime,
  Deferred,
  Duration,
  Effect,
  Exit,
  Fiber,
  FiberId,
  type Layer,
  Option,
  Schedule,
  Scope,
  Stream
} from "effect"
import { Cancellation } from "quiesce"
import type * as Http from "quiesce/capability/Http"
import { Http as HttpTag } from "quiesce/capability/Http"
import { Leaks, type ScriptedHttp } from "quiesce/testing"
import { waitUntil } from "../processes.js"

/** Servers that a test plays, and a client that can reach them. */
export interface World {
  readonly layer: Layer.Layer<HttpTag>
  /** `a.test`, `b.test`, ... are public; `inner.local` has an address that is private. */
  readonly url: (host: string, path: string) => string
  /** How many connections are open now, from the servers' side. */
  readonly open: () => number
  readonly received: () => ReadonlyArray<ScriptedHttp.Received>
  /** A path for a download, and what lies there. */
  readonly path: string
  readonly file: () => string | undefined
  readonly putFile: ((text: string) => void) | undefined
  /** What else a download has left. */
  readonly staged: () => number
}

export interface Rules {
  readonly hosts?: ReadonlyArray<string>
}

export type Setup = (server: ScriptedHttp.Server, rules?: Rules) => Effect.Effect<World, never, Scope.Scope>

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const hang = Effect.never

/** A body whose first piece comes, and then nothing. */
const half = Stream.concat(Stream.make(bytes("half")), Stream.fromEffect(hang))

/** A body that never ends. */
const endless = Stream.repeat(Stream.make(new Uint8Array(64 * 1024)), Schedule.forever)

/** The same in small pieces, for those who keep what they read: many at a time, as they come from a wire. */
const trickle = Stream.forever(
  Stream.concat(
    Stream.range(1, 50).pipe(
      Stream.rechunk(1),
      Stream.map(() => new Uint8Array(16))
    ),
    Stream.drain(Stream.fromEffect(Effect.sleep(0)))
  )
)

type Options = Omit<Http.DownloadOptions, "path">

/** Each operation, run until it has the whole body, in a scope of its own. */
const operations = (path: string) => ({
  request: (http: Http.Service, options: Options) =>
    Effect.scoped(Effect.flatMap(http.request(options), ({ text }) => text)),
  text: (http: Http.Service, options: Options) => http.text(options),
  stream: (http: Http.Service, options: Options) =>
    Effect.map(Stream.runCollect(Stream.decodeText(http.stream(options))), Chunk.join("")),
  download: (http: Http.Service, options: Options) =>
    Effect.map(http.download({ ...options, path }), ({ bytes }) => String(bytes))
})

type Operation = keyof ReturnType<typeof operations>
const names: ReadonlyArray<Operation> = ["request", "text", "stream", "download"]

const interruptedOnly = (exit: Exit.Exit<unknown, unknown>): void => {
  assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause), String(exit))
}

/** The two ways in which somebody stops an operation. */
const stops = ["interrupted", "cancelled"] as const

/** Starts `operation`, and gives the way to stop it and its exit. */
const start = <A, E>(how: (typeof stops)[number], operation: Effect.Effect<A, E, Cancellation.Cancellation>) =>
  Effect.gen(function* () {
    const controller = new AbortController()
    // So that a stopped operation cannot hide behind a fiber that was stopped, too, its exit is noted on the way out.
    const fiber = yield* Effect.fork(Cancellation.ownSignal(operation, controller.signal))
    const stop = how === "cancelled" ? Effect.sync(() => controller.abort("stop")) : Fiber.interruptFork(fiber)
    return { fiber, stop, exit: Effect.zipRight(stop, Fiber.await(fiber)) }
  })

export const httpContract = (setup: Setup): void => {
  const using = (server: ScriptedHttp.Server, rules?: Rules) =>
    Effect.gen(function* () {
      const world = yield* setup(server, rules)
      const http = yield* Effect.provide(HttpTag, world.layer)
      return { ...world, http, run: operations(world.path) }
    })

  const ok: ScriptedHttp.Server = () => Effect.succeed({ body: "hello" })

  describe("what comes back", () => {
    it.scopedLive.each(names)("%s: the body, and the connection is closed", (name) =>
      Effect.gen(function* () {
        const { http, open, received, run, url } = yield* using(ok)
        const result = yield* Cancellation.own(run[name](http, { url: url("a.test", "/page?q=1") }))
        assert.strictEqual(open(), 0)
        assert.strictEqual(result, name === "download" ? "5" : "hello")
        const [only, ...more] = received()
        assert.deepInclude(only, { method: "GET", url: url("a.test", "/page?q=1") })
        assert.deepStrictEqual(more, [])
      })
    )

    it.scopedLive.each(names)("%s: a body of many pieces, to its end", (name) =>
      Effect.gen(function* () {
        const { file, http, open, run, url } = yield* using(() =>
          Effect.succeed({ body: Stream.map(Stream.range(1, 200), (i) => bytes(`${i};`)) })
        )
        const whole = Array.from({ length: 200 }, (_, i) => `${i + 1};`).join("")
        const result = yield* Cancellation.own(run[name](http, { url: url("a.test", "/") }))
        assert.strictEqual(open(), 0)
        assert.strictEqual(name === "download" ? file() : result, whole)
      })
    )

    it.scopedLive("request: any status is a response, with its headers and where it came from", () =>
      Effect.gen(function* () {
        const { http, url } = yield* using(() =>
          Effect.succeed({ status: 404, headers: { "X-Kind": "none" }, body: "no such page" })
        )
        const program = Effect.gen(function* () {
          const response = yield* http.request({ url: url("a.test", "/gone") })
          assert.deepInclude(response, { status: 404, url: url("a.test", "/gone") })
          assert.strictEqual(response.headers["x-kind"], "none")
          assert.strictEqual(yield* response.text, "no such page")
        })
        yield* Cancellation.own(Effect.scoped(program))
      })
    )

    it.scopedLive.each(names.slice(1))("%s: a status that is no success is a failure", (name) =>
      Effect.gen(function* () {
        const { file, http, open, run, staged, url } = yield* using(() =>
          Effect.succeed({ status: 404, body: "no such page" })
        )
        const error = yield* Effect.flip(Cancellation.own(run[name](http, { url: url("a.test", "/gone?key=secret") })))
        assert.deepInclude(error, { reason: "BadStatus", status: 404, code: "HTTP_BAD_STATUS" })
        assert.notInclude(JSON.stringify(error) + error.message, "secret")
        assert.deepStrictEqual([open(), staged(), file()], [0, 0, undefined])
      })
    )

    it.scopedLive("a body that is sent arrives, as text, bytes or a stream", () =>
      Effect.gen(function* () {
        const { http, url } = yield* using(({ body, method }) =>
          Effect.map(Stream.mkString(Stream.decodeText(body)), (text) => ({ body: `${method} ${text}` }))
        )
        const send = (body: NonNullable<Http.RequestOptions["body"]>) =>
          Cancellation.own(http.text({ url: url("a.test", "/"), method: "PUT", body }))
        assert.strictEqual(yield* send("grüße"), "PUT grüße")
        assert.strictEqual(yield* send(bytes("bytes")), "PUT bytes")
        assert.strictEqual(yield* send(Stream.make(bytes("a "), bytes("stream"))), "PUT a stream")
      })
    )

    it.scopedLive("HEAD has no body, whatever its headers say of one", () =>
      Effect.gen(function* () {
        const { http, url } = yield* using(() =>
          Effect.succeed({ headers: { "content-length": "99999999" }, body: Stream.empty })
        )
        assert.strictEqual(yield* Cancellation.own(http.text({ url: url("a.test", "/"), method: "HEAD" })), "")
      })
    )

    it.scopedLive("text: the charset is the server's, and one that is not known is a failure", () =>
      Effect.gen(function* () {
        const { http, url } = yield* using(({ url }) =>
          Effect.succeed({
            headers: { "content-type": `text/plain; charset=${new URL(url).pathname.slice(1)}` },
            body: Uint8Array.of(0xe4)
          })
        )
        const read = (charset: string) => Cancellation.own(http.text({ url: url("a.test", `/${charset}`) }))
        assert.strictEqual(yield* read("iso-8859-1"), "ä")
        assert.strictEqual(yield* read("utf-8"), "\uFFFD")
        assert.strictEqual((yield* Effect.flip(read("klingon"))).reason, "UnknownCharset")
      })
    )

    it.scopedLive("the body of a response comes once, and not behind its scope", () =>
      Effect.gen(function* () {
        const { http, url } = yield* using(ok)
        const twice = Effect.scoped(
          Effect.flatMap(http.request({ url: url("a.test", "/") }), ({ text }) => Effect.zip(text, text))
        )
        assert.include(String(yield* Effect.exit(Cancellation.own(twice))), "was read twice")
        const late = Effect.flatMap(Effect.scoped(http.request({ url: url("a.test", "/") })), ({ text }) => text)
        assert.include(String(yield* Effect.exit(Cancellation.own(late))), "its scope had closed")
      })
    )
  })

  describe("the life of a connection", () => {
    it.scopedLive("request: a response that is never read keeps its connection as long as its scope, no longer", () =>
      Effect.gen(function* () {
        const { http, open, url } = yield* using(() => Effect.succeed({ body: endless }))
        const program = Effect.gen(function* () {
          yield* http.request({ url: url("a.test", "/") })
          assert.strictEqual(open(), 1)
        })
        yield* Cancellation.own(
          Effect.zipRight(
            Effect.scoped(program),
            Effect.sync(() => assert.strictEqual(open(), 0))
          )
        )
      })
    )

    it.scopedLive("request: an owner does not end before a response that was opened under it is closed", () =>
      Effect.gen(function* () {
        const { http, open, url } = yield* using(() => Effect.succeed({ body: endless }))
        const scope = yield* Scope.make()
        const response = yield* Cancellation.own(Scope.extend(http.request({ url: url("a.test", "/") }), scope))
        assert.strictEqual(open(), 0)
        assert.strictEqual(response.status, 200)
        yield* Scope.close(scope, Exit.void)
      })
    )

    it.scopedLive("request: drop closes the connection at once", () =>
      Effect.gen(function* () {
        const { http, open, url } = yield* using(() => Effect.succeed({ body: endless }))
        const program = Effect.gen(function* () {
          const response = yield* http.request({ url: url("a.test", "/") })
          yield* response.drop
          assert.strictEqual(open(), 0)
        })
        yield* Cancellation.own(Effect.scoped(program))
      })
    )

    it.scopedLive("stream: whoever stops reading closes the connection", () =>
      Effect.gen(function* () {
        const { http, open, url } = yield* using(() => Effect.succeed({ body: endless }))
        const some = Stream.take(http.stream({ url: url("a.test", "/"), maxBytes: Number.POSITIVE_INFINITY }), 3)
        const program = Effect.zipRight(
          Stream.runDrain(some),
          Effect.sync(() => assert.strictEqual(open(), 0))
        )
        yield* Cancellation.own(program)
      })
    )

    it.scopedLive.each(names)("%s leaves no timer, handle, fiber or listener", (name) =>
      Effect.gen(function* () {
        const { http, open, run, url } = yield* using(({ url }) =>
          url.endsWith("/ok") ? Effect.succeed({ body: "hello" }) : Effect.succeed({ body: half })
        )
        const controller = new AbortController()
        const cancelled = new AbortController()
        const done = Cancellation.ownSignal(run[name](http, { url: url("a.test", "/ok") }), controller.signal)
        const stopped = Effect.gen(function* () {
          const operation = run[name](http, { url: url("a.test", "/half") })
          const fiber = yield* Effect.fork(Cancellation.ownSignal(operation, cancelled.signal))
          yield* waitUntil(() => open() === 1)
          cancelled.abort()
          yield* Fiber.await(fiber)
        })
        yield* Leaks.check(Effect.zipRight(done, stopped), {
          signals: [controller.signal, cancelled.signal],
          grace: "500 millis"
        })
      })
    )
  })

  describe("a stop", () => {
    it.scopedLive.each(names)("225: %s opens nothing when it was stopped before", (name) =>
      Effect.gen(function* () {
        const { http, received, run, url } = yield* using(ok)
        const operation = run[name](http, { url: url("a.test", "/") })
        interruptedOnly(yield* Effect.exit(Cancellation.ownSignal(operation, AbortSignal.abort("before"))))
        const fiber = yield* Effect.fork(
          Effect.zipRight(
            Effect.withFiberRuntime<void>((self) => Effect.sync(() => self.unsafeInterruptAsFork(FiberId.none))),
            Cancellation.own(operation)
          )
        )
        interruptedOnly(yield* Fiber.await(fiber))
        assert.deepStrictEqual(received(), [])
      })
    )

    for (const how of stops) {
      it.scopedLive.each(names)(`${how}, %s closes its connection first, while it waits for headers`, (name) =>
        Effect.gen(function* () {
          const closed = yield* Deferred.make<void>()
          const { http, open, received, run, url } = yield* using(() =>
            Effect.onInterrupt(hang, () => Deferred.succeed(closed, undefined))
          )
          const { exit } = yield* start(how, run[name](http, { url: url("a.test", "/") }))
          yield* waitUntil(() => received().length === 1)
          assert.strictEqual(open(), 1)
          const ended = yield* exit
          assert.strictEqual(open(), 0)
          interruptedOnly(ended)
          yield* Deferred.await(closed) // the server has seen it
        })
      )

      it.scopedLive.each(names)(`225: ${how}, %s closes its connection first, in the middle of the body`, (name) =>
        Effect.gen(function* () {
          const halfway = yield* Deferred.make<void>()
          const closed = yield* Deferred.make<void>()
          const body = Stream.concat(
            Stream.make(bytes("half")),
            Stream.fromEffect(
              Effect.zipRight(
                Deferred.succeed(halfway, undefined),
                Effect.onInterrupt(hang, () => Deferred.succeed(closed, undefined))
              )
            )
          )
          const { file, http, open, run, staged, url } = yield* using(() => Effect.succeed({ body }))
          const { exit } = yield* start(how, run[name](http, { url: url("a.test", "/") }))
          yield* Deferred.await(halfway)
          if (name === "download") yield* waitUntil(() => staged() === 1)
          const ended = yield* exit
          assert.strictEqual(open(), 0)
          interruptedOnly(ended)
          assert.deepStrictEqual([staged(), file()], [0, undefined])
          yield* Deferred.await(closed)
        })
      )

      it.scopedLive.each(names)(`${how}, %s stops a body that comes faster than it is read`, (name) =>
        Effect.gen(function* () {
          const { http, open, run, staged, url } = yield* using(() => Effect.succeed({ body: trickle }))
          const options = { url: url("a.test", "/"), maxBytes: Number.POSITIVE_INFINITY }
          // Not collected: it never ends.
          const operation = name === "stream" ? Stream.runDrain(http.stream(options)) : run[name](http, options)
          const { exit } = yield* start(how, operation)
          yield* waitUntil(() => open() === 1)
          interruptedOnly(yield* exit)
          assert.deepStrictEqual([open(), staged()], [0, 0])
        })
      )

      it.scopedLive.each(names)(
        `${how}, %s finalises the source of an upload, which the server does not read`,
        (name) =>
          Effect.gen(function* () {
            let live = 0
            const pulled = yield* Deferred.make<void>()
            const source = Stream.ensuring(
              Stream.tap(endless, () =>
                Effect.zipRight(
                  Effect.sync(() => live++),
                  Deferred.succeed(pulled, undefined)
                )
              ),
              Effect.zipRight(
                Effect.yieldNow(),
                Effect.sync(() => {
                  live = 0
                })
              )
            )
            const { http, open, run, url } = yield* using(() => hang)
            const { exit } = yield* start(
              how,
              run[name](http, { url: url("a.test", "/"), method: "POST", body: source })
            )
            yield* Deferred.await(pulled)
            const ended = yield* exit
            assert.deepStrictEqual([open(), live], [0, 0])
            interruptedOnly(ended)
          })
      )

      it.scopedLive.each(names)(`230: ${how}, %s ends in its back-off`, (name) =>
        Effect.gen(function* () {
          const { http, open, received, run, url } = yield* using(() => Effect.fail("closed"))
          const retry = Schedule.spaced("60 days") // longer than one timer of the host
          const { exit } = yield* start(
            how,
            run[name](http, { url: url("a.test", "/"), retry, timeout: Number.POSITIVE_INFINITY })
          )
          yield* waitUntil(() => received().length === 1 && open() === 0)
          interruptedOnly(yield* exit)
          assert.strictEqual(received().length, 1)
        })
      )

      it.scopedLive.each(names)(`${how}, %s closes the connection that a redirect has led it to`, (name) =>
        Effect.gen(function* () {
          const { http, open, received, run, url } = yield* using((request) =>
            request.url.endsWith("/1")
              ? Effect.succeed({ status: 302, headers: { location: "/2" }, body: endless })
              : hang
          )
          const { exit } = yield* start(how, run[name](http, { url: url("a.test", "/1") }))
          yield* waitUntil(() => received().length === 2)
          assert.strictEqual(open(), 1) // that of the redirect is closed
          interruptedOnly(yield* exit)
          assert.strictEqual(open(), 0)
        })
      )
    }
  })

  describe("its own time limit is a failure, and no interruption", () => {
    const timeout = "80 millis"
    const timesOut = (name: Operation, server: ScriptedHttp.Server, options: Partial<Options> = {}) =>
      Effect.gen(function* () {
        const { file, http, open, run, staged, url } = yield* using(server)
        const operation = run[name](http, { url: url("a.test", "/1"), timeout, ...options })
        const error = yield* Effect.flip(Cancellation.own(operation))
        assert.deepStrictEqual([open(), staged(), file()], [0, 0, undefined])
        assert.strictEqual(error.code, "HTTP_TIMED_OUT")
        assert.include(error.message, "80 milliseconds")
        return error
      })

    it.scopedLive.each(names)("225: %s, waiting for headers", (name) => timesOut(name, () => hang))

    it.scopedLive.each(names)("225: %s, in the middle of the body", (name) =>
      timesOut(name, () => Effect.succeed({ body: half }))
    )

    it.scopedLive.each(names)("%s, in the middle of an upload", (name) =>
      timesOut(name, () => hang, { method: "POST", body: endless })
    )

    it.scopedLive.each(names)("%s, in its back-off", (name) =>
      timesOut(name, () => Effect.fail("closed"), { retry: Schedule.spaced("1 hour") })
    )

    it.scopedLive.each(names)("%s, behind a redirect", (name) =>
      Effect.map(
        timesOut(name, ({ url }) =>
          url.endsWith("/1") ? Effect.succeed({ status: 302, headers: { location: "/2" } }) : hang
        ),
        ({ url }) => assert.match(url, /\/2$/)
      )
    )

    it.scopedLive("also in a protected region, where nothing can be interrupted", () =>
      Effect.gen(function* () {
        const { http, url } = yield* using(() => Effect.fail("closed"))
        const cleanUp = http.text({ url: url("a.test", "/"), timeout, retry: Schedule.spaced("1 hour") })
        const error = yield* Effect.flip(Cancellation.own(Effect.uninterruptible(cleanUp)))
        assert.strictEqual(error.reason, "TimedOut")
      })
    )

    it.scopedLive("225: a deadline of somebody else is an interruption", () =>
      Effect.gen(function* () {
        const { http, open, url } = yield* using(() => hang)
        const operation = http.text({ url: url("a.test", "/") })
        interruptedOnly(yield* Effect.exit(Cancellation.withDeadline(operation, { duration: "50 millis" })))
        assert.strictEqual(open(), 0)
      })
    )
  })

  describe("an upload", () => {
    it.scopedLive("that fails is a failure with its cause, and the connection is closed", () =>
      Effect.gen(function* () {
        const { http, open, url } = yield* using(({ body }) => Effect.zipRight(Stream.runDrain(body), hang))
        const body = Stream.concat(Stream.make(bytes("begin")), Stream.fail("the disk is gone"))
        const error = yield* Effect.flip(Cancellation.own(http.text({ url: url("a.test", "/"), method: "POST", body })))
        assert.strictEqual(error.reason, "UploadFailed")
        assert.include(String(error.cause), "the disk is gone")
        assert.strictEqual(open(), 0)
      })
    )

    it.scopedLive("whose answer comes early is finalised", () =>
      Effect.gen(function* () {
        let finalised = 0
        const { http, open, url } = yield* using(() => Effect.succeed({ body: "enough" }))
        const body = Stream.ensuring(
          Stream.concat(Stream.make(bytes("x")), Stream.fromEffect(hang)),
          Effect.sync(() => finalised++)
        )
        const text = yield* Cancellation.own(http.text({ url: url("a.test", "/"), method: "POST", body }))
        assert.deepStrictEqual([text, open(), finalised], ["enough", 0, 1])
      })
    )

    it.scopedLive("is sent once: it is neither retried nor redirected", () =>
      Effect.gen(function* () {
        const { http, received, url } = yield* using((request) =>
          request.url.endsWith("/lost")
            ? Effect.fail("closed")
            : Effect.succeed({ status: 307, headers: { location: "/other" } })
        )
        const send = (path: string) =>
          Effect.flip(
            Cancellation.own(
              http.text({
                url: url("a.test", path),
                method: "PUT",
                body: Stream.make(bytes("x")),
                retry: Schedule.recurs(3),
                retryWhen: () => true
              })
            )
          )
        assert.strictEqual((yield* send("/lost")).reason, "ConnectionLost")
        assert.strictEqual((yield* send("/moved")).reason, "InvalidRedirect")
        assert.strictEqual(received().length, 2)
      })
    )
  })

  describe("a redirect", () => {
    it.scopedLive("is followed as far as may be, and a loop ends", () =>
      Effect.gen(function* () {
        const { http, open, received, url } = yield* using((request) => {
          const left = Number(new URL(request.url).pathname.slice(1))
          return Effect.succeed(
            left === 0
              ? { body: "there" }
              : { status: 302, headers: { location: left === 99 ? "/99" : `/${left - 1}` } }
          )
        })
        const get = (path: string, redirects?: number) =>
          Cancellation.own(http.text({ url: url("a.test", path), redirects }))
        assert.strictEqual(yield* get("/5"), "there")
        assert.strictEqual((yield* Effect.flip(get("/6"))).reason, "TooManyRedirects")
        assert.strictEqual(yield* get("/6", 6), "there")
        const before = received().length
        assert.strictEqual((yield* Effect.flip(get("/99"))).reason, "TooManyRedirects")
        assert.strictEqual(received().length - before, 6)
        assert.strictEqual((yield* Effect.flip(get("/1", 0))).status, 302)
        assert.strictEqual(open(), 0)
      })
    )

    it.scopedLive("keeps method and body with 307, and becomes a GET with 303", () =>
      Effect.gen(function* () {
        const { http, url } = yield* using(({ body, headers, method, url }) => {
          const { pathname } = new URL(url)
          if (pathname !== "/there") {
            return Effect.succeed({ status: Number(pathname.slice(1)), headers: { location: "/there" } })
          }
          return Effect.map(Stream.mkString(Stream.decodeText(body)), (text) => ({
            body: `${method} ${text} ${headers["content-type"] ?? ""}`
          }))
        })
        const post = (status: number) =>
          Cancellation.own(
            http.text({
              url: url("a.test", `/${status}`),
              method: "POST",
              body: "body",
              headers: { "Content-Type": "text/csv" }
            })
          )
        assert.strictEqual(yield* post(307), "POST body text/csv")
        assert.strictEqual(yield* post(308), "POST body text/csv")
        for (const status of [301, 302, 303]) assert.strictEqual(yield* post(status), "GET  ")
      })
    )

    it.scopedLive("takes secrets to no other origin", () =>
      Effect.gen(function* () {
        const { http, received, url } = yield* using(({ url: at }): Effect.Effect<ScriptedHttp.Answer> => {
          const { hostname, pathname } = new URL(at)
          if (pathname === "/2") return Effect.succeed({ body: "there" })
          return Effect.succeed({
            status: 302,
            headers: { location: hostname === "a.test" ? url("b.test", "/2") : "/2" }
          })
        })
        const headers = { Authorization: "Bearer key", Cookie: "id=1", "x-plain": "yes" }
        yield* Cancellation.own(http.text({ url: url("a.test", "/1"), headers }))
        yield* Cancellation.own(http.text({ url: url("b.test", "/1"), headers }))
        const [, other, , same] = received().map(({ headers }) => headers)
        assert.deepInclude(other, { "x-plain": "yes" })
        assert.notProperty(other, "authorization")
        assert.notProperty(other, "cookie")
        assert.deepInclude(same, { authorization: "Bearer key", cookie: "id=1" })
      })
    )

    it.scopedLive.each([
      ["http://inner.local:1/", "AddressNotAllowed"],
      ["http://127.0.0.1:1/", "AddressNotAllowed"],
      ["http://169.254.169.254/latest/meta-data/", "AddressNotAllowed"],
      ["http://[::ffff:10.0.0.1]/", "AddressNotAllowed"],
      ["http://0x7f.1/", "AddressNotAllowed"],
      ["ftp://a.test/", "InvalidRedirect"],
      ["file:///etc/passwd", "InvalidRedirect"],
      ["http://user:pass@a.test/", "InvalidRedirect"],
      ["http://", "InvalidRedirect"]
    ] as const)("to %s is a failure", ([location, reason]) =>
      Effect.gen(function* () {
        const { http, open, received, url } = yield* using(() =>
          Effect.succeed({ status: 302, headers: { location }, body: endless })
        )
        const error = yield* Effect.flip(Cancellation.own(http.text({ url: url("a.test", "/") })))
        assert.strictEqual(error.reason, reason)
        assert.deepStrictEqual([open(), received().length], [0, 1])
      })
    )

    it.scopedLive("to a host that is not on the list is a failure", () =>
      Effect.gen(function* () {
        const { http, received, url } = yield* using(
          ({ url: at }): Effect.Effect<ScriptedHttp.Answer> =>
            Effect.succeed({
              status: 302,
              headers: { location: at.includes("/b") ? url("b.test", "/") : url("a.test", "/b") }
            }),
          { hosts: ["a.test"] }
        )
        const error = yield* Effect.flip(Cancellation.own(http.text({ url: url("a.test", "/") })))
        assert.strictEqual(error.reason, "HostNotAllowed")
        assert.match(error.url, /^http:\/\/b\.test/)
        assert.strictEqual(received().length, 2)
      })
    )
  })

  describe("what is refused before anything is opened", () => {
    it.scopedLive.each([
      [{ url: "not a url" }, "InvalidRequest"],
      [{ url: "/relative" }, "InvalidRequest"],
      [{ url: "ftp://a.test/" }, "InvalidRequest"],
      [{ url: "http://user:secret@a.test/" }, "InvalidRequest"],
      [{ headers: { "bad name": "x" } }, "InvalidRequest"],
      [{ headers: { good: "secret\r\nhost: inner.local" } }, "InvalidRequest"],
      [{ headers: { Host: "inner.local" } }, "InvalidRequest"],
      [{ body: "secret" }, "InvalidRequest"],
      [{ method: "TRACE" as "GET" }, "InvalidRequest"],
      [{ maxBytes: -1 }, "InvalidRequest"],
      [{ maxBytes: Number.NaN }, "InvalidRequest"],
      [{ redirects: -1 }, "InvalidRequest"],
      [{ timeout: 0 }, "InvalidRequest"],
      [{ timeout: 2 ** 31 }, "InvalidRequest"],
      [{ url: "http://c.test/" }, "HostNotAllowed"],
      [{ url: "http://127.0.0.1:1/" }, "HostNotAllowed"],
      [{ url: "http://inner.local:1/" }, "AddressNotAllowed"]
    ] satisfies ReadonlyArray<readonly [Partial<Options>, Http.Reason]>)("%j", ([options, reason]) =>
      Effect.gen(function* () {
        const { http, open, received, run, url } = yield* using(ok, { hosts: ["a.test", "inner.local"] })
        for (const name of names) {
          const operation = run[name](http, { url: url("a.test", "/"), ...options } as Options)
          const error = yield* Effect.flip(Cancellation.own(operation))
          assert.strictEqual(error.reason, reason)
          assert.notInclude(error.message, "secret")
        }
        assert.deepStrictEqual([open(), received()], [0, []])
      })
    )
  })

  describe("a retry", () => {
    const failing = (times: number, answer: Effect.Effect<ScriptedHttp.Answer, string>) => {
      let seen = 0
      const server: ScriptedHttp.Server = () => (seen++ < times ? answer : Effect.succeed({ body: "at last" }))
      return using(server)
    }
    const retry = Schedule.recurs(3)

    it.scopedLive.each(names)("%s: of a GET whose connection was lost succeeds", (name) =>
      Effect.gen(function* () {
        const { http, received, run, url } = yield* failing(2, Effect.fail("closed"))
        const result = yield* Cancellation.own(run[name](http, { url: url("a.test", "/"), retry }))
        assert.strictEqual(result, name === "download" ? "7" : "at last")
        assert.strictEqual(received().length, 3)
      })
    )

    it.scopedLive.each(names.slice(1))("%s: of a GET that was answered with 503 succeeds", (name) =>
      Effect.gen(function* () {
        const { http, run, url } = yield* failing(2, Effect.succeed({ status: 503 }))
        const result = yield* Cancellation.own(run[name](http, { url: url("a.test", "/"), retry }))
        assert.strictEqual(result, name === "download" ? "7" : "at last")
      })
    )

    it.scopedLive.each(["text", "download"] as const)("%s: includes a body that was cut", (name) =>
      Effect.gen(function* () {
        const cut = Stream.concat(Stream.make(bytes("some")), Stream.fail("cut"))
        const { file, http, run, staged, url } = yield* failing(
          1,
          Effect.succeed({ headers: { "content-length": "9" }, body: cut })
        )
        yield* Cancellation.own(run[name](http, { url: url("a.test", "/"), retry }))
        assert.strictEqual(staged(), 0)
        if (name === "download") assert.strictEqual(file(), "at last")
      })
    )

    it.scopedLive("ends with its schedule, and with the last failure", () =>
      Effect.gen(function* () {
        const { http, received, url } = yield* failing(99, Effect.succeed({ status: 503 }))
        const error = yield* Effect.flip(Cancellation.own(http.text({ url: url("a.test", "/"), retry })))
        assert.deepInclude(error, { reason: "BadStatus", status: 503 })
        assert.strictEqual(received().length, 4)
      })
    )

    const busy = (after: string) => Effect.succeed({ status: 503, headers: { "retry-after": after } })

    it.scopedLive.each(names.slice(1))("%s: waits as long as the server asks, in seconds or until a date", (name) =>
      Effect.gen(function* () {
        const date = Effect.map(DateTime.now, (now) =>
          DateTime.toDateUtc(DateTime.add(now, { seconds: 2 })).toUTCString()
        )
        for (const after of [Effect.succeed("1"), date]) {
          const { http, received, run, url } = yield* failing(1, Effect.flatMap(after, busy))
          const [took] = yield* Effect.timed(Cancellation.own(run[name](http, { url: url("a.test", "/"), retry })))
          assert.isAtLeast(Duration.toMillis(took), 950)
          assert.strictEqual(received().length, 2)
        }
      })
    )

    it.scopedLive("is not made where the server asks for more than may be waited, or than there is time", () =>
      Effect.gen(function* () {
        const { http, received, url } = yield* failing(99, busy("30"))
        const get = { url: url("a.test", "/"), retry }
        for (const limits of [{ maxRetryAfter: "29 seconds" }, { timeout: "20 seconds" }] as const) {
          const error = yield* Effect.flip(Cancellation.own(http.text({ ...get, ...limits })))
          assert.deepInclude(error, { reason: "BadStatus", status: 503, retryAfterMillis: 30_000 })
          assert.include(error.message, "answered with status 503 and asks to wait 30 seconds")
        }
        assert.strictEqual(received().length, 2)
      })
    )

    it.scopedLive("takes no notice of a demand that is none", () =>
      Effect.gen(function* () {
        for (const after of ["-5", "soon", "1e3", "", "2099-01-01", "Thu, 01 Jan 1970 00:00:00 GMT"]) {
          const { http, url } = yield* failing(1, busy(after))
          assert.strictEqual(yield* Cancellation.own(http.text({ url: url("a.test", "/"), retry })), "at last")
        }
      })
    )

    for (const how of stops) {
      it.scopedLive.each(names.slice(1))(`${how}, %s ends in a wait that the server has asked for`, (name) =>
        Effect.gen(function* () {
          const { http, open, received, run, url } = yield* failing(99, busy("50"))
          const { exit } = yield* start(how, run[name](http, { url: url("a.test", "/"), retry }))
          yield* waitUntil(() => received().length === 1 && open() === 0)
          interruptedOnly(yield* exit)
          assert.strictEqual(received().length, 1)
        })
      )
    }

    it.scopedLive("is not made of what the server may have done, unless it is asked for", () =>
      Effect.gen(function* () {
        const { http, received, url } = yield* failing(1, Effect.fail("closed"))
        const post = { url: url("a.test", "/"), method: "POST" as const, body: "once", retry }
        assert.strictEqual((yield* Effect.flip(Cancellation.own(http.text(post)))).reason, "ConnectionLost")
        assert.strictEqual(received().length, 1)
        assert.strictEqual(yield* Cancellation.own(http.text({ ...post, retryWhen: () => true })), "at last")
      })
    )
  })

  describe("a cap", () => {
    it.scopedLive.each(names)("%s: a body above it is a failure, and the connection is closed", (name) =>
      Effect.gen(function* () {
        const { file, http, open, run, staged, url } = yield* using(({ url }) =>
          Effect.succeed(
            url.endsWith("/told") ? { headers: { "content-length": "6" }, body: "123456" } : { body: endless }
          )
        )
        for (const path of ["/told", "/endless"]) {
          const error = yield* Effect.flip(Cancellation.own(run[name](http, { url: url("a.test", path), maxBytes: 5 })))
          assert.strictEqual(error.reason, "TooLarge")
          assert.deepStrictEqual([open(), staged(), file()], [0, 0, undefined])
        }
      })
    )

    it.scopedLive.each(names)("%s: a body of that very size is none", (name) =>
      Effect.gen(function* () {
        const { http, run, url } = yield* using(ok)
        const result = yield* Cancellation.own(run[name](http, { url: url("a.test", "/"), maxBytes: 5 }))
        assert.strictEqual(result, name === "download" ? "5" : "hello")
      })
    )
  })

  describe("download", () => {
    it.scopedLive("replaces a file by the whole of the body, or leaves it", () =>
      Effect.gen(function* () {
        const cut = Stream.concat(Stream.make(bytes("some")), Stream.fail("cut"))
        const { file, http, path, putFile, staged, url } = yield* using(({ url }) =>
          Effect.succeed({ body: url.endsWith("/cut") ? cut : "new" })
        )
        putFile?.("old")
        const old = file()
        const error = yield* Effect.flip(Cancellation.own(http.download({ url: url("a.test", "/cut"), path })))
        assert.strictEqual(error.reason, "ConnectionLost")
        assert.deepStrictEqual([file(), staged()], [old, 0])
        const got = yield* Cancellation.own(http.download({ url: url("a.test", "/"), path }))
        assert.deepInclude(got, { bytes: 3, status: 200, url: url("a.test", "/") })
        assert.deepStrictEqual([file(), staged()], ["new", 0])
      })
    )
  })

  it.scopedLive("a captured owner opens nothing after its end", () =>
    Effect.gen(function* () {
      const { http, received, url } = yield* using(ok)
      const owner = yield* Cancellation.own(Effect.context<Cancellation.Cancellation>())
      const exit = yield* Effect.exit(Effect.provide(http.text({ url: url("a.test", "/") }), owner))
      assert.include(String(Option.getOrUndefined(Exit.causeOption(exit))), "under an owner that has ended")
      assert.deepStrictEqual(received(), [])
    })
  )
}
