import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { Content, ToolContext } from "quiesce"
import { type Setup, settle, setup, succeeded, texts, toolFailed } from "./support/calls.js"

describe("ToolContext", () => {
  it.scoped("tells a body of its call", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const t = yield* setup({
        body: (text) =>
          Effect.map(ToolContext.ToolContext, ({ attempt, callId, rootId, tool }) => {
            seen.push({ attempt, callId, rootId, tool })
            return text
          }),
        around: (_, next) => Effect.zipRight(next, next)
      })
      yield* t.execute({ rootId: "root" })
      const known = { callId: "c1", rootId: "root", tool: "echo" }
      assert.deepStrictEqual(seen, [
        { ...known, attempt: 1 },
        { ...known, attempt: 2 }
      ])
      yield* t.execute()
      assert.deepInclude(seen[2] as object, { rootId: "c1" })
    })
  )

  it.scoped("deferContext keeps a frozen copy, in the order of the calls, from children too", () =>
    Effect.gen(function* () {
      const content: { type: "text"; text: string } = { type: "text", text: "first" }
      const t = yield* setup({
        body: (text) =>
          Effect.gen(function* () {
            yield* ToolContext.deferContext(content)
            content.text = "changed"
            yield* Effect.all(
              [
                ToolContext.deferContext(Content.text("second")),
                ToolContext.deferContext({ type: "reasoning", text: "third" })
              ],
              { concurrency: "unbounded" }
            )
            return text
          })
      })
      assert.deepStrictEqual(
        yield* t.execute(),
        succeeded({ contexts: [...texts("first", "second"), { type: "reasoning", text: "third" }] })
      )
    })
  )

  it.scoped("deferContext dies on what is not content", () =>
    Effect.gen(function* () {
      for (const garbage of [undefined, null, "text", { type: "video" }, { type: "text", text: () => "" }]) {
        const t = yield* setup({ body: () => Effect.as(ToolContext.deferContext(garbage as never), "hi") })
        const message = "deferContext was given something that is not content"
        assert.deepStrictEqual(yield* t.execute(), toolFailed(message))
      }
    })
  )

  it.scoped("concludeTurn counts once, and only with a success", () =>
    Effect.gen(function* () {
      const conclude = Effect.zipRight(ToolContext.concludeTurn, ToolContext.concludeTurn)
      const succeeds = yield* setup({ body: (text) => Effect.as(conclude, text) })
      assert.deepStrictEqual(yield* succeeds.execute(), succeeded({ concludesTurn: true }))
      const fails = yield* setup({ body: () => Effect.zipRight(conclude, Effect.fail("no")) })
      assert.deepStrictEqual(yield* fails.execute(), toolFailed("no"))
    })
  )

  it.scoped("progress is seen while the body runs, the last text of it", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const look = (t: Setup) =>
        Effect.map(t.runtime.inFlight, ([status]) => {
          seen.push(status?.progress)
        })
      const t: Setup = yield* setup({
        body: (text) =>
          Effect.gen(function* () {
            yield* look(t)
            yield* ToolContext.progress("10 %")
            yield* look(t)
            yield* ToolContext.progress("90 %")
            yield* look(t)
            return text
          })
      })
      assert.deepStrictEqual(yield* t.execute(), succeeded())
      assert.deepStrictEqual(seen, [undefined, "10 %", "90 %"])
    })
  )

  it.scoped("dies when it is used after its attempt has settled, from a child as from anywhere (W8)", () =>
    Effect.gen(function* () {
      const exits: Array<Exit.Exit<void>> = []
      const t = yield* setup({
        body: (text) =>
          Effect.as(
            Effect.fork(
              Effect.onInterrupt(Effect.never, () =>
                Effect.map(
                  Effect.exit(Effect.zipRight(settle, ToolContext.deferContext(Content.text("too late")))),
                  (exit) => exits.push(exit)
                )
              )
            ).pipe(Effect.zipRight(settle)),
            text
          )
      })
      assert.deepStrictEqual(yield* t.execute(), succeeded())
      assert.strictEqual(exits.length, 1)
      const [exit] = exits
      assert.isTrue(exit !== undefined && Exit.isFailure(exit) && Cause.isDie(exit.cause))
      assert.match(String(exit), /deferContext was used after attempt 1 of call .*c1.* had settled/)
    })
  )
})
