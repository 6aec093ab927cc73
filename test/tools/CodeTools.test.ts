import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { Cancellation, Policy, Tool, ToolContext, Toolkit, type ToolResult, ToolRuntime } from "quiesce"
import { NodeCodeRuntime } from "quiesce/node"
import { CodeTools } from "quiesce/tools"
import { user } from "../support/calls.js"
import { childrenWithArgument, waitUntil } from "../support/processes.js"

const maxMemoryMb = 72
const alive = () => childrenWithArgument(`--max-old-space-size=${maxMemoryMb} `).length

const codeOf = (result: ToolResult.ToolResult): string =>
  `${result.callId} ${result._tag === "Success" ? "OK" : result.code}`

const textsOf = ({ contexts }: ToolResult.ToolResult) => contexts.map((content) => JSON.stringify(content))

/** A runtime with `run_code`, and `work`, which doubles, fails or waits. */
class World {
  readonly told: Array<string> = []
  readonly running = new Set<string>()

  readonly runtime = Effect.suspend(() => {
    const Work = Tool.make("work", {
      description: "Doubles",
      parameters: { n: Schema.Number },
      success: Schema.Number,
      failure: Schema.Unknown,
      concurrency: "parallel",
      handler: ({ n }) =>
        Effect.flatMap(ToolContext.ToolContext, ({ callId }) =>
          Effect.acquireUseRelease(
            Effect.sync(() => this.running.add(callId)),
            () => {
              if (n === 0) return Effect.never
              return n < 0 ? Effect.fail({ _tag: "TooSmall", message: "less than nothing" }) : Effect.succeed(n * 2)
            },
            () =>
              Effect.zipRight(
                Effect.yieldNow(),
                Effect.sync(() => this.running.delete(callId))
              )
          )
        )
    })
    const observe = Policy.observe("told", (_call, result) => Effect.sync(() => void this.told.push(codeOf(result))))
    const noSeven = Policy.before("no seven", ({ parameters }) =>
      Effect.succeed(JSON.stringify(parameters).includes('"n":7') ? Policy.deny("not seven") : Policy.allow)
    )
    const layer = ToolRuntime.layer({
      toolkit: Toolkit.merge(CodeTools.make({ limits: { maxMemoryMb, timeout: "20 seconds" } }), Toolkit.make(Work)),
      policies: [noSeven, observe]
    })
    return Effect.map(Layer.build(Layer.provide(layer, NodeCodeRuntime.layer)), Context.get(ToolRuntime.ToolRuntime))
  })

  readonly execute = (code: string) =>
    Effect.flatMap(this.runtime, (runtime) =>
      Cancellation.own(runtime.execute({ id: "o", name: "run_code", parameters: { code } }))
    ).pipe(
      Effect.scoped,
      Effect.tap(() => Effect.sync(() => assert.strictEqual(alive(), 0)))
    )
}

describe("CodeTools", () => {
  it.live("run_code makes calls through the policies, and has their values, or errors with code and message", () =>
    Effect.gen(function* () {
      const world = new World()
      const result = yield* world.execute(`
        console.log("begins")
        const four = await tools.work({ n: 2 })
        const errors = []
        for (const [name, parameters] of [["work", { n: 7 }], ["work", { n: -1 }], ["work", { n: "x" }], ["nope", {}], ["run_code", { code: "" }]]) {
          try { await call(name, parameters) } catch (error) { errors.push(error.code) }
        }
        return [four, ...await Promise.all([tools.work({ n: 3 }), call("work", { n: 4 })]), errors]`)
      assert(result._tag === "Success")
      assert.deepStrictEqual(result.value, {
        value: [4, 6, 8, ["DENIED", "TOO_SMALL", "INVALID_ARGS", "UNKNOWN_TOOL", "CALL_REFUSED"]],
        logs: [{ level: "log", text: "begins" }],
        logsTruncated: false
      })
      assert.deepStrictEqual(world.told.slice(0, 2), ["o:1 OK", "o:2 DENIED"])
      assert.strictEqual(world.told.at(-1), "o OK")
    })
  )

  it.live("code that fails is a failure with its code and line, and the model is told what it has logged", () =>
    Effect.gen(function* () {
      const world = new World()
      const result = yield* world.execute(`console.log("one")\nconsole.warn("two")\nawait tools.work({ n: -1 })`)
      assert(result._tag === "Failure")
      assert.strictEqual(result.code, "CODE_EXCEPTION")
      assert.include(result.message, "less than nothing")
      assert.deepStrictEqual(
        result.contexts.map((content) => (content.type === "text" ? content.text : "")),
        ["What the code had logged:\none\nwarn: two"]
      )
      const other = yield* world.execute("\n\nnull.x")
      assert.include(other._tag === "Failure" && other.message, "line 3")
      const names = yield* world.execute("const call = 1, tools = 2; return call + tools")
      assert.strictEqual(names._tag === "Success" && (names.value as { readonly value: unknown }).value, 3)
    })
  )

  it.live(
    "239: a cancel of run_code aborts the calls that run, makes none that waits, and is answered when all are quiet",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const world = new World()
          const runtime = yield* world.runtime
          const owner = yield* Cancellation.ownScoped
          const code = `console.log("begins"); await Promise.all(Array.from({ length: 12 }, () => tools.work({ n: 0 })))`
          const call = yield* Effect.provide(runtime.start({ id: "o", name: "run_code", parameters: { code } }), owner)
          yield* waitUntil(() => world.running.size === 10, 20_000)
          yield* call.cancel(user)
          const result = yield* call.result
          assert.strictEqual(codeOf(result), "o ABORTED")
          assert.strictEqual(world.running.size, 0)
          assert.strictEqual(alive(), 0)
          // The two that waited were never made: nobody is told of them.
          const aborted = Array.from({ length: 10 }, (_, i) => `o:${i + 1} ABORTED`)
          assert.deepStrictEqual(world.told.slice(0, -1).sort(), aborted.sort())
          assert.strictEqual(world.told.at(-1), "o ABORTED")
          assert.include(textsOf(result).join(), "begins")
          assert.deepStrictEqual(yield* runtime.inFlight, [])
        })
      )
  )

  it.live("238: a cancel ends an endless loop, and the model is told what was logged before it", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const world = new World()
        const runtime = yield* world.runtime
        const owner = yield* Cancellation.ownScoped
        const code = `console.log("before"); await tools.work({ n: 1 }); while (true) {}`
        const call = yield* Effect.provide(runtime.start({ id: "o", name: "run_code", parameters: { code } }), owner)
        yield* waitUntil(() => world.told.includes("o:1 OK"), 20_000)
        yield* call.cancel(user)
        const result = yield* call.result
        assert.strictEqual(codeOf(result), "o ABORTED")
        assert.strictEqual(alive(), 0)
        assert.include(textsOf(result).join(), "before")
      })
    )
  )
})
