import { assert, describe } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { createRuntime, defineTool, type Policy, type ToolResult } from "quiesce/promise"
import { Sim } from "quiesce/testing"
import { law, reason } from "../support/laws.js"

const Nothing = Schema.standardSchemaV1(Schema.Struct({}))

/** What one run has seen of a call of the facade. */
class Seen {
  bodies = 0
  readonly alive = new Set<string>()
  readonly observed: Array<ToolResult> = []
  readonly reasons: Array<unknown> = []
  aliveAtPublication: ReadonlyArray<string> = []

  async during<A>(what: string, run: () => Promise<A>): Promise<A> {
    this.alive.add(what)
    try {
      return await run()
    } finally {
      this.alive.delete(what)
    }
  }

  readonly observer: Policy = {
    name: "witness",
    observe: (_, result) => {
      this.observed.push(result)
      this.aliveAtPublication = [...this.alive]
    }
  }
}

interface Stages {
  readonly answer: Promise<string>
  readonly seen: Seen
  readonly controller: AbortController
}

/** A call of the facade under the explorer, with a host that may abort it before every operation. */
const explored = (
  policies: (stages: Stages) => ReadonlyArray<Policy>,
  body: (stages: Stages, signal: AbortSignal) => Promise<string>,
  isExpected: (told: unknown) => boolean = (told) => told === reason
) =>
  Effect.gen(function* () {
    const sim = yield* Sim.Sim
    const effectRuntime = yield* Effect.runtime<never>()
    const answer = yield* Sim.promise("answer", {
      ok: () => "done",
      broken: () => {
        throw new Error("broken")
      }
    })
    answer.catch(() => {}) // where nobody came to wait for it
    const seen = new Seen()
    const controller = new AbortController()
    const stages = { answer, seen, controller }
    const tool = defineTool({
      name: "tool",
      description: "",
      parameters: Nothing,
      execute: (_, { signal }) => {
        seen.bodies++
        signal.addEventListener("abort", () => seen.reasons.push(signal.reason))
        return seen.during("body", () => body(stages, signal))
      }
    })
    const runtime = createRuntime({ tools: [tool], policies: [...policies(stages), seen.observer], effectRuntime })
    sim.addFault("abort", () => controller.abort(reason))
    const result = yield* Effect.promise(() =>
      runtime.call({ callId: "c1", name: "tool", arguments: {}, signal: controller.signal })
    )
    assert.strictEqual(result, seen.observed[0], "L1: the caller got another object")
    assert.strictEqual(seen.observed.length, 1, "L1: observed more than once")
    assert.deepStrictEqual(seen.aliveAtPublication, [], "L3: alive when the result was published")
    assert.strictEqual(seen.alive.size, 0, "L3: alive after the call")
    assert.strictEqual(result.report.dispatched, seen.bodies > 0, "L2: dispatched is whether the body was called")
    for (const told of seen.reasons) assert.isTrue(isExpected(told), "L6: the body was told another reason")
    const code = result.report.code ?? "OK"
    if (code === "OK") assert.notInclude(seen.reasons, reason, "L10: aborted, and it was a success")
    if (code === "ABORTED_BEFORE_DISPATCH") assert.strictEqual(seen.bodies, 0, "L2: not before its dispatch")
    if (code === "ABORTED") assert.isAbove(seen.bodies, 0, "L2: there was no dispatch")
    return code
  })

describe("L3 through quiesce/promise", () => {
  law(
    "L3, L2, L5, L6",
    "a call of promise code, aborted before every operation, whatever its body settles with",
    explored(
      () => [],
      ({ answer }) => answer
    ),
    { preemptions: 0, cut: "op", expect: ["OK", "TOOL_FAILURE", "ABORTED", "ABORTED_BEFORE_DISPATCH"] }
  )

  law(
    "L3, L6",
    "a wrapper puts another signal in and does not wait for its next: fused, restored, stopped and awaited",
    Effect.gen(function* () {
      const other = new AbortController()
      let first: AbortSignal | undefined
      let view: { readonly signal: AbortSignal } | undefined
      const code = yield* explored(
        ({ answer }) => [
          {
            name: "careless",
            around: async (call, next) => {
              view = call
              first = call.signal
              call.signal = other.signal
              void next()
              await answer
              return { isError: false, value: "authored" }
            }
          }
        ],
        ({ answer, seen }, signal) =>
          new Promise<string>((resolve) => {
            const stop = () =>
              seen.during("clean-up", () =>
                answer.then(
                  () => resolve("stopped"),
                  () => resolve("stopped")
                )
              )
            if (signal.aborted) stop()
            else signal.addEventListener("abort", stop)
          }),
        (told) => told === reason || (told instanceof Error && told.name === "AbortError")
      )
      assert.strictEqual(view?.signal, first, "the signal of the wrapper was not restored")
      assert.isFalse(other.signal.aborted)
      return code
    }),
    { preemptions: 0, cut: "op", expect: ["OK", "POLICY_FAILURE", "ABORTED", "ABORTED_BEFORE_DISPATCH"] }
  )

  law(
    "L6, L10",
    "a body that aborts its own caller, with a listener that throws",
    explored(
      () => [],
      async ({ answer, controller }, signal) => {
        signal.addEventListener("abort", () => {
          throw new Error("a careless listener")
        })
        controller.abort(reason)
        return answer
      }
    ),
    { preemptions: 0, cut: "op", expect: ["TOOL_FAILURE", "ABORTED", "ABORTED_BEFORE_DISPATCH"] }
  )
})
