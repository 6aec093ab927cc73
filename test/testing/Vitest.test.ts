import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it as effectIt } from "@effect/vitest"
import { Effect, Fiber, FiberId, Option, Ref, Schema, TestClock } from "effect"
import { Cancellation } from "quiesce"
import { Invariant, Sim } from "quiesce/testing"
import { it } from "quiesce/testing/Vitest"

const interruptible = Effect.gen(function* () {
  const ref = yield* Ref.make("interrupted")
  const fiber = yield* Effect.fork(Ref.set(ref, "done"))
  yield* Sim.interrupt(fiber)
  yield* Fiber.await(fiber)
  return yield* Ref.get(ref)
})

const lostUpdate = Effect.gen(function* () {
  const ref = yield* Ref.make(0)
  const increment = Effect.flatMap(Ref.get(ref), (n) => Ref.set(ref, n + 1))
  yield* Fiber.joinAll(yield* Effect.all([Effect.fork(increment), Effect.fork(increment)]))
  assert.strictEqual(yield* Ref.get(ref), 2, "an update was lost")
})

const marked = Effect.as(Sim.event("mark"), "done")

describe("Vitest", () => {
  describe("it", () => {
    it("is that of @effect/vitest, which is left as it is", () => {
      assert.strictEqual(it.effect, effectIt.effect)
      assert.notProperty(effectIt, "explore")
    })

    it.effect("defines ordinary tests", () => Effect.asVoid(TestClock.adjust("1 hour")))

    it.each([1, 2])("takes cases: %i", (n) => assert.isAbove(n, 0))
    it.for([1, 2])("takes cases with a context: %i", (n, { task }) => assert.include(task.name, String(n)))

    const extended = it.extend<{ readonly answer: number }>({ answer: 42 })
    extended("is extended", ({ answer }) => assert.strictEqual(answer, 42))
  })

  describe("it.explore", () => {
    it.explore("explores a scenario", interruptible, { expect: ["done", "interrupted"] })

    let runs = 0
    let made = 0
    it.explore("makes the scenario anew for each run when it is given a function", () => {
      const fresh = { n: 0 }
      made++
      return Effect.sync(() => {
        runs++
        assert.strictEqual(++fresh.n, 1)
      })
    })
    it("has done so", () => {
      assert.isAbove(runs, 1)
      assert.strictEqual(made, runs)
    })

    it.explore.fails("fails with a schedule that fails", lostUpdate)
    it.explore("holds invariants against each run", marked, [Invariant.atMostOnce("mark")], { expect: ["done"] })
    it.explore.fails("fails when an invariant does not hold", marked, [Invariant.exactlyOnce("another mark")])
    it.explore.fails("fails when an outcome was not seen", interruptible, { expect: ["never"] })
    it.explore("passes on a schedule that is replayed", lostUpdate, { replay: "x1/" })
    it.explore("takes a search that ends early where that is asked for", interruptible, { maxSchedules: 2 })
    it.explore.skipIf(false)("runs on a condition", interruptible, {}, { timeout: 10_000 })

    it("has a timeout of a minute, or the one that it is given", ({ task }) => {
      const timeouts = new Map(
        task.suite?.tasks.map(({ name, ...test }) => [name, (test as { timeout?: number }).timeout])
      )
      assert.strictEqual(timeouts.get("explores a scenario"), 60_000)
      assert.strictEqual(timeouts.get("runs on a condition"), 10_000)
    })

    // Another vitest, as a user sees it: the test that fails is what is looked at.
    const vitest = (env: NodeJS.ProcessEnv = {}) => {
      const config = "test/support/vitest.fixtures.ts"
      const run = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", "--config", config], {
        encoding: "utf8",
        env: { ...process.env, NO_COLOR: "1", ...env }
      })
      return `${run.stdout}${run.stderr}`
    }

    it("prints the whole failure, whose schedule replays, and skips what is to be skipped", { timeout: 60_000 }, () => {
      const output = vitest()
      assert.match(output, /an update was lost/)
      assert.match(output, /ExploreFailure: .*\n[\s\S]*step +env +main/)
      assert.match(output, /1 failed \| 6 skipped/)
      const [replay = "", schedule] = /EXPLORE_REPLAY='(x1\/.+)'/.exec(output) ?? []
      const replayed = vitest({ EXPLORE_REPLAY: schedule })
      assert.include(replayed, replay)
      assert.match(replayed, /an update was lost/)
      assert.match(replayed, /found at schedule 1 /)
    })

    it("writes the timeline into a file that the failure names", { timeout: 60_000 }, () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-test-"))
      try {
        const output = vitest({ EXPLORE_HTML: folder })
        const [file = "", ...others] = fs.readdirSync(folder)
        assert.deepStrictEqual(others, [], "of the tests that are skipped there is none")
        assert.match(file, /^counts-both-[0-9a-f]{8}\.html$/)
        assert.include(output.replaceAll(/\s+/g, ""), path.join(folder, file))
        assert.match(fs.readFileSync(path.join(folder, file), "utf8"), /<title>counts both: .*an update was lost/)
      } finally {
        fs.rmSync(folder, { recursive: true })
      }
    })
  })

  describe("it.owned", () => {
    const ownerIsFresh = Effect.map(Cancellation.cause, (cause) => assert.isTrue(Option.isNone(cause)))

    it.owned("runs under an owner, on the test clock", () =>
      Effect.gen(function* () {
        yield* ownerIsFresh
        const fiber = yield* Effect.fork(Effect.sleep("1 hour"))
        yield* TestClock.adjust("1 hour")
        yield* Fiber.join(fiber)
      })
    )

    let stopped = false
    it.owned("ends when what it started has ended", () =>
      Effect.forkDaemon(
        Cancellation.operation(
          Effect.onInterrupt(Effect.never, () =>
            Effect.sync(() => {
              stopped = true
            })
          ),
          "wait"
        )
      ).pipe(Effect.zipLeft(Effect.yieldNow()), Effect.asVoid)
    )
    it("has stopped it", () => assert.isTrue(stopped))

    let finalized = ""
    it.owned.scoped("closes its scope before its owner ends", () =>
      Effect.gen(function* () {
        const { cause } = yield* Cancellation.Cancellation
        const { context } = yield* Effect.map(Effect.context<Cancellation.Cancellation>(), (context) => ({ context }))
        const read = Cancellation.operation(
          Effect.sync(() => {
            finalized = "with a capability"
          }),
          "read"
        )
        yield* Effect.addFinalizer(() => Effect.provide(read, context))
        assert.isUndefined(cause)
      })
    )
    it("has run the finalizer", () => assert.strictEqual(finalized, "with a capability"))

    it.owned.live("runs on the live clock", () =>
      Effect.gen(function* () {
        yield* ownerIsFresh
        yield* Effect.sleep("1 millis")
      })
    )
    it.owned.scopedLive("has a scope on the live clock", () =>
      Effect.gen(function* () {
        yield* Effect.addFinalizer(() => Effect.sleep("1 millis"))
        yield* ownerIsFresh
      })
    )

    it.owned.fails("fails when its effect fails", () => Effect.fail("no"))
    it.owned.fails("fails when its effect is interrupted", () => Effect.interruptWith(FiberId.none))
    it.owned.skipIf(false)("runs on a condition", () => ownerIsFresh)
    it.owned.each([1, 2])("takes cases: %i", (n) => Effect.map(ownerIsFresh, () => assert.isAbove(n, 0)))
    let checked = 0
    it.owned.prop(
      "checks properties",
      [Schema.Int],
      ([n]) =>
        Effect.map(ownerIsFresh, () => {
          checked++
          assert.isTrue(Number.isInteger(n))
        }),
      { fastCheck: { numRuns: 10 } }
    )
    it("has checked as many as it was told to", () => assert.strictEqual(checked, 10))
  })
})
