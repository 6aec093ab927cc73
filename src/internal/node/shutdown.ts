/**
 * The end of a program, on the clock and the owners of Effect: what `NodeShutdown` gives to its users.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as CancelCause from "../../CancelCause.js"
import * as Cancellation from "../../Cancellation.js"
import type { Owner } from "../cancellation/owner.js"
import { originOf } from "../startFiber.js"
import { clockOf, startTimer } from "../timer.js"
import type { NodeHost } from "./nodeHost.js"
import { WayOut } from "./wayOut.js"

/** @internal */
export const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/** @internal */
export type SignalName = keyof typeof exitCodes

/** @internal */
export const echoMillis = 100

/**
 * How a program was asked to end.
 *
 * @internal
 */
export interface Request {
  readonly exitCode: number
  /** The signal, where it was one. */
  readonly signal: SignalName | undefined
}

/**
 * What a program can do about its end.
 *
 * @internal
 */
export interface Shutdown {
  readonly requested: Effect.Effect<Request>
  readonly shutdown: (exitCode: number) => Effect.Effect<void>
  readonly interrupt: (exitCode: number) => Effect.Effect<void>
}

/**
 * Takes signals until the scope closes. `atExit` is called when the process is left before.
 *
 * @internal
 */
export const makeShutdown = (
  host: NodeHost,
  grace: Duration.DurationInput,
  atExit: () => void
): Effect.Effect<
  { readonly owned: Context.Context<Cancellation.Cancellation>; readonly shutdown: Shutdown },
  never,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const isLimited = Duration.isFinite(Duration.decode(grace))
    const graceMillis = isLimited ? Cancellation.timerMillis(grace, "The grace of a shutdown") : undefined
    const origin = yield* Effect.withFiberRuntime<ReturnType<typeof originOf>>((fiber, status) =>
      Effect.succeed(originOf(fiber, status))
    )
    const requested = yield* Deferred.make<Request>()
    let request: Request | undefined
    let requestedAt = 0
    let owner: Owner | undefined // a signal may come before there is one
    const cancel = (): void => void owner?.cancel(CancelCause.user(request?.signal ?? "shutdown")) // L6: one cause for all
    const note = (exitCode: number, signal?: SignalName): void => {
      if (request !== undefined) return
      request = { exitCode, signal }
      requestedAt = clockOf(origin).unsafeCurrentTimeMillis()
    }
    const wayOut: WayOut = new WayOut(
      {
        defer: host.defer,
        startTimer: (millis, task) => startTimer(origin, millis, task),
        dispose: () => {
          cancel()
          if (request !== undefined) Deferred.unsafeDone(requested, Effect.succeed(request))
        },
        complete: host.complete,
        exit: host.exit
      },
      graceMillis
    )
    // Behind the owner in the scope, so before it in time: when this runs, all that it owned is quiet (L3).
    yield* Effect.addFinalizer((exit) =>
      Effect.sync(() => wayOut.ended(Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)))
    )
    const onSignal = (signal: SignalName): void => {
      const isEcho = request?.signal === signal && clockOf(origin).unsafeCurrentTimeMillis() - requestedAt < echoMillis
      if (isEcho) return
      note(exitCodes[signal], signal)
      wayOut.interrupt(exitCodes[signal])
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => host.listen(onSignal, atExit)),
      (stopListening) => Effect.sync(stopListening)
    )
    const owned = yield* Cancellation.ownScoped
    owner = Cancellation.ownerIn(owned)
    if (request !== undefined) cancel()
    const ask = (begin: (exitCode: number) => void) => (exitCode: number) =>
      Effect.sync(() => {
        note(exitCode)
        begin(exitCode)
      })
    const shutdown: Shutdown = {
      requested: Deferred.await(requested),
      shutdown: ask((exitCode) => wayOut.shutdown(exitCode)),
      interrupt: ask((exitCode) => wayOut.interrupt(exitCode))
    }
    return { owned, shutdown }
  })
