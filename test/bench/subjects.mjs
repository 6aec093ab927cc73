// What the benchmarks run: small tools, a runtime with them, and loops that make calls inside one fiber.
import { Effect, Schema } from "effect"
import { Abort, Cancellation, Tool, Toolkit, ToolRuntime } from "quiesce"
import { createRuntime, defineTool } from "quiesce/promise"

/** What a host would call if there were nothing in between. */
export const bare = async ({ x }) => x + 1

/** A promise that rejects in the turn in which `signal` aborts. */
export const untilAborted = (signal, started) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
    started()
  })

const hop = Effect.async((resume) => queueMicrotask(() => resume(Effect.void)))

export const bodies = {
  sync: ({ x }) => Effect.sync(() => x + 1),
  /** Three asynchronous operations. */
  hops: ({ x }) => Effect.as(Effect.zipRight(Effect.zipRight(hop, hop), hop), x + 1),
  promise: (parameters) => Abort.fromPromise(() => bare(parameters)),
  /** A promise that asks for its signal. */
  signal: (parameters) =>
    Abort.fromPromise(({ signal }) => (signal.aborted ? Promise.reject(signal.reason) : bare(parameters))),
  /** A promise that waits for its signal. */
  cooperative: (started) => () => Abort.fromPromise(({ signal }) => untilAborted(signal, started))
}

/** A toolkit of one tool, `tool`: it takes a number and gives one, so that both pass a schema. */
export const toolkit = (handler, options) =>
  Toolkit.make(
    Tool.make("tool", {
      description: "What a benchmark runs",
      parameters: { x: Schema.Number },
      success: Schema.Number,
      render: String,
      handler,
      ...options
    })
  )

export const call = (x) => ({ id: "call", name: "tool", parameters: { x } })

/** Does `f(0)` to `f(n - 1)` one after another on one fiber. */
export const repeat = (n, f) => {
  let i = 0
  return Effect.whileLoop({ while: () => i < n, body: () => f(i++), step: () => {} })
}

/** What `use` does with a runtime, under an owner and with the clock and scheduler of a real program. */
export const withRuntime = (options, use) =>
  ToolRuntime.ToolRuntime.pipe(
    Effect.flatMap(use),
    Cancellation.own,
    Effect.provide(ToolRuntime.layer(options)),
    Effect.runPromise
  )

/** A case that makes calls inside one fiber. */
export const calls = (name, options) => ({
  name,
  run: (n) => withRuntime(options, (runtime) => repeat(n, (i) => runtime.execute(call(i))))
})

const numbers = Schema.standardSchemaV1(Schema.Struct({ x: Schema.Number }))

/** Written by hand: a library may make objects of its own. */
const aNumber = {
  "~standard": {
    version: 1,
    vendor: "bench",
    validate: (value) => (typeof value === "number" ? { value } : { issues: [{ message: "no number" }] })
  }
}

/** A runtime of code without Effect, with the same tool. */
export const facade = (execute, options) =>
  createRuntime({
    ...options,
    tools: [
      defineTool({
        name: "tool",
        description: "What a benchmark runs",
        parameters: numbers,
        output: aNumber,
        render: String,
        execute
      })
    ]
  })

/** Makes one call of that after another. */
export const repeatCalls = async (n, runtime, signal) => {
  for (let x = 0; x < n; x++) await runtime.call({ callId: "call", name: "tool", arguments: { x }, signal })
}

/** A case that runs an effect inside one fiber, under an owner. */
export const inFiber = (name, each) => ({ name, run: (n) => withRuntime({}, () => repeat(n, each)) })

/** The yardstick: what Effect itself takes to run a trivial effect on another fiber and wait for it. */
export const forkAndAwait = inFiber("fork + await", (i) =>
  Effect.flatMap(Effect.fork(Effect.succeed(i)), (fiber) => fiber.await)
)
