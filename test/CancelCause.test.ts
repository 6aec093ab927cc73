import { assert, describe, it } from "@effect/vitest"
import { FiberId, Schema } from "effect"
import { CancelCause } from "quiesce"
import { hostile } from "./support/calls.js"

const reason = new Error("tab closed")

const all: ReadonlyArray<readonly [CancelCause.CancelCause, string]> = [
  [CancelCause.user(), "cancelled by the user"],
  [CancelCause.user("wrong folder"), "cancelled by the user: wrong folder"],
  [CancelCause.parent(), "cancelled with the work it is a part of"],
  [CancelCause.disposed(), "cancelled because its owner was closed"],
  [CancelCause.deadline("BASH_TIMEOUT", 100), "BASH_TIMEOUT after 100ms"],
  [CancelCause.hostSignal(reason), "cancelled by the host: tab closed"],
  [CancelCause.hostSignal("stop"), "cancelled by the host: stop"],
  [CancelCause.hostSignal(hostile), "cancelled by the host: <unprintable thrown value>"],
  [CancelCause.interrupted(FiberId.make(7, 0)), "interrupted by #7"],
  [CancelCause.interrupted(FiberId.none), "interrupted by no fiber"],
  [CancelCause.interrupted(FiberId.composite(FiberId.make(1, 0), FiberId.make(2, 0))), "interrupted by #1, #2"]
]

describe("CancelCause", () => {
  it("says in a few words why", () => {
    for (const [cause, words] of all) assert.strictEqual(CancelCause.describe(cause), words)
  })

  it("is a frozen value, without keys that say nothing", () => {
    for (const [cause] of all) assert.isFrozen(cause)
    assert.deepStrictEqual(CancelCause.user(), { _tag: "User" })
    assert.deepStrictEqual(CancelCause.deadline("D", 5), { _tag: "Deadline", code: "D", millis: 5 })
  })

  it("toReason is an Error, always the same for the same cause, unless the host has a reason of its own", () => {
    for (const [cause, words] of all) {
      const found = CancelCause.toReason(cause)
      assert.isTrue(found === CancelCause.toReason(cause), "another object")
      if (cause._tag === "HostSignal") {
        assert.isTrue(found === cause.reason, "not the host's own")
        continue
      }
      assert.instanceOf(found, CancelCause.Cancelled)
      const cancelled = found as CancelCause.Cancelled
      assert.strictEqual(cancelled.message, words)
      assert.strictEqual(cancelled.cause, cause)
      assert.strictEqual(cancelled.name, cause._tag === "Deadline" ? "TimeoutError" : "AbortError")
    }
    assert.notStrictEqual(CancelCause.toReason(CancelCause.user()), CancelCause.toReason(CancelCause.user()))
  })

  it("isDeadline tells a deadline, and with a code that very one", () => {
    const cause = CancelCause.deadline("BASH_TIMEOUT", 100)
    assert.isTrue(CancelCause.isDeadline(cause))
    assert.isTrue(CancelCause.isDeadline(cause, "BASH_TIMEOUT"))
    assert.isFalse(CancelCause.isDeadline(cause, "TOOL_TIMEOUT"))
    for (const [other] of all) if (other._tag !== "Deadline") assert.isFalse(CancelCause.isDeadline(other))
  })

  it("encode is frozen JSON that fits the encoded schema, whatever the host's reason is", () => {
    const fits = Schema.is(Schema.encodedSchema(CancelCause.CancelCause))
    for (const [cause, words] of all) {
      const encoded = CancelCause.encode(cause)
      assert.isFrozen(encoded)
      assert.isTrue(fits(encoded))
      assert.deepStrictEqual(JSON.parse(JSON.stringify(encoded)), encoded)
      if (encoded._tag === "HostSignal") assert.strictEqual(`cancelled by the host: ${encoded.reason}`, words)
      else assert.strictEqual<unknown>(encoded, cause)
    }
  })

  it("encode makes a copy of a cause that somebody may still change", () => {
    const byHand: CancelCause.CancelCause = { _tag: "User", note: "by hand" }
    const encoded = CancelCause.encode(byHand)
    assert.deepStrictEqual<unknown>(encoded, byHand)
    assert.notStrictEqual<unknown>(encoded, byHand)
    assert.isFrozen(encoded)
  })

  it.prop("survives a round trip through JSON", { cause: CancelCause.CancelCause }, ({ cause }) => {
    const json = JSON.parse(JSON.stringify(CancelCause.encode(cause)))
    const back = Schema.decodeUnknownSync(CancelCause.CancelCause)(json)
    assert.strictEqual(back._tag, cause._tag)
    assert.strictEqual(CancelCause.describe(back), CancelCause.describe(cause))
  })
})
