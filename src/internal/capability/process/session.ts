/**
 * Sessions: shells that were handed over to the owner of the service, and run one command at a time.
 *
 * Invariants
 *
 * S1. A command has the shell for itself until it has ended and the shell is ready again, also when nobody waits for its
 *     result any more (case 218).
 * S2. Who is interrupted stops its own command, and no other.
 * S3. Nothing is sent to a shell that has ended or is being ended.
 */
import type * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as CancelCause from "../../../CancelCause.js"
import * as Cancellation from "../../../Cancellation.js"
import * as Process from "../../../capability/Process.js"
import * as Handoff from "../../../Handoff.js"
import { waitOrStop } from "../../settlement.js"
import { originOf } from "../../startFiber.js"
import { maxTimerMillis, startTimer } from "../../timer.js"
import { handOver, Life, startInScope } from "./background.js"
import type { CommandEnding, Machine, ShellStarted } from "./machine.js"
import { Slot } from "./slot.js"

/** @internal */
export const openSession = (
  machine: Machine,
  owner: Context.Context<Cancellation.Cancellation>,
  options: Process.SessionOptions
): Effect.Effect<Process.Session, Process.ProcessError, Cancellation.Cancellation> => {
  const start = Effect.tap(
    startInScope((origin) => machine.startShell(options, origin)),
    ({ name, ready }) =>
      Effect.flatMap(ready.waitTidily(), (isReady) =>
        isReady
          ? Effect.void
          : Effect.fail(
              new Process.ProcessError({ reason: "SpawnFailed", command: name, detail: "it ended before it was ready" })
            )
      )
  )
  return handOver(
    "a shell",
    Handoff.make({ owner, start, publish: (shell, handedOver) => new ShellSession(shell, handedOver) })
  )
}

const millisOf = (timeout: Duration.DurationInput | undefined): number | undefined | string => {
  const millis = Duration.toMillis(timeout ?? Duration.infinity)
  if (millis === Number.POSITIVE_INFINITY) return undefined
  return millis > 0 && millis <= maxTimerMillis
    ? millis
    : `timeout must be more than nothing and at most ${maxTimerMillis} milliseconds, or infinite`
}

class ShellSession implements Process.Session {
  readonly pid: number
  private readonly shell: ShellStarted
  private readonly handedOver: Handoff.HandedOver
  private readonly life: Life
  private readonly slot = new Slot()

  constructor(shell: ShellStarted, handedOver: Handoff.HandedOver) {
    this.pid = shell.tree.pid
    this.shell = shell
    this.handedOver = handedOver
    this.life = new Life(shell.tree, handedOver)
  }

  readonly status = Effect.sync(() => this.life.status)

  readonly close = Effect.suspend(() => {
    this.handedOver.cancel(CancelCause.user("the session was closed"))
    return this.life.awaitEnd(this.shell.name)
  }).pipe(Cancellation.operation("close a session"))

  send(
    command: string,
    options: Process.SendOptions = {}
  ): Effect.Effect<Process.SendResult, Process.ProcessError, Cancellation.Cancellation> {
    return Effect.suspend(() => {
      const millis = millisOf(options.timeout)
      if (command.includes("\0")) return this.fail("InvalidOptions", "the command contains a NUL character")
      return typeof millis === "string"
        ? this.fail("InvalidOptions", millis)
        : this.slot.use(this.runInSlot(command, millis)) // S1
    }).pipe(Cancellation.operation("send to a session"))
  }

  private runInSlot(
    command: string,
    timeoutMillis: number | undefined
  ): Effect.Effect<Process.SendResult, Process.ProcessError> {
    return Effect.withFiberRuntime<Process.SendResult, Process.ProcessError>((fiber, status) =>
      Effect.uninterruptibleMask((restore) => {
        if (this.life.status._tag === "Stopping") return this.fail("SessionEnded", "it is being closed") // S3
        if (this.life.status._tag === "Ended") return this.ended // S3
        const foreground = this.shell.run(command)
        let timedOut = false
        const disarm =
          timeoutMillis === undefined
            ? undefined
            : startTimer(originOf(fiber, status), timeoutMillis, () => {
                timedOut = !foreground.ended.isSettled
                foreground.stop()
              })
        let interruption: Cause.Cause<never> | undefined
        const ended = waitOrStop(foreground.ended, restore, (cause) => {
          interruption = cause
          foreground.stop() // S2
        })
        return Effect.flatMap(ended, (ending): Effect.Effect<Process.SendResult, Process.ProcessError> => {
          disarm?.()
          if (interruption === undefined) return this.answer(ending, timedOut, foreground.discard)
          foreground.discard()
          return Effect.failCause(interruption)
        })
      })
    )
  }

  private answer(
    { isReady, ...ending }: CommandEnding,
    timedOut: boolean,
    discard: () => void
  ): Effect.Effect<Process.SendResult, Process.ProcessError> {
    if (isReady || ending.stoppedBy === "session") return Effect.succeed({ ...ending, timedOut })
    discard()
    return this.ended
  }

  private get ended(): Effect.Effect<never, Process.ProcessError> {
    return Effect.flatMap(this.shell.tree.ended.wait(), ({ exitCode, signal }) =>
      this.fail("SessionEnded", signal === undefined ? `its shell exited with ${exitCode}` : `${signal} ended it`)
    )
  }

  private fail(reason: Process.Reason, detail: string): Effect.Effect<never, Process.ProcessError> {
    return Effect.fail(new Process.ProcessError({ reason, command: this.shell.name, detail }))
  }
}
