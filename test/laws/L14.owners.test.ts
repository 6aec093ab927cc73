import { assert, describe } from "@effect/vitest"
import { Cause, type Context, Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { Abort, Cancellation, Policy, Tool } from "quiesce"
import { Sim } from "quiesce/testing"
import { call, ended, executing, law, Witness, world } from "../support/laws.js"

describe("L14 owners", () => {
  law(
    "L14, L3",
    "a daemon of the body uses the owner of its call: it works while the call runs, and dies or is stopped after it",
    Effect.gen(function* () {
      const witness = new Witness()
      const daemon = yield* Deferred.make<Fiber.RuntimeFiber<void>>()
      const work = Cancellation.operation(witness.during("work", witness.note("worked")), "late work")
      const body = Effect.gen(function* () {
        yield* Deferred.succeed(
          daemon,
          yield* Effect.forkDaemon(Effect.zipRight(Sim.external("later", { comes: Effect.void }), work))
        )
        yield* Effect.yieldNow()
        return "done"
      })
      const here = yield* world(witness, [witness.tool(body)])
      const code = yield* ended(yield* executing(here, ["interrupt"]), witness)
      if (witness.handlers === 0) return code
      const workedInTime = witness.saw("worked")
      if (!(yield* Deferred.isDone(daemon))) return `${code}, no daemon`
      const exit = yield* Fiber.await(yield* Deferred.await(daemon))
      assert.strictEqual(witness.saw("worked"), workedInTime, "L14: work began after the call")
      if (Exit.isSuccess(exit)) return `${code}, the daemon worked`
      if (Exit.isInterrupted(exit)) return `${code}, the daemon was stopped`
      assert.include(Cause.pretty(exit.cause), "late work", "L14: the message does not name it")
      return `${code}, the daemon died`
    }),
    {
      expect: [
        "OK, the daemon worked",
        "OK, the daemon was stopped",
        "OK, the daemon died",
        "ABORTED, no daemon",
        "ABORTED, the daemon worked",
        "ABORTED, the daemon was stopped",
        "ABORTED, the daemon died",
        "ABORTED_BEFORE_DISPATCH",
        "not accepted"
      ]
    }
  )

  law(
    "L14, L3",
    "a fiber that is not of the call uses its owner, which a callback gave away: its promise is awaited, or never started",
    Effect.gen(function* () {
      const witness = new Witness()
      const given = yield* Deferred.make<Context.Context<Cancellation.Cancellation>>()
      const promise = Abort.fromPromise(async () => {
        witness.facts.push("started")
        witness.alive.add("promise")
        await Promise.resolve()
        witness.alive.delete("promise")
      })
      const thief = yield* Sim.fork("thief")(
        Effect.flatMap(Deferred.await(given), (context) =>
          Effect.zipRight(Sim.external("later", { comes: Effect.void }), Effect.provide(promise, context))
        )
      )
      const body = Effect.gen(function* () {
        const context = yield* Effect.context<Cancellation.Cancellation>()
        Deferred.unsafeDone(given, Effect.succeed(context))
        yield* Effect.yieldNow()
        return "done"
      })
      const here = yield* world(witness, [witness.tool(body)])
      const code = yield* ended(yield* executing(here, []), witness)
      const before = witness.saw("started")
      const exit = yield* Fiber.await(thief)
      assert.strictEqual(witness.saw("started"), before, "L14: a promise was started after the call")
      if (Exit.isSuccess(exit)) return `${code}, used`
      if (Exit.isInterrupted(exit)) return `${code}, stopped`
      assert.include(Cause.pretty(exit.cause), "A promise operation", "L14: the message does not name it")
      return `${code}, died`
    }),
    { faults: 0, preemptions: 2, expect: ["OK, used", "OK, stopped", "OK, died"] }
  )

  law(
    "L14",
    "no stage can write to the call that it is shown: all of them see what the model sent, whatever one of them tries",
    Effect.gen(function* () {
      const witness = new Witness()
      const seen: Array<Policy.Call> = []
      const tampers = (shown: Policy.Call) => {
        seen.push(shown)
        const { list } = shown.parameters as { readonly list: ReadonlyArray<number> }
        const wrote = [
          Reflect.set(shown, "tool", "other"),
          Reflect.set(shown, "parameters", { list: [] }),
          Reflect.set(list, 0, 9),
          Reflect.defineProperty(shown, "signal", { value: new AbortController().signal })
        ]
        assert.notInclude(wrote, true, "L14: a stage has written to the call")
        return Effect.yieldNow()
      }
      const policies = [
        Policy.before("before", (shown) => Effect.as(tampers(shown), Policy.allow)),
        Policy.around("around", (shown, next) => Effect.zipRight(tampers(shown), next)),
        Policy.after("after", (shown) => Effect.as(tampers(shown), Policy.accept())),
        Policy.observe("observe", tampers)
      ]
      const tool = Tool.make("tool", {
        description: "Counts",
        parameters: { list: Schema.Array(Schema.Number) },
        success: Schema.Number,
        handler: ({ list }) => {
          witness.handlers++
          return Effect.succeed(list.length)
        }
      })
      const here = yield* world(witness, [tool], policies)
      const parameters = { list: [1, 2] }
      const running = yield* executing(here, ["interrupt"], here.runtime.execute({ ...call, parameters }))
      const code = yield* ended(running, witness)
      for (const shown of seen) {
        assert.strictEqual(shown.tool, "tool")
        assert.deepStrictEqual(shown.parameters, { list: [1, 2] }, "L14: a stage saw what another had written")
      }
      const [result] = witness.observed
      if (result?._tag === "Success") assert.strictEqual(result.value, 2)
      return code
    }),
    { expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )
})
