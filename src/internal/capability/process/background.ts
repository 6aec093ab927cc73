/**
 * Processes that run in the background: each is handed over to the owner of the service.
 *
 * Invariants
 *
 * B1. A process is in the list from the commit point of its hand-over, the step in which its handle is made, until nothing
 *     of it is left (L9).
 * B2. Its scope holds it: closing that stops the tree and waits for it, on whichever road (L3, L4).
 * B3. Only the work's owner stops it: no wait, read or write of a handle does.
 */

import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Cancellation from "../../../Cancellation.js"
import * as Process from "../../../capability/Process.js"
import * as Handoff from "../../../Handoff.js"
import { originOf } from "../../startFiber.js"
import { InputQueue } from "./inputQueue.js"
import type { Machine, NotStarted, Started, Tree } from "./machine.js"

type Owner = Context.Context<Cancellation.Cancellation>

/**
 * Starts something with a tree, in one step, and lets the scope hold it: closing that stops the tree and waits for it.
 *
 * @internal
 */
export const startInScope = <A extends { readonly _tag: "Started"; readonly tree: Tree }>(
  start: (origin: Parameters<Machine["start"]>[2]) => A | NotStarted,
  whenUndone: (started: A) => void = () => {}
): Effect.Effect<A, Process.ProcessError, Scope.Scope | Cancellation.Cancellation> =>
  Effect.withFiberRuntime<A, Process.ProcessError, Scope.Scope | Cancellation.Cancellation>((fiber, status) =>
    Effect.uninterruptible(
      Effect.suspend(() => {
        const started = start(originOf(fiber, status))
        if (started._tag === "NotStarted") return Effect.flatMap(started.error.wait(), Effect.fail)
        const { tree } = started
        const end = Effect.suspend(() => {
          tree.stop()
          return Effect.flatMap(tree.ended.wait(), ({ escaped }) => {
            whenUndone(started)
            return escaped.length === 0
              ? Effect.void
              : Effect.zipRight(
                  Effect.forEach(escaped, Cancellation.recordEscape, { discard: true }), // L4
                  Effect.logWarning("Processes in the background could not be stopped", { escaped })
                )
          })
        })
        return Effect.as(
          Effect.addFinalizer(() => end),
          started
        ) // B2
      })
    )
  )

/**
 * What somebody who asks for its state is told of handed-over work with a tree.
 *
 * @internal
 */
export class Life {
  private ending: Process.Ending | undefined
  private readonly tree: Tree
  private readonly handedOver: Handoff.HandedOver

  constructor(tree: Tree, handedOver: Handoff.HandedOver) {
    this.tree = tree
    this.handedOver = handedOver
    tree.ended.whenSettled((ending) => {
      this.ending = ending
      handedOver.finish()
    })
  }

  get status(): Process.Status {
    const cause = this.handedOver.cause()
    if (this.ending !== undefined) return { _tag: "Ended", cause, ending: this.ending }
    return cause === undefined ? { _tag: "Running" } : { _tag: "Stopping", cause }
  }

  /** Waits, under the owner of who waits. */
  awaitEnd(what: string): Effect.Effect<Process.Ending, never, Cancellation.Cancellation> {
    return Effect.suspend(() => this.tree.ended.waitTidily()).pipe(Cancellation.operation(`await the end of ${what}`)) // B3
  }
}

/** @internal */
export class BackgroundProcesses {
  private readonly machine: Machine
  private readonly owner: Owner
  private readonly running = new Set<Process.Background>()

  constructor(machine: Machine, owner: Owner) {
    this.machine = machine
    this.owner = owner
  }

  get list(): ReadonlyArray<Process.Background> {
    return [...this.running]
  }

  start(
    options: Process.StartOptions
  ): Effect.Effect<Process.Background, Process.ProcessError, Cancellation.Cancellation> {
    const { command } = options
    let wasPublished = false
    return handOver(
      command,
      Handoff.make({
        owner: this.owner,
        start: startInScope(
          (origin) => this.machine.start(options, "last", origin),
          ({ discard }) => wasPublished || discard()
        ),
        publish: (started, handedOver) => {
          wasPublished = true
          const handle = makeHandle(command, started, handedOver)
          this.running.add(handle) // B1
          started.tree.ended.whenSettled(() => this.running.delete(handle)) // B1
          return handle
        }
      })
    )
  }
}

/**
 * As `Handoff.make`, with the failures of this service.
 *
 * @internal
 */
export const handOver = <A>(
  command: string,
  handoff: Effect.Effect<A, Process.ProcessError | Handoff.OwnerEnded, Cancellation.Cancellation>
): Effect.Effect<A, Process.ProcessError, Cancellation.Cancellation> =>
  // Outside of `restore`: in an interruptible region Effect strips the failure of an interrupted fiber here (L5).
  Effect.uninterruptibleMask((restore) =>
    Effect.mapError(restore(handoff), (error) =>
      error._tag === "OwnerEnded" ? new Process.ProcessError({ reason: "ServiceClosed", command }) : error
    )
  ).pipe(Cancellation.operation(`start ${command}`))

const makeHandle = (command: string, started: Started, handedOver: Handoff.HandedOver): Process.Background => {
  const { stderr, stdout, tree } = started
  const life = new Life(tree, handedOver)
  const input = new InputQueue(command, started.input, tree)
  return {
    pid: tree.pid,
    command,
    status: Effect.sync(() => life.status),
    kill: (cause) => Effect.sync(() => !tree.ended.isSettled && handedOver.cancel(cause)),
    awaitExit: life.awaitEnd(command),
    read: (cursor = { stdout: 0, stderr: 0 }) =>
      Effect.sync(() => {
        const isFinal = tree.ended.isSettled
        const out = stdout.since(cursor.stdout, isFinal)
        const err = stderr.since(cursor.stderr, isFinal)
        return {
          stdout: out.text,
          stderr: err.text,
          stdoutSkipped: out.skipped,
          stderrSkipped: err.skipped,
          stdoutFile: stdout.file,
          stderrFile: stderr.file,
          cursor: { stdout: out.next, stderr: err.next }
        }
      }),
    write: (text) => input.write(text),
    closeStdin: input.close
  }
}
