import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Schema, Stream, TestClock } from "effect"
import { Cancellation } from "quiesce"
import * as Http from "quiesce/capability/Http"
import { ScriptedHttp } from "quiesce/testing"

describe("Http", () => {
  it.prop("an error survives a round trip through JSON", { error: Http.HttpError }, ({ error }) => {
    const json = JSON.parse(JSON.stringify(Schema.encodeSync(Http.HttpError)(error)))
    const back = Schema.decodeUnknownSync(Http.HttpError)(json)
    assert.deepStrictEqual([back._tag, back.code, back.message], ["HttpError", error.code, error.message])
  })

  it("each reason has a code made of its name, and a message that says what happened and what to do", () => {
    for (const reason of Http.Reason.literals) {
      const error = new Http.HttpError({ method: "GET", url: "http://a.test/", reason })
      assert.strictEqual(error.code, `HTTP_${reason.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase()}`)
      assert.match(error.message, /^GET http:\/\/a\.test\/ failed: [a-z].+\. [A-Z].+\.$/)
      const detailed = new Http.HttpError({ method: "GET", url: "http://a.test/", reason, detail: "the cat sat on it" })
      assert.include(detailed.message, "failed: the cat sat on it. ")
    }
  })

  it("what may be retried is what nobody has acted on, or what may be done twice", () => {
    const retried = (method: string, reason: Http.Reason, status?: number) =>
      Http.isRetryable(new Http.HttpError({ method, url: "http://a.test/", reason, status }))
    for (const method of ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "POST", "PATCH"]) {
      const repeatable = method !== "POST" && method !== "PATCH"
      assert.isTrue(retried(method, "LookupFailed") && retried(method, "ConnectFailed"))
      assert.strictEqual(retried(method, "ConnectionLost"), repeatable)
      for (const status of [408, 429, 502, 503, 504]) {
        assert.strictEqual(retried(method, "BadStatus", status), repeatable)
      }
      for (const status of [400, 404, 500, 501]) assert.isFalse(retried(method, "BadStatus", status))
      for (const reason of ["TimedOut", "TooLarge", "AddressNotAllowed", "CertificateRejected"] as const) {
        assert.isFalse(retried(method, reason))
      }
    }
  })

  it.effect("the accessors ask the service in context", () =>
    Effect.gen(function* () {
      const { files, layer } = yield* ScriptedHttp.make(() => Effect.succeed({ body: "hello" }))
      const url = "http://a.test/"
      const program = Effect.gen(function* () {
        assert.strictEqual(yield* Http.text({ url }), "hello")
        assert.strictEqual(yield* Stream.mkString(Stream.decodeText(Http.stream({ url }))), "hello")
        assert.strictEqual((yield* Effect.scoped(Http.request({ url }))).status, 200)
        assert.strictEqual((yield* Http.download({ url, path: "file" })).bytes, 5)
      })
      yield* program.pipe(Cancellation.own, Effect.provide(layer))
      assert.strictEqual((yield* files).size, 1)
    })
  )

  it.effect("clean-up of a cancelled owner may send requests, with the time limit that they have", () =>
    Effect.gen(function* () {
      const { layer } = yield* ScriptedHttp.make(({ method }) => Effect.succeed({ body: method }))
      let said = ""
      const cleanUp = Effect.scoped(
        Effect.flatMap(Http.request({ url: "http://a.test/", method: "DELETE" }), ({ text }) => text)
      )
      const work = Effect.onInterrupt(Effect.never, () =>
        Effect.map(Effect.orDie(cleanUp), (text) => {
          said = text
        })
      )
      const controller = new AbortController()
      const fiber = yield* Effect.fork(Effect.provide(Cancellation.ownSignal(work, controller.signal), layer))
      yield* Effect.yieldNow()
      yield* Effect.yieldNow()
      controller.abort("stop")
      const exit = yield* fiber.await
      assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
      assert.strictEqual(said, "DELETE")
    })
  )

  it.effect("H3: when its time is over while a connection closes, none is opened after it", () =>
    Effect.gen(function* () {
      const closing = yield* Deferred.make<void>()
      const slow = Stream.ensuring(
        Stream.fromEffect(Effect.never),
        Effect.zipRight(Deferred.succeed(closing, undefined), Effect.sleep("200 millis"))
      )
      const { layer, received } = yield* ScriptedHttp.make(({ url }) =>
        Effect.succeed(
          url.endsWith("/1") ? { status: 302, headers: { location: "/2" }, body: slow } : { body: "too late" }
        )
      )
      const get = Http.text({ url: "http://a.test/1", timeout: "100 millis" })
      const fiber = yield* Effect.fork(Effect.flip(Cancellation.own(Effect.provide(get, layer))))
      yield* Deferred.await(closing)
      yield* TestClock.adjust("150 millis")
      yield* TestClock.adjust("150 millis")
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "TimedOut")
      assert.strictEqual((yield* received).length, 1)
    })
  )
})
