import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, FiberId, Layer, Schema } from "effect"
import { Cancellation, Content, Policy, Tool, ToolContext, Toolkit, type ToolResult, ToolRuntime } from "quiesce"
import { checkResult, settle, user } from "./support/calls.js"

const codeOf = (result: ToolResult.ToolResult): string =>
  `${result.callId} ${result._tag === "Success" ? "OK" : result.code}`

type Inside = ToolContext.ToolContext | Cancellation.Cancellation | ToolRuntime.ToolRuntime

/** A runtime with `outer`, whose body a test gives, and `work`, which waits for the gate of its id, or fails without one. */
class World {
  readonly log: Array<string> = []
  readonly running = new Set<string>()
  readonly told: Array<string> = []
  private readonly gates = new Map<string, Deferred.Deferred<void>>()
  private readonly body: Effect.Effect<unknown, unknown, Inside>
  private readonly policies: ReadonlyArray<Policy.Policy<any>>
  peak = 0

  constructor(body: Effect.Effect<unknown, unknown, Inside>, policies: ReadonlyArray<Policy.Policy<any>> = []) {
    this.body = body
    this.policies = policies
  }

  gate(id: string): Deferred.Deferred<void> {
    const gate = this.gates.get(id) ?? Deferred.unsafeMake<void>(FiberId.none)
    this.gates.set(id, gate)
    return gate
  }

  get runtime() {
    const Work = Tool.make("work", {
      description: "Waits",
      parameters: { gate: Schema.optional(Schema.String), alone: Schema.optional(Schema.Boolean) },
      success: Schema.Unknown,
      failure: Schema.Unknown,
      concurrency: ({ alone }) => (alone === true ? "exclusive" : "parallel"),
      handler: ({ gate }) =>
        Effect.gen(this, function* () {
          const { callId } = yield* ToolContext.ToolContext
          this.running.add(callId)
          this.peak = Math.max(this.peak, this.running.size)
          this.log.push(`start ${callId}`)
          yield* ToolContext.deferContext(Content.text(`from ${callId}`))
          yield* ToolContext.concludeTurn
          if (gate === "fail") return yield* Effect.fail("no")
          if (gate !== undefined) yield* Deferred.await(this.gate(gate))
          return callId
        }).pipe(
          Effect.ensuring(
            Effect.map(ToolContext.ToolContext, ({ callId }) => {
              this.running.delete(callId)
              this.log.push(`end ${callId}`)
            })
          )
        )
    })
    const Outer = Tool.make("outer", {
      description: "Calls others",
      parameters: {},
      success: Schema.Unknown,
      failure: Schema.Unknown,
      handler: () => this.body
    })
    const observe = Policy.observe("told", (_call, result) =>
      Effect.sync(() => {
        checkResult(result)
        this.told.push(codeOf(result))
      })
    )
    return Effect.map(
      Layer.build(
        ToolRuntime.layer({
          toolkit: Toolkit.make(Work, Outer),
          policies: [...this.policies, observe] as ReadonlyArray<Policy.Policy>
        })
      ),
      Context.get(ToolRuntime.ToolRuntime)
    )
  }
}

const outer = { id: "o", name: "outer", parameters: {}, agent: "clerk" }

const nested = (parameters: object = {}) => ToolContext.call("work", parameters)

describe("ToolRuntime (calls of a body)", () => {
  it.scoped("go through the policies, have results of their own, and are told of before the call of the body", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const spy = Policy.before("spy", ({ agent, id, parentId, rootId, tool }) =>
        Effect.sync(() => {
          seen.push([id, parentId, rootId, tool, agent])
          return id === "o:2" ? Policy.deny("not this one") : Policy.allow
        })
      )
      const body = Effect.gen(function* () {
        const first = yield* nested()
        const second = yield* nested()
        const third = yield* ToolContext.call("nope", {})
        const fourth = yield* nested({ gate: 7 })
        return [first, second, third, fourth].map(codeOf)
      })
      const world = new World(body, [spy])
      const runtime = yield* world.runtime
      const result = yield* Cancellation.own(runtime.execute(outer))
      assert(result._tag === "Success")
      assert.deepStrictEqual(result.value, ["o:1 OK", "o:2 DENIED", "o:3 UNKNOWN_TOOL", "o:4 INVALID_ARGS"])
      assert.deepStrictEqual(world.told, ["o:1 OK", "o:2 DENIED", "o:3 UNKNOWN_TOOL", "o:4 INVALID_ARGS", "o OK"])
      assert.deepStrictEqual(seen, [
        ["o", undefined, "o", "outer", "clerk"],
        ["o:1", "o", "o", "work", "clerk"],
        ["o:2", "o", "o", "work", "clerk"]
      ])
    })
  )

  it.scoped("101. a call of the body hands on its contexts and the end of the turn only where it succeeds", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [Effect.Effect<unknown, unknown, Inside>, ReadonlyArray<string>, boolean]> = [
        [nested(), ["from o:1"], true],
        [nested({ gate: "fail" }), [], false]
      ]
      for (const [body, contexts, concludes] of cases) {
        const runtime = yield* new World(body).runtime
        const result = yield* Cancellation.own(runtime.execute(outer))
        assert(result._tag === "Success")
        assert.deepStrictEqual(
          result.contexts.map((content) => (content.type === "text" ? content.text : "")),
          [...contexts]
        )
        assert.strictEqual(result.concludesTurn, concludes)
      }
      const blocks = Policy.after("blocks", ({ id }) =>
        Effect.succeed(id === "o:1" ? Policy.block([Content.text("withheld")]) : Policy.accept())
      )
      const runtime = yield* new World(nested(), [blocks]).runtime
      const result = yield* Cancellation.own(runtime.execute(outer))
      assert.deepStrictEqual([result._tag, result.contexts], ["Success", []])
      assert.isFalse(result._tag === "Success" && result.concludesTurn)
    })
  )

  it.scoped(
    "239. a cancel of the outer call aborts what runs, starts nothing that waits, and is answered when all of it is quiet",
    () =>
      Effect.gen(function* () {
        const body = Effect.all(
          Array.from({ length: 12 }, () => nested({ gate: "never" })),
          { concurrency: "unbounded" }
        )
        const world = new World(body)
        const runtime = yield* world.runtime
        const owner = yield* Cancellation.ownScoped
        const call = yield* Effect.provide(runtime.start(outer), owner)
        yield* settle
        assert.strictEqual(world.running.size, 10) // the pool
        assert.deepStrictEqual(
          (yield* runtime.inFlight).map(({ callId, parentId }) => [callId, parentId]).slice(0, 2),
          [
            ["o", undefined],
            ["o:1", "o"]
          ]
        )
        yield* call.cancel(user)
        const result = yield* call.result
        assert.strictEqual(codeOf(result), "o ABORTED")
        assert.strictEqual(world.running.size, 0)
        // The two that waited were never accepted: nobody is told of them.
        assert.deepStrictEqual(
          world.told.slice().sort(),
          [...Array.from({ length: 10 }, (_, i) => `o:${i + 1} ABORTED`), "o ABORTED"].sort()
        )
        assert.strictEqual(world.told.at(-1), "o ABORTED")
        assert.deepStrictEqual(yield* runtime.inFlight, [])
      })
  )

  it.scoped("take turns: an exclusive one waits for those before it and runs alone, and nobody passes it", () =>
    Effect.gen(function* () {
      const body = Effect.all([nested({ gate: "a" }), nested({ alone: true, gate: "b" }), nested({ gate: "c" })], {
        concurrency: "unbounded"
      })
      const world = new World(body)
      const runtime = yield* world.runtime
      const fiber = yield* Effect.fork(Cancellation.own(runtime.execute(outer)))
      yield* settle
      assert.deepStrictEqual([...world.running], ["o:1"])
      yield* Deferred.succeed(world.gate("a"), undefined)
      yield* settle
      assert.deepStrictEqual([...world.running], ["o:2"])
      yield* Deferred.succeed(world.gate("b"), undefined)
      yield* settle
      assert.deepStrictEqual([...world.running], ["o:3"])
      yield* Deferred.succeed(world.gate("c"), undefined)
      assert.strictEqual(codeOf(yield* Fiber.join(fiber)), "o OK")
    })
  )

  it.scoped("one that stops waiting holds up nobody", () =>
    Effect.gen(function* () {
      const body = Effect.gen(function* () {
        const first = yield* Effect.fork(nested({ gate: "a" }))
        yield* settle
        const alone = yield* Effect.fork(nested({ alone: true }))
        yield* settle
        const third = yield* Effect.fork(nested())
        yield* settle
        yield* Fiber.interrupt(alone)
        const result = yield* Fiber.join(third)
        yield* Fiber.interrupt(first)
        return codeOf(result)
      })
      const world = new World(body)
      const result = yield* Cancellation.own((yield* world.runtime).execute(outer))
      assert.strictEqual(result._tag === "Success" && result.value, "o:3 OK")
      assert.deepStrictEqual(world.told, ["o:3 OK", "o:1 ABORTED", "o OK"])
    })
  )

  it.scoped("thousands at once have their results, ten at a time", () =>
    Effect.gen(function* () {
      const count = 3000
      const body = Effect.map(
        Effect.forEach(Array.from({ length: count }), () => nested(), { concurrency: "unbounded" }),
        (results) => results.filter(({ _tag }) => _tag === "Success").length
      )
      const world = new World(body)
      const result = yield* Cancellation.own((yield* world.runtime).execute(outer))
      assert.strictEqual(result._tag === "Success" && result.value, count)
      assert.isAtMost(world.peak, 10)
      assert.strictEqual(new Set(world.told).size, count + 1)
    })
  )

  it.scoped("a body that has settled calls nothing any more", () =>
    Effect.gen(function* () {
      const kept = yield* Deferred.make<ToolContext.Service>()
      const body = Effect.flatMap(ToolContext.ToolContext, (context) => Deferred.succeed(kept, context))
      const world = new World(body)
      const runtime = yield* world.runtime
      yield* Cancellation.own(runtime.execute(outer))
      const context = yield* Deferred.await(kept)
      const exit = yield* Effect.exit(Cancellation.own(context.call("work", {})))
      assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /call was used after attempt 1 of call "o"/)
      assert.deepStrictEqual(world.told, ["o OK"])
    })
  )

  it.scoped("the second attempt of a body goes on counting", () =>
    Effect.gen(function* () {
      const body = Effect.flatMap(ToolContext.ToolContext, ({ attempt, call }) => {
        const one = Effect.map(call("work", {}), codeOf)
        return attempt === 1 ? Effect.zipRight(one, Effect.fail("again")) : one
      })
      const again = Policy.around("again", ({ id }, next) => (id === "o" ? Effect.zipRight(next, next) : next))
      const world = new World(body, [again])
      const result = yield* Cancellation.own((yield* world.runtime).execute(outer))
      assert.strictEqual(result._tag === "Success" && result.value, "o:2 OK")
    })
  )

  it.scoped("a batch has a log of them: the start before anything runs, each with one end", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const body = Effect.gen(function* () {
        yield* nested()
        yield* ToolContext.call("nope", { list: [1] })
        yield* ToolContext.call("work", () => 1)
        return "done"
      })
      const world = new World(body)
      const runtime = yield* world.runtime
      yield* Cancellation.own(
        runtime.executeBatch([outer], {
          onStart: ({ id }) => void log.push(`${id} starts`),
          onResult: (result) => void log.push(codeOf(result)),
          nested: {
            started: ({ id, name, parameters, parentId, rootId }) =>
              void log.push(`${id} starts: ${name} ${JSON.stringify(parameters)} of ${parentId}, ${rootId}`),
            ended: (result, { id }) => void log.push(`${id} ends: ${codeOf(result)}`)
          }
        })
      )
      assert.deepStrictEqual(log, [
        "o starts",
        "o:1 starts: work {} of o, o",
        "o:1 ends: o:1 OK",
        `o:2 starts: nope {"list":[1]} of o, o`,
        "o:2 ends: o:2 UNKNOWN_TOOL",
        "o:3 starts: work null of o, o",
        "o:3 ends: o:3 NOT_JSON",
        "o OK"
      ])
    })
  )

  it.scoped("one that cannot be logged is not dispatched", () =>
    Effect.gen(function* () {
      const world = new World(Effect.map(nested(), codeOf))
      const runtime = yield* world.runtime
      const throws = () => {
        throw new Error("the disk is full")
      }
      const { results } = yield* Cancellation.own(
        runtime.executeBatch([outer], { nested: { started: throws, ended: throws } })
      )
      assert.strictEqual(results[0]?._tag === "Success" && results[0].value, "o:1 ABORTED_BEFORE_DISPATCH")
      assert.deepStrictEqual(world.log, [])
    })
  )
})
