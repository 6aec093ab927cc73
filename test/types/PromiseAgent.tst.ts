import type { Model } from "quiesce/capability"
import { type Agent, type AgentOptions, type Asked, type AskModel, createAgent, type Runtime } from "quiesce/promise"
import { describe, expect, it } from "tstyche"

declare const agent: Agent
declare const runtime: Runtime
declare const model: AskModel
declare const given: Asked

describe("createAgent", () => {
  it("what it asks has a signal, exactly, and cannot replace it", () => {
    expect<Parameters<AskModel>[1]>().type.toBe<Asked>()
    expect<Asked["signal"]>().type.toBe<AbortSignal>()
    expect<Parameters<NonNullable<AgentOptions["beforeStop"]>>[1]>().type.toBe<Asked>()
    // @ts-expect-error is a read-only property
    given.signal = new AbortController().signal
  })

  it("a model is an async generator of chunks", () => {
    async function* answer(): AsyncGenerator<Model.Chunk> {
      yield { _tag: "Finish", reason: "stop" }
    }
    expect(createAgent).type.toBeCallableWith({ id: "clerk", runtime, model: answer })
    expect(createAgent).type.not.toBeCallableWith({ id: "clerk", model })
    expect(createAgent).type.not.toBeCallableWith({ id: "clerk", runtime, model: async () => "text" })
  })

  it("events are iterated with a signal", () => {
    expect(agent.events).type.not.toBeCallableWith({})
    expect(agent.events).type.toBeCallableWith({ signal: given.signal })
    expect(agent).type.toBeAssignableTo<AsyncDisposable>()
  })
})
