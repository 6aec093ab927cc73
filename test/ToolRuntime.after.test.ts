import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Schema, Scope, TestClock } from "effect"
import { Cancellation, Content, Policy, Tool, ToolContext, type ToolResult } from "quiesce"
import {
  aborted,
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
  texts,
  toolFailed,
  user
} from "./support/calls.js"

const whole = ["before", "guard", "around", "body", "after", "observe"]
const ran = { dispatched: true, body: "completed" } as const

const blocked = (message: string, changes: Partial<ToolResult.Failure> = {}) =>
  failed({ code: "BLOCKED", name: "ToolBlockedError", message }, { content: texts(message), ...ran, ...changes })

/** A body that defers a context tagged `child`. */
const deferring = (text: string) => Effect.as(ToolContext.deferContext(Content.text("child")), text)

const reviewing = (review: Policy.Review) => () => Effect.succeed(review)

describe("ToolRuntime (after policies)", () => {
  it.scoped("79: accepted content replaces the content, and nothing else", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        meta: () => "shown",
        after: reviewing(Policy.accept({ content: texts("shorter") }))
      })
      assert.deepStrictEqual(yield* t.execute(), succeeded({ content: texts("shorter"), meta: "shown" }))
      assert.deepStrictEqual(t.log, whole)
    })
  )

  it.scoped("79: an accepted value replaces value, content and what is shown to people", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        render: (value) => texts(`<${value}>`),
        meta: (value) => ({ length: value.length }),
        body: deferring,
        after: reviewing(Policy.accept({ value: "replaced" }))
      })
      assert.deepStrictEqual(
        yield* t.execute(),
        succeeded({
          value: "replaced",
          content: texts("<replaced>"),
          meta: { length: 8 },
          contexts: texts("child")
        })
      )
      assert.deepStrictEqual(t.log, whole)
    })
  )

  it.scoped("79: an accepted value must be one that the tool could have returned", () =>
    Effect.gen(function* () {
      for (const [value, violation] of [
        [7, "Expected string, actual 7"],
        [null, "Expected string, actual null"],
        [(() => 1) as never, "value is not lossless JSON"]
      ] as const) {
        const t = yield* setup({ after: reviewing(Policy.accept({ value })) })
        const message = `tool "echo" returned invalid output: ${violation}`
        assert.deepStrictEqual(
          yield* t.execute(),
          failed({ code: "INVALID_TOOL_OUTPUT", name: "ToolOutputError", message }, ran)
        )
      }
    })
  )

  it.scoped("79: accepted content may be given to a failure, which stays one", () =>
    Effect.gen(function* () {
      const t = yield* setup({
        body: () => Effect.fail("no"),
        after: reviewing(Policy.accept({ content: texts("it failed, try again") }))
      })
      assert.deepStrictEqual(yield* t.execute(), toolFailed("no", { content: texts("it failed, try again") }))
    })
  )

  it.scoped("80: content and value cannot both be replaced", () =>
    Effect.gen(function* () {
      const t = yield* setup({ after: reviewing(Policy.accept({ content: texts("c"), value: "v" })) })
      const message = "tools/post-execute accept decision cannot replace both value and content"
      assert.deepStrictEqual(yield* t.execute(), policyFailed(message, ran))
      assert.deepStrictEqual(t.log, whole)
    })
  )

  it.scoped("81: the value of a failure cannot be replaced", () =>
    Effect.gen(function* () {
      const message = "tools/post-execute cannot replace the value of a failed result"
      const t = yield* setup({
        body: () => Effect.fail("no"),
        after: reviewing(Policy.accept({ value: "v" }))
      })
      assert.deepStrictEqual(yield* t.execute(), policyFailed(message, { dispatched: true, body: "failed" }))
      assert.deepStrictEqual(t.log, whole)
    })
  )

  it.scoped("82: a block is a failure with the feedback verbatim and without a value", () =>
    Effect.gen(function* () {
      const t = yield* setup({ meta: () => "shown", after: reviewing(Policy.block(texts("blocked by policy"))) })
      assert.deepStrictEqual(yield* t.execute(), blocked("blocked by policy"))
      assert.deepStrictEqual(t.log, whole)
    })
  )

  it.scoped("83: the message of a block is the text of its feedback", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [ReadonlyArray<Content.Content>, string]> = [
        [[], "tool result blocked by post-execute policy"],
        [[{ type: "reasoning", text: "hm" }], "[reasoning content]"],
        [[Content.text("a"), { type: "image", data: "", mediaType: "image/png" }], "a\n[image content]"]
      ]
      for (const [content, message] of cases) {
        const t = yield* setup({ after: reviewing(Policy.block(content)) })
        assert.deepStrictEqual(yield* t.execute(), blocked(message, { content }))
      }
    })
  )

  for (const road of roads) {
    it.scoped(`84: a review that accepts after the cancel is heard, and all contexts are kept, ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t = yield* setup({
          body: deferring,
          after: () => Effect.as(Deferred.await(gate), Policy.accept({ contexts: texts("post") }))
        })
        const call = yield* road.begin(t)
        yield* t.reached("after")
        yield* call.cancel
        assert.isTrue(yield* call.isPending)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(
          yield* call.result,
          aborted(road.cause, { body: "completed", contexts: texts("child", "post") })
        )
        assert.deepStrictEqual(t.log, whole)
      })
    )

    it.scoped(`85: a review that fails after the cancel is the result ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const failure = new HarnessError({ message: "post-policy failed", code: "POST_FAILURE" })
        const t = yield* setup({
          body: deferring,
          after: () => Effect.zipRight(Deferred.await(gate), Effect.fail(failure))
        })
        const call = yield* road.begin(t)
        yield* t.reached("after")
        yield* call.cancel
        yield* Deferred.succeed(gate, undefined)
        const reported = { code: "POST_FAILURE", name: "HarnessError", message: "post-policy failed" }
        assert.deepStrictEqual(yield* call.result, failed(reported, { ...ran, contexts: texts("child") }))
        assert.deepStrictEqual(t.log, whole)
      })
    )

    it.scoped(`87: a review that blocks after the cancel is the result ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t = yield* setup({
          body: deferring,
          after: () => Effect.as(Deferred.await(gate), Policy.block(texts("secret"), { contexts: texts("post") }))
        })
        const call = yield* road.begin(t)
        yield* t.reached("after")
        yield* call.cancel
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, blocked("secret", { contexts: texts("post") }))
        assert.deepStrictEqual(t.log, whole)
      })
    )

    it.scoped(`87: a block replaces an undispatched call too ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t = yield* setup({
          before: () => Effect.as(Deferred.await(gate), Policy.allow),
          after: (_, result) =>
            Effect.succeed(result._tag === "Failure" ? Policy.block(texts("no calls while stopping")) : Policy.accept())
        })
        const call = yield* road.begin(t)
        yield* t.reached("before")
        yield* call.cancel
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(
          yield* call.result,
          blocked("no calls while stopping", { dispatched: false, body: "not-started" })
        )
      })
    )
  }

  it.scoped("86: a review that fails is the result, however it fails", () =>
    Effect.gen(function* () {
      const broke = new Error("post hook broke")
      const throwing = () => {
        throw broke
      }
      for (const after of [
        () => Effect.fail(broke),
        () => Effect.die(broke),
        () => Effect.suspend((): Effect.Effect<never> => throwing()),
        throwing
      ]) {
        const t = yield* setup({ body: deferring, after })
        assert.deepStrictEqual(
          yield* t.execute(),
          policyFailed("post hook broke", { ...ran, contexts: texts("child") })
        )
        assert.deepStrictEqual(t.log, whole)
      }
    })
  )

  it.scoped("90: a tool that is taken away by a review cannot vouch for another value", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const Late = Tool.make("late", {
        description: "Goes away",
        parameters: {},
        success: Schema.String,
        handler: () => Effect.succeed("ran")
      })
      const t: Setup = yield* setup({
        after: () => Effect.as(Scope.close(scope, Exit.void), Policy.accept({ value: "replaced" }))
      })
      yield* Scope.extend(t.runtime.register(Late), scope)
      assert.deepStrictEqual(
        yield* t.execute({ name: "late", parameters: {} }),
        failed(
          { code: "UNKNOWN_TOOL", name: "ToolNotFoundError", message: 'unknown tool "late"' },
          { tool: "late", ...ran }
        )
      )
    })
  )

  it.scoped("reviews see what those before them made of the result, and their contexts add up", () =>
    Effect.gen(function* () {
      const seen: Array<ToolResult.ToolResult> = []
      const t = yield* setup({
        body: deferring,
        policies: [
          Policy.after("first", () => Effect.succeed(Policy.accept({ value: "one", contexts: texts("first") })))
        ],
        after: (_, result) => {
          seen.push(result)
          return Effect.succeed(Policy.accept({ content: texts("two"), contexts: texts("second") }))
        }
      })
      const result = yield* t.execute()
      assert.deepStrictEqual(seen, [
        succeeded({ value: "one", content: texts("one"), contexts: texts("child", "first") })
      ])
      assert.deepStrictEqual(
        result,
        succeeded({ value: "one", content: texts("two"), contexts: texts("child", "first", "second") })
      )
    })
  )

  it.scoped("99: a block drops the contexts of the body, the wrappers and the reviews before it", () =>
    Effect.gen(function* () {
      const seen: Array<ToolResult.ToolResult> = []
      const t = yield* setup({
        body: deferring,
        policies: [
          Policy.after("first", () => Effect.succeed(Policy.accept({ contexts: texts("first") }))),
          Policy.after("second", () => Effect.succeed(Policy.block(texts("no"), { contexts: texts("second") })))
        ],
        after: (_, result) => {
          seen.push(result)
          return Effect.succeed(Policy.accept({ contexts: texts("third") }))
        }
      })
      assert.deepStrictEqual(yield* t.execute(), blocked("no", { contexts: texts("second", "third") }))
      assert.deepStrictEqual(seen, [blocked("no", { contexts: texts("second") })])
    })
  )

  it.scoped("a review that fails ends the reviewing, and keeps the contexts that came before it", () =>
    Effect.gen(function* () {
      const failures: ReadonlyArray<() => Effect.Effect<Policy.Review, unknown>> = [
        () => Effect.fail("broke"),
        () => Effect.interrupt,
        () => Effect.succeed(null as never),
        () => Effect.succeed({ _tag: "Perhaps", contexts: [] } as never),
        () => Effect.succeed({ _tag: "Block", content: [{ type: "none" }], contexts: [] } as never),
        () => Effect.succeed(Policy.accept({ content: [{ type: "none" }] as never })),
        () => Effect.succeed(Policy.accept({ contexts: [{ type: "none" }] as never })),
        () => Effect.succeed(hostile as never),
        () => undefined as never,
        () => hostile as never
      ]
      for (const [i, broken] of failures.entries()) {
        const t = yield* setup({
          body: deferring,
          policies: [
            Policy.after("first", () => Effect.succeed(Policy.accept({ contexts: texts("first") }))),
            Policy.after("broken", broken)
          ]
        })
        const result = yield* t.execute()
        assert.strictEqual(result._tag === "Failure" && result.code, "POLICY_FAILURE", `failure ${i}`)
        assert.deepStrictEqual(result.contexts, texts("child", "first"), `failure ${i}`)
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "observe"], `failure ${i}`)
      }
    })
  )

  it.scoped(
    "a review runs under an owner of its own: not cancelled with the call, and quiet before the next stage",
    () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({
          body: () => Effect.never,
          after: () =>
            Effect.gen(function* () {
              const signal = yield* Cancellation.signal
              yield* Effect.onInterrupt(Effect.never, () =>
                Effect.zipRight(
                  settle,
                  Effect.sync(() => t.log.push("stopped"))
                )
              ).pipe(Cancellation.operation("watch"), Effect.forkDaemon)
              yield* Cancellation.operation(settle, "scan for secrets")
              t.log.push(`scanned, ${signal.aborted}`)
              return Policy.accept()
            })
        })
        const call = yield* t.start()
        yield* t.reached("body")
        yield* call.cancel(user)
        assert.deepStrictEqual(yield* call.result, aborted(user))
        assert.deepStrictEqual(t.log.slice(4), ["after", "scanned, false", "stopped", "observe"])
      })
  )

  it.scoped("a timeout inside a review works, also when the caller is in a protected region", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        after: () =>
          Effect.as(Effect.timeoutOption(Effect.never, "1 second"), Policy.accept({ content: texts("late") }))
      })
      const call = yield* Effect.fork(Effect.uninterruptible(t.execute()))
      yield* t.reached("after")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(call), succeeded({ content: texts("late") }))
    })
  )

  it.scoped("a review sees each kind of result that policies have decided about", () =>
    Effect.gen(function* () {
      const seen: Array<ToolResult.ToolResult> = []
      const after = (_: Policy.Call, result: ToolResult.ToolResult) => {
        seen.push(result)
        return Effect.succeed(Policy.accept())
      }
      const results = [
        yield* Effect.flatMap(setup({ after }), (t) => t.execute()),
        yield* Effect.flatMap(setup({ after, body: () => Effect.fail("no") }), (t) => t.execute()),
        yield* Effect.flatMap(setup({ after, guard: () => "no" }), (t) => t.execute()),
        yield* Effect.flatMap(setup({ after }), (t) => t.execute({ parameters: {} })),
        yield* Effect.flatMap(setup({ after }), (t) => t.execute({ name: "nope" }))
      ]
      const cancels: Setup = yield* setup({
        after,
        around: (_, next) => Effect.zipRight(cancels.runtime.cancelCall("c1", user), next)
      })
      results.push(yield* cancels.execute())
      assert.strictEqual(seen.length, 6)
      assert.deepStrictEqual(seen, results)
      assert.deepStrictEqual(
        [results[0], results[1], results[2], results[5]],
        [succeeded(), toolFailed("no"), denied("no"), notDispatched(user)]
      )
    })
  )
})
