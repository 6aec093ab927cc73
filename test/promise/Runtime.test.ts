import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Schema } from "effect"
import { createRuntime, defineTool, type ToolResult } from "quiesce/promise"
import { abortOf, gate, isPending, settle } from "../support/scenarios/driver.js"

const Text = Schema.standardSchemaV1(Schema.Struct({ text: Schema.String }))
const echo = defineTool({
  name: "echo",
  description: "Says it again",
  parameters: Text,
  concurrency: "parallel",
  execute: async ({ text }) => text
})
/** Stops when it is told. */
const obedient = defineTool({
  name: "obedient",
  description: "Waits until it is stopped",
  parameters: Text,
  concurrency: "parallel",
  execute: async ({ text }, { signal }) => {
    await abortOf(signal)
    return text
  }
})
const call = (name: string, callId = "c1") => ({ callId, name, arguments: { text: "hi" } })
const codesOf = (results: ReadonlyArray<ToolResult>) => results.map(({ report }) => report.code ?? "OK")

/** Everything that reached the process while `f` ran, and a while after it. */
const complaints = async (f: () => Promise<void>): Promise<ReadonlyArray<unknown>> => {
  const seen: Array<unknown> = []
  const note = (what: unknown) => void seen.push(what)
  const events = ["unhandledRejection", "uncaughtException", "warning"] as const
  // Those of the test runner would fail the test before it can say why.
  const others = events.map((event) => process.listeners(event as "warning"))
  for (const event of events) process.removeAllListeners(event).on(event, note)
  try {
    await f()
    await settle()
  } finally {
    for (const [i, event] of events.entries()) {
      process.removeListener(event, note)
      for (const listener of others[i] ?? []) process.on(event, listener)
    }
  }
  return seen
}

describe("bodies of untyped code", () => {
  const answerOf = async (execute: () => any) => {
    const tool = defineTool({ name: "untyped", description: "Does what it likes", parameters: Text, execute })
    await using runtime = createRuntime({ tools: [tool] })
    return await runtime.call({ ...call("untyped"), signal: new AbortController().signal })
  }

  it("L3: awaits a thenable whose then gives nothing", async () => {
    let isDone = false
    const result = await answerOf(() => ({
      // biome-ignore lint/suspicious/noThenProperty: a thenable that is no promise
      then: (resolve: (value: string) => void) => {
        setImmediate(() => {
          isDone = true
          resolve("late")
        })
      }
    }))
    assert.isTrue(isDone)
    assert.deepInclude(result, { isError: false, value: "late" })
  })

  it("L3: ends a body that yields what is no text, and awaits its clean-up", async () => {
    let isClean = false
    const result = await answerOf(async function* () {
      try {
        yield Object.create(null)
      } finally {
        await settle()
        isClean = true
      }
    })
    assert.isTrue(isClean)
    assert.isTrue(result.isError)
  })

  it("says of a review that answers nothing, or of an error that is none, that it is none", async () => {
    const odd = [
      { name: "odd", after: async () => undefined as any },
      { name: "odd", around: async () => ({ isError: true, error: null }) as any }
    ]
    for (const policy of odd) {
      await using runtime = createRuntime({ tools: [echo], policies: [policy] })
      const result = await runtime.call({ ...call("echo"), signal: new AbortController().signal })
      assert.strictEqual(result.report.code, "POLICY_FAILURE")
      assert.notMatch(JSON.stringify(result), /destructure|Cannot read properties/)
    }
  })
})

describe("createRuntime", () => {
  it("tells a model of its tools", () => {
    const [schema] = createRuntime({ tools: [echo] }).schemas()
    assert.deepInclude(schema, { name: "echo", description: "Says it again" })
    assert.deepInclude(schema?.parameters, { type: "object", required: ["text"] })
  })

  it("refuses tools that were not defined, and names that are taken", () => {
    assert.throws(
      () => createRuntime({ tools: [{ name: "x", description: "", jsonSchema: {} }] }),
      /make it with defineTool/
    )
    const runtime = createRuntime({ tools: [echo] })
    assert.throws(() => runtime.addTool(echo), /registered already/)
  })

  it("takes tools and policies, and gives them up", async () => {
    const runtime = createRuntime()
    const { signal } = new AbortController()
    const codes: Array<string> = []
    const ask = async (agent: string) =>
      codes.push(...codesOf([await runtime.call({ ...call("echo"), signal, agent })]))
    await ask("clerk")
    const removeTool = runtime.addTool(echo)
    const removePolicy = runtime.addPolicy(
      { name: "no", before: () => ({ kind: "deny", reason: "no" }) },
      { agent: "clerk" }
    )
    await ask("clerk")
    await ask("other")
    removePolicy()
    await ask("clerk")
    removeTool()
    await ask("clerk")
    assert.deepStrictEqual(codes, ["UNKNOWN_TOOL", "DENIED", "OK", "OK", "UNKNOWN_TOOL"])
  })

  it("L8: a batch has a result for each call, in their order, also after an abort", async () => {
    const runtime = createRuntime({ tools: [echo, obedient] })
    const controller = new AbortController()
    const told: Array<string> = []
    const batch = runtime.batch({
      calls: [call("echo", "c1"), call("obedient", "c2"), call("echo", "c3"), call("nope", "c4")],
      signal: controller.signal,
      maxParallel: 2,
      onStart: (index) => void told.push(`start ${index}`),
      onResult: (result, index) => void told.push(`${index} ${result.report.code ?? "OK"}`)
    })
    await settle()
    controller.abort(new Error("stop"))
    const { broken, results } = await batch
    assert.strictEqual(broken, undefined)
    assert.deepStrictEqual(
      results.map(({ report }) => report.callId),
      ["c1", "c2", "c3", "c4"]
    )
    assert.deepStrictEqual(codesOf(results), ["OK", "ABORTED", "OK", "ABORTED_BEFORE_DISPATCH"])
    assert.include(told, "3 ABORTED_BEFORE_DISPATCH")
    assert.strictEqual(getEventListeners(controller.signal, "abort").length, 0)
  })

  it("a batch whose signal has aborted starts nothing, and says what a callback threw", async () => {
    const runtime = createRuntime({ tools: [echo] })
    const signal = AbortSignal.abort()
    const aborted = await runtime.batch({ calls: [call("echo"), call("echo", "c2")], signal })
    assert.deepStrictEqual(codesOf(aborted.results), ["ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"])
    const error = new Error("the log is full")
    const { broken, results } = await runtime.batch({
      calls: [call("echo")],
      signal: new AbortController().signal,
      onStart: () => {
        throw error
      }
    })
    assert.strictEqual(broken?.error, error)
    assert.strictEqual(results.length, 1)
    const message = await runtime
      .batch({ calls: [], maxParallel: 0, signal: new AbortController().signal })
      .catch(({ message }) => message)
    assert.match(String(message), /positive integer/)
  })

  it("disposes once, waits for what runs, and is disposed of by `await using`", async () => {
    const controller = new AbortController()
    let running: Promise<ToolResult> | undefined
    {
      await using runtime = createRuntime({ tools: [obedient] })
      running = runtime.call({ ...call("obedient"), signal: controller.signal })
      await settle()
      assert.isTrue(await isPending(runtime.whenIdle()))
    }
    assert.isFalse(await isPending(running), "L3")
    assert.deepStrictEqual((await running).report.cause, { _tag: "Disposed" })
    const runtime = createRuntime()
    assert.strictEqual(runtime.dispose(), runtime.dispose())
    await runtime.whenIdle()
  })

  it("a call that ignores its signal can be seen", async () => {
    const wait = gate()
    const deaf = defineTool({
      name: "deaf",
      description: "Ignores its signal",
      parameters: Text,
      execute: () => wait.promise.then(() => "done")
    })
    const runtime = createRuntime({ tools: [deaf] })
    const controller = new AbortController()
    const result = runtime.call({ ...call("deaf"), signal: controller.signal })
    controller.abort()
    const [status] = runtime.inFlight()
    assert.deepInclude(status, { callId: "c1", phase: "dispatching", dispatched: true })
    assert.strictEqual(status?.cause?._tag, "HostSignal")
    assert.isTrue(await isPending(result))
    wait.open()
    assert.strictEqual((await result).report.code, "ABORTED")
  })

  it("rejects only where the input cannot be read", async () => {
    const runtime = createRuntime()
    const input = {
      ...call("echo"),
      signal: new AbortController().signal,
      get name(): string {
        throw new Error("no name")
      }
    }
    const message = await runtime.call(input).catch(({ message }) => message)
    assert.strictEqual(message, "no name")
    assert.strictEqual(getEventListeners(input.signal, "abort").length, 0)
  })

  it("logs where the program with Effect logs", async () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const effectRuntime = await Effect.runPromise(
      Effect.provide(Effect.runtime<never>(), Logger.replace(Logger.defaultLogger, logger))
    )
    const runtime = createRuntime({
      tools: [echo],
      effectRuntime,
      policies: [{ name: "broken", observe: () => Promise.reject(new Error("full")) }]
    })
    await runtime.call({ ...call("echo"), signal: new AbortController().signal })
    assert.isTrue(lines.some((line) => line.includes('Observer "broken" failed on call "c1"')))
  })

  it("L10: nothing reaches the process, whatever rejects late or throws in a listener", async () => {
    const late = gate<never>()
    const careless = defineTool({
      name: "careless",
      description: "Leaves promises behind",
      parameters: Text,
      execute: async ({ text }, { call, signal }) => {
        signal.addEventListener("abort", () => {
          throw new Error("a careless listener")
        })
        void call("obedient", { text })
        void call("nope", { text })
        await abortOf(signal)
        return late.promise
      }
    })
    const seen = await complaints(async () => {
      const controller = new AbortController()
      const runtime = createRuntime({
        tools: [careless, obedient],
        policies: [
          {
            name: "careless",
            around: (call, next) => {
              call.signal = new AbortController().signal
              void next()
              return next()
            },
            observe: () => Promise.reject(new Error("full"))
          }
        ]
      })
      // Nobody waits for it, so nobody handles what it may reject with.
      void runtime.call({ ...call("careless"), signal: controller.signal })
      await settle()
      controller.abort(new Error("stop"))
      late.fail(new Error("too late"))
      await runtime.whenIdle()
    })
    assert.deepStrictEqual(seen, [])
  })

  it("L10: ten thousand calls in flight on one signal carry one listener, and leave none", async () => {
    const seen = await complaints(async () => {
      const controller = new AbortController()
      const { signal } = controller
      const runtime = createRuntime({ tools: [obedient] })
      const calls = Array.from({ length: 10_000 }, (_, i) => runtime.call({ ...call("obedient", `c${i}`), signal }))
      assert.strictEqual(getEventListeners(signal, "abort").length, 1)
      controller.abort()
      const results = await Promise.all(calls)
      assert.isTrue(results.every(({ report }) => report.code === "ABORTED"))
      assert.strictEqual(getEventListeners(signal, "abort").length, 0)
    })
    assert.deepStrictEqual(seen, [])
  }, 60_000)

  it("L10: ten thousand calls one after another leave nothing on their signal", async () => {
    const { signal } = new AbortController()
    const runtime = createRuntime({ tools: [echo] })
    for (let i = 0; i < 10_000; i++) await runtime.call({ ...call("echo"), signal })
    assert.strictEqual(getEventListeners(signal, "abort").length, 0)
    assert.deepStrictEqual(runtime.inFlight(), [])
  }, 60_000)
})
