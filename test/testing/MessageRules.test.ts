import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Content, ToolResult } from "quiesce"
import type { Model } from "quiesce/capability"
import { MessageRules } from "quiesce/testing"

const system: Model.Message = { role: "system", content: [Content.text("Be brief.")] }
const user: Model.Message = { role: "user", content: [Content.text("Look.")] }
const said = (...content: ReadonlyArray<Model.Block>): Model.Message => ({ role: "assistant", content })
const text = (text: string): Model.Block => ({ type: "text", text })
const call = (id: string, more: Partial<Model.ToolCallBlock> = {}): Model.Block => ({
  type: "tool-call",
  id,
  name: "read_file",
  arguments: "{}",
  ...more
})
const result = (callId: string): Model.Message => ToolResult.toMessage({ ...ToolResult.success(1), callId })

const found = (...messages: ReadonlyArray<Model.Message>): ReadonlyArray<string> =>
  MessageRules.problems(messages).map(({ message, provider, what }) => `${provider} ${message}: ${what}`)

const both = (problem: string): ReadonlyArray<string> => [`OpenAI ${problem}`, `Anthropic ${problem}`]

describe("MessageRules", () => {
  it("has nothing against a conversation that is balanced", () => {
    assert.deepStrictEqual(found(user), [])
    const whole = [
      system,
      user,
      said(text("I look."), call("a"), call("b")),
      result("a"),
      result("b"),
      said(text("Done.")),
      user
    ]
    assert.deepStrictEqual(found(...whole), [])
    // Results may hold nothing, or blanks; a call may have no arguments; reasoning is the provider's affair.
    const empty: Model.Message = {
      role: "tool",
      toolCallId: "a",
      toolName: "f",
      isError: false,
      content: [Content.text("")]
    }
    assert.deepStrictEqual(found(user, said({ type: "reasoning", text: "" }, call("a", { arguments: "" })), empty), [])
  })

  it.each([
    { of: "a call without a result", messages: [user, said(call("a")), user], problem: `1: "a" has no result` },
    {
      of: "a call at the end",
      messages: [user, said(call("a"), call("b")), result("a")],
      problem: `1: "b" has no result`
    },
    {
      of: "a second result",
      messages: [user, said(call("a")), result("a"), result("a")],
      problem: `3: "a" has another result`
    },
    {
      of: "a result of nothing",
      messages: [user, result("a")],
      problem: `1: "a" has a result, but nobody made this call`
    },
    {
      of: "results out of order",
      messages: [user, said(call("a"), call("b")), result("b"), result("a")],
      problem: `3: "a" has its result behind that of a later call`
    },
    {
      of: "a result behind what somebody says",
      messages: [user, said(call("a")), user, result("a")],
      problem: `3: "a" has its result behind the end of its step`
    },
    { of: "an assistant that says nothing", messages: [user, said(), user], problem: "1: the assistant says nothing" },
    { of: "no message", messages: [], problem: "0: there is no message at all" }
  ])("both refuse $of", ({ messages, problem }) => {
    assert.deepStrictEqual(found(...messages), both(problem))
  })

  it("both refuse names of tools that they cannot have, within their limits", () => {
    const named = (name: string) => found(user, said(call("a", { name })), result("a")).length
    assert.strictEqual(named("read_file-2"), 0)
    for (const name of ["", "read file", "größe"]) assert.strictEqual(named(name), 2)
    assert.strictEqual(named("x".repeat(65)), 1)
    assert.strictEqual(named("x".repeat(129)), 2)
  })

  it.each([
    {
      of: "a system that speaks later",
      messages: [user, system, user],
      problem: "1: the system speaks first, or not at all"
    },
    { of: "a system alone", messages: [system], problem: "0: there is nothing but what the system says" },
    {
      of: "an assistant that speaks first",
      messages: [system, said(text("Hi")), user],
      problem: "1: the first to speak is the user"
    },
    {
      of: "an assistant that speaks last",
      messages: [user, said(text("Hi"))],
      problem: "1: the last to speak is the assistant"
    },
    {
      of: "a user that says nothing",
      messages: [{ ...user, content: [] } as Model.Message],
      problem: "0: the user says nothing"
    },
    { of: "text that is blank", messages: [user, said(text(" \n")), user], problem: "1: a block of text is blank" },
    {
      of: "arguments that are no object",
      messages: [user, said(call("a", { arguments: `{"path":` })), result("a")],
      problem: `1: the arguments of "a" are no JSON object`
    },
    {
      of: "arguments that are a list",
      messages: [user, said(call("a", { arguments: "[]" })), result("a")],
      problem: `1: the arguments of "a" are no JSON object`
    },
    {
      of: "an id that comes again",
      messages: [user, said(call("a")), result("a"), said(call("a")), result("a")],
      problem: `3: "a" is the id of an earlier call, too`
    },
    {
      of: "an id of other letters",
      messages: [user, said(call("a.b")), result("a.b")],
      problem: `1: "a.b" is no id of a call: it has letters, digits, _ and -`
    }
  ])("Anthropic refuses $of", ({ messages, problem }) => {
    assert.deepStrictEqual(found(...messages), [`Anthropic ${problem}`])
  })

  it("OpenAI refuses a call without an id", () => {
    assert.include(found(user, said(call("")), result("")), `OpenAI 1: the call of "read_file" has no id`)
  })

  it.effect("check says all of it", () =>
    Effect.gen(function* () {
      yield* MessageRules.check([user])
      yield* MessageRules.check([user, said(text("Hi"))], ["OpenAI"])
      const failure = yield* Effect.flip(MessageRules.check([user, said(call("a"))]))
      assert.strictEqual(failure._tag, "MessageRulesFailure")
      assert.strictEqual(
        failure.message,
        `The messages would be refused:\n  OpenAI, message 1: "a" has no result\n  Anthropic, message 1: "a" has no result\n  Anthropic, message 1: the last to speak is the assistant`
      )
    })
  )
})
