/**
 * A call as each of its stages sees it.
 *
 * Every stage has a view of its own, frozen, with the signal that it is to listen to: a stage that keeps its view, or
 * tries to write to it, changes nothing for another. Only an `around` policy can put another signal in the place of its
 * own, and none can take it away.
 *
 * @since 0.1.0
 */
import type * as Content from "../Content.js"
import type * as CoreResult from "../ToolResult.js"
import type { ToolResult } from "./Result.js"

/**
 * What is asked of a runtime.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallInput {
  /** The id that the model gave the call. It need not be unique. */
  readonly callId: string
  /** The name of the tool. */
  readonly name: string
  /** What the model sent. Read once, when the call is accepted; from then on only a frozen copy is used. */
  readonly arguments: unknown
  /** Stops the call when it aborts. Where it has aborted already, the body is not called. */
  readonly signal: AbortSignal
  /** The outermost call that this one is a part of. Default: itself. */
  readonly rootCallId?: string | undefined
  /** On whose behalf it is made, where policies and approvals differ by agent. */
  readonly agent?: string | undefined
}

interface Identity {
  readonly callId: string
  readonly rootCallId: string
  /** The call whose body made this one. */
  readonly parentId: string | undefined
  /** Tells this call from every other, also from one with the same id. */
  readonly token: symbol
  /** The name that was called. */
  readonly name: string
  /** A detached, deep-frozen copy of what the model sent. Absent when it was not JSON. */
  readonly arguments: CoreResult.Json | undefined
  readonly agent: string | undefined
}

/**
 * A call as a policy sees it, frozen.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallView extends Identity {
  /**
   * In `before` and `guard`: aborts when the call is stopped, by whomever, with the reason of the caller's own signal
   * where that was why. In `after` and `observe`, which run to their end: the signal that the caller gave.
   */
  readonly signal: AbortSignal
}

/**
 * A call as an `around` policy sees it. Its signal can be replaced, and not removed.
 *
 * @since 0.1.0
 * @category models
 */
export interface AroundView extends Identity {
  /**
   * The signal that the next `next()` runs under. A replacement is fused with the one that was here: the body is stopped
   * by whichever aborts first, with that one's reason, and neither is aborted by the other. It holds for this view alone,
   * and only until the policy has settled.
   */
  get signal(): AbortSignal
  set signal(signal: AbortSignal)
}

/**
 * What a body has beside its parameters. Frozen; its functions may be taken out of it. They throw once the body has
 * settled.
 *
 * @since 0.1.0
 * @category models
 */
export interface BodyContext extends Identity {
  /**
   * Aborts when the body is to stop: its caller's signal aborted, its time is over, the call was cancelled, the runtime is
   * disposed of. Made when it is read. A body that ignores it is waited for (L4).
   */
  readonly signal: AbortSignal
  /** Which attempt this is: 1, and more where a policy runs the body again. */
  readonly attempt: number
  /** Milliseconds until the nearest deadline, where there is one. */
  readonly remaining: number | undefined
  /** Has the model told something before its next step, whatever becomes of this call, unless a policy blocks it. */
  readonly deferContext: (content: string | Content.Content) => void
  /** Asks that the turn end with this step. Counts only if the call succeeds. */
  readonly concludeTurn: () => void
  /** Shows people how far the body is: the last text is in `Runtime.inFlight`. */
  readonly progress: (text: string) => void
  /**
   * Runs another call, as one of the model is run, with a result of its own. When this call is stopped so is that one, and
   * its result comes first, whether it is awaited or not (L3).
   */
  readonly call: (name: string, parameters: unknown) => Promise<ToolResult>
}
