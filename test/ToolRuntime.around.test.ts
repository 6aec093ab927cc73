import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Schema, Scope } from "effect"
import { Cancellation, Content, Policy, Tool, ToolContext, ToolResult } from "quiesce"
import {
  aborted,
  denied,
  failed,
  HarnessError,
  notDispatched,
  policyFailed,
  roads,
  type Setup,
  setup,
  succeeded,
  texts
} from "./support/calls.js"

const boom = new HarnessError({ message: "kaboom", code: "BOOM" })

const invalidOutput = (violation: string) =>
  failed({
    code: "INVALID_TOOL_OUTPUT",
    name: "ToolOutputError",
    message: `tool "echo" returned invalid output: ${violation}`
  })

describe("ToolRuntime (around policies)", () => {
  it.scoped("41: the policies surround the body, the first listed outermost", () =>
    Effect.gen(function* () {
      const surround = (name: string) => (_: Policy.Call, next: Policy.Next) =>
        Effect.gen(function* () {
          t.log.push(`${name} before`)
          const result = yield* next
          t.log.push(`${name} after`)
          return result
        })
      let t = yield* setup()
      for (const onCancel of ["interrupt", "finish"] as const) {
        t = yield* setup({
          onCancel,
          around: surround("outer"),
          policies: [Policy.around("inner", surround("inner"))]
        })
        assert.deepStrictEqual(yield* t.execute(), succeeded())
        assert.deepStrictEqual(t.log, [
          "before",
          "guard",
          "around",
          "outer before",
          "inner before",
          "body",
          "inner after",
          "outer after",
          "after",
          "observe"
        ])
      }
    })
  )

  it.scoped("42: a denied call enters no wrapper", () =>
    Effect.gen(function* () {
      const t = yield* setup({ before: () => Effect.succeed(Policy.deny("no")) })
      assert.deepStrictEqual(yield* t.execute(), denied("no"))
      assert.deepStrictEqual(t.log, ["before", "after", "observe"])
    })
  )

  it.scoped("43: a wrapper sees a failed body as the result that it would be, never as a failure", () =>
    Effect.gen(function* () {
      const expected = failed(
        { code: "BOOM", name: "HarnessError", message: "kaboom" },
        { dispatched: true, body: "failed" }
      )
      const throwing = () => {
        throw boom
      }
      for (const body of [
        () => Effect.fail(boom),
        () => Effect.die(boom),
        () => Effect.suspend((): Effect.Effect<never> => throwing()),
        throwing
      ]) {
        const seen: Array<Exit.Exit<ToolResult.ToolResult>> = []
        const t = yield* setup({
          body,
          around: (_, next) =>
            Effect.flatMap(Effect.exit(next), (exit) => {
              seen.push(exit)
              return exit
            })
        })
        assert.deepStrictEqual(yield* t.execute(), expected)
        assert.deepStrictEqual(seen, [Exit.succeed(expected)])
      }
    })
  )

  it.scoped("44: a wrapper that answers by itself is rendered by the tool, and only its value counts", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        render: (value) => texts(`<${value}>`),
        meta: (value) => ({ length: value.length }),
        around: () =>
          Effect.succeed<ToolResult.ToolResult>({
            ...ToolResult.success("cached"),
            callId: "another",
            tool: "other",
            content: texts("authored"),
            dispatched: true,
            body: "completed",
            concludesTurn: true,
            escaped: ["nothing"],
            meta: "authored"
          })
      })
      assert.deepStrictEqual(
        yield* t.execute(),
        succeeded({
          value: "cached",
          content: texts("<cached>"),
          dispatched: false,
          body: "not-started",
          meta: { length: 6 }
        })
      )
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "after", "observe"])
    })
  )

  it.scoped("44: of a failure that a wrapper authored its error, content and contexts count", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        around: () =>
          Effect.succeed<ToolResult.ToolResult>({
            ...ToolResult.failure({ code: "QUOTA", message: "no calls left" }),
            callId: "another",
            content: texts("try tomorrow"),
            contexts: texts("quota"),
            dispatched: true,
            body: "completed"
          })
      })
      assert.deepStrictEqual(
        yield* t.execute(),
        failed(
          { code: "QUOTA", name: "Error", message: "no calls left" },
          { content: texts("try tomorrow"), contexts: texts("quota") }
        )
      )
      assert.deepStrictEqual(t.log, ["before", "guard", "around", "after", "observe"])
    })
  )

  for (const road of roads) {
    it.scoped(`45: a wrapper cancelled before its next gets an undispatched call from it ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const seen: Array<ToolResult.ToolResult> = []
        const t = yield* setup({
          around: (_, next) =>
            Deferred.await(gate).pipe(
              Effect.zipRight(Cancellation.withDeadline(next, { duration: "1 hour" })),
              Effect.tap((result) => Effect.sync(() => seen.push(result)))
            )
        })
        const call = yield* road.begin(t)
        yield* t.reached("around")
        yield* call.cancel
        assert.isTrue(yield* call.isPending)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, notDispatched(road.cause))
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "after", "observe"])
      })
    )

    it.scoped(`45: a wrapper is interrupted by default, and its finalizers are awaited, ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({
          onCancel: "interrupt",
          around: (_, next) =>
            Effect.ensuring(
              Effect.zipRight(Effect.never, next),
              Effect.zipRight(
                Deferred.await(gate),
                Effect.sync(() => t.log.push("finalized"))
              )
            )
        })
        const call = yield* road.begin(t)
        yield* t.reached("around")
        yield* call.cancel
        assert.isTrue(yield* call.isPending)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, notDispatched(road.cause))
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "finalized", "after", "observe"])
      })
    )

    it.scoped(`45: a wrapper that answers by itself after the cancel gives an undispatched call ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t = yield* setup({
          around: () => Effect.as(Deferred.await(gate), ToolResult.success("cached"))
        })
        const call = yield* road.begin(t)
        yield* t.reached("around")
        yield* call.cancel
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, notDispatched(road.cause))
      })
    )

    it.scoped(`49: a wrapper that fails after the cancel is the result, unreviewed, ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const failure = new HarnessError({ message: "wrapper failed", code: "WRAPPER_FAILURE" })
        const t = yield* setup({ around: () => Effect.zipRight(Deferred.await(gate), Effect.fail(failure)) })
        const call = yield* road.begin(t)
        yield* t.reached("around")
        yield* call.cancel
        yield* Deferred.succeed(gate, undefined)
        const expected = failed({ code: "WRAPPER_FAILURE", name: "HarnessError", message: "wrapper failed" })
        assert.deepStrictEqual(yield* call.result, expected)
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "observe"])
      })
    )

    it.scoped(`a wrapper that is still at work after the body gets an aborted call ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        for (const onCancel of ["interrupt", "finish"] as const) {
          const t = yield* setup({
            onCancel,
            body: (text) => Effect.as(ToolContext.deferContext(Content.text("child")), text),
            around: (_, next) =>
              Effect.tap(next, () => {
                t.log.push("back")
                return Deferred.await(gate)
              })
          })
          const call = yield* road.begin(t)
          yield* t.reached("back")
          yield* call.cancel
          if (onCancel === "finish") yield* Deferred.succeed(gate, undefined)
          assert.deepStrictEqual(
            yield* call.result,
            aborted(road.cause, { body: "completed", contexts: texts("child") })
          )
          assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "back", "after", "observe"])
        }
      })
    )
  }

  it.scoped("50: a wrapper that fails is the result, and is not reviewed, whether its next ran or not", () =>
    Effect.gen(function* () {
      const broke = new Error("wrapper broke")
      const throwing = () => {
        throw broke
      }
      for (const around of [
        () => Effect.fail(broke),
        () => Effect.die(broke),
        () => Effect.suspend((): Effect.Effect<never> => throwing()),
        throwing
      ]) {
        const t = yield* setup({ around })
        assert.deepStrictEqual(yield* t.execute(), policyFailed("wrapper broke"))
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "observe"])
      }
      const late = yield* setup({
        body: (text) => Effect.as(ToolContext.deferContext(Content.text("child")), text),
        around: (_, next) => Effect.zipRight(next, Effect.fail(broke))
      })
      assert.deepStrictEqual(
        yield* late.execute(),
        policyFailed("wrapper broke", { dispatched: true, body: "completed", contexts: texts("child") })
      )
      assert.deepStrictEqual(late.log, ["before", "guard", "around", "body", "observe"])
    })
  )

  it.scoped("56: a result of another tool is checked against this one's schema", () =>
    Effect.gen(function* () {
      let cached: ToolResult.ToolResult | undefined
      const Count = Tool.make("count", {
        description: "Counts",
        parameters: {},
        success: Schema.Number,
        handler: () => Effect.succeed(3)
      })
      const t = yield* setup({
        tools: [Count],
        around: (_, next) => (cached === undefined ? next : Effect.succeed(cached))
      })
      cached = yield* t.execute({ name: "count", parameters: {} })
      assert.deepStrictEqual(yield* t.execute(), invalidOutput("Expected string, actual 3"))
      assert.deepStrictEqual(t.log, [
        "before",
        "guard",
        "around",
        "after",
        "observe",
        "before",
        "guard",
        "around",
        "after",
        "observe"
      ])
    })
  )

  it.scoped("56: a success of an earlier call of the same tool is this call's, with this call's truth", () =>
    Effect.gen(function* () {
      let cached: ToolResult.ToolResult | undefined
      const t = yield* setup({ around: (_, next) => (cached === undefined ? next : Effect.succeed(cached)) })
      cached = yield* t.execute()
      const again = yield* t.execute({ id: "c2", name: "echo", parameters: { text: "hi" } })
      assert.deepStrictEqual(again, succeeded({ callId: "c2", dispatched: false, body: "not-started" }))
    })
  )

  it.scoped("57: a tool that is taken away by a wrapper cannot vouch for an answer, and does not run", () =>
    Effect.gen(function* () {
      for (const runsNext of [true, false]) {
        const scope = yield* Scope.make()
        const t = yield* setup({
          around: (call, next) =>
            call.tool === "late"
              ? Effect.zipRight(
                  Scope.close(scope, Exit.void),
                  runsNext ? next : Effect.succeed(ToolResult.success("authored"))
                )
              : next
        })
        const Late = Tool.make("late", {
          description: "Goes away",
          parameters: {},
          success: Schema.String,
          handler: () => Effect.sync(() => String(t.log.push("body")))
        })
        yield* Scope.extend(t.runtime.register(Late), scope)
        const result = yield* t.execute({ name: "late", parameters: {} })
        assert.deepStrictEqual(
          result,
          failed({ code: "UNKNOWN_TOOL", name: "ToolNotFoundError", message: 'unknown tool "late"' }, { tool: "late" })
        )
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "after", "observe"])
      }
    })
  )

  it.scoped("59 (core): no stage can change the result that it is given", () =>
    Effect.gen(function* () {
      const attempts: Array<boolean> = []
      const change = (result: ToolResult.ToolResult) => {
        attempts.push(Reflect.set(result, "_tag", "Failure"), Reflect.set(result.content, 0, "changed"))
        attempts.push(Reflect.set(result.content[0] as object, "text", "changed"))
        attempts.push(Reflect.deleteProperty(result, "callId"), Reflect.set(result.contexts, 0, "added"))
      }
      const t = yield* setup({
        around: (_, next) => Effect.tap(next, (result) => Effect.sync(() => change(result))),
        after: (_, result) =>
          Effect.as(
            Effect.sync(() => change(result)),
            Policy.accept()
          ),
        observe: (_, result) => Effect.sync(() => change(result))
      })
      assert.deepStrictEqual(yield* t.execute(), succeeded())
      assert.deepStrictEqual(attempts, new Array(15).fill(false))
    })
  )
})
