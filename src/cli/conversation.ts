/**
 * A person and an agent: what is typed opens a turn, or steers the one that runs; Ctrl-C stops it, and twice leaves.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as CancelCause from "../CancelCause.js"
import * as NodeShutdown from "../node/NodeShutdown.js"
import type { Output } from "./output.js"
import type { Running } from "./runAgent.js"
import type { Stopping } from "./stopping.js"
import type { Terminal } from "./terminal.js"
import { cut, oneLine } from "./text.js"

const hello = `Type what is to be done. While it is being done, a line steers it, and Ctrl-C stops it.
/quit, Ctrl-D or Ctrl-C twice leaves.`

/** Says in the prompt how long the agent has been working, and on which calls. */
const startStatus = ({ agent, inFlight }: Running, terminal: Terminal): Effect.Effect<void, never, Scope.Scope> => {
  let since: number | undefined
  const show = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if ((yield* agent.status) !== "running") {
      since = undefined
      return terminal.setStatus("")
    }
    since ??= now
    const calls = (yield* inFlight).map(({ cancelledAt, progress, tool }) => {
      if (cancelledAt !== undefined) return `${tool}, stopping`
      return progress === undefined ? tool : `${tool}: ${cut(oneLine(progress), 40)}`
    })
    const what = calls.length === 0 ? "thinking" : calls.slice(0, 3).join("; ") + (calls.length > 3 ? "; ..." : "")
    terminal.setStatus(`[${Math.floor((now - since) / 1000)} s: ${what}] `)
  })
  return Effect.asVoid(Effect.forkScoped(Effect.repeat(show, Schedule.spaced("200 millis"))))
}

/**
 * Talks until the person leaves or the program is asked to end. Where there is nobody to type any more it waits until what
 * was asked for is done; else the agent may still be at work.
 */
export const converse = (
  running: Running,
  terminal: Terminal,
  { shutdown, stop }: Stopping,
  output: Output
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { agent } = running
    output.complain(hello)
    yield* startStatus(running, terminal)
    yield* Effect.forkScoped(Effect.zipRight(Deferred.await(stop), Queue.offer(terminal.inputs, { _tag: "Leave" })))
    const say = (line: string): Effect.Effect<void> =>
      Effect.flatMap(agent.status, (status) => (status === "running" ? agent.steer(line) : agent.followup(line))).pipe(
        Effect.asVoid,
        Effect.catchAll(({ message }) => Effect.sync(() => output.complain(`quiesce: ${message}`)))
      )
    const stopTurn = Effect.gen(function* () {
      const isRunning = (yield* agent.status) === "running"
      output.complain(`Ctrl-C: ${isRunning ? "stopping it, and waiting until it is quiet. " : ""}Again leaves`)
      yield* agent.cancel(CancelCause.user("Ctrl-C"))
    })
    let isPressed = false
    const talk = Effect.gen(function* () {
      for (;;) {
        const input = yield* Queue.take(terminal.inputs)
        if (input._tag === "Leave") return
        if (input._tag === "End") return yield* agent.whenIdle
        if (input._tag === "Interrupt") {
          yield* isPressed ? shutdown.interrupt(NodeShutdown.exitCodes.SIGINT) : stopTurn
          isPressed = true
          continue
        }
        isPressed = false
        const line = input.line.trim()
        if (line === "/quit") return
        if (line !== "") yield* say(line)
      }
    })
    // From then on Ctrl-C is a signal again, and a second one leaves at once.
    yield* Effect.ensuring(talk, terminal.close)
  })
