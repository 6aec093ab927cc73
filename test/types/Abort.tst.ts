import type { Cause, Effect, Runtime } from "effect"
import { Abort, type Cancellation } from "quiesce"
import { describe, expect, it } from "tstyche"

describe("Abort", () => {
  it("a promise operation needs an owner", () => {
    expect(Abort.fromPromise(() => Promise.resolve(1))).type.toBe<
      Effect.Effect<number, Cause.UnknownException, Cancellation.Cancellation>
    >()
    expect(Abort.fromPromise({ try: () => Promise.resolve(1), catch: () => "no" as const })).type.toBe<
      Effect.Effect<number, "no", Cancellation.Cancellation>
    >()
  })

  it("the body's signal is exactly an AbortSignal, and readonly", () => {
    expect<Abort.Body>().type.toBe<{ readonly signal: AbortSignal }>()
  })

  it("toPromise brings the owner, and nothing else", () => {
    const owned = Abort.fromPromise(() => Promise.resolve(1))
    expect(Abort.toPromise(owned)).type.toBe<Promise<number>>()
    const needy = owned as Effect.Effect<number, never, Cancellation.Cancellation | Needed>
    expect(Abort.toPromise).type.not.toBeCallableWith(needy)
    expect(Abort.toPromiseWith({} as Runtime.Runtime<Needed>)).type.toBeCallableWith(needy)
  })
})

interface Needed {
  readonly _: unique symbol
}
