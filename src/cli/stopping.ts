/**
 * What cancels a plan as a whole: a signal, or the time of `--cancel-after`. Whoever waits is told of it.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as CancelCause from "../CancelCause.js"
import type { Output } from "./output.js"
import * as Signals from "./signals.js"

/** Something that can be asked to stop, and the first signal that asked for it. */
export interface Stopping {
  readonly stop: Deferred.Deferred<CancelCause.CancelCause>
  readonly signal: Deferred.Deferred<Signals.StopSignal>
}

const askFor = (stop: Stopping["stop"], why: string, output: Output): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    output.complain(`${why}: cancelling what runs, and waiting until it is quiet`)
    return Deferred.succeed(stop, CancelCause.user(why))
  })

/** Takes signals from now on: what is being prepared is stopped too. */
export const listen = (output: Output): Effect.Effect<Stopping, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { armed, first } = yield* Signals.listen
    const stop = yield* Deferred.make<CancelCause.CancelCause>()
    yield* Effect.gen(function* () {
      const { name } = yield* Deferred.await(first)
      const why = name === "SIGINT" ? "Ctrl-C" : name
      yield* askFor(stop, why, output)
      yield* Deferred.await(armed)
      output.complain(`${why} again kills it at once`)
    }).pipe(Effect.forkScoped)
    return { stop, signal: first }
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
