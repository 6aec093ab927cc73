import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type BodyContext, type CallView, createRuntime, defineTool } from "quiesce/promise"

describe("the views of a call", () => {
  it("11: calls with the same id have tokens of their own, and each stage of one has the same", async () => {
    const views: Array<Pick<CallView | BodyContext, "token">> = []
    const tool = defineTool({
      name: "echo",
      description: "",
      parameters: Schema.standardSchemaV1(Schema.Struct({})),
      execute: (_, context) => {
        views.push(context)
        return "done"
      }
    })
    const runtime = createRuntime({
      tools: [tool],
      policies: [{ name: "look", observe: (call) => void views.push(call) }]
    })
    const { signal } = new AbortController()
    for (let i = 0; i < 2; i++) await runtime.call({ callId: "c1", name: "echo", arguments: {}, signal })
    const [first, second, third, fourth] = views.map(({ token }) => token)
    assert.strictEqual(first, second)
    assert.strictEqual(third, fourth)
    assert.notStrictEqual(first, third)
  })

  it("say which call is a part of which", async () => {
    const seen: Array<unknown> = []
    const tool = defineTool({
      name: "echo",
      description: "",
      parameters: Schema.standardSchemaV1(Schema.Struct({ more: Schema.Boolean })),
      execute: async ({ more }, { call }) => {
        if (more) await call("echo", { more: false })
        return "done"
      }
    })
    const runtime = createRuntime({
      tools: [tool],
      policies: [
        {
          name: "look",
          observe: ({ agent, callId, parentId, rootCallId }) => void seen.push({ agent, callId, parentId, rootCallId })
        }
      ]
    })
    const { signal } = new AbortController()
    await runtime.call({ callId: "c1", name: "echo", arguments: { more: true }, signal, agent: "clerk" })
    assert.deepStrictEqual(seen, [
      { agent: "clerk", callId: "c1:1", parentId: "c1", rootCallId: "c1" },
      { agent: "clerk", callId: "c1", parentId: undefined, rootCallId: "c1" }
    ])
  })

  it("a signal is made only for whoever reads it", async () => {
    const made: Array<unknown> = []
    class Counted extends AbortController {
      constructor() {
        super()
        made.push(this)
      }
    }
    const tool = defineTool({
      name: "echo",
      description: "",
      parameters: Schema.standardSchemaV1(Schema.Struct({})),
      execute: async () => "done"
    })
    const runtime = createRuntime({ tools: [tool], policies: [{ name: "look", before: () => ({ kind: "allow" }) }] })
    const { signal } = new AbortController()
    const original = globalThis.AbortController
    globalThis.AbortController = Counted
    try {
      await runtime.call({ callId: "c1", name: "echo", arguments: {}, signal })
    } finally {
      globalThis.AbortController = original
    }
    assert.deepStrictEqual(made, [])
  })
})
