import { assert, describe } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { Cancellation } from "quiesce"
import type { CodeRuntime } from "quiesce/capability"
import { ScriptedCode, Sim } from "quiesce/testing"
import { law, reason } from "../support/laws.js"

/** Runs code on a fiber that may be cancelled in both ways, and counts what runs when that is answered. */
const running = (script: ScriptedCode.Script, options: Partial<CodeRuntime.RunOptions> = {}) =>
  Effect.gen(function* () {
    const sim = yield* Sim.Sim
    const { code, running: places } = ScriptedCode.make({ script })
    const controller = new AbortController()
    let calls = 0
    let ended = 0
    let atAnswer = 0
    const work = () =>
      Effect.suspend(() => {
        calls++
        return Effect.ensuring(
          Effect.sleep("1 second"),
          Effect.sync(() => ended++)
        )
      })
    const run = code.run({ code: "script", bindings: { work }, ...options })
    const answered = Effect.onExit(run, () =>
      Effect.sync(() => {
        atAnswer = calls - ended + Effect.runSync(places)
      })
    )
    const fiber = yield* Sim.fork("run")(Cancellation.ownSignal(answered, controller.signal))
    fiber.addObserver(sim.addFault("interrupt", () => fiber.unsafeInterruptAsFork(fiber.id())))
    sim.addFault("signal", () => controller.abort(reason))
    const exit = yield* Fiber.await(fiber)
    assert.strictEqual(atAnswer, 0, "L3: it ran when it was answered")
    assert.strictEqual(calls - ended, 0, "L3: a call runs")
    assert.strictEqual(yield* places, 0, "L3: the code runs")
    if (Exit.isSuccess(exit)) return `value after ${calls} calls`
    if (Cause.isInterruptedOnly(exit.cause)) return `interrupted after ${calls} calls`
    return yield* Effect.map(Effect.flip(exit), (error) => (error as CodeRuntime.CodeError).reason)
  })

describe("L3 code", () => {
  law(
    "L3, L5",
    "code that makes a call and leaves another behind is cancelled: the code and its calls have ended when that is answered",
    running(({ call }) =>
      Effect.gen(function* () {
        yield* Effect.fork(call("work"))
        yield* call("work")
        return "done"
      })
    ),
    {
      expect: [
        "value after 2 calls",
        "interrupted after 0 calls",
        "interrupted after 1 calls",
        "interrupted after 2 calls"
      ],
      cut: "suspension"
    }
  )

  law(
    "L7, L3",
    "the time limit of code and a cancel: the first of the two counts, and both end the code and its call",
    running(({ call }) => Effect.zipRight(call("work"), Effect.never), { timeout: "500 millis" }),
    { expect: ["Timeout", "interrupted after 0 calls", "interrupted after 1 calls"], cut: "suspension" }
  )
})
