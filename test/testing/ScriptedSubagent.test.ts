import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer } from "effect"
import { Cancellation } from "quiesce"
import { Subagent } from "quiesce/capability"
import { ScriptedSubagent } from "quiesce/testing"
import { silently } from "../support/agents.js"
import { itKeepsTheContract } from "../support/contracts/subagent.js"

describe("ScriptedSubagent", () => {
  itKeepsTheContract(({ maxChildren, whenDisposed, whenStarted, whenStopped }) => {
    const ends = new Map<string, Subagent.Result>()
    let handle: ScriptedSubagent.Handle | undefined
    const alive = new Set<string>()
    const made = ScriptedSubagent.make({
      maxChildren,
      profiles: ["worker"],
      whenAsked: (message) => ends.get(message),
      whenStarted: (id) =>
        Effect.zipRight(
          Effect.sync(() => void alive.add(id)),
          whenStarted ?? Effect.void
        ),
      whenStopped: () => whenStopped ?? Effect.void,
      whenDisposed: (id) =>
        Effect.zipRight(
          Effect.sync(() => void alive.delete(id)),
          whenDisposed ?? Effect.void
        )
    })
    const running = () => (handle === undefined ? [] : Effect.runSync(handle.running))
    return {
      layer: Layer.scoped(
        Subagent.Subagent,
        Effect.map(made, (made) => {
          handle = made
          return made.subagent
        })
      ),
      end: (message, result) =>
        Effect.suspend(() => {
          ends.set(message, result)
          const turn = running().find((turn) => turn.message === message)
          return turn === undefined || handle === undefined ? Effect.void : handle.end(turn.id, result)
        }),
      running: () => running().map(({ message }) => message),
      alive: () => alive.size
    }
  })

  it.scoped("a turn that was asked to stop does not take the result that comes too late", () =>
    Effect.gen(function* () {
      const { asked, end, subagent } = yield* ScriptedSubagent.make()
      const id = yield* subagent.start({ profile: "any", task: "work", attachment: "detached" })
      yield* subagent.interrupt(id)
      assert.isFalse(yield* end(id, { outcome: "completed", output: "" }))
      assert.strictEqual((yield* subagent.wait(id)).result?.outcome, "aborted")
      yield* subagent.dispose(id)
      assert.isFalse(yield* end(id, { outcome: "completed", output: "" }))
      assert.deepStrictEqual(yield* asked, [{ id, profile: "any", message: "work" }])
    }).pipe(Cancellation.own)
  )

  it.scoped("a child that there is not cannot be told anything", () =>
    Effect.gen(function* () {
      const { end } = yield* ScriptedSubagent.make()
      const exit = yield* Effect.exit(end("any-7", { outcome: "completed", output: "" }))
      assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /there is no subagent "any-7"/)
    }).pipe(silently)
  )
})
