import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { type CancelCause, Cancellation, Policy } from "quiesce"
import { Approval } from "quiesce/capability"
import {
  aborted,
  callOf,
  denied,
  executeCancelled,
  notDispatched,
  policyFailed,
  roads,
  type Setup,
  settle,
  setup,
  succeeded,
  user
} from "./support/calls.js"

const whole = ["before", "guard", "around", "body", "after", "observe"]

/** An approver that answers what the test tells it to, and what it was asked. */
const approver = (answer: Effect.Effect<Approval.Answer, never, Cancellation.Cancellation>) => {
  const asked: Array<Approval.Request> = []
  const layer = Approval.layer((request) => {
    asked.push(request)
    return answer
  })
  return { asked, layer }
}

const asks = (reason?: string) => () => Effect.succeed(Policy.ask(reason))

describe("ToolRuntime (approval)", () => {
  it.scoped("29: an allowed call runs once, and the approver was told what it is asked about", () =>
    Effect.gen(function* () {
      const { asked, layer } = approver(Effect.succeed("allowed-once"))
      const t = yield* setup({ before: asks("writes a file"), approval: layer })
      assert.deepStrictEqual(yield* t.execute({ agent: "a1" }), succeeded())
      assert.deepStrictEqual(asked, [
        { callId: "c1", tool: "echo", parameters: { text: "hi" }, reason: "writes a file", agent: "a1" }
      ])
      assert.isFrozen(asked[0]?.parameters)
      assert.deepStrictEqual(t.log, whole)
    })
  )

  it.scopedLive("29 (core: the caller's owner): the approver's signal carries the caller's own reason", () =>
    Effect.gen(function* () {
      const controller = new AbortController()
      const reason = new Error("tab closed")
      let signal: AbortSignal | undefined
      const answer = Effect.flatMap(Cancellation.signal, (own) => {
        signal = own
        return Effect.never
      })
      const t = yield* setup({ before: asks(), approval: approver(answer).layer })
      const call = yield* Effect.fork(Cancellation.ownSignal(t.runtime.execute(callOf()), controller.signal))
      yield* t.reached("before")
      yield* settle
      assert.isFalse(signal?.aborted)
      controller.abort(reason)
      assert.deepStrictEqual(yield* Fiber.join(call), notDispatched({ _tag: "HostSignal", reason: "tab closed" }))
      assert.strictEqual(signal?.reason, reason)
    })
  )

  it.scoped("30: a rejection is a denial", () =>
    Effect.gen(function* () {
      const t = yield* setup({ before: asks(), approval: Approval.layerConst("rejected") })
      assert.deepStrictEqual(yield* t.execute(), denied('the user rejected tool "echo"'))
      assert.deepStrictEqual(t.log, ["before", "after", "observe"])
    })
  )

  it.scoped("31: a question that is withdrawn while the caller lives is a denial", () =>
    Effect.gen(function* () {
      const t = yield* setup({ before: asks(), approval: Approval.layerConst("cancelled") })
      assert.deepStrictEqual(yield* t.execute(), denied('approval for tool "echo" was cancelled'))
      assert.deepStrictEqual(t.log, ["before", "after", "observe"])
    })
  )

  it.scoped("31: a question that the approver withdraws because the call was cancelled is that cancellation", () =>
    Effect.gen(function* () {
      const answer = Effect.flatMap(Effect.serviceOption(Cancellation.Cancellation), () =>
        Effect.zipRight(t.runtime.cancelCall("c1", user), Effect.succeed("cancelled" as const))
      )
      const t: Setup = yield* setup({ before: asks(), approval: approver(Effect.uninterruptible(answer)).layer })
      assert.deepStrictEqual(yield* t.execute(), notDispatched(user))
      assert.deepStrictEqual(t.log, ["before", "after", "observe"])
    })
  )

  for (const road of roads) {
    it.scoped(`32: an answer that comes after the cancel is discarded ${road.name}`, () =>
      Effect.gen(function* () {
        for (const answer of ["allowed-once", "rejected", "unavailable", "cancelled"] as const) {
          const gate = yield* Deferred.make<void>()
          const { asked, layer } = approver(Effect.uninterruptible(Effect.as(Deferred.await(gate), answer)))
          const t = yield* setup({ before: asks(), approval: layer })
          const call = yield* road.begin(t)
          yield* t.reached("before")
          yield* settle
          yield* call.cancel
          assert.isTrue(yield* call.isPending)
          yield* Deferred.succeed(gate, undefined)
          assert.deepStrictEqual(yield* call.result, notDispatched(road.cause))
          assert.deepStrictEqual(t.log, ["before", "after", "observe"])
          assert.strictEqual(asked.length, 1)
        }
      })
    )

    it.scoped(`40: the approver is interrupted and awaited ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const withdrawn = Effect.zipRight(
          Deferred.await(gate),
          Effect.sync(() => t.log.push("withdrawn"))
        )
        const { layer } = approver(Effect.onInterrupt(Effect.never, () => withdrawn))
        const t = yield* setup({ before: asks(), approval: layer })
        const call = yield* road.begin(t)
        yield* t.reached("before")
        yield* settle
        yield* call.cancel
        assert.isTrue(yield* call.isPending)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, notDispatched(road.cause))
        assert.deepStrictEqual(t.log, ["before", "withdrawn", "after", "observe"])
      })
    )
  }

  it.scoped("34: nobody there to ask is a denial", () =>
    Effect.gen(function* () {
      const t = yield* setup({ before: asks(), approval: Approval.layerConst("unavailable") })
      const message = 'tool "echo" requires approval, but no approval channel is available'
      assert.deepStrictEqual(yield* t.execute(), denied(message))
      assert.deepStrictEqual(t.log, ["before", "after", "observe"])
    })
  )

  it.scoped("35: without an approval service the reason is the denial", () =>
    Effect.gen(function* () {
      const withReason = yield* setup({ before: asks("needs approval") })
      assert.deepStrictEqual(yield* withReason.execute(), denied("needs approval"))
      const without = yield* setup({ before: asks() })
      assert.deepStrictEqual(yield* without.execute(), denied('tool "echo" requires approval (not yet supported)'))
      assert.deepStrictEqual(without.log, ["before", "after", "observe"])
    })
  )

  it.scoped("37: a call that was cancelled before it began asks nobody", () =>
    Effect.gen(function* () {
      const { asked, layer } = approver(Effect.succeed("allowed-once"))
      const t = yield* setup({ before: asks(), approval: layer })
      const cause: CancelCause.Encoded = { _tag: "HostSignal", reason: "gone" }
      assert.deepStrictEqual(yield* executeCancelled(t, new Error("gone")), notDispatched(cause))
      assert.deepStrictEqual(asked, [])
    })
  )

  it.scoped("37: a denial by a later policy asks nobody", () =>
    Effect.gen(function* () {
      const { asked, layer } = approver(Effect.succeed("allowed-once"))
      const t = yield* setup({
        before: asks(),
        approval: layer,
        policies: [Policy.before("never", () => Effect.succeed(Policy.deny("never")))]
      })
      assert.deepStrictEqual(yield* t.execute(), denied("never"))
      assert.deepStrictEqual(asked, [])
    })
  )

  it.scoped("C3: a policy that asks after the cancel asks nobody", () =>
    Effect.gen(function* () {
      let asked = 0
      // A service of the host's own, which does not look at its owner.
      const layer = Layer.succeed(Approval.Approval, {
        request: () =>
          Effect.sync(() => {
            asked++
            return "allowed-once" as const
          })
      })
      for (const approval of [layer, undefined]) {
        const gate = yield* Deferred.make<void>()
        const t = yield* setup({
          before: () => Effect.as(Deferred.await(gate), Policy.ask("why")),
          ...(approval === undefined ? {} : { approval })
        })
        const call = yield* t.start()
        yield* call.cancel(user)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, notDispatched(user))
        assert.strictEqual(asked, 0)
        assert.deepStrictEqual(t.log, ["before", "after", "observe"])
      }
    })
  )

  it.scoped("two policies that ask are one question, with the first one's reason", () =>
    Effect.gen(function* () {
      for (const wait of [Effect.void, Effect.yieldNow()]) {
        const { asked, layer } = approver(Effect.succeed("allowed-once"))
        const t = yield* setup({
          before: () => Effect.as(wait, Policy.ask("first")),
          approval: layer,
          policies: [Policy.before("second", () => Effect.as(wait, Policy.ask("second")))]
        })
        assert.deepStrictEqual(yield* t.execute(), succeeded())
        assert.deepStrictEqual(
          asked.map(({ reason }) => reason),
          ["first"]
        )
      }
    })
  )

  it.scoped("a guard has its veto after a person has allowed the call, and none before", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        before: asks(),
        guard: () => "closed",
        approval: approver(
          Effect.sync(() => {
            t.log.push("asked")
            return "allowed-once" as const
          })
        ).layer
      })
      assert.deepStrictEqual(yield* t.execute(), denied("closed"))
      assert.deepStrictEqual(t.log, ["before", "asked", "guard", "after", "observe"])
    })
  )

  it.scoped("an approver that breaks is a failing policy", () =>
    Effect.gen(function* () {
      const breaks = yield* setup({ before: asks(), approval: approver(Effect.die(new Error("no screen"))).layer })
      assert.deepStrictEqual(yield* breaks.execute(), policyFailed("no screen"))
      assert.deepStrictEqual(breaks.log, ["before", "observe"])
      const rogue = yield* setup({ before: asks(), approval: approver(Effect.succeed("maybe" as never)).layer })
      assert.deepStrictEqual(yield* rogue.execute(), policyFailed("unreachable: the approver answered maybe"))
    })
  )

  it.scoped("an approver that throws when it is asked is a failing policy", () =>
    Effect.gen(function* () {
      const layer = Layer.succeed(Approval.Approval, {
        request: () => {
          throw new Error("no screen")
        }
      })
      const t = yield* setup({ before: asks(), approval: layer })
      assert.deepStrictEqual(yield* t.execute(), policyFailed("no screen"))
      assert.deepStrictEqual(t.log, ["before", "observe"])
    })
  )

  it.scoped("a call that a person allowed runs under the call's owner, and can be cancelled", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        before: asks(),
        approval: Approval.layerConst("allowed-once"),
        body: () => Effect.never
      })
      const call = yield* t.start()
      yield* t.reached("body")
      yield* call.cancel(user)
      assert.deepStrictEqual(yield* call.result, aborted(user))
    })
  )
})
