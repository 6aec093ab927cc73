import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck } from "effect"
import { ToolResult } from "quiesce"
import { Transcript } from "quiesce/testing"

const { calls, result, stepEnd } = Transcript

const found = (...entries: ReadonlyArray<Transcript.Entry>): ReadonlyArray<string> =>
  Transcript.problems(entries).map(({ _tag, callId, entry }) => `${_tag} ${callId}@${entry}`)

describe("Transcript", () => {
  describe("problems", () => {
    it("finds nothing in a balanced transcript of several steps", () => {
      assert.deepStrictEqual(found(), [])
      assert.deepStrictEqual(
        found(calls("a", "b"), result("a"), result("b"), stepEnd, calls("c"), result("c"), stepEnd),
        []
      )
    })

    it("names a call without result", () => {
      assert.deepStrictEqual(found(calls("a", "b", "c"), result("a"), result("c"), stepEnd), ["Unanswered b@0"])
      assert.deepStrictEqual(found(calls("a")), ["Unanswered a@0"])
    })

    it("names a second result, within the step and behind it", () => {
      assert.deepStrictEqual(found(calls("a"), result("a"), result("a"), stepEnd), ["AnsweredTwice a@2"])
      assert.deepStrictEqual(found(calls("a"), result("a"), stepEnd, result("a")), ["AnsweredTwice a@3"])
    })

    it("names a result for no call", () => {
      assert.deepStrictEqual(found(result("x")), ["UnknownCall x@0"])
      assert.deepStrictEqual(found(calls("a"), result("a"), result("x"), stepEnd), ["UnknownCall x@2"])
    })

    it("names the result that is out of order, once", () => {
      assert.deepStrictEqual(found(calls("a", "b", "c"), result("c"), result("a"), result("b")), [
        "OutOfOrder a@2",
        "OutOfOrder b@3"
      ])
      assert.deepStrictEqual(found(calls("a", "b"), result("b"), stepEnd), ["Unanswered a@0"])
    })

    it("names a result behind the end of its step", () => {
      assert.deepStrictEqual(found(calls("a"), stepEnd, result("a")), ["AfterStepEnd a@2"])
    })

    it("ends a step with the next message of calls", () => {
      assert.deepStrictEqual(found(calls("a"), calls("b"), result("b"), result("a")), ["AfterStepEnd a@3"])
    })

    it("wants two results for two calls with one id", () => {
      assert.deepStrictEqual(found(calls("a", "a"), result("a"), result("a"), stepEnd), [])
      assert.deepStrictEqual(found(calls("a", "a"), result("a"), stepEnd), ["Unanswered a@0"])
    })

    it("gives an id that comes again to the call of the running step", () => {
      assert.deepStrictEqual(found(calls("a"), stepEnd, calls("a"), result("a"), stepEnd), ["Unanswered a@0"])
    })

    const ids = FastCheck.uniqueArray(FastCheck.string(), { minLength: 1, maxLength: 8 })

    it.prop("accepts the results of any calls in the order of the calls, and no other order", [ids], ([ids]) => {
      assert.deepStrictEqual(found(calls(...ids), ...ids.map(result), stepEnd), [])
      const reversed = [...ids].reverse()
      assert.strictEqual(found(calls(...ids), ...reversed.map(result), stepEnd).length, ids.length - 1)
    })

    it.prop("says as many things as results were dropped or doubled", [ids], ([ids]) => {
      assert.strictEqual(found(calls(...ids), ...ids.slice(1).map(result), stepEnd).length, 1)
      assert.strictEqual(found(calls(...ids), ...ids.flatMap((id) => [result(id), result(id)])).length, ids.length)
    })
  })

  it("step makes entries of calls and published results", () => {
    const published = ["a", "b"].map((callId) => ({ ...ToolResult.success(1), callId }))
    assert.deepStrictEqual(Transcript.step([{ id: "a" }, { id: "b" }], published), [
      calls("a", "b"),
      result("a"),
      result("b"),
      stepEnd
    ])
  })

  it.effect("check succeeds, or fails with everything that is wrong", () =>
    Effect.gen(function* () {
      yield* Transcript.check([calls("a"), result("a"), stepEnd])
      const failure = yield* Effect.flip(Transcript.check([calls("a", "b"), result("b"), result("c"), stepEnd]))
      assert.deepStrictEqual(
        failure.problems.map(({ _tag }) => _tag),
        ["UnknownCall", "Unanswered"]
      )
      assert.match(failure.message, /"c" has a result, but nobody made this call \(entry 2\)\n {2}"a" has no result/)
    })
  )

  describe("fromOpenAI", () => {
    const assistant = (...ids: ReadonlyArray<string>) => ({
      role: "assistant",
      content: null,
      tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }))
    })
    const tool = (id: string) => ({ role: "tool", tool_call_id: id, content: "ok" })
    const says = (...messages: ReadonlyArray<unknown>) => found(...Transcript.fromOpenAI(messages))

    it("accepts calls that are answered at once", () => {
      const user = { role: "user", content: "hi" }
      assert.deepStrictEqual(
        says(user, assistant("a", "b"), tool("a"), tool("b"), { role: "assistant", content: "done" }, user),
        []
      )
    })

    it("finds what the provider rejects", () => {
      assert.deepStrictEqual(says(assistant("a")), ["Unanswered a@0"])
      assert.deepStrictEqual(says(assistant("a"), { role: "user", content: "wait" }, tool("a")), ["AfterStepEnd a@2"])
      assert.deepStrictEqual(says({ role: "user", content: "hi" }, tool("a")), ["UnknownCall a@1"])
    })

    it("takes an assistant without calls, or with none, as the end of a step", () => {
      assert.deepStrictEqual(says({ role: "assistant", content: "hi" }, { role: "assistant", tool_calls: [] }), [])
    })

    it("does not trust what it reads", () => {
      assert.deepStrictEqual(
        says(undefined, 1, "text", { role: "assistant", tool_calls: [null] }, { role: "tool" }),
        []
      )
    })
  })

  describe("fromAnthropic", () => {
    const uses = (...ids: ReadonlyArray<string>) => ({
      role: "assistant",
      content: [
        { type: "text", text: "let me see" },
        ...ids.map((id) => ({ type: "tool_use", id, name: "f", input: {} }))
      ]
    })
    const text = { type: "text", text: "go on" }
    const user = (...content: ReadonlyArray<unknown>) => ({ role: "user", content })
    const answer = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "ok" })
    const says = (...messages: ReadonlyArray<unknown>) => found(...Transcript.fromAnthropic(messages))

    it("accepts results in the next message, with text behind them", () => {
      assert.deepStrictEqual(
        says({ role: "user", content: "hi" }, uses("a", "b"), user(answer("a"), answer("b"), text), uses()),
        []
      )
    })

    it("reads messages of the user in a row as one, as the provider does", () => {
      assert.deepStrictEqual(says(uses("a", "b"), user(answer("a")), user(answer("b"))), [])
    })

    it("finds what the provider rejects", () => {
      assert.deepStrictEqual(says(uses("a", "b"), user(answer("b"))), ["Unanswered a@0"])
      assert.deepStrictEqual(says(uses("a"), user(text, answer("a"))), ["AfterStepEnd a@2"])
      assert.deepStrictEqual(says(uses("a"), { role: "user", content: "stop" }), ["Unanswered a@0"])
    })
  })
})
