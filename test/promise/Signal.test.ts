import { getEventListeners } from "node:events"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, FastCheck } from "effect"
import { Abort, Cancellation } from "quiesce"
import { Signal } from "quiesce/promise"
import { Explore, Sim } from "quiesce/testing"

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length
const reason = { the: "host's own object" }

/** A promise that somebody else settles. */
const gate = <A = void>() => {
  let open: (value: A) => void = () => {}
  let refuse: (error: unknown) => void = () => {}
  const promise = new Promise<A>((resolve, reject) => {
    open = resolve
    refuse = reject
  })
  return { promise, open, refuse }
}

/** Whether a promise has settled by now, all that can go on having done so. */
const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  let settled = false
  const note = () => {
    settled = true
  }
  promise.then(note, note)
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => assert.fail("resolved"),
    (error) => error
  )

/** Work that stops when it is told to, and then takes until `cleaned` is opened. */
const cooperative =
  (cleaned: Promise<unknown>) =>
  (signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => cleaned.then(() => reject(signal.reason)), { once: true })
    })

describe("Signal.child", () => {
  it("L6: aborts with its parent, and the reason is the same object", () => {
    const parent = new AbortController()
    const child = Signal.child(parent.signal)
    const { signal } = child
    parent.abort(reason)
    assert.strictEqual(signal.reason, reason)
    assert.strictEqual(listeners(parent.signal), 0)
  })

  it("L6: a child whose signal nobody had read until then has the same reason", () => {
    const parent = new AbortController()
    const child = Signal.child(parent.signal)
    parent.abort(reason)
    assert.strictEqual(child.signal.reason, reason)
    assert.strictEqual(Signal.child(parent.signal).signal.reason, reason)
  })

  it("L10: a child that was disposed of never aborts, and leaves no listener", () => {
    const parent = new AbortController()
    const child = Signal.child(parent.signal)
    const { signal } = child
    assert.strictEqual(listeners(parent.signal), 1)
    child.dispose()
    child.dispose()
    assert.strictEqual(listeners(parent.signal), 0)
    assert.isFalse(child.abort(reason))
    parent.abort(reason)
    assert.isFalse(signal.aborted)
  })

  it("can be aborted alone, once", () => {
    const parent = new AbortController()
    const child = Signal.child(parent.signal)
    assert.isTrue(child.abort(reason))
    assert.isFalse(child.abort("later"))
    parent.abort("later")
    assert.strictEqual(child.signal.reason, reason)
    assert.strictEqual(listeners(parent.signal), 0)
  })

  it("has the platform's reason where none was given, and follows nothing without a parent", () => {
    const child = Signal.child(undefined)
    child.abort()
    assert.strictEqual((child.signal.reason as Error).name, "AbortError")
  })

  it("is disposed of by using", () => {
    const parent = new AbortController()
    let signal: AbortSignal
    {
      using child = Signal.child(parent.signal)
      signal = child.signal
    }
    assert.strictEqual(listeners(parent.signal), 0)
    parent.abort()
    assert.isFalse(signal.aborted)
  })

  it("W20: a listener that throws does not keep the others from being told", () => {
    const parent = new AbortController()
    const child = Signal.child(parent.signal)
    let told = 0
    child.signal.addEventListener("abort", () => {
      throw new Error("careless (expected in the log of this test)")
    })
    child.signal.addEventListener("abort", () => told++)
    const sibling = Signal.child(parent.signal)
    sibling.signal.addEventListener("abort", () => told++)
    parent.abort(reason)
    assert.strictEqual(told, 2)
  })

  it("L10: 10,000 on one signal are one listener, without a warning", async () => {
    const warnings: Array<Error> = []
    const warned = (warning: Error) => warnings.push(warning)
    process.on("warning", warned)
    const parent = new AbortController()
    const children = Array.from({ length: 10_000 }, () => Signal.child(parent.signal))
    assert.strictEqual(listeners(parent.signal), 1)
    for (const child of children.slice(1)) child.dispose()
    assert.strictEqual(listeners(parent.signal), 1)
    parent.abort(reason)
    assert.strictEqual(children[0]?.signal.reason, reason)
    assert.isFalse(children[1]?.signal.aborted)
    await new Promise((resolve) => setImmediate(resolve)) // warnings come on a later step
    process.off("warning", warned)
    assert.deepStrictEqual(warnings, [])
  })

  it("L10: what was disposed of, or has aborted, is not retained by the signal that it followed", async () => {
    setFlagsFromString("--expose-gc")
    const collect: () => void = runInNewContext("gc")
    const parent = new AbortController()
    const made: Array<WeakRef<object>> = []
    const work = () => {
      const children = [
        Signal.child(parent.signal),
        Signal.fuse(parent.signal, new AbortController().signal),
        Signal.deadline(parent.signal, { duration: "1 hour" })
      ]
      for (const child of children) {
        made.push(new WeakRef(child), new WeakRef(child.signal))
        child.dispose()
      }
      const aborted = Signal.child(parent.signal)
      made.push(new WeakRef(aborted), new WeakRef(aborted.signal))
      aborted.abort(reason)
    }
    work()
    // A WeakRef is kept until the step that made it is over.
    for (let i = 0; i < 20 && made.some((ref) => ref.deref() !== undefined); i++) {
      await new Promise((resolve) => setImmediate(resolve))
      collect()
    }
    assert.deepStrictEqual(
      made.map((ref) => ref.deref()),
      made.map(() => undefined)
    )
    assert.isFalse(parent.signal.aborted)
  })
})

describe("Signal.fuse", () => {
  it("L6: the first cause counts, and nothing is left on any of the others", () => {
    const controllers = [new AbortController(), new AbortController(), new AbortController()] as const
    const fused = Signal.fuse(...controllers.map(({ signal }) => signal))
    const { signal } = fused
    controllers[1].abort(reason)
    controllers[0].abort("later")
    assert.strictEqual(signal.reason, reason)
    assert.deepStrictEqual(
      controllers.map(({ signal }) => listeners(signal)),
      [0, 0, 0]
    )
  })

  it("of several that have aborted the first counts, and what is undefined is left out", () => {
    const open = new AbortController()
    const fused = Signal.fuse(undefined, open.signal, AbortSignal.abort(reason), AbortSignal.abort("second"))
    assert.strictEqual(fused.signal.reason, reason)
    assert.strictEqual(listeners(open.signal), 0)
  })

  it("one signal that is given twice is followed once", () => {
    const { signal } = new AbortController()
    const fused = Signal.fuse(signal, signal)
    fused.dispose()
    assert.strictEqual(listeners(signal), 0)
  })

  it("L6, L10: in any order of aborts and disposals the first of them decides", () => {
    const event = FastCheck.constantFrom("parent 0", "parent 1", "itself", "dispose", "read")
    FastCheck.assert(
      FastCheck.property(FastCheck.array(event, { maxLength: 8 }), (events) => {
        const parents = [new AbortController(), new AbortController()] as const
        const fused = Signal.fuse(parents[0].signal, parents[1].signal)
        for (const name of events) {
          if (name === "parent 0") parents[0].abort(name)
          else if (name === "parent 1") parents[1].abort(name)
          else if (name === "itself") fused.abort(name)
          else if (name === "dispose") fused.dispose()
          else assert.isBoolean(fused.signal.aborted)
        }
        const decision = events.find((name) => name !== "read")
        const { signal } = fused
        assert.strictEqual(signal.reason, decision === "dispose" ? undefined : decision)
        const left = parents.reduce((sum, parent) => sum + listeners(parent.signal), 0)
        assert.strictEqual(left, decision === undefined ? 2 : 0)
      })
    )
  })
})

describe("Signal.deadline", () => {
  const wait = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))

  it("L7: aborts when its time is over, with its own code", async () => {
    const parent = new AbortController()
    const limit = Signal.deadline(parent.signal, { duration: 5, code: "LOOKUP_TIMEOUT" })
    let seen = false
    limit.signal.addEventListener("abort", () => {
      seen = limit.isExpired
    })
    await wait(limit.signal)
    assert.isTrue(seen, "a listener is told before it is expired")
    const { reason } = limit.signal
    assert.isTrue(limit.isExpired)
    assert.isTrue(Signal.isDeadline(reason, "LOOKUP_TIMEOUT"))
    assert.isFalse(Signal.isDeadline(reason, "OTHER"))
    assert.strictEqual((reason as Error).name, "TimeoutError")
    assert.strictEqual((reason as Error).message, "LOOKUP_TIMEOUT after 5ms")
    assert.strictEqual(listeners(parent.signal), 0)
    assert.isFalse(parent.signal.aborted)
  })

  it("L7: an abort that comes first is the reason, and no timer is left", () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
    const before = timers()
    const parent = new AbortController()
    const [first, second] = [
      Signal.deadline(parent.signal, { duration: "1 hour" }),
      Signal.deadline(parent.signal, { duration: "1 hour" })
    ]
    assert.strictEqual(timers(), before + 2)
    second.dispose()
    assert.strictEqual(timers(), before + 1)
    parent.abort(reason)
    assert.strictEqual(first.signal.reason, reason)
    assert.isFalse(first.isExpired)
    assert.isFalse(second.signal.aborted)
    Signal.deadline(parent.signal, { duration: "1 hour" })
    assert.strictEqual(timers(), before)
  })

  it("refuses a time that no timer can wait for", () => {
    for (const duration of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
      assert.throws(() => Signal.deadline(undefined, { duration }), /positive finite number/)
    }
  })

  it("knows the deadline of an owner", async () => {
    let reason: unknown
    const seen = Abort.fromPromise(({ signal }) =>
      wait(signal).then(() => {
        reason = signal.reason
      })
    )
    await Effect.runPromiseExit(Cancellation.withDeadline(seen, { duration: 5, code: "OWNER" }))
    assert.isTrue(Signal.isDeadline(reason, "OWNER"))
  })
})

describe("Signal.settled", () => {
  it("L3: an abort is answered when the work is quiet, with the reason, the same object", async () => {
    const controller = new AbortController()
    const cleaned = gate()
    const promise = Signal.settled(controller.signal, cooperative(cleaned.promise))
    controller.abort(reason)
    assert.isFalse(await isSettled(promise))
    cleaned.open()
    assert.strictEqual(await rejection(promise), reason)
    assert.strictEqual(listeners(controller.signal), 0)
  })

  it("L3: the first failure asks the siblings to stop, and is answered when they are quiet", async () => {
    const { signal } = new AbortController()
    const cleaned = gate()
    const failure = new Error("no luck")
    let seen: unknown
    const promise = Signal.settled(signal, [
      () => Promise.reject(failure),
      (inner) => {
        inner.addEventListener("abort", () => {
          seen = inner.reason
        })
        return cooperative(cleaned.promise)(inner)
      }
    ])
    assert.isFalse(await isSettled(promise))
    assert.strictEqual(seen, failure)
    cleaned.open()
    assert.strictEqual(await rejection(promise), failure)
    assert.strictEqual(listeners(signal), 0)
  })

  it("L5: a failure that is not the cancellation is the answer, although it came after the abort", async () => {
    const controller = new AbortController()
    const failure = new Error("disk full")
    const work = gate()
    const promise = Signal.settled(controller.signal, () => work.promise)
    controller.abort(reason)
    work.refuse(failure)
    assert.strictEqual(await rejection(promise), failure)
  })

  it("L5: the platform's AbortError after an abort is the cancellation, and before one it is a failure", async () => {
    const controller = new AbortController()
    const abortError = new DOMException("stopped", "AbortError")
    assert.strictEqual(await rejection(Signal.settled(controller.signal, () => Promise.reject(abortError))), abortError)
    const work = gate()
    const promise = Signal.settled(controller.signal, () => work.promise)
    controller.abort(reason)
    work.refuse(abortError)
    assert.strictEqual(await rejection(promise), reason)
  })

  it("work that completes in spite of an abort has completed", async () => {
    const controller = new AbortController()
    const work = gate<number>()
    const promise = Signal.settled(controller.signal, () => work.promise)
    controller.abort(reason)
    work.open(42)
    assert.strictEqual(await promise, 42)
  })

  it("L10: nothing is started under a signal that has aborted, nor behind work that aborts it", async () => {
    const started: Array<string> = []
    const aborted = AbortSignal.abort(reason)
    assert.strictEqual(await rejection(Signal.settled(aborted, () => started.push("single"))), reason)
    assert.strictEqual(await rejection(Signal.settled(aborted, [])), reason)
    const controller = new AbortController()
    const promise = Signal.settled(controller.signal, [
      () => {
        started.push("first")
        controller.abort(reason)
      },
      () => started.push("second")
    ])
    assert.strictEqual(await rejection(promise), reason)
    assert.deepStrictEqual(started, ["first"])
  })

  it("L10: what further work fails with is logged, and nothing is unhandled", async () => {
    const unhandled: Array<unknown> = []
    const note = (error: unknown) => unhandled.push(error)
    process.on("unhandledRejection", note)
    const late = gate()
    const promise = Signal.settled(undefined, [() => Promise.reject("first"), () => late.promise])
    assert.isFalse(await isSettled(promise))
    late.refuse(new Error("late (expected in the log of this test)"))
    assert.strictEqual(await rejection(promise), "first")
    await new Promise((resolve) => setImmediate(resolve))
    process.off("unhandledRejection", note)
    assert.deepStrictEqual(unhandled, [])
  })

  it("takes what throws, thenables, plain values and nothing at all", async () => {
    const { signal } = new AbortController()
    const thrower = () => {
      throw reason
    }
    assert.strictEqual(await rejection(Signal.settled(signal, thrower)), reason)
    // biome-ignore lint/suspicious/noThenProperty: a thenable that is no promise
    const thenable = { then: (resolve: (value: string) => void) => resolve("thenable") }
    const values = await Signal.settled(signal, [() => thenable, () => undefined, () => Promise.resolve(3)])
    assert.deepStrictEqual(values, ["thenable", undefined, 3])
    assert.deepStrictEqual(await Signal.settled(signal, []), [])
    assert.strictEqual(listeners(signal), 0)
  })

  it("L10: 10,000 in flight on one signal are one listener, and none when they are done", async () => {
    const { signal } = new AbortController()
    const open = gate<number>()
    const all = Array.from({ length: 10_000 }, () => Signal.settled(signal, () => open.promise))
    assert.strictEqual(listeners(signal), 1)
    open.open(1)
    await Promise.all(all)
    assert.strictEqual(listeners(signal), 0)
  })
})

describe("Signal, explored", () => {
  it.live("L3, L6, L10: an abort, a deadline of another owner and the end of two pieces of work, in every order", () =>
    Effect.gen(function* () {
      const scenario = Effect.gen(function* () {
        const host = new AbortController()
        const other = new AbortController()
        const alive = new Set(["first", "second"])
        const first = yield* Sim.promise("first", { ok: () => alive.delete("first") })
        const second = yield* Sim.promise("second", {
          ok: () => alive.delete("second"),
          broken: () => {
            alive.delete("second")
            throw broken
          }
        })
        yield* Sim.abort(host, reason, "host")
        yield* Sim.abort(other, "other", "other")
        const fused = Signal.fuse(host.signal, other.signal)
        let started = 0
        const done = yield* Deferred.make<string, unknown>()
        const answer = Signal.settled(fused.signal, [
          (signal) => {
            started++
            return first.then(() => signal.throwIfAborted())
          },
          () => {
            started++
            return second
          }
        ])
        const finish = (outcome: string) => {
          assert.strictEqual(started, outcome.startsWith("not started") ? 0 : 2)
          if (started > 0) assert.strictEqual(alive.size, 0, "L3: answered while work ran")
          fused.dispose()
          assert.strictEqual(listeners(host.signal) + listeners(other.signal), 0, "L10: a listener is left")
          return outcome
        }
        const named = (error: unknown): string => {
          if (error === broken) return "broken"
          assert.strictEqual(error, fused.signal.reason, "L6: another reason")
          return `${started === 0 ? "not started, " : ""}${error === reason ? "host" : "other"}`
        }
        answer
          .then(
            () => finish("value"),
            (error) => finish(named(error))
          )
          .then(
            (outcome) => Deferred.unsafeDone(done, Exit.succeed(outcome)),
            (error) => Deferred.unsafeDone(done, Exit.fail(error))
          )
        return yield* Deferred.await(done)
      })
      const report = yield* Explore.check(scenario, { faults: 2, preemptions: 0 })
      assert.isTrue(report.complete)
      assert.sameMembers(
        [...report.outcomes.keys()],
        ["value", "broken", "host", "other", "not started, host", "not started, other"]
      )
    })
  )
})

const broken = new Error("broken")
