import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schema, Scope } from "effect"
import {
  Abort,
  CancelCause,
  Cancellation,
  Policy,
  Tool,
  ToolContext,
  Toolkit,
  type ToolResult,
  ToolRuntime
} from "quiesce"
import { sweepWith } from "./support/sweep.js"

// One fault before each operation of a call that uses everything: policies that wait, a retry, a body with a forked
// child, a daemon that runs an operation, and a promise. Whatever the instant, the laws hold.

/** What is alive of one run, seen from outside the runtime. */
class Live {
  body = 0
  child = 0
  daemon = 0
  promise = 0
  handlers = 0
  readonly results: Array<ToolResult.ToolResult> = []
  /** What was alive at the instant of the publication. */
  readonly atPublication: Array<number> = []

  get total(): number {
    return this.body + this.child + this.daemon + this.promise
  }

  during(part: "body" | "child" | "daemon", effect: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.acquireUseRelease(
      Effect.sync(() => void this[part]++),
      () => effect,
      () =>
        Effect.zipRight(
          Effect.yieldNow(),
          Effect.sync(() => void this[part]--)
        )
    )
  }
}

let live = new Live()

const yields = Effect.yieldNow()

const promise = Abort.fromPromise({
  try: ({ signal }) => {
    live.promise++
    return new Promise<string>((resolve, reject) => {
      const end = (settle: () => void) => {
        live.promise--
        settle()
      }
      queueMicrotask(() => end(signal.aborted ? () => reject(signal.reason) : () => resolve("value")))
    })
  },
  catch: (error) => ["unexpected", error] as const
})

const Everything = Tool.make("everything", {
  description: "Uses everything",
  parameters: {},
  success: Schema.String,
  failure: Schema.Unknown,
  handler: () => {
    live.handlers++
    return live
      .during("body", yields)
      .pipe(
        Effect.zipRight(ToolContext.deferContext({ type: "text", text: "seen" })),
        Effect.zipRight(Effect.fork(live.during("child", Effect.never))),
        Effect.zipRight(Effect.forkDaemon(Cancellation.operation(live.during("daemon", Effect.never), "daemon"))),
        Effect.zipRight(yields),
        Effect.zipRight(promise)
      )
  }
})

const policies = [
  Policy.before("waits", () => Effect.as(yields, Policy.allow)),
  Policy.around("waits", (_call, next) => Effect.zipRight(yields, Effect.zipLeft(next, yields))),
  Policy.timeout,
  Policy.after("waits", () => Effect.as(yields, Policy.accept())),
  Policy.observe("collects", (_call, result) =>
    Effect.sync(() => {
      live.results.push(result)
      live.atPublication.push(live.total)
    })
  )
]

const call = { id: "c1", name: "everything", parameters: {} }

const runtime = Effect.flatMap(Scope.make(), (scope) =>
  Effect.map(
    Scope.extend(Layer.build(ToolRuntime.layer({ toolkit: Toolkit.make(Everything), policies })), scope),
    (context) => Context.get(context, ToolRuntime.ToolRuntime)
  )
)

const codeOf = (result: ToolResult.ToolResult) => (result._tag === "Success" ? "OK" : result.code)

/** What holds after each run, whatever happened; gives the code of the call, or nothing if it was never accepted. */
const checkRun = (run: Live): string | undefined => {
  assert.isAtMost(run.results.length, 1, "L1: one result")
  assert.strictEqual(run.total, 0, "L3: nothing is left")
  const result = run.results[0]
  if (result === undefined) {
    assert.strictEqual(run.handlers, 0, "a call that was not accepted ran")
    return undefined
  }
  assert.deepStrictEqual(run.atPublication, [0], "L3: published when quiet")
  assert.strictEqual(result.dispatched, run.handlers > 0, "L2: dispatched is whether the handler was called")
  const code = codeOf(result)
  if (code === "ABORTED_BEFORE_DISPATCH") assert.strictEqual(run.handlers, 0)
  if (code === "ABORTED") assert.isAbove(run.handlers, 0)
  return code
}

describe("ToolRuntime (sweep)", () => {
  it.live("an interrupt before each operation of execute: one result, published when quiet, never misclassified", () =>
    Effect.gen(function* () {
      const service = yield* runtime
      const runs: Array<Live> = []
      const exits = yield* sweepWith(() => {
        live = new Live()
        runs.push(live)
        return { program: Cancellation.own(service.execute(call)) }
      })
      const codes = runs.map(checkRun)
      exits.forEach((exit, i) => {
        const result = runs[i]?.results[0]
        // The result is the caller's too, or the caller ends as interrupted.
        if (Exit.isSuccess(exit)) assert.strictEqual(exit.value, result)
        else assert.isTrue(Exit.isInterrupted(exit))
        if (codes[i] !== "OK") assert.isTrue(Exit.isInterrupted(exit))
        if (result?._tag === "Failure") assert.strictEqual(result.cause?._tag, "Interrupted")
      })
      assert.sameMembers([...new Set(codes)], [undefined, "ABORTED_BEFORE_DISPATCH", "ABORTED", "OK"])
    })
  )

  it.live("an abort of the host before each operation: execute returns its result", () =>
    Effect.gen(function* () {
      const service = yield* runtime
      const reason = new Error("stop")
      const runs: Array<Live> = []
      const exits = yield* sweepWith(() => {
        live = new Live()
        runs.push(live)
        const controller = new AbortController()
        return {
          program: Cancellation.ownSignal(service.execute(call), controller.signal),
          fault: () => controller.abort(reason)
        }
      })
      const codes = runs.map(checkRun)
      exits.forEach((exit, i) => {
        const result = runs[i]?.results[0]
        if (result !== undefined)
          assert.deepStrictEqual(exit, Exit.succeed(result)) // the first road
        else assert.isTrue(Exit.isInterrupted(exit))
        if (result?._tag === "Failure") assert.deepStrictEqual(result.cause, { _tag: "HostSignal", reason: "stop" })
      })
      assert.sameMembers([...new Set(codes)], [undefined, "ABORTED_BEFORE_DISPATCH", "ABORTED", "OK"])
    })
  )

  it.live("a cancel of a started call before each operation: its result says so", () =>
    Effect.gen(function* () {
      const service = yield* runtime
      const runs: Array<Live> = []
      const exits = yield* sweepWith(() => {
        live = new Live()
        runs.push(live)
        let running: ToolRuntime.RunningCall | undefined
        return {
          program: Cancellation.own(
            Effect.flatMap(service.start(call), (started) => {
              running = started
              return started.result
            })
          ),
          fault: () => {
            if (running !== undefined) Effect.runFork(running.cancel(CancelCause.user("enough")))
          }
        }
      })
      const codes = runs.map(checkRun)
      exits.forEach((exit, i) => {
        assert.deepStrictEqual(exit, Exit.succeed(runs[i]?.results[0] as ToolResult.ToolResult))
      })
      // The first operations of the call run inside `start`, before there is a handle to cancel it with.
      assert.includeMembers([...new Set(codes)], ["ABORTED", "OK"])
    })
  )

  it.live("an interrupt of a caller in a protected region cancels nothing: the success stays a success", () =>
    Effect.gen(function* () {
      const service = yield* runtime
      const runs: Array<Live> = []
      yield* sweepWith(() => {
        live = new Live()
        runs.push(live)
        return { program: Effect.uninterruptible(Cancellation.own(service.execute(call))) }
      })
      const codes = runs.map(checkRun)
      assert.sameMembers([...new Set(codes)], [undefined, "OK"])
    })
  )
})
