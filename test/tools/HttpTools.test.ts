import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer } from "effect"
import { CancelCause, Cancellation, type ToolResult, ToolRuntime } from "quiesce"
import { ScriptedHttp } from "quiesce/testing"
import { HttpTools } from "quiesce/tools"

const codeOf = (result: ToolResult.ToolResult): string => (result._tag === "Success" ? "OK" : result.code)

const fetch = (url: string) => ({ id: "c1", name: "fetch_url", parameters: { url } })

describe("HttpTools", () => {
  it.effect("a page is given as text; what may not be fetched, or is too large, is a failure that says so", () =>
    Effect.gen(function* () {
      const http = yield* ScriptedHttp.make(({ url }) =>
        Effect.succeed(url.endsWith("large") ? { body: "x".repeat(2000) } : { body: `you asked for ${url}` })
      )
      const runtime = Layer.provide(ToolRuntime.layer({ toolkit: HttpTools.make({ maxBytes: 1000 }) }), http.layer)
      yield* Effect.gen(function* () {
        const execute = (url: string) => Cancellation.own(ToolRuntime.execute(fetch(url)))
        const page = yield* execute("https://example.com/page")
        assert.deepStrictEqual(page._tag === "Success" ? page.value : page.code, {
          url: "https://example.com/page",
          text: "you asked for https://example.com/page"
        })
        assert.strictEqual(codeOf(yield* execute("http://127.0.0.1/")), "HTTP_ADDRESS_NOT_ALLOWED")
        assert.match(codeOf(yield* execute("https://example.com/large")), /^HTTP_.*LARGE/)
        assert.match(codeOf(yield* execute("file:///etc/passwd")), /^HTTP_/)
        assert.strictEqual(yield* http.open, 0)
      }).pipe(Effect.provide(runtime))
    })
  )

  it.effect("a cancelled call is answered when its connection is closed", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const http = yield* ScriptedHttp.make(() => Effect.zipRight(Deferred.succeed(asked, undefined), Effect.never))
      const runtime = Layer.provide(ToolRuntime.layer({ toolkit: HttpTools.make() }), http.layer)
      const result = yield* Effect.gen(function* () {
        const running = yield* Effect.flatMap(ToolRuntime.ToolRuntime, (runtime) =>
          runtime.start(fetch("https://example.com/slow"))
        )
        yield* Deferred.await(asked)
        yield* running.cancel(CancelCause.user())
        return yield* running.result
      }).pipe(Cancellation.own, Effect.provide(runtime))
      assert.strictEqual(codeOf(result), "ABORTED")
      assert.strictEqual(yield* http.open, 0)
    })
  )
})
