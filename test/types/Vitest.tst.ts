import { Effect, type Scope } from "effect"
import type { Cancellation } from "quiesce"
import type { Invariant, Sim } from "quiesce/testing"
import { it as test } from "quiesce/testing/Vitest"
import { describe, expect, it } from "tstyche"

declare const explored: Effect.Effect<number, Error, Sim.Sim | Scope.Scope>
declare const owned: Effect.Effect<number, Error, Cancellation.Cancellation>
declare const scoped: Effect.Effect<number, Error, Cancellation.Cancellation | Scope.Scope>
declare const unowned: Effect.Effect<number, Error, { readonly database: true }>
declare const ofNumbers: Invariant.Invariant<number, Error>
declare const ofAnything: Invariant.Invariant<unknown, unknown>
declare const ofStrings: Invariant.Invariant<string, Error>

describe("it.explore", () => {
  it("takes a scenario, or a function that makes one, with options and a timeout", () => {
    expect(test.explore).type.toBeCallableWith("name", explored)
    expect(test.explore).type.toBeCallableWith("name", () => explored)
    expect(test.explore).type.toBeCallableWith("name", explored, { preemptions: 2, expect: ["done"] }, 5_000)
    expect(test.explore).type.toBeCallableWith("name", explored, {}, { timeout: 5_000, retry: 1 })
    expect(test.explore).type.toBeCallableWith("name", Effect.void)
  })

  it("takes invariants of what the scenario ends with", () => {
    expect(test.explore).type.toBeCallableWith("name", explored, [ofNumbers])
    expect(test.explore).type.toBeCallableWith("name", explored, [ofNumbers, ofAnything], { faults: 2 }, 5_000)
    expect(test.explore.only).type.toBeCallableWith("name", () => explored, [ofNumbers], {}, { timeout: 5_000 })
    expect(test.explore<number, Error>).type.not.toBeCallableWith("name", explored, [ofStrings])
    expect(test.explore).type.not.toBeCallableWith("name", explored, { invariants: [ofNumbers] })
  })

  it("provides the explorer and a scope, and nothing else", () => {
    expect(test.explore).type.not.toBeCallableWith("name", owned)
    expect(test.explore).type.not.toBeCallableWith("name", () => unowned)
  })

  it("is chosen, skipped and expected to fail as other tests are", () => {
    for (const define of [test.explore.only, test.explore.skip, test.explore.fails]) {
      expect(define).type.toBeCallableWith("name", explored, { faults: 2 }, 5_000)
    }
    expect(test.explore.skipIf(true)).type.toBeCallableWith("name", () => explored)
    expect(test.explore.runIf(true)).type.toBeCallableWith("name", () => explored)
  })
})

describe("it.owned", () => {
  it("provides an owner", () => {
    expect(test.owned).type.toBeCallableWith("name", () => owned)
    expect(test.owned).type.toBeCallableWith("name", () => owned, 5_000)
    expect(test.owned.live).type.toBeCallableWith("name", () => owned)
    expect(test.effect).type.not.toBeCallableWith("name", () => owned)
  })

  it("provides a scope only where its name says so", () => {
    expect(test.owned).type.not.toBeCallableWith("name", () => scoped)
    expect(test.owned.live).type.not.toBeCallableWith("name", () => scoped)
    expect(test.owned.scoped).type.toBeCallableWith("name", () => scoped)
    expect(test.owned.scopedLive).type.toBeCallableWith("name", () => scoped)
  })

  it("provides nothing else", () => {
    expect(test.owned).type.not.toBeCallableWith("name", () => unowned)
  })

  it("takes cases", () => {
    expect(test.owned.each([1, 2])).type.toBeCallableWith("name", (n: number) => Effect.as(owned, n))
    expect(test.owned.each([1, 2])).type.not.toBeCallableWith("name", (text: string) => Effect.as(owned, text))
  })
})
