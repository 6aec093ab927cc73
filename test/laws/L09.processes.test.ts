import { assert, describe } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Scope } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import type { Process } from "quiesce/capability"
import { ScriptedProcess, Sim } from "quiesce/testing"
import { law, reason } from "../support/laws.js"

const user = CancelCause.user("enough")

/** Scripted processes that are built inside the scenario. */
const world = (commands: ScriptedProcess.Commands) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const { process, started } = yield* Scope.extend(ScriptedProcess.make(commands), scope)
    return {
      processes: process,
      /** The names of those that run. */
      alive: () => Effect.runSync(started).flatMap(({ command, isRunning }) => (isRunning ? [command] : [])),
      /** The names of all that were started. */
      seen: () => Effect.runSync(started).map(({ command }) => command),
      close: Scope.close(scope, Exit.void)
    }
  })

/** A caller that may be cancelled in both ways, and the processes that are alive when it is answered. */
const caller = <A, E>(effect: Effect.Effect<A, E, Cancellation.Cancellation>, alive: () => ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sim = yield* Sim.Sim
    const clock = yield* Effect.clock
    const controller = new AbortController()
    let atAnswer: ReadonlyArray<string> | undefined
    let answeredAt: number | undefined
    const answered = Effect.onExit(effect, () =>
      Effect.sync(() => {
        atAnswer = alive()
        answeredAt = clock.unsafeCurrentTimeMillis()
      })
    )
    const fiber = yield* Sim.fork("caller")(Cancellation.ownSignal(answered, controller.signal))
    fiber.addObserver(sim.addFault("interrupt", () => fiber.unsafeInterruptAsFork(fiber.id())))
    sim.addFault("signal", () => controller.abort(reason))
    return { fiber, atAnswer: () => atAnswer, answeredAt: () => answeredAt }
  })

/** What became of a command that lasts a second: one that was stopped is told from one that was only waited for. */
const fate = (
  exit: Exit.Exit<Pick<Process.Ending, "exitCode">, unknown>,
  ran: boolean,
  answeredAt?: number
): string => {
  if (Exit.isSuccess(exit)) return `exit code ${exit.value.exitCode}`
  assert.isTrue(Cause.isInterruptedOnly(exit.cause), String(exit))
  if (!ran) return "not started"
  return answeredAt === 0 ? "stopped" : "interrupted at its end"
}

describe("L9 processes", () => {
  law(
    "L3, L10",
    "a command is cancelled while it runs and while it ends: when that is answered, nothing of it is alive",
    Effect.gen(function* () {
      const { alive, close, processes, seen } = yield* world({ make: { lasts: "1 second" } })
      const { answeredAt, atAnswer, fiber } = yield* caller(processes.run({ command: "make" }), alive)
      const exit = yield* Fiber.await(fiber)
      assert.deepStrictEqual(alive(), [], "L3: it is alive")
      assert.deepStrictEqual(atAnswer() ?? [], [], "L3: it was alive when it was answered")
      yield* close
      return fate(exit, seen().length > 0, answeredAt())
    }),
    { expect: ["exit code 0", "not started", "stopped", "interrupted at its end"] }
  )

  law(
    "L9, L3",
    "the caller of a start is cancelled around its commit point: the process is gone, or the service's and alive",
    Effect.gen(function* () {
      const { alive, close, processes } = yield* world({ server: { lasts: "forever" } })
      const { atAnswer, fiber } = yield* caller(processes.start({ command: "server" }), alive)
      const exit = yield* Fiber.await(fiber)
      const listed = (yield* processes.list).length
      assert.strictEqual(alive().length, listed, "L9: alive, and nobody's")
      if (Exit.isSuccess(exit)) assert.strictEqual(listed, 1, "L9: the caller's cancel has reached it")
      if (atAnswer() !== undefined) assert.lengthOf(atAnswer() ?? [], listed, "L3: answered before it was quiet")
      yield* close
      assert.deepStrictEqual(alive(), [], "L4: the layer is closed")
      return `${listed === 0 ? "gone" : "handed over"}, ${Exit.isSuccess(exit) ? "answered" : "interrupted"}`
    }),
    { expect: ["handed over, answered", "handed over, interrupted", "gone, interrupted"] }
  )

  law(
    "L9, L4",
    "the layer is closed while a process is started: it is closed when nothing of it is alive, and the caller is told",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const { alive, close, processes } = yield* world({ server: { lasts: "forever" } })
      const fiber = yield* Sim.fork("caller")(Cancellation.own(processes.start({ command: "server" })))
      // Once: a scope that is being closed does not wait a second time.
      let closing: Fiber.RuntimeFiber<void> | undefined
      const closeOnce = () => {
        closing ??= Effect.runFork(close)
        return closing
      }
      sim.addFault("close", closeOnce)
      const exit = yield* Fiber.await(fiber)
      yield* Effect.suspend(() => Fiber.join(closeOnce()))
      assert.deepStrictEqual(alive(), [], "L4: the layer is closed")
      assert.deepStrictEqual(yield* processes.list, [])
      if (Exit.isSuccess(exit)) return "handed over"
      return yield* Effect.map(Effect.flip(exit), (error) => (error as Process.ProcessError).code)
    }),
    { expect: ["handed over", "PROCESS_SERVICE_CLOSED"], cut: "suspension" }
  )

  law(
    "L9, L6",
    "a process is killed while it ends and while somebody waits: it ends once, and every wait sees the same end",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const { alive, close, processes } = yield* world({ make: { lasts: "1 second" } })
      const handle = yield* Cancellation.own(processes.start({ command: "make" }))
      const fiber = yield* Sim.fork("waiter")(Cancellation.own(handle.awaitExit))
      let wasFirst: boolean | undefined
      sim.addFault("kill", () => {
        wasFirst = Effect.runSync(handle.kill(user))
      })
      fiber.addObserver(sim.addFault("give up", () => fiber.unsafeInterruptAsFork(fiber.id())))
      const exit = yield* Fiber.await(fiber)
      const ending = yield* Cancellation.own(handle.awaitExit)
      assert.deepStrictEqual(alive(), [], "L3: it is alive")
      if (Exit.isSuccess(exit)) assert.strictEqual(exit.value, ending, "it ended twice")
      const status = yield* handle.status
      assert.strictEqual(status._tag === "Ended" && status.cause, wasFirst === true ? user : undefined, "L6")
      yield* close
      const how = wasFirst === undefined ? "" : `, kill said ${wasFirst}`
      return `${ending.signal ?? ending.exitCode}${how}${Exit.isSuccess(exit) ? "" : ", given up"}`
    }),
    {
      expect: ["0", "SIGTERM, kill said true", "0, kill said true", "0, kill said false", "0, given up"],
      cut: "suspension"
    }
  )

  law(
    "L3, L9",
    "a command of a session is cancelled while it ends, and another waits: that one has the shell for itself",
    Effect.gen(function* () {
      const isRunning = () => alive().includes("work")
      const { alive, close, processes, seen } = yield* world({
        work: { lasts: "1 second" },
        next: () => {
          assert.isFalse(isRunning(), "the shell is not ready")
          return { stdout: "next" }
        }
      })
      const session = yield* Cancellation.own(processes.openSession())
      const first = yield* caller(session.send("work"), () => alive().filter((name) => name === "work"))
      const second = yield* Sim.fork("next")(Cancellation.own(session.send("next")))
      const exit = yield* Fiber.await(first.fiber)
      assert.deepStrictEqual(first.atAnswer() ?? [], [], "L3: it was alive when it was answered")
      assert.strictEqual((yield* Fiber.join(second)).stdout, "next")
      assert.deepStrictEqual(alive(), ["sh"], "the session goes on")
      yield* close
      assert.deepStrictEqual(alive(), [], "L4: the layer is closed")
      return fate(exit, seen().includes("work"), first.answeredAt())
    }),
    { expect: ["exit code 0", "not started", "stopped", "interrupted at its end"], cut: "suspension" }
  )

  law(
    "L9, L4",
    "a session is closed while a command runs and another waits: both are told, and nothing is alive",
    Effect.gen(function* () {
      const sim = yield* Sim.Sim
      const { alive, close, processes } = yield* world({ work: { lasts: "1 second" } })
      const session = yield* Cancellation.own(processes.openSession())
      const first = yield* Sim.fork("first")(Effect.exit(Cancellation.own(session.send("work"))))
      const second = yield* Sim.fork("second")(Cancellation.own(Effect.exit(session.send("work"))))
      sim.addFault("close", () => void Effect.runFork(Cancellation.own(session.close)))
      second.addObserver(sim.addFault("give up", () => second.unsafeInterruptAsFork(second.id())))
      const exits = [yield* Fiber.join(first), yield* Effect.map(Fiber.await(second), Exit.flatten)]
      const told = yield* Effect.forEach(exits, (exit) =>
        Exit.isSuccess(exit)
          ? Effect.succeed("done")
          : Exit.isInterrupted(exit)
            ? Effect.succeed("given up")
            : Effect.map(Effect.flip(exit), (error) => (error as Process.ProcessError).reason)
      )
      yield* close
      assert.deepStrictEqual(alive(), [], "L4: the layer is closed")
      return told.join(", ")
    }),
    {
      expect: [
        "done, done",
        "done, given up",
        "SessionEnded, SessionEnded",
        "done, SessionEnded",
        "SessionEnded, done"
      ],
      cut: "suspension"
    }
  )
})
