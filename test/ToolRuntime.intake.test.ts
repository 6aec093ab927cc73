import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, FiberId, Schema } from "effect"
import { Abort, CancelCause, Cancellation, Policy, Tool, type ToolCall, ToolResult, ToolRuntime } from "quiesce"
import {
  aborted,
  callOf,
  executeCancelled,
  failed,
  notDispatched,
  setup,
  succeeded,
  texts,
  user
} from "./support/calls.js"

const hostCause: CancelCause.Encoded = { _tag: "HostSignal", reason: "tab closed" }
const tabClosed = new Error("tab closed")

const notJson = (message = "tool execution arguments must be losslessly JSON-serializable") =>
  failed({ code: "NOT_JSON", name: "NotJsonError", message })

const unknownTool = failed(
  { code: "UNKNOWN_TOOL", name: "ToolNotFoundError", message: 'unknown tool "nope"' },
  { tool: "nope" }
)

/** A call whose parameters are read through a getter. */
const readThrough = (read: () => unknown, call: Partial<ToolCall.ToolCall> = {}): ToolCall.ToolCall =>
  Object.defineProperty({ ...callOf(call) }, "parameters", { get: read, enumerable: true })

describe("ToolRuntime (intake)", () => {
  it.scoped("1 (core: an owner cancelled before the call): it ends before dispatch and reads its parameters once", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      let reads = 0
      const call = readThrough(() => {
        reads++
        return { text: "hi" }
      })
      assert.deepStrictEqual(yield* executeCancelled(t, tabClosed, call), notDispatched(hostCause))
      assert.strictEqual(reads, 1)
      assert.deepStrictEqual(t.log, ["observe"])
    })
  )

  it.scoped("1: a getter among the parameters that cancels the call is in time", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      const call = readThrough(() => {
        Effect.runFork(t.runtime.cancelCall("c1", user))
        return { text: "hi" }
      })
      assert.deepStrictEqual(yield* t.execute(call), notDispatched(user))
      assert.deepStrictEqual(t.log, ["observe"])
    })
  )

  it.scoped("1: a getter among the parameters that interrupts the caller is in time", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      const call = Effect.withFiberRuntime<ToolResult.ToolResult>((fiber) =>
        t.execute(
          readThrough(() => {
            fiber.unsafeInterruptAsFork(FiberId.make(7, 0))
            return { text: "hi" }
          })
        )
      )
      const exit = yield* Fiber.await(yield* Effect.fork(call))
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(t.observed, [notDispatched({ _tag: "Interrupted", by: "#7" })])
      assert.deepStrictEqual(t.log, ["observe"])
    })
  )

  it.scoped("2 (core): policies and observers see one frozen call with a deep-frozen copy of the parameters", () =>
    Effect.gen(function* () {
      const seen: Array<Policy.Call> = []
      const see = (call: Policy.Call) => {
        seen.push(call)
      }
      const t = yield* setup({
        before: (call) =>
          Effect.as(
            Effect.sync(() => see(call)),
            Policy.allow
          ),
        guard: see as () => undefined,
        around: (call, next) =>
          Effect.zipRight(
            Effect.sync(() => see(call)),
            next
          ),
        after: (call) =>
          Effect.as(
            Effect.sync(() => see(call)),
            Policy.accept()
          ),
        observe: (call) => Effect.sync(() => see(call))
      })
      const parameters = { text: "hi", more: { list: [1, { deep: true }] } }
      yield* t.execute({ parameters, agent: "a1", rootId: "r1" })
      assert.strictEqual(seen.length, 5)
      assert.strictEqual(new Set(seen).size, 1)
      const call = seen[0] as Policy.Call
      assert.deepStrictEqual(call, {
        id: "c1",
        rootId: "r1",
        parentId: undefined,
        tool: "echo",
        parameters,
        agent: "a1"
      })
      assert.notStrictEqual(call.parameters, parameters)
      const copy = call.parameters as typeof parameters
      assert.notStrictEqual(copy.more, parameters.more)
      for (const part of [call, copy, copy.more, copy.more.list, copy.more.list[1]]) assert.isFrozen(part)
    })
  )

  it.scoped("2 (core): an observer of a call that was cancelled before it began sees the very result", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      const result = yield* executeCancelled(t, tabClosed)
      assert.strictEqual(t.observed[0], result)
      assert.strictEqual(t.observed.length, 1)
    })
  )

  it.scoped("3: parameters that are not JSON beat a cancellation and an unknown name", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      const result = yield* executeCancelled(t, tabClosed, { name: "nope", parameters: { invalid: () => undefined } })
      assert.deepStrictEqual(result, { ...notJson(), tool: "nope" })
      assert.deepStrictEqual(t.log, ["observe"])
    })
  )

  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  const withHiddenKey = Object.defineProperty({}, "hidden", { value: 1, enumerable: false })
  const kinds: ReadonlyArray<readonly [string, unknown]> = [
    ["undefined", undefined],
    ["a function", { f: () => undefined }],
    ["a symbol", { s: Symbol("s") }],
    ["a symbol as key", { [Symbol("s")]: 1 }],
    ["a bigint", { b: 1n }],
    ["-0", { n: -0 }],
    ["NaN", { n: Number.NaN }],
    ["Infinity", { n: Number.POSITIVE_INFINITY }],
    // biome-ignore lint/suspicious/noSparseArray: the subject of the test
    ["a sparse array", { a: [1, , 3] }],
    ["an array with a property of its own", { a: Object.assign([1], { extra: 1 }) }],
    ["undefined in a field", { u: undefined }],
    ["a cycle", cycle],
    ["a class instance", { at: new URL("https://example.org") }],
    ["a map", new Map()],
    ["a hidden property", withHiddenKey],
    [
      "a proxy that throws something without a message",
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw Object.create(null)
          }
        }
      )
    ]
  ]
  for (const [kind, parameters] of kinds.slice(0, -1)) {
    it.scoped(`4: parameters with ${kind} are refused before anybody is asked`, () =>
      Effect.gen(function* () {
        const t = yield* setup()
        assert.deepStrictEqual(yield* t.execute({ parameters }), notJson())
        assert.deepStrictEqual(t.log, ["observe"])
      })
    )
  }

  it.scoped("4: parameters that throw something unprintable while they are read are refused", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      const parameters = kinds.at(-1)?.[1]
      assert.deepStrictEqual(yield* t.execute({ parameters }), notJson("<unprintable thrown value>"))
      assert.deepStrictEqual(t.log, ["observe"])
    })
  )

  it.scoped("5: a getter that throws is told by its own message, and observers see no parameters", () =>
    Effect.gen(function* () {
      const fail = () => {
        throw new Error("g")
      }
      const seen: Array<unknown> = []
      const t = yield* setup({ observe: (call) => Effect.sync(() => seen.push(call.parameters)) })
      const parameters = Object.defineProperty({}, "text", { get: fail, enumerable: true })
      assert.deepStrictEqual(yield* t.execute({ parameters }), notJson("g"))
      assert.deepStrictEqual(yield* t.execute(readThrough(fail)), notJson("g"))
      assert.deepStrictEqual(t.log, ["observe", "observe"])
      assert.deepStrictEqual(seen, [undefined, undefined])
    })
  )

  it.scoped("7: a cancellation beats an unknown name", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      const result = yield* executeCancelled(t, tabClosed, { name: "nope" })
      assert.deepStrictEqual(result, { ...notDispatched(hostCause), tool: "nope" })
      assert.deepStrictEqual(t.log, ["observe"])
    })
  )

  it.scoped("8 (core: before the policies): an unknown name is reviewed and observed, and nobody is asked for it", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      assert.deepStrictEqual(yield* t.execute({ name: "nope" }), unknownTool)
      assert.deepStrictEqual(t.log, ["after", "observe"])
    })
  )

  it.scoped("9: a caller that changes its parameters after the start changes nothing", () =>
    Effect.gen(function* () {
      const t = yield* setup({ before: () => Effect.as(Effect.yieldNow(), Policy.allow) })
      const parameters = { text: "hi" }
      const running = yield* t.start({ parameters })
      parameters.text = "changed"
      assert.deepStrictEqual(yield* running.result, succeeded())
    })
  )

  it.scoped("9: a body that writes to its parameters changes nothing", () =>
    Effect.gen(function* () {
      const attempts: Array<boolean> = []
      const Write = Tool.make("write", {
        description: "Writes to its parameters",
        parameters: { text: Schema.String, nested: Schema.Struct({ list: Schema.Array(Schema.Number) }) },
        success: Schema.Null,
        handler: (parameters) =>
          Effect.sync(() => {
            attempts.push(Reflect.set(parameters, "text", "changed"))
            attempts.push(Reflect.set(parameters.nested, "list", []))
            attempts.push(Reflect.set(parameters.nested.list, 0, 2))
            return null
          })
      })
      const t = yield* setup({ tools: [Write] })
      const result = yield* t.execute({ name: "write", parameters: { text: "hi", nested: { list: [1] } } })
      assert.isTrue(ToolResult.isSuccess(result))
      assert.deepStrictEqual(attempts, [false, false, false])
    })
  )

  it.scoped(
    "9: what an attempt writes to its parameters does not reach the next one, however a schema builds them",
    () =>
      Effect.gen(function* () {
        const Point = Schema.Struct({ x: Schema.Number })
        interface Tree {
          readonly name: string
          readonly children: ReadonlyArray<Tree>
        }
        const Tree: Schema.Schema<Tree> = Schema.Struct({
          name: Schema.String,
          children: Schema.Array(Schema.suspend(() => Tree))
        }).annotations({ identifier: "Tree" })
        const written: Array<boolean> = []
        const Write = Tool.make("write", {
          description: "Writes to its parameters, wherever it can",
          parameters: {
            point: Schema.NullOr(Point),
            branded: Point.pipe(
              Schema.filter(({ x }) => x > 0),
              Schema.brand("Positive")
            ),
            either: Schema.Union(Schema.Struct({ kind: Schema.Literal("a"), at: Point }), Schema.Array(Point)),
            anything: Schema.Union(Schema.Struct({ kind: Schema.Literal("a"), at: Point }), Schema.Unknown),
            record: Schema.Record({ key: Schema.String, value: Point }),
            pair: Schema.Tuple(Point, Schema.optionalElement(Point)),
            absent: Schema.optionalWith(Point, { default: () => ({ x: 1 }) }),
            parsed: Schema.parseJson(Schema.Struct({ list: Schema.Array(Point) })),
            turned: Schema.transform(Schema.Number, Point, {
              strict: true,
              decode: (x) => ({ x }),
              encode: ({ x }) => x
            }),
            unknown: Schema.Unknown,
            object: Schema.Object,
            empty: Schema.Struct({}),
            tree: Tree
          },
          success: Schema.Number,
          failure: Schema.String,
          handler: (parameters) =>
            Effect.suspend(() => {
              const write = (value: unknown): void => {
                if (typeof value !== "object" || value === null) return
                written.push(Reflect.set(value, "written", true))
                for (const part of Object.values(value)) write(part)
              }
              write(parameters)
              return Effect.fail("again")
            })
        })
        const t = yield* setup({ tools: [Write], around: (_, next) => Effect.zipRight(next, next) })
        const point = { x: 1 }
        const parameters = {
          point,
          branded: point,
          either: { kind: "a", at: point },
          anything: { kind: "a", at: point },
          record: { one: point },
          pair: [point, point],
          parsed: JSON.stringify({ list: [point] }),
          turned: 1,
          unknown: { some: [point] },
          object: { some: [point] },
          empty: { some: [point] },
          tree: { name: "root", children: [{ name: "child", children: [{ name: "leaf", children: [] }] }] }
        }
        assert.strictEqual((yield* t.execute({ name: "write", parameters })).body, "failed")
        assert.strictEqual(written.length, 2 * 32)
        assert.notInclude(written, true)
      })
  )

  it.scoped("9: what a schema only passes on may be the host's, and is left as it is", () =>
    Effect.gen(function* () {
      const shared = { limits: { depth: 3 }, seen: 0 }
      class Session {
        readonly state = { seen: 0 }
      }
      const session = new Session()
      const from = <A>(to: Schema.Schema<A>, value: A) =>
        Schema.transform(Schema.String, to, { strict: true, decode: () => value, encode: () => "" })
      const isShared = (u: unknown): u is typeof shared => u === shared
      const Use = Tool.make("use", {
        description: "Uses what its schema looks up",
        parameters: {
          any: from(Schema.Any, shared),
          object: from(Schema.Object, shared),
          declared: from(Schema.declare(isShared), shared),
          either: from(Schema.Union(Schema.Struct({ other: Schema.String }), Schema.declare(isShared)), shared),
          empty: from(Schema.Struct({}), shared),
          within: from(Schema.Struct({ shared: Schema.Any }), { shared }),
          session: from(Schema.instanceOf(Session), session),
          absent: Schema.optionalWith(Schema.Any, { default: () => shared })
        },
        success: Schema.Boolean,
        handler: (parameters) =>
          Effect.sync(() => {
            shared.seen++
            session.state.seen++
            return [
              parameters.any,
              parameters.object,
              parameters.declared,
              parameters.empty,
              parameters.either,
              parameters.within.shared,
              parameters.absent
            ].every((value) => value === shared)
          })
      })
      const t = yield* setup({ tools: [Use] })
      const names = { any: "", object: "", declared: "", either: "", empty: "", within: "", session: "" }
      const result = yield* t.execute({ name: "use", parameters: names })
      assert.strictEqual(result._tag === "Success" && result.value, true)
      assert.isFalse(Object.isFrozen(shared) || Object.isFrozen(shared.limits) || Object.isFrozen(session.state))
      assert.deepStrictEqual([shared.seen, session.state.seen], [1, 1])
    })
  )

  it.scoped("9: a schema whose filter writes to what it checks decodes all the same", () =>
    Effect.gen(function* () {
      const Counted = Schema.Struct({ n: Schema.Number }).pipe(
        Schema.filter((value) => {
          ;(value as { n: number }).n++
          return true
        })
      )
      const Count = Tool.make("count", {
        description: "Counts",
        parameters: { counted: Counted },
        success: Schema.Number,
        handler: ({ counted }) => Effect.succeed(counted.n)
      })
      const t = yield* setup({ tools: [Count] })
      const result = yield* t.execute({ name: "count", parameters: { counted: { n: 1 } } })
      assert.strictEqual(result._tag === "Success" && result.value, 2)
    })
  )

  it.scoped("10 (core): a call without an owner does not compile, and without or with a forged one it dies", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      // @effect-diagnostics-next-line missingEffectContext:off
      // @ts-expect-error: Cancellation is missing
      const ownerless: Effect.Effect<ToolResult.ToolResult> = t.runtime.execute(callOf())
      const without = yield* Effect.exit(ownerless)
      assert.isTrue(Exit.isFailure(without))
      assert.match(Cause.pretty((without as Exit.Failure<unknown, never>).cause), /There is no owner in context/)
      const forged = { signal: new AbortController().signal, cause: undefined } as Cancellation.Service
      const with_ = yield* Effect.exit(
        Effect.provideService(t.runtime.execute(callOf()), Cancellation.Cancellation, forged)
      )
      assert.isTrue(Exit.isFailure(with_))
      assert.match(Cause.pretty((with_ as Exit.Failure<unknown, never>).cause), /was not made by quiesce/)
      assert.deepStrictEqual(t.log, [])
      assert.deepStrictEqual(yield* t.runtime.inFlight, [])
    })
  )

  it.scoped("11 (core): two calls with one id are two calls, and are cancelled together", () =>
    Effect.gen(function* () {
      const t = yield* setup({ body: () => Effect.never })
      const first = yield* t.start()
      const second = yield* t.start()
      assert.strictEqual((yield* t.runtime.inFlight).length, 2)
      assert.isTrue(yield* first.cancel(CancelCause.parent()))
      const one = yield* first.result
      assert.deepStrictEqual(
        (yield* t.runtime.inFlight).map(({ cause }) => cause),
        [undefined]
      )
      assert.isTrue(yield* t.runtime.cancelCall("c1", user))
      const two = yield* second.result
      assert.deepStrictEqual([one, two], [aborted({ _tag: "Parent" }), aborted(user)])
      assert.strictEqual(t.observed.length, 2)
    })
  )

  it.scoped("12: the tool has its last word on a call that was cancelled before it began", () =>
    Effect.gen(function* () {
      const asked: Array<ToolResult.ToolResult> = []
      const t = yield* setup({
        finalContent: (result) => {
          asked.push(result)
          return texts("it never ran")
        }
      })
      const result = yield* executeCancelled(t, tabClosed)
      assert.deepStrictEqual(result, notDispatched(hostCause, { content: texts("it never ran") }))
      assert.deepStrictEqual(asked, [notDispatched(hostCause)])
    })
  )

  it.scoped("12: the tool has its last word on parameters that are not JSON", () =>
    Effect.gen(function* () {
      let asked = 0
      const t = yield* setup({
        finalContent: () => {
          asked++
          return texts("send JSON")
        }
      })
      const result = yield* t.execute({ parameters: () => undefined })
      assert.deepStrictEqual(result, { ...notJson(), content: texts("send JSON") })
      assert.strictEqual(asked, 1)
    })
  )

  it.scoped("14: under an aborted signal of the host not even a synchronous body runs", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      // A protected region is no way round it.
      assert.deepStrictEqual(yield* executeCancelled(t, tabClosed), notDispatched(hostCause))
      const signal = AbortSignal.abort(tabClosed)
      const owned = yield* Effect.exit(Cancellation.ownSignal(t.runtime.execute(callOf()), signal))
      assert.isTrue(Exit.isInterrupted(owned))
      const program = Effect.provideService(ToolRuntime.execute(callOf()), ToolRuntime.ToolRuntime, t.runtime)
      const rejection = yield* Effect.promise(() =>
        Abort.toPromise(program, { signal }).then(
          () => "resolved",
          (error) => error
        )
      )
      assert.strictEqual(rejection, tabClosed)
      assert.deepStrictEqual(t.log, ["observe"])
    })
  )
})
