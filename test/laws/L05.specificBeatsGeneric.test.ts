import { assert, describe } from "@effect/vitest"
import { Data, Effect, Either } from "effect"
import { Abort, Content, Policy } from "quiesce"
import { Sim } from "quiesce/testing"
import { ended, executing, law, Witness, world } from "../support/laws.js"

class DiskFull extends Data.TaggedError("DiskFull")<{ readonly message: string }> {}

/** A promise that rejects with a failure of its own when it is told to stop. */
const breaksWhenStopped = (witness: Witness) =>
  Effect.gen(function* () {
    const answer = yield* Sim.promise("answer", { ok: () => "done" })
    return yield* Abort.fromPromise({
      try: ({ signal }) =>
        new Promise<string>((resolve, reject) => {
          signal.addEventListener("abort", () => {
            if (!witness.saw("resolved")) witness.facts.push("rejected")
            reject(new DiskFull({ message: "disk full" }))
          })
          answer.then((value) => {
            if (!signal.aborted) witness.facts.push("resolved")
            resolve(value)
          })
        }),
      catch: (error) => error as DiskFull
    })
  })

describe("L5 specific beats generic", () => {
  law(
    "L5",
    "a promise fails by itself when it is told to stop, below mapError: the result is that failure",
    Effect.gen(function* () {
      const witness = new Witness()
      const body = Effect.mapError(breaksWhenStopped(witness), (error) => error)
      const here = yield* world(witness, [witness.tool(body)])
      const code = yield* ended(yield* executing(here, ["interrupt", "signal"]), witness)
      assert.strictEqual(code === "DISK_FULL", witness.saw("rejected"), `L5: ${code} after ${witness.facts}`)
      return code
    }),
    { expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "DISK_FULL", "not accepted"] }
  )

  law(
    "L5",
    "the same below either and retry: the failure that Effect strips there is the result",
    Effect.gen(function* () {
      const witness = new Witness()
      const either = Effect.either(breaksWhenStopped(witness))
      const body = Effect.retry(
        Effect.flatMap(either, Either.match({ onLeft: Effect.fail, onRight: Effect.succeed })),
        { times: 1 }
      )
      const here = yield* world(witness, [witness.tool(body)])
      const code = yield* ended(yield* executing(here, ["cancelCall"]), witness)
      assert.strictEqual(code === "DISK_FULL", witness.saw("rejected"), `L5: ${code} after ${witness.facts}`)
      return code
    }),
    { expect: ["OK", "ABORTED", "DISK_FULL", "ABORTED_BEFORE_DISPATCH"] }
  )

  law(
    "L5",
    "a policy that is to finish denies the call while it is cancelled: the denial is the result",
    Effect.gen(function* () {
      const witness = new Witness()
      const denies = Policy.before(
        "denies",
        () => Effect.zipRight(witness.note("asked"), Effect.as(Effect.yieldNow(), Policy.deny("no"))),
        { onCancel: "finish" }
      )
      const here = yield* world(witness, [witness.tool(Effect.succeed("done"))], [denies])
      const code = yield* ended(yield* executing(here, ["interrupt", "signal"]), witness)
      assert.strictEqual(code === "DENIED", witness.saw("asked"), "L5: asked, and not denied")
      return code
    }),
    { expect: ["DENIED", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L5",
    "a wrapper that is to finish fails behind its body: its failure is the result, whatever was cancelled",
    Effect.gen(function* () {
      const witness = new Witness()
      const breaks = Policy.around(
        "breaks",
        (_call, next) =>
          next.pipe(
            Effect.zipRight(Effect.yieldNow()),
            Effect.zipRight(witness.note("broke")),
            Effect.zipRight(Effect.fail("broken"))
          ),
        { onCancel: "finish" }
      )
      const here = yield* world(witness, [witness.tool(Effect.as(Effect.yieldNow(), "done"))], [breaks])
      const code = yield* ended(yield* executing(here, ["interrupt", "cancelCall"]), witness)
      assert.strictEqual(code === "POLICY_FAILURE", witness.saw("broke"), "L5: broke, and is not the result")
      return code
    }),
    { expect: ["POLICY_FAILURE", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L5",
    "a review blocks the result: the block stays, also when the cancel comes during the review",
    Effect.gen(function* () {
      const witness = new Witness()
      const blocks = Policy.after("blocks", () =>
        Effect.zipRight(
          witness.note("reviewed"),
          Effect.as(Effect.yieldNow(), Policy.block([Content.text("withheld")]))
        )
      )
      const here = yield* world(witness, [witness.tool(Effect.succeed("done"))], [blocks])
      const code = yield* ended(yield* executing(here, ["interrupt", "signal"]), witness)
      assert.strictEqual(code === "BLOCKED", witness.saw("reviewed"), "L5: reviewed, and not blocked")
      return code
    }),
    { expect: ["BLOCKED", "ABORTED_BEFORE_DISPATCH", "not accepted"] }
  )

  law(
    "L5",
    "the same beside another branch of a concurrent all: the failure of the branch that was stopped is the result",
    Effect.gen(function* () {
      const witness = new Witness()
      const body = Effect.map(
        Effect.all([breaksWhenStopped(witness), Effect.yieldNow()], { concurrency: 2 }),
        ([value]) => value
      )
      const here = yield* world(witness, [witness.tool(body)])
      const code = yield* ended(yield* executing(here, ["cancelCall"]), witness)
      assert.strictEqual(code === "DISK_FULL", witness.saw("rejected"), `L5: ${code} after ${witness.facts}`)
      return code
    }),
    { cut: "suspension", expect: ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "DISK_FULL"] }
  )
})
