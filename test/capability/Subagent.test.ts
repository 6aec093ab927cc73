import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import { Subagent } from "quiesce/capability"
import { ScriptedSubagent } from "quiesce/testing"
import { settle, silently } from "../support/agents.js"

// What every provider keeps to is in support/contracts/subagent.ts. Here is what is made of a provider.
const work = { profile: "reviewer", task: "Review." }
const run = Cancellation.own(Subagent.run(work))

const failing = "it could not be given back"

describe("Subagent", () => {
  it("an error says which child it is about, and each reason is a code", () => {
    const error = new Subagent.SubagentError({ subagent: "a-1", reason: "WaitsForItself" })
    assert.strictEqual(error.code, "SUBAGENT_WAITS_FOR_ITSELF")
    assert.match(error.message, /^Subagent "a-1": this runs as a part of it/)
    const detailed = new Subagent.SubagentError({ subagent: "a-1", reason: "NotStarted", detail: "no disk" })
    assert.strictEqual(detailed.message, `Subagent "a-1": no disk`)
  })

  it("a snapshot is plain JSON", () => {
    const snapshot: Subagent.Snapshot = {
      id: "a-1",
      profile: "a",
      attachment: "attached",
      status: "disposed",
      startedAt: 1,
      endedAt: 2,
      result: { outcome: "error", output: "So far.", error: { code: "E", message: "m" } },
      cause: CancelCause.user("enough"),
      escaped: []
    }
    const encoded = Schema.encodeSync(Subagent.Snapshot)(snapshot)
    assert.deepStrictEqual(Schema.decodeUnknownSync(Subagent.Snapshot)(JSON.parse(JSON.stringify(encoded))), snapshot)
  })

  describe("run", () => {
    it.effect("gives what the child has to say, and nothing of the child is left", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* run, "Fine.")
        const [child] = yield* Subagent.list
        assert.deepStrictEqual([child?.status, child?.attachment], ["disposed", "attached"])
      }).pipe(Effect.provide(ScriptedSubagent.layer({ whenAsked: () => ({ outcome: "completed", output: "Fine." }) })))
    )

    it.effect.each([
      ["completed", "SUBAGENT_DISPOSAL_FAILED", /has completed\. It could not be disposed of cleanly: it could not/],
      ["max-tokens", "SUBAGENT_MAX_TOKENS", /hit its token limit.*It could not be disposed of cleanly: it could not/]
    ] as const)(
      "232. of a child that ended with %s and cannot be disposed of cleanly, both are told",
      ([outcome, code, text]) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(run)
          assert.strictEqual(error.code, code)
          assert.match(error.message, text)
          assert.match(error.message, /What it had said: So far\.$/)
        }).pipe(
          Effect.provide(
            ScriptedSubagent.layer({
              whenAsked: () => ({ outcome, output: "So far." }),
              whenDisposed: () => Effect.dieMessage(failing)
            })
          ),
          silently
        )
    )

    it.effect("interrupted alone, with no owner cancelled, it takes its child with it", () =>
      Effect.gen(function* () {
        yield* Cancellation.own(
          Effect.gen(function* () {
            const fiber = yield* Effect.fork(Subagent.run(work))
            yield* settle
            assert.strictEqual((yield* Subagent.list)[0]?.status, "running")
            yield* Fiber.interrupt(fiber)
            assert.strictEqual((yield* Subagent.list)[0]?.status, "disposed")
          })
        )
      }).pipe(Effect.provide(ScriptedSubagent.layer()))
    )

    it.effect("of a child that somebody interrupts it says that this was cancelled", () =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(Effect.flip(run))
        yield* settle
        yield* Subagent.interrupt("reviewer-1")
        assert.strictEqual((yield* Fiber.join(fiber)).code, "SUBAGENT_ABORTED")
      }).pipe(Effect.provide(ScriptedSubagent.layer()))
    )
  })

  it.effect("children that ended long ago are forgotten", () =>
    Effect.gen(function* () {
      for (let i = 0; i < 3; i++) yield* run
      assert.deepStrictEqual(
        (yield* Subagent.list).map(({ id }) => id),
        ["reviewer-2", "reviewer-3"]
      )
      const error = yield* Effect.flip(Cancellation.own(Subagent.wait("reviewer-1")))
      assert.strictEqual(error.reason, "NotFound")
    }).pipe(
      Effect.provide(ScriptedSubagent.layer({ maxEnded: 2, whenAsked: () => ({ outcome: "completed", output: "" }) }))
    )
  )
})
