import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Logger, Option, Tracer } from "effect"
import { contained, tracerOf } from "../../src/internal/contained.js"
import { report } from "../../src/internal/report.js"
import { type Origin, originOf, startFiber } from "../../src/internal/startFiber.js"

const origin = Effect.withFiberRuntime<Origin>((fiber, status) => Effect.succeed(originOf(fiber, status)))

const { proxy, revoke } = Proxy.revocable({}, {})
revoke()

const run = <A>(effect: Effect.Effect<A>, from: Origin) => startFiber(effect, Context.empty(), from).unsafePoll()

const throwing = (value: unknown) =>
  Effect.sync((): string => {
    throw value
  })

describe("contained", () => {
  it.effect("L1: a fiber ends and runs its finalizers, also when it throws what cannot be looked at", () =>
    Effect.gen(function* () {
      const here = yield* origin
      assert.throws(() => run(throwing(proxy), here), TypeError) // Effect's own loop
      let finalized = 0
      const finalizes = Effect.ensuring(
        throwing(proxy),
        Effect.sync(() => finalized++)
      )
      const exit = run(finalizes, contained(here))
      assert.isTrue(exit !== null && Exit.isFailure(exit) && exit.cause._tag === "Die" && exit.cause.defect === proxy)
      assert.strictEqual(finalized, 1)
    })
  )

  it.effect("leaves to Effect what can be looked at", () =>
    Effect.gen(function* () {
      const here = yield* origin
      for (const thrown of [new Error("no"), "no", undefined, new Cause.InterruptedException("no")]) {
        assert.deepStrictEqual(run(throwing(thrown), contained(here)), run(throwing(thrown), here))
      }
      assert.deepStrictEqual(run(Effect.succeed(1), contained(here)), Exit.succeed(1))
    })
  )

  it.effect("contains once, and knows the tracer that the fiber had", () =>
    Effect.gen(function* () {
      const here = yield* origin
      const inside = run(origin, contained(here))
      assert.isTrue(inside !== null && Exit.isSuccess(inside))
      const within = (inside as Exit.Success<Origin, never>).value
      assert.notStrictEqual(Context.get(within.services, Tracer.Tracer), tracerOf(here))
      assert.strictEqual(tracerOf(within), tracerOf(here))
      assert.strictEqual(contained(within), within)
    })
  )

  it.effect("has the tracer of the host make the spans and run the operations", () =>
    Effect.gen(function* () {
      const native = yield* Effect.tracer
      const seen: Array<string> = []
      const tracer = Tracer.make({
        span: (...args) => {
          seen.push(args[0])
          return native.span(...args)
        },
        context: (f) => {
          seen.push("operation")
          return f()
        }
      })
      const here = yield* Effect.withTracer(origin, tracer)
      seen.length = 0
      const name = Effect.map(
        Effect.option(Effect.currentSpan),
        Option.map((span) => span.name)
      )
      assert.deepStrictEqual(run(Effect.withSpan(name, "work"), contained(here)), Exit.succeed(Option.some("work")))
      assert.includeMembers(seen, ["work", "operation"])
    })
  )
})

describe("report", () => {
  it.effect("L10: what a logger throws, whatever it is, does not reach the code that has something to report", () =>
    Effect.gen(function* () {
      for (const thrown of [proxy, new Error("no")]) {
        let asked = 0
        const logger = Logger.make((): never => {
          asked++
          throw thrown
        })
        const here = yield* Effect.provide(origin, Logger.replace(Logger.defaultLogger, logger))
        report("something", Cause.fail(proxy), here)
        assert.strictEqual(asked, 1)
      }
    })
  )
})
