import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, FiberId, FiberRef, Runtime } from "effect"
import { Abort, CancelCause, Cancellation, Content, Policy, ToolContext, type ToolResult, ToolRuntime } from "quiesce"
import {
  aborted,
  callOf,
  failed,
  HarnessError,
  roads,
  type Setup,
  settle,
  setup,
  succeeded,
  texts,
  user
} from "./support/calls.js"

// L3: when a result is published, nothing that the call started still runs. L4: nothing is left alone.

/** Takes its time to stop, and says so. */
const takesItsTime = (log: Array<string>) =>
  Effect.onInterrupt(Effect.never, () =>
    Effect.zipRight(
      settle,
      Effect.sync(() => log.push("stopped"))
    )
  )

type Start = (work: Effect.Effect<never>) => Effect.Effect<unknown, never, Cancellation.Cancellation>

/** Ways in which a body starts work and goes on. */
const starts: ReadonlyArray<readonly [string, Start]> = [
  ["forks a child", Effect.fork],
  ["forks a child of a child", (work) => Effect.fork(Effect.zipRight(Effect.fork(work), Effect.never))],
  ["forks into a scope of its own", (work) => Effect.scoped(Effect.zipRight(Effect.forkScoped(work), settle))],
  ["forks an operation as a daemon", (work) => Effect.forkDaemon(Cancellation.operation(work, "watch"))],
  ["forks an owner as a daemon", (work) => Effect.forkDaemon(Cancellation.own(Cancellation.operation(work, "watch")))],
  ["forks shielded work as a daemon", (work) => Effect.forkDaemon(Cancellation.own(Effect.zipRight(settle, work)))],
  ["disconnects an operation", (work) => Effect.race(Effect.disconnect(Cancellation.operation(work, "watch")), settle)],
  [
    "runs an operation from a callback",
    (work) =>
      Effect.map(Effect.runtime<Cancellation.Cancellation>(), (runtime) => {
        queueMicrotask(() => Runtime.runFork(runtime)(Cancellation.operation(work, "watch")))
      })
  ],
  [
    "starts a promise from a daemon",
    (work) =>
      Effect.forkDaemon(
        Abort.fromPromise(
          ({ signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener("abort", () => {
                Effect.runFork(
                  Effect.zipRight(
                    Effect.flatMap(Effect.fork(work), (fiber) => Effect.zipRight(settle, Fiber.interrupt(fiber))),
                    Effect.sync(() => reject(signal.reason))
                  )
                )
              })
            })
        )
      )
  ]
]

describe("ToolRuntime (quiescence)", () => {
  for (const [name, start] of starts) {
    const startAndGoOn = (t: Setup) => Effect.zipRight(start(takesItsTime(t.log)), settle)

    it.scoped(`a body that ${name} and succeeds is published when that has ended`, () =>
      Effect.gen(function* () {
        const t: Setup = yield* setup({ body: (text) => Effect.as(startAndGoOn(t), text) })
        assert.deepStrictEqual(yield* t.execute(), succeeded())
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "stopped", "after", "observe"])
      })
    )

    for (const road of roads) {
      it.scoped(`a body that ${name} is published when that has ended ${road.name}`, () =>
        Effect.gen(function* () {
          const t: Setup = yield* setup({ body: () => Effect.zipRight(startAndGoOn(t), Effect.never) })
          const call = yield* road.begin(t)
          yield* t.reached("body")
          yield* settle
          yield* settle
          yield* call.cancel
          assert.deepStrictEqual(yield* call.result, aborted(road.cause))
          assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "stopped", "after", "observe"])
        })
      )
    }
  }

  it.scoped("a call that a daemon of the body made is cancelled and awaited, with a result of its own", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        body: (text) =>
          text === "inner"
            ? takesItsTime(t.log)
            : Effect.gen(function* () {
                yield* Effect.forkDaemon(ToolRuntime.execute(callOf({ id: "inner", parameters: { text: "inner" } })))
                yield* settle
                return text
              })
      })
      const result = yield* Effect.scoped(
        Effect.zipRight(
          t.runtime.awaitIdle,
          Effect.flatMap(t.start(), ({ result }) => result)
        )
      )
      assert.deepStrictEqual(result, succeeded())
      assert.deepStrictEqual(t.observed, [aborted({ _tag: "Parent" }, { callId: "inner" }), succeeded()])
    })
  )

  it.scoped("a call inside a call is stopped with it, by the same cause, and answers before it", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const t: Setup = yield* setup({
        body: (text) =>
          text === "inner"
            ? Effect.flatMap(Cancellation.signal, (signal) =>
                Effect.onInterrupt(Effect.never, () => Effect.sync(() => seen.push(signal.reason)))
              )
            : Effect.flatMap(
                Effect.zipRight(
                  Effect.sync(() => t.log.push("outer")),
                  ToolRuntime.execute(callOf({ id: "inner", rootId: "c1", parameters: { text: "inner" } }))
                ),
                () => Effect.never
              )
      })
      const call = yield* t.start()
      yield* settle
      assert.deepStrictEqual(
        (yield* t.runtime.inFlight).map(({ callId, rootId }) => [callId, rootId]),
        [
          ["c1", "c1"],
          ["inner", "c1"]
        ]
      )
      yield* call.cancel(user)
      assert.deepStrictEqual(yield* call.result, aborted(user))
      assert.deepStrictEqual(t.observed, [aborted(user, { callId: "inner" }), aborted(user)])
      assert.strictEqual(seen[0], CancelCause.toReason(user))
    })
  )

  it.scoped("a body that interrupts itself, with nobody cancelling, is a failure", () =>
    Effect.gen(function* () {
      const selves: ReadonlyArray<Effect.Effect<string>> = [
        Effect.interrupt,
        Effect.zipRight(Effect.yieldNow(), Effect.interrupt),
        Effect.withFiberRuntime((fiber) => {
          fiber.unsafeInterruptAsFork(FiberId.make(7, 0))
          return Effect.never
        }),
        Effect.flatMap(Effect.fork(Effect.never), (child) => Effect.zipRight(Fiber.interrupt(child), Fiber.join(child)))
      ]
      for (const self of selves) {
        const t = yield* setup({ body: () => self })
        assert.deepStrictEqual(
          yield* t.execute(),
          failed(
            {
              code: "INTERRUPTED",
              name: "ToolInterruptedError",
              message: "the tool was interrupted, and nobody had cancelled it"
            },
            { dispatched: true, body: "interrupted" }
          )
        )
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "after", "observe"])
      }
    })
  )

  it.scoped("a body that cancels its own call is an aborted call: what it completed in that step stands", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({
        body: (text) => {
          Effect.runFork(t.runtime.cancelCall("c1", user))
          return Effect.succeed(text)
        }
      })
      assert.deepStrictEqual(yield* t.execute(), aborted(user, { body: "completed" }))
      const waits: Setup = yield* setup({
        body: () => Effect.zipRight(waits.runtime.cancelCall("c1", user), Effect.never)
      })
      assert.deepStrictEqual(yield* waits.execute(), aborted(user))
      const fails: Setup = yield* setup({
        body: () => {
          Effect.runFork(fails.runtime.cancelCall("c1", user))
          throw new HarnessError({ message: "own", code: "OWN" })
        }
      })
      assert.deepStrictEqual(
        yield* fails.execute(),
        failed({ code: "OWN", name: "HarnessError", message: "own" }, { dispatched: true, body: "failed" })
      )
    })
  )

  it.scoped(
    "a caller in a protected region cancels nothing: a success stays a success, and the interrupt is pending",
    () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const returned: Array<ToolResult.ToolResult> = []
        const t: Setup = yield* setup({ body: (text) => Effect.as(Deferred.await(gate), text) })
        const caller = yield* Effect.fork(
          Effect.zipRight(
            Effect.uninterruptible(Effect.map(t.execute(), (result) => returned.push(result))),
            Effect.sync(() => t.log.push("went on"))
          )
        )
        yield* t.reached("body")
        yield* Fiber.interruptFork(caller)
        yield* settle
        assert.deepStrictEqual(
          (yield* t.runtime.inFlight).map(({ cause }) => cause),
          [undefined]
        )
        yield* Deferred.succeed(gate, undefined)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.await(caller)))
        assert.deepStrictEqual(returned, [succeeded()])
        assert.deepStrictEqual(t.log, ["before", "guard", "around", "body", "after", "observe"])
      })
  )

  it.scoped("a call in a protected region can be cancelled through its owner, and times out inside", () =>
    Effect.gen(function* () {
      const t: Setup = yield* setup({ body: () => Effect.never })
      const caller = yield* Effect.fork(Effect.uninterruptible(t.execute()))
      yield* t.reached("body")
      assert.isTrue(yield* t.runtime.cancelCall("c1", user))
      assert.deepStrictEqual(yield* Fiber.join(caller), aborted(user))
    })
  )

  it.scoped("L6: the first cause wins, also when both roads are taken", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const t: Setup = yield* setup({ body: () => Effect.uninterruptible(Effect.as(Deferred.await(gate), "late")) })
      const caller = yield* Effect.fork(t.execute())
      yield* t.reached("body")
      assert.isTrue(yield* t.runtime.cancelCall("c1", user))
      assert.isFalse(yield* t.runtime.cancelCall("c1", CancelCause.disposed()))
      yield* Fiber.interruptFork(caller)
      yield* settle
      yield* Deferred.succeed(gate, undefined)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(caller)))
      assert.deepStrictEqual(t.observed, [aborted(user)])
    })
  )

  it.scoped("L4: what was abandoned is named in the result", () =>
    Effect.gen(function* () {
      const legacy = Abort.abandon({
        name: "legacy driver",
        try: () => new Promise<string>(() => {}),
        catch: (error) => error
      })
      const t: Setup = yield* setup({ body: () => legacy })
      const call = yield* t.start()
      yield* t.reached("body")
      yield* call.cancel(user)
      assert.deepStrictEqual(yield* call.result, aborted(user, { escaped: ["legacy driver (abandoned)"] }))
    })
  )

  it.scoped("L4: what escaped from any stage is named in the result, once", () =>
    Effect.gen(function* () {
      const escape = (what: string) => Cancellation.recordEscape(what)
      for (const onCancel of ["interrupt", "finish"] as const) {
        const t = yield* setup({
          onCancel,
          before: () => Effect.as(escape("before"), Policy.allow),
          around: (_, next) => Effect.zipRight(escape("around"), next),
          body: (text) => Effect.as(Cancellation.own(escape("body")), text),
          after: () => Effect.as(escape("after"), Policy.accept())
        })
        const result = yield* t.execute()
        assert.deepStrictEqual([...result.escaped].sort(), ["after", "around", "before", "body"])
      }
    })
  )

  it.scoped("what a body changes of its fiber does not reach its caller", () =>
    Effect.gen(function* () {
      const ref = yield* FiberRef.make("caller")
      const t = yield* setup({ body: (text) => Effect.as(FiberRef.set(ref, "body"), text) })
      yield* t.execute()
      assert.strictEqual(yield* FiberRef.get(ref), "caller")
    })
  )

  it.scoped("a context of an attempt that is used after it has settled dies", () =>
    Effect.gen(function* () {
      let kept: ToolContext.Service | undefined
      const t = yield* setup({
        body: (text) =>
          Effect.map(ToolContext.ToolContext, (context) => {
            kept = context
            return text
          })
      })
      yield* t.execute()
      const late = kept as ToolContext.Service
      for (const [use, what] of [
        [late.deferContext(Content.text("late")), "deferContext"],
        [late.concludeTurn, "concludeTurn"],
        [late.progress("late"), "progress"]
      ] as const) {
        const exit = yield* Effect.exit(use)
        assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
        assert.include(
          Cause.pretty((exit as Exit.Failure<never, never>).cause),
          `${what} was used after attempt 1 of call "c1" had settled`
        )
      }
    })
  )

  it.scoped("contexts of a body are kept whatever becomes of the call, in the order in which they came", () =>
    Effect.gen(function* () {
      const defer = Effect.zipRight(
        ToolContext.deferContext(Content.text("1")),
        ToolContext.deferContext(Content.text("2"))
      )
      const fails: Setup = yield* setup({ body: () => Effect.zipRight(defer, Effect.fail("no")) })
      assert.deepStrictEqual((yield* fails.execute()).contexts, texts("1", "2"))
      const stops: Setup = yield* setup({ body: () => Effect.zipRight(defer, Effect.never) })
      const call = yield* stops.start()
      yield* settle
      yield* call.cancel(user)
      assert.deepStrictEqual(yield* call.result, aborted(user, { contexts: texts("1", "2") }))
    })
  )
})
