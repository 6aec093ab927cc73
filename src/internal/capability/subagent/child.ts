/**
 * What a provider of subagents makes: one child, before anybody owns it.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as CancelCause from "../../../CancelCause.js"
import type { Cancellation } from "../../../Cancellation.js"
import type { Reason, Result, StartOptions } from "../../../capability/Subagent.js"

/**
 * Why an operation on subagents failed.
 *
 * @internal
 */
export interface Problem {
  readonly reason: typeof Reason.Type
  readonly detail?: string
}

/** @internal */
export interface Child {
  /**
   * Takes a message, in one synchronous step, and gives it an id. A child that rests runs when this has completed. Of a
   * child that was just made it completes without waiting.
   */
  readonly accept: (message: StartOptions["task"]) => Effect.Effect<string, Problem>
  /** Stops the turn that runs, and keeps what waits. */
  readonly interrupt: (cause: CancelCause.CancelCause) => Effect.Effect<void>
  readonly isRunning: () => boolean
  /** Completes when the child rests. An interruption ends the wait and nothing else. */
  readonly awaitRest: Effect.Effect<void>
  /** What its last turn came to, of a child that rests; also when it is gone. */
  readonly result: () => Result
}

/**
 * Makes a child that does nothing yet. It lives as long as the scope, which stops it and waits for it, and is stopped with
 * the owner.
 *
 * @internal
 */
export type Make = (id: string) => Effect.Effect<Child, Problem, Cancellation | Scope.Scope>
