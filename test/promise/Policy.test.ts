import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { createRuntime, defineTool, type Policy } from "quiesce/promise"

const echo = defineTool({
  name: "echo",
  description: "Says it again",
  parameters: Schema.standardSchemaV1(Schema.Struct({ text: Schema.String })),
  execute: async ({ text }) => text
})

const call = async (...policies: ReadonlyArray<Policy>) => {
  const { signal } = new AbortController()
  const runtime = createRuntime({ tools: [echo], policies })
  return runtime.call({ callId: "c1", name: "echo", arguments: { text: "hi" }, signal })
}

describe("policies", () => {
  it("what is no decision allows nothing", async () => {
    for (const answer of [undefined, null, true, {}, { kind: "yes" }, { kind: "deny" }]) {
      for (const before of [() => answer as never, async () => answer as never]) {
        const result = await call({ name: "odd", before })
        assert.deepInclude(result, {
          isError: true,
          error: { message: "a policy answered with something that is not a Decision" }
        })
      }
    }
  })

  it("what is no review breaks the result", async () => {
    for (const answer of [{}, { kind: "yes" }, { kind: "accept", content: "text" }]) {
      const result = await call({ name: "odd", after: async () => answer as never })
      assert.strictEqual(result.report.code, "POLICY_FAILURE")
    }
  })

  it("keep what they are called on", async () => {
    class Quota implements Policy {
      readonly name = "quota"
      private left = 1
      before() {
        return this.left-- > 0 ? ({ kind: "allow" } as const) : ({ kind: "deny", reason: "no calls left" } as const)
      }
      observe() {
        this.left--
      }
    }
    const quota = new Quota()
    assert.isFalse((await call(quota)).isError)
    assert.isTrue((await call(quota)).isError)
  })

  it("may answer at once, in every stage", async () => {
    const result = await call({
      name: "all",
      before: () => ({ kind: "allow" }),
      guard: () => undefined,
      around: (_, next) => next(),
      after: () => ({ kind: "accept" }),
      observe: () => {}
    })
    assert.isFalse(result.isError)
  })
})
