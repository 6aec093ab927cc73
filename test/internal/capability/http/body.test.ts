import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { decode } from "../../../../src/internal/capability/http/body.js"

describe("decode", () => {
  it.effect.each([
    [[0xc3, 0xa4], undefined, "ä"],
    [[0xc3, 0xa4], "text/html", "ä"],
    [[0xe4], "text/html; charset=ISO-8859-1", "ä"],
    [[0xe4], 'text/html;Charset="latin1"; x=y', "ä"],
    [[0xef, 0xbb, 0xbf, 0xc3, 0xa4], "text/html; charset=iso-8859-1", "ä"],
    [[0xff, 0xfe, 0xe4, 0x00], undefined, "ä"],
    [[0xfe, 0xff, 0x00, 0xe4], "text/html; charset=utf-8", "ä"],
    [[0x61, 0xff], undefined, "a\uFFFD"],
    [[], undefined, ""]
  ] as const)("%j as %s", ([bytes, type, text]) =>
    Effect.map(decode(Uint8Array.from(bytes), type), (decoded) => assert.strictEqual(decoded, text))
  )

  it.effect("a charset that is not known is named, not whole where it is long", () =>
    Effect.gen(function* () {
      const problem = yield* Effect.flip(decode(Uint8Array.of(1), `text/plain; charset=${"x".repeat(1000)}`))
      assert.strictEqual(problem.reason, "UnknownCharset")
      assert.strictEqual(problem.detail, `its charset "${"x".repeat(300)}..." is not known`)
    })
  )
})
