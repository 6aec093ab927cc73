import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { Cancellation } from "quiesce"
import { Http } from "quiesce/capability"
import { ScriptedHttp } from "quiesce/testing"
import { httpContract, type Setup } from "../support/contracts/http.js"

const setup: Setup = (server, rules) =>
  Effect.gen(function* () {
    const handle = yield* ScriptedHttp.make(server, { ...rules, addresses: { "inner.local": ["10.0.0.7"] } })
    return {
      layer: handle.layer,
      url: (host, path) => `http://${host}${path}`,
      open: () => Effect.runSync(handle.open),
      received: () => Effect.runSync(handle.received),
      path: "file",
      file: () => {
        const bytes = Effect.runSync(handle.files).get("file")
        return bytes === undefined ? undefined : new TextDecoder().decode(bytes)
      },
      putFile: undefined,
      staged: () => Effect.runSync(handle.staged)
    }
  })

describe("ScriptedHttp", () => {
  describe("keeps the contract of Http", () => httpContract(setup))

  it.effect("a host without an address does not exist, and one of many that is private is enough", () =>
    Effect.gen(function* () {
      const { layer, received } = yield* ScriptedHttp.make(() => Effect.succeed({}), {
        addresses: { "gone.test": [], "both.test": ["93.184.215.14", "::1"] }
      })
      const reasonOf = (url: string) =>
        Effect.map(Effect.flip(Cancellation.own(Effect.provide(Http.text({ url }), layer))), ({ reason }) => reason)
      assert.strictEqual(yield* reasonOf("http://gone.test/"), "LookupFailed")
      assert.strictEqual(yield* reasonOf("http://both.test/"), "AddressNotAllowed")
      assert.deepStrictEqual(yield* received, [])
    })
  )

  it.effect("what a server throws closes the connection, and can be seen", () =>
    Effect.gen(function* () {
      const { layer } = yield* ScriptedHttp.make(() => {
        throw new Error("no such route")
      })
      const get = Http.text({ url: "http://a.test/" })
      const error = yield* Effect.flip(Cancellation.own(Effect.provide(get, layer)))
      assert.strictEqual(error.reason, "ConnectionLost")
      assert.include(String(error.cause), "no such route")
    })
  )

  it.effect("a body comes no faster than it is read", () =>
    Effect.gen(function* () {
      let made = 0
      const body = Stream.tap(Stream.forever(Stream.make(Uint8Array.of(1))), () => Effect.sync(() => made++))
      const { layer } = yield* ScriptedHttp.make(() => Effect.succeed({ body }))
      const some = Stream.take(Http.stream({ url: "http://a.test/" }), 3)
      yield* Cancellation.own(Effect.provide(Stream.runDrain(some), layer))
      assert.isAtMost(made, 5)
    })
  )
})
