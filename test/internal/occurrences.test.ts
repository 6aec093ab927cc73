import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { countOf, indexOf, split } from "../../src/internal/occurrences.js"

/** Of few letters, so that texts repeat themselves. */
const word = (minLength: number, maxLength: number) =>
  FastCheck.array(FastCheck.constantFrom("a", "b"), { minLength, maxLength }).map((letters) => letters.join(""))

/** By definition, and as slow. */
const placesOf = (text: string, find: string): ReadonlyArray<number> =>
  [...text].flatMap((_, at) => (text.startsWith(find, at) ? [at] : []))

describe("occurrences", () => {
  it("finds, counts and splits as the host does, with short texts and long ones", () => {
    const texts = FastCheck.tuple(word(0, 200), word(1, 4), FastCheck.constantFrom(1, 10, 40))
    FastCheck.assert(
      FastCheck.property(texts, ([text, part, times]) => {
        const find = part.repeat(times)
        for (const within of [text, `${text}${find}${text}`, `${find}${find.slice(1)}${find}`]) {
          assert.strictEqual(indexOf(within, find), within.indexOf(find))
          assert.strictEqual(countOf(within, find), placesOf(within, find).length)
          assert.deepStrictEqual(split(within, find), within.split(find))
        }
      }),
      { numRuns: 300 }
    )
  })

  it("takes no time to speak of where the host takes a minute", () => {
    const half = "a".repeat(65_536)
    const text = "a".repeat(1024 * 1024)
    const before = performance.now()
    assert.strictEqual(indexOf(text, `${half}b${half}`), -1)
    assert.strictEqual(countOf(text, half), text.length - half.length + 1)
    assert.lengthOf(split(text, half), 17)
    assert.isBelow(performance.now() - before, 5000)
  })
})
