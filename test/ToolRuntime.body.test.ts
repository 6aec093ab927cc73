import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Deferred, Effect, Exit, Fiber, FiberId, Schema } from "effect"
import { Abort, Cancellation, Content, Handoff, Policy, Tool, ToolContext, type ToolResult } from "quiesce"
import {
  aborted,
  executeCancelled,
  failed,
  HarnessError,
  notDispatched,
  roads,
  type Setup,
  settle,
  setup,
  texts,
  toolFailed,
  user
} from "./support/calls.js"

const whole = ["before", "guard", "around", "body", "after", "observe"]

const ran = { dispatched: true, body: "failed" } as const

/** Runs a promise that does `onAbort` when it is asked to stop, and fails with exactly what that throws. */
const promise = (onAbort: (signal: AbortSignal) => string) =>
  Abort.fromPromise({
    try: ({ signal }) =>
      new Promise<string>((resolve, reject) => {
        signal.addEventListener("abort", () => {
          try {
            resolve(onAbort(signal))
          } catch (error) {
            reject(error)
          }
        })
      }),
    catch: (error) => error
  })

describe("ToolRuntime (body)", () => {
  for (const road of roads) {
    it.scoped(`65: a body that stops when it is asked to is an aborted call ${road.name}`, () =>
      Effect.gen(function* () {
        for (const body of [Effect.never, promise(() => "partly done")]) {
          const t = yield* setup({ body: () => body })
          const call = yield* road.begin(t)
          yield* t.reached("body")
          yield* call.cancel
          assert.deepStrictEqual(yield* call.result, aborted(road.cause))
          assert.deepStrictEqual(t.log, whole)
        }
      })
    )

    it.scoped(`66: a body that ignores the cancel holds the call, and its contexts are kept, ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t = yield* setup({
          body: (text) =>
            Effect.uninterruptible(
              Deferred.await(gate).pipe(
                Effect.zipRight(ToolContext.deferContext(Content.text("child"))),
                Effect.zipRight(ToolContext.concludeTurn),
                Effect.as(text)
              )
            )
        })
        const call = yield* road.begin(t)
        yield* t.reached("body")
        yield* call.cancel
        assert.isTrue(yield* call.isPending)
        assert.deepStrictEqual(
          (yield* t.runtime.inFlight).map(({ cause, dispatched, phase }) => ({ cause, dispatched, phase })),
          [{ cause: road.cause, dispatched: true, phase: "dispatching" }]
        )
        yield* Deferred.succeed(gate, undefined)
        // Effect drops the value of an interrupted fiber, so that the body completed cannot be known.
        assert.deepStrictEqual(yield* call.result, aborted(road.cause, { contexts: texts("child") }))
        assert.deepStrictEqual(t.log, whole)
      })
    )

    it.scoped(`67: a promise that rejects with a failure of its own keeps it ${road.name}`, () =>
      Effect.gen(function* () {
        const failure = new HarnessError({ message: "tool failed", code: "TOOL_FAILURE" })
        const t = yield* setup({
          body: () =>
            promise(() => {
              throw failure
            })
        })
        const call = yield* road.begin(t)
        yield* t.reached("body")
        yield* call.cancel
        const reported = { code: "TOOL_FAILURE", name: "HarnessError", message: "tool failed" }
        assert.deepStrictEqual(yield* call.result, failed(reported, ran))
        assert.deepStrictEqual(t.log, whole)
      })
    )

    it.scoped(`68: the finalizers of a body are awaited ${road.name}`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const t: Setup = yield* setup({
          body: () =>
            Effect.onInterrupt(Effect.never, () =>
              Effect.zipRight(
                Deferred.await(gate),
                Effect.sync(() => t.log.push("finalized"))
              )
            )
        })
        const call = yield* road.begin(t)
        yield* t.reached("body")
        yield* call.cancel
        assert.isTrue(yield* call.isPending)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* call.result, aborted(road.cause))
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "finalized", "after", "observe"])
      })
    )

    it.scoped(`69: a body that fails with the cancellation itself is an aborted call ${road.name}`, () =>
      Effect.gen(function* () {
        const throws = (error: (signal: AbortSignal) => unknown) =>
          promise((signal) => {
            throw error(signal)
          })
        const onceStopped = (fail: (reason: unknown) => Effect.Effect<string, unknown>) =>
          Effect.uninterruptible(
            Effect.flatMap(Cancellation.signal, (signal) =>
              Effect.zipRight(
                settle,
                Effect.suspend(() => fail(signal.reason))
              )
            )
          )
        const bodies: ReadonlyArray<Effect.Effect<string, unknown, Cancellation.Cancellation>> = [
          promise((signal) => {
            signal.throwIfAborted()
            return "not stopped"
          }),
          throws((signal) => signal.reason),
          throws(() => new DOMException("The operation was aborted", "AbortError")),
          throws(() => Object.assign(new Error("The operation was aborted"), { name: "AbortError" })),
          onceStopped(Effect.fail),
          onceStopped(Effect.die),
          onceStopped((reason) => Effect.fail(new Cause.UnknownException(reason))),
          onceStopped(() => Effect.interrupt)
        ]
        for (const body of bodies) {
          const t = yield* setup({ body: () => body })
          const call = yield* road.begin(t)
          yield* t.reached("body")
          yield* call.cancel
          assert.deepStrictEqual(yield* call.result, aborted(road.cause))
        }
      })
    )

    it.scoped(`70: a body that fails otherwise while it is stopped keeps that failure ${road.name}`, () =>
      Effect.gen(function* () {
        const failure = new HarnessError({ message: "disk full", code: "DISK_FULL" })
        const reported = { code: "DISK_FULL", name: "HarnessError", message: "disk full" }
        const cleaning = Effect.uninterruptibleMask((restore) =>
          Effect.catchAllCause(restore(Effect.never), () => Effect.fail(failure))
        )
        const operation = Cancellation.operation(cleaning, "write")
        const bodies: ReadonlyArray<Effect.Effect<never, unknown, Cancellation.Cancellation>> = [
          cleaning,
          Effect.onInterrupt(Effect.never, () => Effect.die(failure)),
          // Effect strips the failure here; the operation has kept it.
          Effect.mapError(operation, () => "mapped"),
          Effect.flatMap(Effect.either(operation), () => Effect.never),
          Effect.retry(operation, { times: 3 }),
          Effect.zipRight(Effect.all([operation, Effect.never], { concurrency: "unbounded" }), Effect.never),
          Effect.catchAll(operation, () => Effect.never)
        ]
        for (const [i, body] of bodies.entries()) {
          const t = yield* setup({ body: () => body })
          const call = yield* road.begin(t)
          yield* t.reached("body")
          yield* settle
          yield* call.cancel
          assert.deepStrictEqual(yield* call.result, failed(reported, ran), `body ${i}`)
          assert.deepStrictEqual(t.log, whole)
        }
      })
    )
  }

  it.scoped("codes: the tag of a typed failure is a code, that of a defect is not", () =>
    Effect.gen(function* () {
      class DiskFull extends Data.TaggedError("DiskFull")<{ readonly message: string }> {}
      const full = new DiskFull({ message: "no space left" })
      const typed = yield* setup({ body: () => full })
      const reported = { code: "DISK_FULL", name: "DiskFull", message: "no space left" }
      assert.deepStrictEqual(yield* typed.execute(), failed(reported, ran))
      for (const defect of [Effect.die(full), Effect.dieMessage("no space left")]) {
        const dies = { body: () => defect, before: () => defect, around: () => defect, after: () => defect }
        for (const stage of ["body", "before", "around", "after"] as const) {
          const t = yield* setup({ [stage]: dies[stage] })
          const result = yield* t.execute()
          assert.strictEqual(
            result._tag === "Failure" && `${result.code} ${result.name} ${result.message}`,
            `${stage === "body" ? "TOOL_FAILURE ToolFailureError" : "POLICY_FAILURE PolicyFailureError"} no space left`
          )
        }
      }
    })
  )

  it.scoped("codes: neither is that of a defect that came late, however often it was handed on", () =>
    Effect.gen(function* () {
      const dies = Effect.onInterrupt(Effect.never, () => Effect.dieMessage("no space left"))
      const operation = Cancellation.operation(dies, "write")
      for (const write of [operation, Cancellation.own(operation)]) {
        const t = yield* setup({
          body: () =>
            Effect.zipRight(
              Effect.forkDaemon(write),
              Effect.onInterrupt(Effect.never, () => settle)
            )
        })
        const call = yield* t.start()
        yield* t.reached("body")
        yield* settle
        yield* call.cancel(user)
        assert.deepStrictEqual(yield* call.result, toolFailed("no space left"))
      }
    })
  )

  it.scoped("codes: nor that of a defect in the clean-up of work that was not handed over", () =>
    Effect.gen(function* () {
      class DiskFull extends Data.TaggedError("DiskFull")<{ readonly message: string }> {}
      const owner = yield* Cancellation.ownScoped
      const resource = Effect.acquireRelease(Effect.void, () => Effect.die(new DiskFull({ message: "no space left" })))
      const start = Effect.zipRight(resource, Effect.never)
      const t = yield* setup({
        body: () => Effect.orDie(Handoff.make({ owner, start, publish: () => "job" }))
      })
      const call = yield* t.start()
      yield* t.reached("body")
      yield* settle
      yield* call.cancel(user)
      assert.deepStrictEqual(yield* call.result, toolFailed("no space left"))
    })
  )

  it.scoped("an AbortError of a call that nobody cancelled is a failure like any other", () =>
    Effect.gen(function* () {
      const t = yield* setup({ body: () => Effect.fail(new DOMException("no", "AbortError")) })
      assert.deepStrictEqual(yield* t.execute(), toolFailed("no"))
    })
  )

  it.scoped("77: a cancel in the last step before the body is in time", () =>
    Effect.gen(function* () {
      const cancels = yield* setup({
        guard: () => {
          Effect.runFork(cancels.runtime.cancelCall("c1", user))
          return undefined
        }
      })
      assert.deepStrictEqual(yield* cancels.execute(), notDispatched(user))
      assert.deepStrictEqual(cancels.log, ["before", "guard", "after", "observe"])
      const wraps: Setup = yield* setup({
        around: (_, next) => Effect.zipRight(wraps.runtime.cancelCall("c1", user), next)
      })
      assert.deepStrictEqual(yield* wraps.execute(), notDispatched(user))
      assert.deepStrictEqual(wraps.log, ["before", "guard", "around", "after", "observe"])
    })
  )

  for (const asked of [true, false]) {
    it.scoped(
      `77: an interrupt in the last step before the body is in time ${asked ? "" : "without other policies"}`,
      () =>
        Effect.gen(function* () {
          const t = yield* setup({ bare: !asked })
          let caller: Fiber.RuntimeFiber<unknown, unknown> | undefined
          yield* t.runtime.registerPolicy(
            Policy.guard("interrupts the caller", () => {
              caller?.unsafeInterruptAsFork(FiberId.make(7, 0))
              return undefined
            })
          )
          const fiber = yield* Effect.fork(
            Effect.withFiberRuntime<ToolResult.ToolResult>((fiber) => {
              caller = fiber
              return t.execute()
            })
          )
          assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
          assert.deepStrictEqual(t.observed, [notDispatched({ _tag: "Interrupted", by: "#7" })])
          assert.notInclude(t.log, "body")
        })
    )
  }

  it.scoped("78: parameters that do not decode are told by each violation; nobody is asked, and it is reviewed", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      const reported = { code: "INVALID_ARGS", name: "ToolArgsError" }
      assert.deepStrictEqual(
        yield* t.execute({ parameters: { text: 1 } }),
        failed({ ...reported, message: "invalid arguments: text: Expected string, actual 1" })
      )
      assert.deepStrictEqual(
        yield* t.execute({ parameters: {} }),
        failed({ ...reported, message: "invalid arguments: text: is missing" })
      )
      assert.deepStrictEqual(t.log, ["after", "observe", "after", "observe"])
    })
  )

  it.scoped("78: parameters that do not decode lose to a cancellation and to an unknown name", () =>
    Effect.gen(function* () {
      const t = yield* setup()
      const parameters = { text: 1 }
      assert.deepStrictEqual(
        yield* executeCancelled(t, new Error("gone"), { parameters }),
        notDispatched({ _tag: "HostSignal", reason: "gone" })
      )
      const result = yield* t.execute({ name: "nope", parameters })
      assert.strictEqual(result._tag === "Failure" && result.code, "UNKNOWN_TOOL")
    })
  )

  it.scoped("78: parameters whose schema throws or waits are refused, and nobody is asked", () =>
    Effect.gen(function* () {
      const Throws = Schema.transform(Schema.String, Schema.String, {
        strict: true,
        decode: () => {
          throw new Error("no")
        },
        encode: (text) => text
      })
      const Waits = Schema.transformOrFail(Schema.String, Schema.String, {
        strict: true,
        decode: () => Effect.async<string>(() => {}),
        encode: (text) => Effect.succeed(text)
      })
      for (const [schema, message] of [
        [Throws, /^invalid arguments: /],
        [Waits, /^the parameters of tool "odd" cannot be decoded synchronously/]
      ] as const) {
        const Odd = Tool.make("odd", {
          description: "Has an odd schema",
          parameters: { text: schema },
          success: Schema.Null,
          handler: () => Effect.succeed(null)
        })
        const t = yield* setup({ tools: [Odd] })
        const result = yield* t.execute({ name: "odd" })
        assert.strictEqual(result._tag === "Failure" && result.code, "INVALID_ARGS")
        assert.match(result._tag === "Failure" ? result.message : "", message)
        assert.isFalse(result.dispatched)
        assert.deepStrictEqual(t.log, ["after", "observe"])
        assert.deepStrictEqual(yield* t.runtime.inFlight, [])
      }
    })
  )
})
