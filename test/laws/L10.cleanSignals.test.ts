import { assert, describe } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Option } from "effect"
import { Abort, Cancellation } from "quiesce"
import { Seam } from "quiesce/promise"
import { Sim } from "quiesce/testing"
import { call, checkPublished, codeOf, ended, executing, law, reason, Witness, world } from "../support/laws.js"

/** Counts the listeners of a signal, from before anybody has one. */
class Census {
  now = 0
  most = 0

  constructor(signal: AbortSignal) {
    const { addEventListener, removeEventListener } = signal
    signal.addEventListener = (type: string, listener: any, options?: any) => {
      this.most = Math.max(this.most, ++this.now)
      const counted = () => {
        if (this.counted.delete(listener)) this.now--
        listener()
      }
      this.counted.set(listener, counted)
      addEventListener.call(signal, type, counted, options)
    }
    signal.removeEventListener = (type: string, listener: any) => {
      const counted = this.counted.get(listener)
      if (this.counted.delete(listener)) this.now--
      removeEventListener.call(signal, type, counted ?? listener)
    }
  }

  private readonly counted = new Map<unknown, any>()
}

/** What a promise of the outside world rejects with. */
const broken = (message: string): string => {
  throw new Error(message)
}

interface Asking {
  readonly ask: (question: string) => Effect.Effect<string, unknown, Cancellation.Cancellation>
}

class Oracle extends Context.Tag("quiesce/test/laws/L10.cleanSignals.test/Oracle")<Oracle, Asking>() {}

const oracle = Seam.define(Oracle)({ operations: { ask: "effect" }, catch: (error) => error })

describe("L10 clean signals", () => {
  law(
    "L10",
    "two calls at once under one signal of the host: never more than one listener, and none is left",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const [first, second] = [new Witness(), new Witness()]
      const here = yield* world(new Witness(), [
        first.tool(Effect.as(Effect.yieldNow(), "done")),
        { ...second.tool(Effect.as(Effect.yieldNow(), "done")), name: "other" }
      ])
      const controller = new AbortController()
      const census = new Census(controller.signal)
      const fibers = [
        yield* Sim.fork("first")(Cancellation.ownSignal(here.runtime.execute(call), controller.signal)),
        yield* Sim.fork("second")(
          Cancellation.ownSignal(here.runtime.execute({ ...call, id: "c2", name: "other" }), controller.signal)
        )
      ]
      sim.addFault("signal", () => controller.abort(reason))
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.isAtMost(census.most, 1, "L10: more than one listener")
      assert.strictEqual(census.now, 0, "L10: a listener is left")
      const codes = exits.map((exit) => (Exit.isFailure(exit) ? "-" : exit.value._tag === "Success" ? "OK" : "ABORTED"))
      return codes.sort().join(" ")
    }),
    { expect: ["OK OK", "ABORTED OK", "ABORTED ABORTED", "- ABORTED", "- -"] }
  )

  law(
    "L10",
    "a caller with an interrupt pending, or whose signal has aborted, starts no body",
    Effect.gen(function* () {
      const witness = new Witness()
      const here = yield* world(witness, [witness.tool(Effect.succeed("done"))])
      const pending = Effect.flatMap(Effect.zipRight(witness.note("called"), here.runtime.execute(call)), (result) =>
        Effect.as(witness.note("returned"), result)
      )
      const running = yield* executing(here, ["interrupt", "signal"], pending)
      const exit = yield* Fiber.await(running.fiber)
      const before = running.struck() !== undefined && !witness.saw("called")
      if (before) assert.strictEqual(witness.handlers, 0, "L10: a cancelled owner started a body")
      return before ? "cancelled before" : Exit.isSuccess(exit) ? "went on" : "interrupted"
    }),
    { cut: "op", expect: ["cancelled before", "went on", "interrupted"] }
  )

  law(
    "L10, L6",
    "toPromise: the reason that the host gave comes back as the same object, or the value does; no listener is left",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const controller = new AbortController()
      const census = new Census(controller.signal)
      const toPromise = Abort.toPromiseWith(yield* Effect.runtime<Sim.Sim>())
      const answer = yield* Sim.promise("answer", {
        ok: () => "done",
        broken: () => broken("broken")
      })
      answer.catch(() => {}) // where nobody came to wait for it
      let inner: unknown
      const body = Abort.fromPromise({
        try: ({ signal }) =>
          new Promise<string>((resolve, reject) => {
            signal.addEventListener("abort", () => {
              inner = signal.reason
              reject(signal.reason)
            })
            answer.then(resolve, reject)
          }),
        catch: (error) => error
      })
      sim.addFault("signal", () => controller.abort(reason))
      const exit = yield* Effect.exit(
        Cancellation.own(
          Abort.fromPromise({ try: () => toPromise(body, { signal: controller.signal }), catch: (error) => error })
        )
      )
      assert.strictEqual(census.now, 0, "L10: a listener is left")
      assert.isAtMost(census.most, 1)
      if (inner !== undefined) assert.strictEqual(inner, reason, "L6: the body saw another reason")
      if (Exit.isSuccess(exit)) return "value"
      const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
      if (error === reason) return "the reason"
      assert.strictEqual((error as Error).message, "broken")
      return "failure"
    }),
    { expect: ["value", "the reason", "failure"] }
  )

  law(
    "L10, L3, L6",
    "an operation of a seam: its promise settles after the clean-up, with the value or the very reason; no listener is left",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const witness = new Witness()
      const controller = new AbortController()
      const census = new Census(controller.signal)
      const answer = yield* Sim.promise("answer", { ok: () => "done", broken: () => broken("broken") })
      answer.catch(() => {}) // where nobody came to wait for it
      let inner: unknown
      const waiting = Abort.fromPromise({
        try: ({ signal }) =>
          new Promise<string>((resolve, reject) => {
            signal.addEventListener("abort", () => {
              inner = signal.reason
              reject(signal.reason)
            })
            answer.then(resolve, reject)
          }),
        catch: (error) => error
      })
      const ask = () => Cancellation.operation(witness.during("operation", waiting), "ask")
      const seam = Seam.toSeam(oracle, { ask }, { effectRuntime: yield* Effect.runtime<never>() })
      sim.addFault("signal", () => controller.abort(reason))
      const seen = yield* Effect.promise(() => {
        const settled = (outcome: string) => [outcome, witness.alive.size, census.now] as const
        return seam.ask("why", { signal: controller.signal }).then(
          (value) => settled(value),
          (error) => settled(error === reason ? "the reason" : error.message)
        )
      })
      assert.strictEqual(seen[1], 0, "L3: settled before its clean-up")
      assert.strictEqual(seen[2], 0, "L10: a listener is left")
      assert.isAtMost(census.most, 1, "L10: more than one listener")
      if (inner !== undefined) assert.strictEqual(inner, reason, "L6: the body saw another reason")
      return `${seen[0]}${inner === undefined ? "" : ", told"}`
    }),
    { cut: "op", preemptions: 0, expect: ["done", "broken", "broken, told", "the reason", "the reason, told"] }
  )

  law(
    "L10, L4",
    "an abandoned promise rejects after its call has been answered: it is named in the result, and never unhandled",
    Effect.gen(function* () {
      const witness = new Witness()
      const body = Effect.gen(function* () {
        const late = yield* Sim.promise("late", { rejects: () => broken("too late") })
        late.catch(() => {}) // where nobody came to wait for it
        return yield* Abort.abandon({ name: "driver", try: () => late, catch: () => "failed" })
      })
      const here = yield* world(witness, [witness.tool(body)])
      const code = yield* ended(yield* executing(here, ["interrupt", "cancelCall"]), witness)
      const escaped = witness.observed[0]?.escaped ?? []
      return escaped.length > 0 ? `${code}: ${escaped.join()}` : code
    }),
    {
      expect: ["TOOL_FAILURE", "ABORTED: driver (abandoned)", "ABORTED", "ABORTED_BEFORE_DISPATCH", "not accepted"]
    }
  )

  law(
    "L10, L6",
    "promise code under a signal of the host: aborted with the host's reason or not at all, awaited, and no listener is left",
    Effect.gen(function* () {
      const witness = new Witness()
      const sim = yield* Sim.Sim
      const controller = new AbortController()
      const census = new Census(controller.signal)
      const reasons: Array<unknown> = []
      const ask = (name: string, end: () => string) =>
        Effect.flatMap(Sim.promise(name, { settles: end }), (answer) =>
          Abort.fromPromise({
            try: async ({ signal }) => {
              witness.alive.add(name)
              signal.addEventListener("abort", () => reasons.push(signal.reason))
              try {
                await answer
                signal.throwIfAborted()
                return await answer
              } finally {
                witness.alive.delete(name)
              }
            },
            catch: (error) => error
          })
        )
      const body = Effect.zipRight(
        ask("first", () => "one"),
        Effect.catchAll(
          ask("second", () => broken("down")),
          () => Effect.succeed("done")
        )
      )
      const { runtime } = yield* world(witness, [witness.tool(body as Effect.Effect<string, unknown, Sim.Sim>)])
      const fiber = yield* Sim.fork("call")(Cancellation.ownSignal(runtime.execute(call), controller.signal))
      sim.addFault("signal", () => controller.abort(reason))
      const exit = yield* Fiber.await(fiber)
      checkPublished(witness)
      assert.isAtMost(census.most, 1, "L10: more than one listener")
      assert.strictEqual(census.now, 0, "L10: a listener is left")
      for (const told of reasons) assert.strictEqual(told, reason, "L6: promise code was told another reason")
      if (Exit.isFailure(exit)) return "not accepted"
      const code = codeOf(exit.value)
      if (code === "OK") assert.deepStrictEqual(reasons, [], "L10: aborted, and it was a success")
      return `${code}, told ${reasons.length} times`
    }),
    {
      expect: [
        "OK, told 0 times",
        "ABORTED, told 0 times",
        "ABORTED, told 1 times",
        "TOOL_FAILURE, told 1 times",
        "ABORTED_BEFORE_DISPATCH, told 0 times",
        "not accepted"
      ]
    }
  )
})
