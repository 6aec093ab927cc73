/**
 * What stops everything: a signal, or the time of `--cancel-after`. Whoever waits is told of it.
 *
 * The first signal asks for a stop: everything is cancelled, and the program leaves when all is quiet, without a limit on
 * the wait, since a person can send a second one. That leaves at once.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as CancelCause from "../CancelCause.js"
import * as NodeShutdown from "../node/NodeShutdown.js"
import type { Output } from "./output.js"

/** Something that can be asked to stop, and how the program was asked to end. */
export interface Stopping {
  readonly stop: Deferred.Deferred<CancelCause.CancelCause>
  readonly shutdown: NodeShutdown.Service
  /** What to leave with, where the program was asked to end. */
  readonly exitCode: Effect.Effect<number | undefined>
}

const askFor = (stop: Stopping["stop"], why: string, output: Output): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    output.complain(`${why}: cancelling what runs, and waiting until it is quiet`)
    return Deferred.succeed(stop, CancelCause.user(why))
  })

/** Takes signals from now on: what is being prepared is stopped too. The program leaves when the scope has closed. */
export const listen = (output: Output): Effect.Effect<Stopping, never, Scope.Scope> =>
  Effect.gen(function* () {
    // Only the way out: what runs is owned by the program itself, which tells it who asked for the stop.
    const context = yield* NodeShutdown.make({ grace: Number.POSITIVE_INFINITY })
    const shutdown = Context.get(context, NodeShutdown.NodeShutdown)
    const stop = yield* Deferred.make<CancelCause.CancelCause>()
    let code: number | undefined
    yield* Effect.gen(function* () {
      const { exitCode, signal } = yield* shutdown.requested
      code = exitCode
      const why = signal === undefined || signal === "SIGINT" ? "Ctrl-C" : signal
      yield* askFor(stop, why, output)
      yield* Effect.sleep(NodeShutdown.echoMillis)
      output.complain(`${why} again kills it at once`)
    }).pipe(Effect.forkScoped)
    return { stop, shutdown, exitCode: Effect.sync(() => code) }
  })

/** Asks for a stop when so much time is over. The time counts from here. */
export const after = (
  millis: number | undefined,
  { stop }: Stopping,
  output: Output
): Effect.Effect<void, never, Scope.Scope> => {
  if (millis === undefined) return Effect.void
  const asked = askFor(stop, `--cancel-after ${millis}`, output)
  return millis === 0 ? Effect.asVoid(asked) : Effect.asVoid(Effect.forkScoped(Effect.delay(asked, millis)))
}
