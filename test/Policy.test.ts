import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schedule, TestClock } from "effect"
import { Content, Policy, ToolContext, ToolResult } from "quiesce"
import {
  failed,
  HarnessError,
  policyFailed,
  roads,
  type Setup,
  settle,
  setup,
  succeeded,
  texts,
  timedOut
} from "./support/calls.js"

const call: Policy.Call = {
  id: "c1",
  rootId: "c1",
  parentId: undefined,
  tool: "echo",
  parameters: { text: "hi" },
  agent: undefined
}

describe("Policy", () => {
  describe("constructors", () => {
    it.effect("each kind says what it is, and runs nothing by itself", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const before = Policy.before("b", ({ id }) =>
          Effect.sync(() => (log.push(id) > 0 ? Policy.allow : Policy.ask()))
        )
        const around = Policy.around("a", (_, next) => next)
        const after = Policy.after("f", () => Effect.succeed(Policy.accept()))
        const observe = Policy.observe("o", ({ tool }) => Effect.sync(() => void log.push(tool)))
        const guard = Policy.guard("g", ({ tool }) => tool)
        assert.deepStrictEqual(
          [before, around, after, observe, guard, Policy.timeout].map(({ _tag, name }) => [_tag, name]),
          [
            ["Before", "b"],
            ["Around", "a"],
            ["After", "f"],
            ["Observe", "o"],
            ["Guard", "g"],
            ["Timeout", "timeout"]
          ]
        )
        assert.deepStrictEqual(log, [])
        assert.strictEqual(yield* before.decide(call), Policy.allow)
        assert.deepStrictEqual(yield* after.review(call, ToolResult.success(1)), Policy.accept())
        yield* observe.tell(call, ToolResult.success(1))
        assert.strictEqual(guard.check(call), "echo")
        assert.deepStrictEqual(log, ["c1", "echo"])
      })
    )

    it("before and around are interrupted by a cancel unless they say otherwise", () => {
      const decide = () => Effect.succeed(Policy.allow)
      const wrap = () => Effect.succeed(ToolResult.success(1))
      assert.strictEqual(Policy.before("b", decide).onCancel, "interrupt")
      assert.strictEqual(Policy.before("b", decide, { onCancel: "finish" }).onCancel, "finish")
      assert.strictEqual(Policy.around("a", wrap).onCancel, "interrupt")
      assert.strictEqual(Policy.around("a", wrap, { onCancel: "finish" }).onCancel, "finish")
      assert.strictEqual(Policy.retry({ schedule: Schedule.once }).onCancel, "interrupt")
    })

    it("decisions are frozen values", () => {
      assert.deepStrictEqual(Policy.allow, { _tag: "Allow" })
      assert.deepStrictEqual(Policy.deny("no"), { _tag: "Deny", reason: "no" })
      assert.deepStrictEqual(Policy.ask("why"), { _tag: "Ask", reason: "why" })
      assert.deepStrictEqual(Policy.ask(), { _tag: "Ask", reason: undefined })
      for (const decision of [Policy.allow, Policy.deny("no"), Policy.ask()]) assert.isFrozen(decision)
    })

    it("reviews carry what they were given, and no contexts by default", () => {
      const content = texts("c")
      const contexts = texts("x")
      assert.deepStrictEqual(Policy.accept(), { _tag: "Accept", content: undefined, value: undefined, contexts: [] })
      assert.deepStrictEqual(Policy.accept({ content, contexts }), {
        _tag: "Accept",
        content,
        value: undefined,
        contexts
      })
      assert.deepStrictEqual(Policy.accept({ value: null }), {
        _tag: "Accept",
        content: undefined,
        value: null,
        contexts: []
      })
      assert.deepStrictEqual(Policy.block(content), { _tag: "Block", content, contexts: [] })
      assert.deepStrictEqual(Policy.block([], { contexts }), { _tag: "Block", content: [], contexts })
    })

    it("isPolicy tells policies from what only looks like one", () => {
      const policies = [
        Policy.before("b", () => Effect.succeed(Policy.allow)),
        Policy.guard("g", () => undefined),
        Policy.around("a", (_, next) => next),
        Policy.after("f", () => Effect.succeed(Policy.accept())),
        Policy.observe("o", () => Effect.void),
        Policy.timeout,
        Policy.retry({ schedule: Schedule.once })
      ]
      for (const policy of policies) assert.isTrue(Policy.isPolicy(policy))
      for (const other of [
        undefined,
        null,
        "Before",
        { _tag: "Guard", name: "g", check: () => undefined },
        Policy.allow
      ]) {
        assert.isFalse(Policy.isPolicy(other))
      }
    })
  })

  describe("retry", () => {
    const boom = new HarnessError({ message: "kaboom", code: "BOOM" })
    const reported = { code: "BOOM", name: "HarnessError", message: "kaboom" }
    const failure = failed(reported, { dispatched: true, body: "failed" })

    /** A body that fails `times` times, and then succeeds. */
    const failing = (times: number) => (text: string) =>
      Effect.flatMap(ToolContext.ToolContext, ({ attempt }) => (attempt <= times ? boom : Effect.succeed(text)))

    const bodies = (t: Setup) => t.log.filter((stage) => stage === "body").length

    it.scoped("runs the body again after a failure of its own, as the schedule says", () =>
      Effect.gen(function* () {
        for (const [times, attempts, expected] of [
          [0, 1, succeeded()],
          [2, 3, succeeded()],
          [3, 3, failure]
        ] as const) {
          const t = yield* setup({
            policies: [Policy.retry({ schedule: Schedule.recurs(2) })],
            body: failing(times)
          })
          assert.deepStrictEqual(yield* t.execute(), expected)
          assert.strictEqual(bodies(t), attempts)
          assert.deepStrictEqual(
            t.log.filter((stage) => stage !== "body"),
            ["before", "guard", "around", "after", "observe"]
          )
        }
      })
    )

    it.scoped("waits between the attempts on the clock of the caller", () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          policies: [Policy.retry({ schedule: Schedule.exponential("1 second") })],
          body: failing(2)
        })
        const running = yield* Effect.fork(t.execute())
        yield* t.reached("body")
        yield* TestClock.adjust(999)
        assert.strictEqual(bodies(t), 1)
        yield* TestClock.adjust(1)
        assert.strictEqual(bodies(t), 2)
        yield* TestClock.adjust(1_999)
        assert.strictEqual(bodies(t), 2)
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* Fiber.join(running), succeeded())
      })
    )

    it.scoped("gives the schedule the failure, so that it can look at it", () =>
      Effect.gen(function* () {
        const seen: Array<ToolResult.Failure> = []
        const schedule = Schedule.recurs(5).pipe(
          Schedule.whileInput((failure: ToolResult.Failure) => {
            seen.push(failure)
            return seen.length < 2
          })
        )
        const t = yield* setup({ policies: [Policy.retry({ schedule })], body: failing(9) })
        assert.deepStrictEqual(yield* t.execute(), failure)
        assert.deepStrictEqual(seen, [failure, failure])
        assert.strictEqual(bodies(t), 2)
      })
    )

    it.scoped("tries again only what `while` says, where it is given", () =>
      Effect.gen(function* () {
        const asked: Array<string> = []
        const t = yield* setup({
          policies: [
            Policy.retry({
              schedule: Schedule.recurs(5),
              while: ({ code }) => {
                asked.push(code)
                return code === "BOOM"
              }
            })
          ],
          body: (text): Effect.Effect<string, unknown, ToolContext.ToolContext> =>
            Effect.flatMap(ToolContext.ToolContext, ({ attempt }) =>
              attempt < 3
                ? Effect.fail<unknown>(boom)
                : attempt === 3
                  ? Effect.fail<unknown>("other")
                  : Effect.succeed(text)
            )
        })
        const result = yield* t.execute()
        assert.strictEqual(result._tag === "Failure" && result.code, "TOOL_FAILURE")
        assert.deepStrictEqual(asked, ["BOOM", "BOOM", "TOOL_FAILURE"])
      })
    )

    it.scoped("`while` may widen it to what broke the schema", () =>
      Effect.gen(function* () {
        const t = yield* setup({
          policies: [
            Policy.retry({ schedule: Schedule.recurs(1), while: ({ code }) => code === "INVALID_TOOL_OUTPUT" })
          ],
          body: (text) => Effect.map(ToolContext.ToolContext, ({ attempt }) => (attempt === 1 ? (7 as never) : text))
        })
        assert.deepStrictEqual(yield* t.execute(), succeeded())
      })
    )

    it.scoped("by default leaves alone what the body did not fail with itself", () =>
      Effect.gen(function* () {
        const policies = [Policy.retry({ schedule: Schedule.recurs(5) })]
        const refused = yield* setup({ policies, guard: () => "no" })
        yield* refused.execute()
        assert.strictEqual(bodies(refused), 0)
        const invalid = yield* setup({ policies, body: () => Effect.succeed(7 as never) })
        yield* invalid.execute()
        assert.strictEqual(bodies(invalid), 1)
        const itself = yield* setup({ policies, body: () => Effect.interrupt })
        yield* itself.execute()
        assert.strictEqual(bodies(itself), 1)
        const inner = yield* setup({
          policies: [
            ...policies,
            Policy.around("answers", () => Effect.succeed(ToolResult.failure({ code: "X", message: "" })))
          ]
        })
        yield* inner.execute()
        assert.strictEqual(bodies(inner), 0)
        const late: Setup = yield* setup({ policies, timeout: 100, body: () => Effect.never })
        const running = yield* Effect.fork(late.execute())
        yield* late.reached("body")
        yield* TestClock.adjust(100)
        assert.deepStrictEqual(yield* Fiber.join(running), timedOut(100))
        assert.strictEqual(bodies(late), 1)
      })
    )

    for (const road of roads) {
      it.scoped(`a cancel ends the back-off at once, and the attempt's own failure stands ${road.name}`, () =>
        Effect.gen(function* () {
          const t = yield* setup({
            policies: [Policy.retry({ schedule: Schedule.spaced("1 hour") })],
            body: () => Effect.zipRight(ToolContext.deferContext(Content.text("child")), Effect.fail(boom))
          })
          const running = yield* road.begin(t)
          yield* t.reached("body")
          yield* settle
          yield* running.cancel
          assert.deepStrictEqual(
            yield* running.result,
            { ...failure, contexts: texts("child") } // L5
          )
          assert.strictEqual(bodies(t), 1)
        })
      )

      it.scoped(`a cancel during an attempt begins no other ${road.name}`, () =>
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void>()
          const t = yield* setup({
            policies: [Policy.retry({ schedule: Schedule.recurs(5) })],
            body: () => Effect.uninterruptible(Effect.zipRight(Deferred.await(gate), boom))
          })
          const running = yield* road.begin(t)
          yield* t.reached("body")
          yield* running.cancel
          yield* Deferred.succeed(gate, undefined)
          assert.deepStrictEqual(yield* running.result, failure)
          assert.strictEqual(bodies(t), 1)
        })
      )
    }

    it.scoped("61: nothing of a failed attempt leaks into the next", () =>
      Effect.gen(function* () {
        const kept: Array<ToolContext.Service> = []
        const t = yield* setup({
          policies: [Policy.retry({ schedule: Schedule.recurs(5) })],
          body: (text) =>
            Effect.gen(function* () {
              const context = yield* ToolContext.ToolContext
              kept.push(context)
              yield* ToolContext.deferContext(Content.text(`from ${context.attempt}`))
              if (context.attempt < 3) {
                yield* ToolContext.concludeTurn
                return yield* boom
              }
              return text
            })
        })
        assert.deepStrictEqual(yield* t.execute(), succeeded({ contexts: texts("from 3") }))
        assert.deepStrictEqual(
          kept.map(({ attempt }) => attempt),
          [1, 2, 3]
        )
      })
    )

    it.scoped("attempts do not overlap: what one has forked has ended when the next begins", () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          policies: [Policy.retry({ schedule: Schedule.recurs(1) })],
          body: (text) =>
            Effect.gen(function* () {
              const { attempt } = yield* ToolContext.ToolContext
              yield* Effect.fork(
                Effect.onInterrupt(Effect.never, () =>
                  Effect.zipRight(
                    settle,
                    Effect.sync(() => t.log.push(`stopped ${attempt}`))
                  )
                )
              )
              yield* Effect.yieldNow()
              return attempt === 1 ? yield* boom : text
            })
        })
        assert.deepStrictEqual(yield* t.execute(), succeeded())
        assert.deepStrictEqual(t.log.slice(3, 7), ["body", "stopped 1", "body", "stopped 2"])
      })
    )

    it.scoped("what breaks in the retry itself is a failing policy", () =>
      Effect.gen(function* () {
        const throwing = () => {
          throw new Error("no idea")
        }
        for (const policy of [
          Policy.retry({ schedule: Schedule.recurs(1), while: throwing }),
          Policy.retry({ schedule: Schedule.recurs(1).pipe(Schedule.whileInput(throwing)) })
        ]) {
          const t = yield* setup({ policies: [policy], body: () => boom })
          assert.deepStrictEqual(yield* t.execute(), policyFailed("no idea", { dispatched: true, body: "failed" }))
          assert.strictEqual(bodies(t), 1)
        }
      })
    )

    it.scoped("inside of a timeout, attempts share its time", () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          timeout: 100,
          policies: [Policy.timeout, Policy.retry({ schedule: Schedule.spaced(40) })],
          body: () => boom
        })
        const running = yield* Effect.fork(t.execute())
        yield* t.reached("body")
        yield* TestClock.adjust(100)
        // The failure came in time, and was only waiting to be tried again (L7).
        assert.deepStrictEqual(yield* Fiber.join(running), failure)
        assert.strictEqual(bodies(t), 3)
      })
    )
  })
})
