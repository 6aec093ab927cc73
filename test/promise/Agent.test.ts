import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import type { Model } from "quiesce/capability"
import { type AskModel, createAgent, createRuntime } from "quiesce/promise"
import { gate, isPending } from "../support/scenarios/driver.js"

const hello: AskModel = async function* () {
  yield { _tag: "Text", text: "hello" }
  yield { _tag: "Finish", reason: "stop" }
}

describe("createAgent", () => {
  it("tells everything that happens, as it happens, until nobody wants it any more", async () => {
    const wait = gate()
    const agent = await createAgent({
      id: "clerk",
      runtime: createRuntime(),
      instructions: "Be brief.",
      model: async function* ({ messages }) {
        await wait.promise
        yield { _tag: "Text", text: messages.map(({ role }) => role).join(" ") }
        yield { _tag: "Finish", reason: "stop" }
      }
    })
    const controller = new AbortController()
    const seen: Array<string> = []
    const reading = (async () => {
      for await (const { event } of agent.events({ signal: controller.signal })) {
        seen.push(event._tag)
        if (event._tag === "TurnEnded") break
      }
    })()
    await agent.followup("hi")
    assert.isTrue(await isPending(reading))
    wait.open()
    await reading
    assert.deepStrictEqual(agent.messages().at(-1), {
      role: "assistant",
      content: [{ type: "text", text: "system user" }]
    })
    assert.includeMembers(seen, ["InputQueued", "TurnStarted", "UserMessage", "ModelChunk", "AssistantMessage"])
    assert.strictEqual(getEventListeners(controller.signal, "abort").length, 0)
    const later = agent.events({ signal: controller.signal, from: agent.session.events().length + 1 })
    const next = later[Symbol.asyncIterator]().next()
    assert.isTrue(await isPending(next))
    const reason = new Error("enough")
    controller.abort(reason)
    assert.strictEqual(await next.catch((error) => error), reason)
  })

  it("a turn ends with what its function should have answered, when that has answered with something else", async () => {
    const broken: AskModel = async function* () {
      yield {
        _tag: "Finish",
        reason: "error",
        error: { code: "PROVIDER_FAILURE", message: "busy", isRetryable: true }
      }
    }
    const odd = [
      { says: "beforeStep must answer", model: hello, beforeStep: () => undefined as any },
      {
        says: "beforeStep must answer",
        model: hello,
        beforeStep: async () => ({ kind: "entre", messages: [] }) as any
      },
      { says: "beforeStep must answer", model: hello, beforeStep: async () => ({ kind: "enter" }) as any },
      { says: "onRequestFailed must answer", model: broken, onRequestFailed: () => undefined as any },
      { says: "onRequestFailed must answer", model: broken, onRequestFailed: async () => ({ kind: "again" }) as any }
    ]
    for (const { says, ...options } of odd) {
      await using agent = await createAgent({ id: "clerk", runtime: createRuntime(), ...options })
      await agent.followup("hi")
      await agent.whenIdle()
      const { event } = agent.session.events().findLast(({ event }) => event._tag === "TurnEnded") ?? {}
      assert.include(JSON.stringify(event), says)
    }
  })

  it("events end when the agent is disposed of", async () => {
    const agent = await createAgent({ id: "clerk", runtime: createRuntime(), model: hello })
    const tags: Array<string> = []
    const reading = (async () => {
      for await (const { event } of agent.events({ signal: new AbortController().signal })) tags.push(event._tag)
    })()
    await agent.followup("hi")
    await agent.whenIdle()
    await agent.dispose()
    await reading
    assert.strictEqual(tags.at(-1), "SessionClosed")
  })

  it("a model that throws, or ends without a word, has failed", async () => {
    const throwing: AskModel = async function* (): AsyncGenerator<Model.Chunk> {
      yield { _tag: "Text", text: "half" }
      throw new Error("socket closed")
    }
    const notEvenThat: AskModel = () => {
      throw new Error("no key")
    }
    for (const [model, message] of [
      [throwing, "socket closed"],
      [notEvenThat, "no key"]
    ] as const) {
      const problems: Array<Model.Problem> = []
      await using agent = await createAgent({
        id: "clerk",
        runtime: createRuntime(),
        model,
        onRequestFailed: async (problem, attempt) => {
          problems.push(problem)
          return attempt === 1 ? { kind: "retry", afterMillis: 1 } : { kind: "fail" }
        }
      })
      await agent.followup("hi")
      await agent.whenIdle()
      assert.deepStrictEqual(
        problems.map(({ code, message }) => [code, message]),
        [
          ["PROVIDER_FAILURE", message],
          ["PROVIDER_FAILURE", message]
        ]
      )
    }
  })

  it("another agent on its session is refused, and one that could not be made leaves nothing", async () => {
    const runtime = createRuntime()
    const first = await createAgent({ id: "clerk", runtime, model: hello })
    const options = { id: "other", runtime, model: hello, session: first.session }
    const message = await createAgent(options).catch(({ message }) => message)
    assert.match(message, /another agent is open on this session/)
    await first.dispose()
  })

  it("what is no runtime is refused", async () => {
    const options = { id: "clerk", runtime: {} as never, model: hello }
    assert.match(await createAgent(options).catch(({ message }) => message), /make it with createRuntime/)
  })

  it("shows the calls in flight as they change", async () => {
    const runtime = createRuntime()
    const controller = new AbortController()
    const changes = runtime.changes({ signal: controller.signal })[Symbol.asyncIterator]()
    assert.deepStrictEqual(await changes.next(), { done: false, value: [] })
    void runtime.call({ callId: "c1", name: "nope", arguments: {}, signal: new AbortController().signal })
    const { value } = await changes.next()
    assert.strictEqual(value?.[0]?.callId, "c1")
    await changes.return?.()
    assert.strictEqual(getEventListeners(controller.signal, "abort").length, 0)
  })
})
