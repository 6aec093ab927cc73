/**
 * The service, made of what starts processes and of an owner for what outlives its caller.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Cancellation from "../../../Cancellation.js"
import type * as Process from "../../../capability/Process.js"
import { BackgroundProcesses } from "./background.js"
import type { Machine } from "./machine.js"
import { run } from "./run.js"
import { openSession } from "./session.js"

/**
 * A service that owns what was started in the background as long as its scope is open, and ends it before what
 * `makeMachine` has acquired.
 *
 * @internal
 */
export const makeService = <R>(
  makeMachine: Effect.Effect<Machine, never, R>
): Effect.Effect<Process.Service, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const machine = yield* makeMachine
    const owner = yield* Cancellation.ownScoped
    const background = new BackgroundProcesses(machine, owner)
    return {
      run: run(machine),
      start: (options) => background.start(options),
      openSession: (options = {}) => openSession(machine, owner, options),
      list: Effect.sync(() => background.list)
    }
  })
