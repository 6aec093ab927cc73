import { assert, describe, it } from "@effect/vitest"
import { Data, Deferred, Effect, Option } from "effect"
import { Cancellation, Policy, type ToolResult } from "quiesce"
import {
  denied,
  failed,
  HarnessError,
  hostile,
  notDispatched,
  policyFailed,
  roads,
  type Setup,
  settle,
  setup,
  succeeded,
  unprintable
} from "./support/calls.js"

const whole = ["before", "guard", "around", "body", "after", "observe"]

describe("ToolRuntime (before policies)", () => {
  it.scoped("15: a denial is the result, no body runs, and it is reviewed frozen", () =>
    Effect.gen(function* () {
      let reviewed: ToolResult.ToolResult | undefined
      const t = yield* setup({
        before: () => Effect.succeed(Policy.deny("denied by policy")),
        after: (_, result) => {
          reviewed = result
          return Effect.succeed(Policy.accept())
        }
      })
      assert.deepStrictEqual(yield* t.execute(), denied("denied by policy"))
      assert.deepStrictEqual(t.log, ["before", "after", "observe"])
      assert.deepStrictEqual(reviewed, denied("denied by policy"))
      assert.isFrozen(reviewed)
      assert.isFrozen(reviewed?.content)
    })
  )

  for (const road of roads) {
    it.scoped(`16: a policy that allows after the cancel gets an undispatched call ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t = yield* setup({ before: () => Effect.as(Deferred.await(gate), Policy.allow) })
        const call = yield* road.begin(t)
        yield* t.reached("before")
        yield* call.cancel
        assert.isTrue(yield* call.isPending)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, notDispatched(road.cause))
        assert.deepStrictEqual(t.log, ["before", "guard", "after", "observe"])
      })
    )

    it.scoped(`17: a policy that denies after the cancel is heard ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t = yield* setup({ before: () => Effect.as(Deferred.await(gate), Policy.deny("policy denied the call")) })
        const call = yield* road.begin(t)
        yield* t.reached("before")
        yield* call.cancel
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, denied("policy denied the call"))
        assert.deepStrictEqual(t.log, ["before", "after", "observe"])
      })
    )

    it.scoped(`18: a policy that fails after the cancel is the result, unreviewed, ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t = yield* setup({
          before: () => Effect.zipRight(Deferred.await(gate), Effect.fail("gate interrupted"))
        })
        const call = yield* road.begin(t)
        yield* t.reached("before")
        yield* call.cancel
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, policyFailed("gate interrupted"))
        assert.deepStrictEqual(t.log, ["before", "observe"])
      })
    )

    it.scoped(`26: a policy that fails because it saw the cancel is no failure ${road.name}`, () =>
      Effect.gen(function* () {
        const signalOf = Effect.map(Cancellation.signal, (signal) => () => signal.throwIfAborted())
        const sightings: ReadonlyArray<Effect.Effect<void, unknown, Cancellation.Cancellation>> = [
          Effect.flatMap(signalOf, (check) => Effect.try(check)),
          Effect.flatMap(Cancellation.signal, (signal) => Effect.fail(signal.reason)),
          Effect.flatMap(signalOf, (check) => Effect.sync(check)),
          Effect.fail(new DOMException("The operation was aborted", "AbortError")),
          Effect.flatMap(Cancellation.cause, (cause) => Effect.fail(Option.getOrThrow(cause)))
        ]
        for (const sees of sightings) {
          const gate = yield* Deferred.make<void>()
          const t = yield* setup({
            onCancel: "interrupt",
            before: () =>
              Effect.uninterruptible(Deferred.await(gate).pipe(Effect.zipRight(sees), Effect.as(Policy.allow)))
          })
          const call = yield* road.begin(t)
          yield* t.reached("before")
          yield* call.cancel
          yield* Deferred.succeed(gate, undefined)
          assert.deepStrictEqual(yield* call.result, notDispatched(road.cause))
          assert.deepStrictEqual(t.log, ["before", "after", "observe"])
        }
      })
    )

    it.scoped(`27: a policy that ignores the cancel holds the call ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t = yield* setup({
          onCancel: "interrupt",
          before: () => Effect.uninterruptible(Effect.as(Deferred.await(gate), Policy.allow))
        })
        const call = yield* road.begin(t)
        yield* t.reached("before")
        yield* call.cancel
        assert.isTrue(yield* call.isPending)
        assert.deepStrictEqual(
          (yield* t.runtime.inFlight).map(({ cause, phase }) => [phase, cause]),
          [["decoded", road.cause]]
        )
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, notDispatched(road.cause))
        assert.deepStrictEqual(t.log.slice(-2), ["after", "observe"])
      })
    )

    it.scoped(`28: a policy is interrupted by default, and its finalizers are awaited, ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({
          onCancel: "interrupt",
          before: () =>
            Effect.onInterrupt(Effect.never, () =>
              Effect.zipRight(
                Deferred.await(gate),
                Effect.sync(() => t.log.push("finalized"))
              )
            )
        })
        const call = yield* road.begin(t)
        yield* t.reached("before")
        yield* call.cancel
        assert.isTrue(yield* call.isPending)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, notDispatched(road.cause))
        assert.deepStrictEqual(t.log, ["before", "finalized", "after", "observe"])
      })
    )
  }

  it.scoped("19: a policy that fails is the result, and is not reviewed", () =>
    Effect.gen(function* () {
      const broken = new Error("permission hook broke")
      const throwing = () => {
        throw broken
      }
      for (const before of [
        () => Effect.fail(broken),
        () => Effect.die(broken),
        () => Effect.suspend((): Effect.Effect<never> => throwing()),
        throwing
      ]) {
        const t = yield* setup({ before })
        assert.deepStrictEqual(yield* t.execute(), policyFailed("permission hook broke"))
        assert.deepStrictEqual(t.log, ["before", "observe"])
      }
    })
  )

  it.scoped("20: a policy that fails with a code and a name of its own keeps them", () =>
    Effect.gen(function* () {
      class QuotaExceeded extends Data.TaggedError("QuotaExceeded") {}
      const harness = yield* setup({ before: () => new HarnessError({ message: "denied", code: "DENIED" }) })
      assert.deepStrictEqual(
        yield* harness.execute(),
        failed({ code: "DENIED", name: "HarnessError", message: "denied" })
      )
      assert.deepStrictEqual(harness.log, ["before", "observe"])
      const tagged = yield* setup({ before: () => new QuotaExceeded() })
      assert.deepStrictEqual(
        yield* tagged.execute(),
        failed({ code: "QUOTA_EXCEEDED", name: "QuotaExceeded", message: "QuotaExceeded" })
      )
    })
  )

  it.scoped(
    "21 (core: no `next`): policies are asked in order, each ended before the next begins, whatever its mode",
    () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const ask = (name: string, onCancel: Policy.OnCancel) =>
          Policy.before(
            name,
            () =>
              Effect.gen(function* () {
                log.push(`${name} begins`)
                yield* Effect.yieldNow()
                log.push(`${name} ends`)
                return Policy.allow
              }),
            { onCancel }
          )
        const t = yield* setup({
          policies: [ask("a", "interrupt"), ask("b", "interrupt"), ask("c", "finish"), ask("d", "interrupt")]
        })
        assert.deepStrictEqual(yield* t.execute(), succeeded())
        assert.deepStrictEqual(
          log,
          ["a", "b", "c", "d"].flatMap((name) => [`${name} begins`, `${name} ends`])
        )
        assert.deepStrictEqual(t.log, whole)
      })
  )

  it.scoped("21: the first denial vetoes the rest, however it comes", () =>
    Effect.gen(function* () {
      const no = Policy.deny("no")
      const inTime = () => Effect.succeed(no)
      const later = () => Effect.as(Effect.yieldNow(), no)
      for (const onCancel of ["interrupt", "finish"] as const) {
        for (const denies of [inTime, later]) {
          for (const first of [Effect.succeed(Policy.allow), Effect.as(Effect.yieldNow(), Policy.ask())]) {
            const asked: Array<string> = []
            const count = (name: string, decide: () => Effect.Effect<Policy.Decision>) =>
              Policy.before(
                name,
                () => {
                  asked.push(name)
                  return decide()
                },
                { onCancel }
              )
            const t = yield* setup({
              policies: [
                count("first", () => first),
                count("second", denies),
                count("third", () => Effect.succeed(Policy.deny("other")))
              ]
            })
            assert.deepStrictEqual(yield* t.execute(), denied("no"))
            assert.deepStrictEqual(asked, ["first", "second"])
            assert.deepStrictEqual(t.log, ["before", "after", "observe"])
          }
        }
      }
    })
  )

  it.scoped("22: a guard is heard after an allowance, and not asked after a denial", () =>
    Effect.gen(function* () {
      const allowed = yield* setup({ guard: () => "no" })
      assert.deepStrictEqual(yield* allowed.execute(), denied("no"))
      assert.deepStrictEqual(allowed.log, ["before", "guard", "after", "observe"])
      const refused = yield* setup({ before: () => Effect.succeed(Policy.deny("never")), guard: () => "no" })
      assert.deepStrictEqual(yield* refused.execute(), denied("never"))
      assert.deepStrictEqual(refused.log, ["before", "after", "observe"])
    })
  )

  it.scoped("23: the first reason of two guards wins, the runtime's before the scope's", () =>
    Effect.gen(function* () {
      let globally: string | undefined = "global"
      const asked: Array<string> = []
      const t = yield* setup({ guard: () => globally })
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* t.runtime.registerPolicy(
            Policy.guard("scoped", () => {
              asked.push("scoped")
              return "scoped"
            })
          )
          assert.deepStrictEqual(yield* t.execute(), denied("global"))
          assert.deepStrictEqual(asked, [])
          globally = undefined
          assert.deepStrictEqual(yield* t.execute(), denied("scoped"))
          assert.deepStrictEqual(asked, ["scoped"])
        })
      )
      assert.deepStrictEqual(yield* t.execute(), succeeded())
    })
  )

  it.scoped("24: a guard that throws is the result, and is not reviewed", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        guard: () => {
          throw new Error("guard broke")
        }
      })
      assert.deepStrictEqual(yield* t.execute(), policyFailed("guard broke"))
      assert.deepStrictEqual(t.log, ["before", "guard", "observe"])
    })
  )

  it.scoped("a policy that answers with something that is not a decision fails, and nothing runs", () =>
    Effect.gen(function* () {
      const garbage = [
        undefined,
        null,
        7,
        "Allow",
        {},
        { _tag: "Perhaps" },
        { _tag: "Deny" },
        { _tag: "Ask", reason: 7 },
        hostile,
        unprintable
      ]
      for (const decision of garbage as unknown as ReadonlyArray<Policy.Decision>) {
        for (const answer of [Effect.succeed(decision), Effect.as(Effect.yieldNow(), decision)]) {
          const t = yield* setup({ before: () => answer })
          const message = "a policy answered with something that is not a Decision"
          assert.deepStrictEqual(yield* t.execute(), policyFailed(message))
          assert.deepStrictEqual(t.log, ["before", "observe"])
        }
      }
    })
  )

  it.scoped("a policy that answers with something that is not an effect fails, and nothing runs", () =>
    Effect.gen(function* () {
      for (const answer of [undefined, null, 7, {}, hostile, Policy.allow]) {
        const t = yield* setup({ policies: [Policy.before("garbage", () => answer as never)] })
        const result = yield* t.execute()
        assert.strictEqual(result._tag === "Failure" && result.code, "POLICY_FAILURE")
        assert.deepStrictEqual(t.log, ["before", "observe"])
      }
    })
  )

  it.scoped("a guard that returns something that is not a reason fails the call", () =>
    Effect.gen(function* () {
      for (const answer of [null, false, 7, Promise.resolve("no"), hostile]) {
        const t = yield* setup({ guard: () => answer as never })
        assert.deepStrictEqual(yield* t.execute(), policyFailed("a guard returned something that is not a reason"))
        assert.deepStrictEqual(t.log, ["before", "guard", "observe"])
      }
    })
  )

  it.scoped("a policy that fails with a hostile value is still answered", () =>
    Effect.gen(function* () {
      for (const fails of [Effect.fail(unprintable), Effect.die(unprintable)]) {
        const t = yield* setup({ before: () => fails })
        assert.deepStrictEqual(yield* t.execute(), policyFailed("<unprintable thrown value>"))
        assert.deepStrictEqual(t.log, ["before", "observe"])
      }
    })
  )

  it.scoped("a policy that interrupts itself fails, and nothing was cancelled", () =>
    Effect.gen(function* () {
      const t = yield* setup({ before: () => Effect.interrupt })
      assert.deepStrictEqual(yield* t.execute(), policyFailed("a policy interrupted itself"))
      assert.deepStrictEqual(t.log, ["before", "observe"])
    })
  )

  for (const onCancel of ["interrupt", "finish"] as const) {
    it.scoped(
      `an operation that a policy leaves to a daemon has ended before the result is published (${onCancel})`,
      () =>
        Effect.gen(function* () {
          const t: Setup = yield* setup({
            onCancel,
            before: () =>
              Effect.never.pipe(
                Effect.onInterrupt(() =>
                  Effect.zipRight(
                    settle,
                    Effect.sync(() => t.log.push("stopped"))
                  )
                ),
                Cancellation.operation("watch"),
                Effect.forkDaemon,
                Effect.zipRight(Effect.yieldNow()),
                Effect.as(Policy.allow)
              )
          })
          assert.deepStrictEqual(yield* t.execute(), succeeded())
          assert.strictEqual(t.log.filter((entry) => entry === "stopped").length, 1)
          assert.isBelow(t.log.indexOf("stopped"), t.log.indexOf("observe"))
        })
    )
  }
})
