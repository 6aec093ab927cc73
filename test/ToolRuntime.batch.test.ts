import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Schema } from "effect"
import {
  CancelCause,
  Cancellation,
  Content,
  Policy,
  Tool,
  type ToolCall,
  ToolContext,
  Toolkit,
  type ToolResult,
  ToolRuntime
} from "quiesce"

/** The tools of a batch: each call waits for a gate of its own, and all that happens is in one log. */
class World {
  readonly log: Array<string> = []
  readonly observed: Array<string> = []
  private readonly gates = new Map<string, Deferred.Deferred<void>>()
  mode: (id: string) => Tool.Concurrency = () => "parallel"
  running = 0
  most = 0
  before: (id: string) => Effect.Effect<Policy.Decision, unknown> = () => Effect.succeed(Policy.allow)

  gate(id: string): Deferred.Deferred<void> {
    const gate = this.gates.get(id) ?? Effect.runSync(Deferred.make<void>())
    this.gates.set(id, gate)
    return gate
  }

  readonly open = (...ids: ReadonlyArray<string>) =>
    Effect.forEach(ids, (id) => Effect.zipRight(Deferred.succeed(this.gate(id), undefined), settle), { discard: true })

  readonly tool = Tool.make("work", {
    description: "Works until its gate is open",
    parameters: {
      id: Schema.String,
      ignores: Schema.optional(Schema.Boolean),
      context: Schema.optional(Schema.String)
    },
    success: Schema.String,
    failure: Schema.Unknown,
    concurrency: ({ id }) => this.mode(id),
    handler: ({ context, id, ignores }) => {
      this.log.push(`body ${id}`)
      this.most = Math.max(this.most, ++this.running)
      const wait = Deferred.await(this.gate(id))
      const body = Effect.zipRight(
        context === undefined
          ? Effect.void
          : Effect.flatMap(ToolContext.ToolContext, (own) => own.deferContext(Content.text(context))),
        ignores === true ? Effect.uninterruptible(wait) : wait
      )
      return Effect.ensuring(
        Effect.as(body, id),
        Effect.sync(() => void this.running--)
      )
    }
  })

  readonly policies = [
    Policy.before("gate", (call) => {
      this.log.push(`before ${call.id}`)
      return this.before(call.id)
    }),
    Policy.after("review", (call) => {
      this.log.push(`after ${call.id}`)
      return Effect.succeed(Policy.accept())
    }),
    Policy.observe("observer", (call, result) =>
      Effect.sync(() => void this.observed.push(`${call.id} ${codeOf(result)}`))
    )
  ]

  readonly layer: Layer.Layer<ToolRuntime.ToolRuntime> = ToolRuntime.layer({
    toolkit: Toolkit.make(this.tool),
    policies: this.policies
  }) as Layer.Layer<ToolRuntime.ToolRuntime>
}

/** Lets everything that can go on do so. */
const settle = Effect.repeatN(Effect.yieldNow(), 30)

const codeOf = (result: ToolResult.ToolResult): string => (result._tag === "Success" ? "OK" : result.code)

const call = (id: string, more: object = {}): ToolCall.ToolCall => ({ id, name: "work", parameters: { id, ...more } })

const user = CancelCause.user()

interface Batch {
  readonly world: World
  readonly cancel: Effect.Effect<void>
  readonly results: Effect.Effect<ReadonlyArray<string>>
  readonly outcome: Effect.Effect<ToolRuntime.BatchResult>
}

/** Starts a batch under an owner that a signal of the host cancels, with its log in the world's. */
const batch = (
  calls: ReadonlyArray<ToolCall.ToolCall>,
  options: ToolRuntime.BatchOptions = {},
  prepare: (world: World) => void = () => {}
): Effect.Effect<Batch> =>
  Effect.gen(function* () {
    const world = new World()
    prepare(world)
    const controller = new AbortController()
    const running = Effect.flatMap(ToolRuntime.ToolRuntime, (runtime) =>
      runtime.executeBatch(calls, {
        onStart: ({ id }) => void world.log.push(`call ${id}`),
        onResult: (result) => void world.log.push(`result ${result.callId}`),
        ...options
      })
    )
    const fiber = yield* Effect.forkDaemon(
      Effect.provide(Cancellation.ownSignal(running, controller.signal), world.layer)
    )
    yield* settle
    return {
      world,
      cancel: Effect.zipRight(
        Effect.sync(() => controller.abort("stop")),
        settle
      ),
      outcome: Fiber.join(fiber),
      results: Effect.map(Fiber.join(fiber), ({ results }) =>
        results.map((result) => `${result.callId} ${codeOf(result)}`)
      )
    }
  })

const bodies = ({ log }: World): ReadonlyArray<string> => log.filter((entry) => entry.startsWith("body"))
const logged = ({ log }: World): ReadonlyArray<string> => log.filter((entry) => /^(call|result)/.test(entry))

describe("ToolRuntime.executeBatch", () => {
  it.scoped("124. parallel calls all start before any completes", () =>
    Effect.gen(function* () {
      const { results, world } = yield* batch([call("1"), call("2"), call("3")])
      assert.deepStrictEqual(bodies(world), ["body 1", "body 2", "body 3"])
      yield* world.open("1", "2", "3")
      assert.deepStrictEqual(yield* results, ["1 OK", "2 OK", "3 OK"])
    })
  )

  it.scoped("125. an exclusive call is alone", () =>
    Effect.gen(function* () {
      const { results, world } = yield* batch([call("r1"), call("w"), call("r2")], {}, (world) => {
        world.mode = (id) => (id === "w" ? "exclusive" : "parallel")
      })
      assert.deepStrictEqual(bodies(world), ["body r1"])
      yield* world.open("r1")
      assert.deepStrictEqual(bodies(world), ["body r1", "body w"])
      yield* world.open("w", "r2")
      assert.deepStrictEqual(yield* results, ["r1 OK", "w OK", "r2 OK"])
      assert.strictEqual(world.most, 1)
    })
  )

  it.scoped("126. two of four at once: the third starts when the first has its result", () =>
    Effect.gen(function* () {
      const calls = [call("1"), call("2"), call("3"), call("4")]
      const { results, world } = yield* batch(calls, { maxParallel: 2 })
      yield* world.open("1")
      assert.deepStrictEqual(logged(world), ["call 1", "call 2", "result 1", "call 3"])
      yield* world.open("2", "3", "4")
      yield* results
      assert.strictEqual(world.most, 2)
    })
  )

  it.scoped("127. one at a time is serial, and a number that cannot be is refused", () =>
    Effect.gen(function* () {
      const { results, world } = yield* batch([call("1"), call("2")], { maxParallel: 1 })
      yield* world.open("1", "2")
      yield* results
      assert.strictEqual(world.most, 1)
      const runtime = Context.get(yield* Layer.build(world.layer), ToolRuntime.ToolRuntime)
      for (const maxParallel of [0, 1.5, Number.NaN, -1]) {
        assert.throws(() => runtime.executeBatch([], { maxParallel }), /must be a positive integer/)
      }
    })
  )

  it.scoped("128, 129. whoever settles first waits for those before it; policies see the order of the calls", () =>
    Effect.gen(function* () {
      const { outcome, world } = yield* batch([call("1", { context: "one" }), call("2", { context: "two" })])
      yield* world.open("2")
      assert.deepStrictEqual(logged(world), ["call 1", "call 2"])
      yield* world.open("1")
      const { results } = yield* outcome
      assert.deepStrictEqual(world.log, [
        ...["call 1", "before 1", "body 1", "call 2", "before 2", "body 2"],
        ...["after 1", "result 1", "after 2", "result 2"]
      ])
      assert.deepStrictEqual(
        results.map(({ contexts }) => contexts),
        [[Content.text("one")], [Content.text("two")]]
      )
      assert.deepStrictEqual(world.observed, ["1 OK", "2 OK"])
    })
  )

  it.scoped("130. a denial and a broken policy are results in their places", () =>
    Effect.gen(function* () {
      const { results, world } = yield* batch([call("1"), call("2"), call("3")], {}, (world) => {
        world.before = (id) =>
          id === "2"
            ? Effect.succeed(Policy.deny("no"))
            : id === "3"
              ? Effect.die(new Error("broken"))
              : Effect.succeed(Policy.allow)
      })
      yield* world.open("1")
      assert.deepStrictEqual(yield* results, ["1 OK", "2 DENIED", "3 POLICY_FAILURE"])
      assert.deepStrictEqual(bodies(world), ["body 1"])
      assert.deepStrictEqual(
        world.log.filter((entry) => entry.startsWith("after")),
        ["after 1", "after 2"]
      )
    })
  )

  it.scoped("131. a batch that is cancelled before it begins: a pair in the log for each call, and no body", () =>
    Effect.gen(function* () {
      const world = new World()
      const runtime = Context.get(yield* Layer.build(world.layer), ToolRuntime.ToolRuntime)
      const log: Array<string> = []
      const running = Effect.gen(function* () {
        const owner = yield* Cancellation.Cancellation
        // In a protected region the cancel does not interrupt: the batch begins under an owner that is cancelled.
        const execute = runtime.executeBatch([call("1"), call("2")], {
          onStart: ({ id }) => void log.push(`call ${id}`),
          onResult: (result) => void log.push(`result ${result.callId} ${codeOf(result)}`)
        })
        controller.abort("stop")
        assert.isDefined(owner.cause)
        return yield* execute
      })
      const controller = new AbortController()
      yield* Effect.exit(Cancellation.ownSignal(Effect.uninterruptible(running), controller.signal))
      assert.deepStrictEqual(log, [
        "call 1",
        "result 1 ABORTED_BEFORE_DISPATCH",
        "call 2",
        "result 2 ABORTED_BEFORE_DISPATCH"
      ])
      assert.deepStrictEqual(bodies(world), [])
      assert.lengthOf(world.observed, 2)
    })
  )

  it.scoped("132. a cancel while the first is being decided on: neither has run, each has its result", () =>
    Effect.gen(function* () {
      const { cancel, results, world } = yield* batch([call("1"), call("2")], {}, (world) => {
        world.before = () => Effect.never
      })
      yield* cancel
      assert.deepStrictEqual(yield* results, ["1 ABORTED_BEFORE_DISPATCH", "2 ABORTED_BEFORE_DISPATCH"])
      assert.deepStrictEqual(logged(world), ["call 1", "result 1", "call 2", "result 2"])
      assert.deepStrictEqual(bodies(world), [])
    })
  )

  it.scoped("133, 143. a cancel with two running: they are aborted, the others never run, and observers see all", () =>
    Effect.gen(function* () {
      const calls = ["1", "2", "3", "4"].map((id) => call(id, { ignores: true }))
      const { cancel, results, world } = yield* batch(calls, { maxParallel: 2 })
      yield* cancel
      assert.deepStrictEqual(logged(world), ["call 1", "call 2"]) // nothing is abandoned (L4)
      yield* world.open("1", "2")
      const codes = [...["1 ABORTED", "2 ABORTED", "3 ABORTED_BEFORE_DISPATCH", "4 ABORTED_BEFORE_DISPATCH"]]
      assert.deepStrictEqual(yield* results, codes)
      assert.deepStrictEqual(world.observed, codes)
      assert.deepStrictEqual(logged(world).slice(2), [
        ...["result 1", "result 2", "call 3", "result 3", "call 4", "result 4"]
      ])
    })
  )

  it.scoped("135. an exclusive call behind an aborted group never runs, and has its result", () =>
    Effect.gen(function* () {
      const { cancel, results } = yield* batch([call("1"), call("w")], {}, (world) => {
        world.mode = (id) => (id === "w" ? "exclusive" : "parallel")
      })
      yield* cancel
      assert.deepStrictEqual(yield* results, ["1 ABORTED", "w ABORTED_BEFORE_DISPATCH"])
    })
  )

  it.scoped("138. the mode is read again before a start: it may have changed", () =>
    Effect.gen(function* () {
      let second: Tool.Concurrency = "parallel"
      const { results, world } = yield* batch([call("1"), call("2"), call("3")], { maxParallel: 1 }, (world) => {
        world.mode = (id) => (id === "2" ? second : "parallel")
      })
      second = "exclusive"
      yield* world.open("1", "2", "3")
      assert.deepStrictEqual(yield* results, ["1 OK", "2 OK", "3 OK"])
      assert.strictEqual(world.most, 1)
    })
  )

  it.scoped("139. a mode that throws, one that is no mode, an unknown tool and wrong parameters are exclusive", () =>
    Effect.gen(function* () {
      const odd: ReadonlyArray<ToolCall.ToolCall> = [
        call("throws"),
        call("odd"),
        { id: "unknown", name: "nothing", parameters: {} },
        { id: "wrong", name: "work", parameters: 7 }
      ]
      const { results, world } = yield* batch(odd, {}, (world) => {
        world.mode = (id) => {
          if (id === "throws") throw new Error("no mode")
          return "yes" as Tool.Concurrency
        }
      })
      assert.deepStrictEqual(logged(world), ["call throws"])
      yield* world.open("throws", "odd")
      assert.deepStrictEqual(yield* results, ["throws OK", "odd OK", "unknown UNKNOWN_TOOL", "wrong INVALID_ARGS"])
      assert.strictEqual(world.most, 1)
    })
  )

  it.scoped("140, 141. a log that breaks: nothing more starts, what runs is drained, and every call has a result", () =>
    Effect.gen(function* () {
      const { outcome, world } = yield* batch([call("1"), call("2"), call("3")], {
        onStart: ({ id }) => {
          if (id === "2") throw new Error("disk full")
        }
      })
      assert.deepStrictEqual(bodies(world), ["body 1"])
      yield* world.open("1")
      const { broken, results } = yield* outcome
      assert.deepStrictEqual(results.map(codeOf), ["OK", "ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"])
      assert.deepStrictEqual(broken?.error, new Error("disk full"))
      assert.lengthOf(world.observed, 3)
    })
  )

  it.scoped("142. a sibling that had finished before the cancel keeps its success, or not, as the batch wants", () =>
    Effect.gen(function* () {
      for (const [finishedSiblings, expected] of [
        ["keep", "2 OK"],
        ["abort", "2 ABORTED"]
      ] as const) {
        const { cancel, results, world } = yield* batch([call("1"), call("2")], { finishedSiblings })
        yield* world.open("2")
        yield* cancel
        assert.deepStrictEqual(yield* results, ["1 ABORTED", expected])
      }
    })
  )

  it.scoped("an interrupted caller: the same results reach the observers, and the interruption counts", () =>
    Effect.gen(function* () {
      const world = new World()
      const runtime = Context.get(yield* Layer.build(world.layer), ToolRuntime.ToolRuntime)
      const fiber = yield* Effect.fork(
        Cancellation.own(runtime.executeBatch([call("1"), call("2")], { maxParallel: 1 }))
      )
      yield* settle
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      assert.deepStrictEqual(world.observed, ["1 ABORTED", "2 ABORTED_BEFORE_DISPATCH"])
    })
  )

  it.scoped("one call can be cancelled alone", () =>
    Effect.gen(function* () {
      const world = new World()
      const runtime = Context.get(yield* Layer.build(world.layer), ToolRuntime.ToolRuntime)
      const fiber = yield* Effect.fork(Cancellation.own(runtime.executeBatch([call("1"), call("2")])))
      yield* settle
      yield* runtime.cancelCall("1", user)
      yield* world.open("2")
      const { results } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(results.map(codeOf), ["ABORTED", "OK"])
    })
  )

  it.scoped("a cancel that comes too late for a success that is kept says so, also while that is reviewed", () =>
    Effect.gen(function* () {
      const world = new World()
      const runtime = Context.get(yield* Layer.build(world.layer), ToolRuntime.ToolRuntime)
      const said: Array<boolean> = []
      const late = Policy.after("late", ({ id }) =>
        Effect.map(runtime.cancelCall(id, user), (inTime) => {
          said.push(inTime)
          return Policy.accept()
        })
      )
      yield* runtime.registerPolicy(late)
      for (const [finishedSiblings, code, inTime] of [
        ["keep", "OK", false],
        ["abort", "ABORTED", true]
      ] as const) {
        const fiber = yield* Effect.fork(Cancellation.own(runtime.executeBatch([call("1")], { finishedSiblings })))
        yield* world.open("1")
        const { results } = yield* Fiber.join(fiber)
        assert.deepStrictEqual([results.map(codeOf), said.splice(0)], [[code], [inTime]])
      }
    })
  )

  it.scoped("a batch of nothing has no results", () =>
    Effect.gen(function* () {
      const { outcome } = yield* batch([])
      assert.deepStrictEqual(yield* outcome, { results: [], broken: undefined })
    })
  )

  it.scoped("the parameters of a call are read once; a call that cannot even be named starts nothing", () =>
    Effect.gen(function* () {
      const world = new World()
      const runtime = Context.get(yield* Layer.build(world.layer), ToolRuntime.ToolRuntime)
      let reads = 0
      const counted: ToolCall.ToolCall = {
        id: "1",
        name: "work",
        get parameters() {
          reads++
          return { id: "1" }
        }
      }
      const fiber = yield* Effect.fork(Cancellation.own(runtime.executeBatch([counted])))
      yield* settle
      yield* world.open("1")
      assert.deepStrictEqual((yield* Fiber.join(fiber)).results.map(codeOf), ["OK"])
      assert.strictEqual(reads, 1)
      const broken = {
        get id(): string {
          throw new Error("no name")
        },
        name: "work",
        parameters: {}
      }
      const exit = yield* Effect.exit(Cancellation.own(runtime.executeBatch([call("2"), broken])))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(bodies(world), ["body 1"])
      yield* runtime.awaitIdle
    })
  )
})
