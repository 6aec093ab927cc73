import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, TestClock } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import { Process } from "quiesce/capability"
import { ScriptedProcess } from "quiesce/testing"
import { itKeepsTheContract } from "../support/contracts/process.js"

describe("ScriptedProcess", () => {
  itKeepsTheContract(() => {
    let alive: () => ReadonlyArray<number> = () => []
    const layer = Layer.scoped(
      Process.Process,
      Effect.map(
        ScriptedProcess.make({
          echo: (args) => ({ stdout: `${args.join(" ")}\n` }),
          sleep: { lasts: "forever" },
          cat: { echoes: true }
        }),
        ({ process, started }) => {
          alive = () => Effect.runSync(started).flatMap(({ isRunning, pid }) => (isRunning ? [pid] : []))
          return process
        }
      )
    )
    return { layer, env: {}, stride: 1, alive: () => alive() }
  })

  it.scoped("a command that ignores being asked ends when its grace is over, one that survives is named", () =>
    Effect.gen(function* () {
      const layer = ScriptedProcess.layer({
        deaf: { lasts: "forever", whenAsked: "ignores", escaped: ["process 7 (child)"] },
        undead: { lasts: "forever", whenAsked: "survives" }
      })
      const processes = yield* Layer.build(layer)
      yield* Effect.gen(function* () {
        const deaf = yield* Process.start({ command: "deaf", grace: "1 second" })
        const undead = yield* Process.start({ command: "undead", grace: "1 second" })
        yield* deaf.kill(CancelCause.user())
        yield* undead.kill(CancelCause.user())
        yield* TestClock.adjust("999 millis")
        assert.strictEqual((yield* deaf.status)._tag, "Stopping")
        yield* TestClock.adjust("1 millis")
        assert.deepInclude(yield* deaf.awaitExit, { signal: "SIGKILL", escaped: ["process 7 (child)"] })
        assert.deepInclude(yield* undead.awaitExit, {
          signal: undefined,
          escaped: ["process 2 (undead), which has survived SIGKILL"]
        })
      }).pipe(Effect.provide(processes), Cancellation.own)
    })
  )

  it.scoped("a command of a session that cannot be stopped ends the session", () =>
    Effect.gen(function* () {
      const layer = ScriptedProcess.layer({
        deaf: { stdout: "out", lasts: "forever", whenAsked: "ignores" },
        undead: { lasts: "forever", whenAsked: "survives" }
      })
      const processes = yield* Layer.build(layer)
      yield* Effect.gen(function* () {
        const opening = yield* Effect.fork(Process.openSession({ grace: "1 second" }))
        yield* TestClock.adjust(0)
        const session = yield* Fiber.join(opening)
        const deaf = yield* Effect.fork(session.send("deaf", { timeout: "1 second" }))
        yield* TestClock.adjust("3 seconds")
        assert.deepInclude(yield* Fiber.join(deaf), { stdout: "out", timedOut: true, stoppedBy: "SIGKILL" })
        const undead = yield* Effect.fork(session.send("undead", { timeout: "1 second" }))
        yield* TestClock.adjust("3 seconds")
        assert.deepInclude(yield* Fiber.join(undead), { timedOut: true, stoppedBy: "session", exitCode: undefined })
        yield* TestClock.adjust(0)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(session.send("deaf"))))
      }).pipe(Effect.provide(processes), Cancellation.own)
    })
  )

  it.scoped("tells what was started, and what it was given to read", () =>
    Effect.gen(function* () {
      const { process, started } = yield* ScriptedProcess.make({ make: { lasts: "1 second", exitCode: 2 } })
      yield* Effect.gen(function* () {
        const running = yield* Effect.fork(Process.run({ command: "make", args: ["all"], stdin: "text" }))
        yield* TestClock.adjust("500 millis")
        assert.deepStrictEqual(yield* started, [
          { pid: 1, command: "make", args: ["all"], input: "text", isRunning: true }
        ])
        yield* TestClock.adjust("500 millis")
        assert.strictEqual((yield* Fiber.join(running)).exitCode, 2)
        assert.isFalse((yield* started)[0]?.isRunning)
      }).pipe(Effect.provideService(Process.Process, process), Cancellation.own)
    })
  )
})
