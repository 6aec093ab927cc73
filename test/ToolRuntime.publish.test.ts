import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, FiberId, Logger } from "effect"
import { Content, Policy, ToolContext, ToolResult, ToolRuntime } from "quiesce"
import {
  aborted,
  callOf,
  collectWarnings,
  denied,
  executeCancelled,
  failed,
  hostile,
  notDispatched,
  policyFailed,
  roads,
  type Setup,
  type Stages,
  settle,
  setup,
  succeeded,
  texts,
  toolFailed,
  user
} from "./support/calls.js"

const whole = ["before", "guard", "around", "body", "after", "observe"]
const violated = "finalizer violated its total contract"

const deferring = (text: string) => Effect.as(ToolContext.deferContext(Content.text("child")), text)

/** One call for each way in which a call can end, by its code. */
const outcomes: ReadonlyArray<readonly [string, Stages, ((t: Setup) => Effect.Effect<ToolResult.ToolResult>)?]> = [
  ["OK", {}],
  ["NOT_JSON", {}, (t) => t.execute({ parameters: undefined })],
  ["ABORTED_BEFORE_DISPATCH", {}, (t) => executeCancelled(t, "gone")],
  ["UNKNOWN_TOOL", {}, (t) => t.execute({ name: "nope" })],
  ["INVALID_ARGS", {}, (t) => t.execute({ parameters: {} })],
  ["DENIED", { before: () => Effect.succeed(Policy.deny("no")) }],
  ["DENIED", { guard: () => "no" }],
  ["POLICY_FAILURE", { before: () => Effect.fail("no") }],
  ["POLICY_FAILURE", { around: () => Effect.die("no") }],
  ["POLICY_FAILURE", { after: () => Effect.fail("no") }],
  ["TOOL_FAILURE", { body: () => Effect.fail("no") }],
  ["INTERRUPTED", { body: () => Effect.interrupt }],
  ["INVALID_TOOL_OUTPUT", { body: () => Effect.succeed(7 as never) }],
  ["BLOCKED", { after: () => Effect.succeed(Policy.block([])) }],
  ["TOOL_FAILURE", { finalContent: () => Promise.reject(new Error("late")).catch(() => []) as never }],
  [
    "ABORTED",
    { body: () => Effect.never },
    (t) =>
      Effect.gen(function* () {
        const call = yield* t.start()
        yield* call.cancel(user)
        return yield* call.result
      })
  ]
]

describe("ToolRuntime (publication)", () => {
  for (const [code, stages, execute = (t: Setup) => t.execute()] of outcomes) {
    const where = Object.keys(stages).join(" ")
    it.scoped(
      `91: one observer sees ${code} ${where === "" ? "" : `of ${where}`} once: the returned object, frozen`,
      () =>
        Effect.gen(function* () {
          const seen: Array<ToolResult.ToolResult> = []
          const t = yield* setup({ ...stages, observe: (_, result) => Effect.sync(() => seen.push(result)) })
          const result = yield* execute(t)
          assert.strictEqual(ToolResult.isSuccess(result) ? "OK" : result.code, code)
          assert.strictEqual(seen.length, 1)
          assert.strictEqual(seen[0], result)
          t.check(result)
          assert.strictEqual(t.log.filter((stage) => stage === "observe").length, 1)
          assert.deepStrictEqual(yield* t.runtime.inFlight, [])
        })
    )
  }

  it.effect(
    "92: an observer that fails changes nothing, is logged, and does not keep the others from being told",
    () => {
      const warnings: Array<string> = []
      return Effect.scoped(
        Effect.gen(function* () {
          const failures: ReadonlyArray<() => Effect.Effect<void, unknown>> = [
            () => Effect.fail("failed"),
            () => Effect.die(new Error("died")),
            () => {
              throw new Error("threw")
            },
            () => Effect.interrupt,
            () => Effect.zipRight(Effect.yieldNow(), Effect.fail("late")),
            () => undefined as never,
            () => hostile as never
          ]
          const t = yield* setup({
            policies: failures.map((failure, i) => Policy.observe(`observer ${i}`, failure))
          })
          assert.deepStrictEqual(yield* t.execute(), succeeded())
          assert.deepStrictEqual(t.log, whole)
          assert.strictEqual(warnings.length, failures.length)
          for (const [i, warning] of warnings.entries()) {
            assert.match(warning, new RegExp(`^Observer "observer ${i}" failed on call "c1"`))
          }
          assert.match(warnings[0] ?? "", / failed$/)
        })
      ).pipe(Effect.provide(collectWarnings(warnings)))
    }
  )

  it.effect("92: an observer that fails while the log fails too does not keep the others from being told", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const t = yield* setup({ policies: [Policy.observe("fails", () => Effect.fail("no"))] })
        assert.deepStrictEqual(yield* t.execute(), succeeded())
        assert.deepStrictEqual(t.log, whole)
      })
    ).pipe(
      Effect.provide(
        Logger.add(
          Logger.make(() => {
            throw new Error("the log is full")
          })
        )
      )
    )
  )

  it.scoped("observers are told in order, each after the one before has ended, and the call returns after them", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const t: Setup = yield* setup({
        policies: [
          Policy.observe("slow", () =>
            Effect.zipRight(
              Deferred.await(gate),
              Effect.sync(() => t.log.push("slow"))
            )
          )
        ]
      })
      const call = yield* Effect.fork(t.execute())
      yield* settle
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "after"])
      assert.deepStrictEqual(
        (yield* t.runtime.inFlight).map(({ phase }) => phase),
        ["reviewed"]
      )
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(call), succeeded())
      assert.deepStrictEqual(t.log.slice(5), ["slow", "observe"])
    })
  )

  it.scoped("93: an observer that cancels the call is too late, and a success stays a success", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        observe: () =>
          Effect.map(t.runtime.cancelCall("c1", user), (cancelled) => {
            t.log.push(`cancelled ${cancelled}`)
          })
      })
      assert.deepStrictEqual(yield* t.execute(), succeeded())
      assert.deepStrictEqual(t.log, [...whole, "cancelled false"])
      assert.isFalse(yield* t.runtime.cancelCall("c1", user))
    })
  )

  it.scoped("93: an observer that interrupts the caller leaves the success as it is", () =>
    Effect.gen(function* () {
      let caller: Fiber.RuntimeFiber<unknown> | undefined
      const t: Setup = yield* setup({
        observe: () => Effect.sync(() => caller?.unsafeInterruptAsFork(FiberId.none))
      })
      caller = yield* Effect.fork(t.execute())
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(caller)))
      assert.deepStrictEqual(t.observed, [succeeded()])
    })
  )

  it.scoped("93: a tool whose last word cancels the call is too late", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        finalContent: () => {
          Effect.runFork(t.runtime.cancelCall("c1", user))
          return undefined
        }
      })
      assert.deepStrictEqual(yield* t.execute(), succeeded())
      assert.deepStrictEqual(t.log, whole)
    })
  )

  for (const road of roads) {
    it.scoped(`observers are told to their end after a cancel ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({
          observe: () =>
            Effect.zipRight(
              Deferred.await(gate),
              Effect.sync(() => t.log.push("told"))
            )
        })
        const call = yield* road.begin(t)
        yield* t.reached("observe")
        if (road === roads[0]) assert.isFalse(yield* t.runtime.cancelCall("c1", user))
        else yield* call.cancel
        assert.isTrue(yield* call.isPending)
        assert.deepStrictEqual((yield* t.runtime.inFlight)[0]?.cause, road.cause) // L4: who asked is seen
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, succeeded())
        assert.deepStrictEqual(t.log, [...whole, "told"])
      })
    )
  }

  for (const [code, stages, execute = (t: Setup) => t.execute()] of outcomes.filter(
    ([code, stages]) => code !== "UNKNOWN_TOOL" && stages.finalContent === undefined
  )) {
    const where = Object.keys(stages).join(" ")
    it.scoped(
      `94: the tool has its last word on ${code} ${where === "" ? "" : `of ${where}`} once, before it is told`,
      () =>
        Effect.gen(function* () {
          const asked: Array<ToolResult.ToolResult> = []
          const kept: Setup = yield* setup({
            ...stages,
            finalContent: (result) => {
              kept.log.push("final")
              asked.push(result)
              return undefined
            }
          })
          const result = yield* execute(kept)
          assert.strictEqual(asked.length, 1)
          assert.strictEqual(asked[0], result)
          assert.deepStrictEqual(kept.log.slice(-2), ["final", "observe"])
          const replaced = yield* setup({ ...stages, finalContent: () => texts("last word") })
          assert.deepStrictEqual(yield* execute(replaced), { ...result, content: texts("last word") })
        })
    )
  }

  it.effect("95: a last word that breaks makes a success a failure, is asked for once, and is logged", () => {
    const warnings: Array<string> = []
    return Effect.scoped(
      Effect.gen(function* () {
        let asked = 0
        const t = yield* setup({
          body: deferring,
          finalContent: () => {
            asked++
            throw new Error(violated)
          }
        })
        assert.deepStrictEqual(
          yield* t.execute(),
          toolFailed(violated, { body: "completed", contexts: texts("child") })
        )
        assert.strictEqual(asked, 1)
        assert.strictEqual(warnings.length, 1)
        assert.include(warnings[0], violated)
      })
    ).pipe(Effect.provide(collectWarnings(warnings)))
  })

  it.scoped("95: a last word that is not content breaks it too", () =>
    Effect.gen(function* () {
      for (const garbage of [null, "text", [{ type: "none" }], Promise.resolve([]), hostile]) {
        const t = yield* setup({ finalContent: () => garbage as never })
        assert.deepStrictEqual(
          yield* t.execute(),
          toolFailed("finalContent returned something that is not content", { body: "completed" })
        )
      }
    })
  )

  it.scoped("96: a last word that breaks leaves a failure as it is, with its code and contexts", () =>
    Effect.gen(function* () {
      const finalContent = () => {
        throw new Error(violated)
      }
      const stops: Setup = yield* setup({
        body: (text) => Effect.zipRight(deferring(text), Effect.never),
        finalContent
      })
      const call = yield* stops.start()
      yield* stops.reached("body")
      yield* settle
      yield* call.cancel(user)
      assert.deepStrictEqual(yield* call.result, aborted(user, { contexts: texts("child") }))
      const refused = yield* setup({ guard: () => "no", finalContent })
      assert.deepStrictEqual(yield* refused.execute(), denied("no"))
      const early = yield* setup({ finalContent })
      assert.deepStrictEqual(
        yield* executeCancelled(early, "gone"),
        notDispatched({ _tag: "HostSignal", reason: "gone" })
      )
    })
  )

  it.scoped("98: contexts come in the order body, wrapper, review", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        body: (text) =>
          Effect.as(
            Effect.zipRight(
              ToolContext.deferContext(Content.text("body 1")),
              ToolContext.deferContext(Content.text("body 2"))
            ),
            text
          ),
        around: (_, next) => Effect.map(next, (result) => ToolResult.withContexts(result, texts("wrapper"))),
        after: () => Effect.succeed(Policy.accept({ contexts: texts("post") }))
      })
      const contexts = texts("body 1", "body 2", "wrapper", "post")
      assert.deepStrictEqual(yield* t.execute(), succeeded({ contexts }))
    })
  )

  it.scoped("99: contexts survive a body that throws and policies that fail", () =>
    Effect.gen(function* () {
      const contexts = texts("child")
      const throws = yield* setup({ body: (text) => Effect.zipRight(deferring(text), Effect.fail("no")) })
      assert.deepStrictEqual(yield* throws.execute(), toolFailed("no", { contexts }))
      const wraps = yield* setup({ body: deferring, around: (_, next) => Effect.zipRight(next, Effect.fail("no")) })
      assert.deepStrictEqual(
        yield* wraps.execute(),
        policyFailed("no", { dispatched: true, body: "completed", contexts })
      )
    })
  )

  it.scoped("101: a turn concludes with a success, and with nothing else", () =>
    Effect.gen(function* () {
      const concluding = (text: string) => Effect.as(ToolContext.concludeTurn, text)
      const succeeds = yield* setup({ body: concluding })
      assert.deepStrictEqual(yield* succeeds.execute(), succeeded({ concludesTurn: true }))
      const fails: ReadonlyArray<Stages> = [
        { body: (text) => Effect.zipRight(concluding(text), Effect.fail("no")) },
        { body: concluding, after: () => Effect.succeed(Policy.block([])) },
        { guard: () => "no" },
        { body: (text) => Effect.zipRight(concluding(text), Effect.interrupt) }
      ]
      for (const stages of fails) {
        const t = yield* setup(stages)
        assert.notProperty(yield* t.execute(), "concludesTurn")
      }
      const replaced = yield* setup({
        body: concluding,
        after: () => Effect.succeed(Policy.accept({ value: "replaced" }))
      })
      assert.isTrue((yield* replaced.execute() as Effect.Effect<ToolResult.Success>).concludesTurn)
    })
  )

  it.scoped("101: a call forwards the conclusion of a call inside it only if it does so itself", () =>
    Effect.gen(function* () {
      for (const [inner, forwards] of [
        ["hi", true],
        ["hi", false],
        ["no", true]
      ] as const) {
        const t = yield* setup({
          body: (text) =>
            text === "outer"
              ? Effect.gen(function* () {
                  const result = yield* ToolRuntime.execute(
                    callOf({ id: "c2", name: "echo", parameters: { text: inner } })
                  )
                  if (forwards && ToolResult.isSuccess(result) && result.concludesTurn) yield* ToolContext.concludeTurn
                  return "hi"
                })
              : Effect.zipRight(ToolContext.concludeTurn, text === "no" ? Effect.fail("no") : Effect.succeed(text))
        })
        const result = yield* t.execute({ parameters: { text: "outer" } })
        assert.deepStrictEqual(result, succeeded({ concludesTurn: forwards && inner === "hi" }))
        assert.deepStrictEqual(
          t.observed.map(({ callId }) => callId),
          ["c2", "c1"]
        )
      }
    })
  )

  it.scoped("a failure of a tool keeps what it names of itself", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [unknown, ToolResult.Reported]> = [
        [
          { _tag: "NoSuchCity", message: "no Rmoe" },
          { code: "NO_SUCH_CITY", name: "NoSuchCity", message: "no Rmoe" }
        ],
        [
          { _tag: "HTTPError", code: "E404", message: "gone" },
          { code: "E404", name: "HTTPError", message: "gone" }
        ],
        [
          { _tag: "Odd", code: 7, message: 7 },
          { code: "ODD", name: "Odd", message: "[object Object]" }
        ],
        [
          { code: "ENOENT", message: "no file" },
          { code: "TOOL_FAILURE", name: "ToolFailureError", message: "no file" }
        ]
      ]
      for (const [error, reported] of cases) {
        const t = yield* setup({ body: () => Effect.fail(error) })
        assert.deepStrictEqual(yield* t.execute(), failed(reported, { dispatched: true, body: "failed" }))
      }
    })
  )
})
