/**
 * What happens when the system asks this program to end.
 *
 * The first signal asks for a stop: everything is cancelled, and the program leaves by itself when all is quiet, without
 * a limit on the wait, since a person can send a second one. That leaves at once. On every way out but SIGKILL no process
 * is left behind.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"
import * as NodeProcess from "../node/NodeProcess.js"

/** 128 and the number of the signal, as shells have it. SIGHUP: the terminal was closed. */
const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

type Name = keyof typeof codes

/** A signal that asks for a stop. */
export interface StopSignal {
  readonly name: Name
  /** What to leave with. */
  readonly exitCode: number
}

/** Calls `f`, which must be synchronous, if the program leaves while the scope is open. */
export const atExit = (f: () => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      process.on("exit", f)
    }),
    () => Effect.sync(() => process.off("exit", f))
  )

/** What is known of the signals that came. */
export interface Signals {
  readonly first: Deferred.Deferred<StopSignal>
  /** From here on another signal leaves at once. */
  readonly armed: Deferred.Deferred<void>
}

/**
 * One Ctrl-C can reach this program twice: from the terminal, and from npm, which forwards it. (Measured with npm 11 and
 * bash as its shell: a few milliseconds later, on a busy machine more.)
 */
const echoMillis = 100

/** Takes signals until the scope closes. */
export const listen: Effect.Effect<Signals, never, Scope.Scope> = Effect.gen(function* () {
  const first = Deferred.unsafeMake<StopSignal>(FiberId.none)
  const armed = Deferred.unsafeMake<void>(FiberId.none)
  yield* atExit(NodeProcess.killAll)
  let received: Name | undefined
  let isArmed = false
  const onSignal = (name: Name): void => {
    if (received === undefined) {
      received = name
      Deferred.unsafeDone(first, Effect.succeed({ name, exitCode: codes[name] }))
    } else if (isArmed || name !== received) process.exit(codes[name])
  }
  yield* Effect.gen(function* () {
    yield* Deferred.await(first)
    yield* Effect.sleep(echoMillis)
    isArmed = true
    yield* Deferred.succeed(armed, undefined)
  }).pipe(Effect.forkScoped)
  const names = Object.keys(codes) as ReadonlyArray<Name>
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const name of names) process.on(name, onSignal)
    }),
    () =>
      Effect.sync(() => {
        for (const name of names) process.off(name, onSignal)
      })
  )
  return { first, armed }
})
