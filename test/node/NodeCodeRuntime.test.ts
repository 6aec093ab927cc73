import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { Cancellation } from "quiesce"
import { CodeRuntime, Workflow } from "quiesce/capability"
import { NodeCodeRuntime, NodeProcess } from "quiesce/node"
import { childrenWithArgument } from "../support/processes.js"

const maxMemoryMb = 64
const alive = () => childrenWithArgument(`--max-old-space-size=${maxMemoryMb} `)

/** Runs code; when that is answered nothing of it is alive. */
const run = (code: string, options: Partial<CodeRuntime.RunOptions> = {}) =>
  CodeRuntime.run({ code, maxMemoryMb, timeout: "20 seconds", ...options }).pipe(
    Effect.provide(NodeCodeRuntime.layer),
    Cancellation.own,
    Effect.onExit(() => Effect.sync(() => assert.deepStrictEqual(alive(), [], "L3: it was alive when it was answered")))
  )

const reasonOf = (code: string, options?: Partial<CodeRuntime.RunOptions>) =>
  Effect.map(Effect.flip(run(code, options)), ({ reason }) => reason)

describe("NodeCodeRuntime", () => {
  describe.each<readonly [string, string, CodeRuntime.Reason]>([
    ["an endless loop", "for (;;) {}", "Timeout"],
    ["an endless loop behind an await", "await null; for (;;) {}", "Timeout"],
    ["an endless chain of promises", "for (;;) await null", "Timeout"],
    ["a built-in function that has no end", "[].includes.call({ length: 2 ** 53 - 1 }, 1)", "Timeout"],
    ["an expression that takes for ever", "/(a+)+b/.test('a'.repeat(60))", "Timeout"],
    ["a loop in a getter of the value", "return { get a() { for (;;) {} } }", "Timeout"],
    ["a loop in what is logged", "console.log({ get a() { for (;;) {} } })", "Timeout"],
    ["objects without end", "const all = []; for (;;) all.push({ x: [1, 2, 3] })", "OutOfMemory"],
    ["one huge array", "new Array(1e9).fill(0)", "OutOfMemory"],
    ["one huge string", "const all = []; for (;;) all.push(JSON.stringify('x'.repeat(2 ** 28)))", "OutOfMemory"],
    ["properties without end", "const o = {}; for (let i = 0; ; i++) o['k' + i] = i", "OutOfMemory"],
    ["calls without end", "for (;;) nothing({ a: [1, 2, 3] })", "OutOfMemory"],
    ["deep recursion", "(function f() { f() })()", "Exception"],
    ["deep recursion that logs", "const f = () => { console.log(1); f() }; f()", "Exception"],
    ["a promise that never settles", "await new Promise(() => {})", "Unsettled"],
    ["process.exit", "process.exit(0)", "Exception"],
    ["a shared buffer to wait on", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", "Exception"],
    ["text that is no code", "return }", "Syntax"],
    ["a value that is a function", "return () => 1", "InvalidOutput"],
    ["a value that is a symbol", "return Symbol('a')", "InvalidOutput"],
    ["a value that is a bigint", "return [1n]", "InvalidOutput"],
    ["a value that is a cycle", "const a = {}; a.a = a; return a", "InvalidOutput"],
    ["a value that is a map", "return new Map()", "InvalidOutput"],
    ["a value that is no number", "return NaN", "InvalidOutput"],
    ["a value with a getter that throws", "return { get a() { throw 1 } }", "InvalidOutput"],
    ["a value that is a proxy with traps", "return new Proxy({}, { ownKeys() { throw null } })", "InvalidOutput"],
    ["a value that is a revoked proxy", "const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy", "Exception"],
    [
      "a value that grows with a getter",
      "const a = []; return new Proxy(a, { get: (_, k) => k === 'length' ? 1e15 : 1 })",
      "OutputLimit"
    ],
    ["a thrown proxy with traps", "throw new Proxy({}, { get() { throw 1 } })", "Exception"],
    ["a thrown nothing", "throw undefined", "Exception"],
    ["an import", "await import('node:fs')", "Exception"],
    ["eval", "eval('1')", "Exception"],
    ["new Function", "new Function('return process')()", "Exception"],
    ["the constructor of a constructor", "this.constructor.constructor('return process')()", "Exception"],
    ["the constructor of console.log", "console.log.constructor('return process')()", "Exception"],
    ["the constructor of a binding", "nothing.constructor('return process')()", "Exception"],
    [
      "the constructor of what a binding gave",
      "(await nothing()).constructor.constructor('return process')()",
      "Exception"
    ],
    [
      "the constructor of what an import failed with",
      "const e = await import('x').catch((e) => e); e.constructor.constructor('return process')()",
      "Exception"
    ],
    [
      "the functions on the stack",
      `Error.prepareStackTrace = (_, sites) => sites
       for (const site of new Error().stack.slice(1)) site.getFunction().constructor("return process")()`,
      "Exception"
    ],
    [
      "a full stack in a function of the host",
      `
      let caught
      const f = () => { try { console.log("") ; f() } catch (e) { caught ??= e } }
      f()
      return caught.constructor.constructor("return process")()`,
      "Exception"
    ]
  ])("%s", (_, code, reason) => {
    it.live("is a typed failure, and its process is gone", () =>
      Effect.gen(function* () {
        const timeout = reason === "Timeout" ? "500 millis" : "20 seconds"
        assert.strictEqual(yield* reasonOf(code, { timeout, bindings: { nothing: () => Effect.succeed({}) } }), reason)
      })
    )
  })

  it.live("there is nothing but the language, console and the bindings", () =>
    Effect.gen(function* () {
      const names = ["process", "require", "module", "fetch", "setTimeout", "Buffer", "Uint8Array", "WebAssembly"]
      const { value } = yield* run(`return [${names.map((name) => `typeof ${name}`)}, typeof console, typeof mine]`, {
        bindings: { mine: () => Effect.void }
      })
      assert.deepStrictEqual(value, [...names.map(() => "undefined"), "object", "function"])
    })
  )

  it.live("code that changes the prototypes of its realm changes nothing of how it is answered", () =>
    Effect.gen(function* () {
      const { logs, value } = yield* run(
        `Promise.prototype.then = Array.prototype.push = JSON.stringify = JSON.parse = null
         Object.prototype.toJSON = () => "no"
         Object.prototype.reason = "Timeout"
         Object.defineProperty(Object.prototype, "0", { set() { throw 1 } })
         console.log([1])
         return { a: [await echo({ b: 1 })] }`,
        { bindings: { echo: Effect.succeed } }
      )
      assert.deepStrictEqual(value, { a: [{ b: 1 }] })
      assert.deepStrictEqual(logs, [{ level: "log", text: "[1]" }])
    })
  )

  it.live("a key that is a name of a prototype is a key", () =>
    Effect.gen(function* () {
      const { value } = yield* run(`return JSON.parse('{"__proto__":{"polluted":1},"constructor":2}')`)
      assert.deepStrictEqual(Object.keys(value as object), ["__proto__", "constructor"])
      assert.isUndefined(({} as { readonly polluted?: unknown }).polluted)
    })
  )

  it.live("code that leaves its function gets nothing more", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* run("}); (() => { return 5")).value, 5)
      assert.strictEqual(yield* reasonOf("}); throw 1; (() => {"), "Exception")
    })
  )

  it.live("an error names the line, and its stack shows the code and nothing else", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(run("\n\nconst f = () => null.x\nf()"))
      assert.strictEqual(error.line, 3)
      assert.match(error.message, /TypeError: .*, line 3\)/)
      assert.strictEqual(error.stack?.match(/\n\s+at /g)?.length, 2)
      assert.strictEqual((yield* Effect.flip(run("\nlet x = ;"))).line, 2)
    })
  )

  it.live("what is logged is shown on one line, whatever it is, and a rejection that nobody catches is logged", () =>
    Effect.gen(function* () {
      const { logs } = yield* run(
        `
        console.log("a", 1, { b: ["c", null, undefined, 2n], d: () => {} }, Symbol("e"))
        console.error(new Proxy({}, { ownKeys() { throw 1 } }))
        Promise.reject(new Error("lost"))
        await tick()`,
        { bindings: { tick: () => Effect.void } }
      )
      assert.deepStrictEqual(logs, [
        { level: "log", text: 'a 1 { b: ["c", null, undefined, 2n], d: [function] } Symbol(e)' },
        { level: "error", text: "[something that cannot be looked at]" },
        { level: "error", text: "Nobody caught: Error: lost" }
      ])
    })
  )

  it.live("thousands of calls at once have their answers, ten at a time", () => {
    let running = 0
    let peak = 0
    const touch = () =>
      Effect.suspend(() => {
        peak = Math.max(peak, ++running)
        return Effect.ensuring(
          Effect.yieldNow(),
          Effect.sync(() => running--)
        )
      })
    return Effect.gen(function* () {
      const code = "return (await Promise.all(Array.from({ length: 5000 }, () => touch()))).length"
      assert.strictEqual((yield* run(code, { bindings: { touch } })).value, 5000)
      assert.strictEqual(peak, 10)
    })
  })

  it.live("a long value and a long log come through as they are", () =>
    Effect.gen(function* () {
      const { logs, value } = yield* run(`const s = "aé€😀".repeat(50000); console.log(s); return s`, {
        maxLogBytes: 1_000_000
      })
      assert.strictEqual(value, "aé€😀".repeat(50_000))
      assert.strictEqual(logs[0]?.text, value)
    })
  )

  it.live("NodeProcess.killAll reaches code that runs", () =>
    Effect.gen(function* () {
      const logged = yield* Deferred.make<void>()
      const onLog = () => Deferred.unsafeDone(logged, Effect.void)
      const fiber = yield* Effect.fork(Effect.flip(run("console.log(1); for (;;) {}", { onLog })))
      yield* Deferred.await(logged)
      assert.strictEqual(NodeProcess.killAll(), 1)
      assert.deepInclude(yield* Fiber.join(fiber), { reason: "WorkerFailed", detail: "SIGKILL" })
    })
  )

  it.live("236. a step of a workflow that loops for ever is ended by force, and told once", () =>
    Effect.gen(function* () {
      const loops = yield* Deferred.make<void>()
      const onLog = () => void Effect.runSync(Deferred.succeed(loops, undefined))
      const events: Array<string> = []
      const workflow = yield* Workflow.start({
        name: "work",
        script: Workflow.step("loop", run("console.log(1); for (;;) {}", { onLog })),
        onEvent: (event) => void events.push("outcome" in event ? `${event._tag} ${event.outcome}` : event._tag)
      })
      yield* Deferred.await(loops)
      yield* workflow.cancel()
      assert.strictEqual((yield* workflow.result).outcome, "cancelled")
      assert.deepStrictEqual(alive(), [])
      assert.deepStrictEqual(events, [
        "WorkflowStarted",
        "StepStarted",
        "StepEnded cancelled",
        "WorkflowEnded cancelled"
      ])
    }).pipe(Cancellation.own, Effect.provide(Workflow.layer()))
  )
})
