/**
 * What carries requests: the seam between the logic of `Http`, which is the same everywhere, and sockets.
 *
 * Everything here is synchronous or a `Settlement`. So whoever uses it decides where an interruption may strike, and no
 * step lies between opening something and knowing of it.
 */
import type * as Headers from "@effect/platform/Headers"
import type * as HttpMethod from "@effect/platform/HttpMethod"
import type * as Effect from "effect/Effect"
import type { Reason } from "../../../capability/Http.js"
import type { Settlement } from "../../settlement.js"
import type { Origin } from "../../startFiber.js"

/**
 * Why an operation fails, before it is known whose.
 *
 * @internal
 */
export interface Problem {
  readonly reason: Reason
  readonly status?: number
  readonly retryAfterMillis?: number
  readonly detail?: string
  readonly cause?: unknown
}

/**
 * What became of something that was waited for. `Stopped`: somebody has called `stop` before it came.
 *
 * @internal
 */
export type Outcome<A> =
  | { readonly _tag: "Done"; readonly value: A }
  | { readonly _tag: "Failed"; readonly problem: Problem }
  | { readonly _tag: "Stopped" }

/** @internal */
export const done = <A>(value: A): Outcome<A> => ({ _tag: "Done", value })

/** @internal */
export const failed = (problem: Problem): Outcome<never> => ({ _tag: "Failed", problem })

/** @internal */
export const stopped: Outcome<never> = { _tag: "Stopped" }

/**
 * One request, as it goes over the wire.
 *
 * @internal
 */
export interface Outgoing {
  readonly url: URL
  readonly method: HttpMethod.HttpMethod
  readonly headers: Headers.Headers
  /** `streamed`: it comes through `Exchange.send`. */
  readonly body: Uint8Array | "streamed" | undefined
}

/** @internal */
export interface Head {
  readonly status: number
  readonly headers: Headers.Headers
}

/**
 * One request on one connection, and its response.
 *
 * @internal
 */
export interface Exchange {
  readonly head: Settlement<Outcome<Head>>
  /** The next piece of the unpacked body, `undefined` at its end. One at a time. */
  readonly pull: () => Settlement<Outcome<Uint8Array | undefined>>
  /** Sends a piece of a streamed body. Settles when there is room for the next. One at a time. */
  readonly send: (bytes: Uint8Array) => Settlement<Outcome<void>>
  /** Ends a streamed body. */
  readonly sent: () => void
  /** Ends it, in this step, unless it has ended: what is waited for settles with `outcome`, and the connection closes. */
  readonly end: (outcome: Outcome<never>) => void
  /** The connection is closed, and nothing that was started for it runs. */
  readonly closed: Settlement<void>
}

/**
 * A file that is not there yet.
 *
 * @internal
 */
export interface Staging {
  readonly write: (bytes: Uint8Array) => Effect.Effect<void, Problem>
  /** Moves it to where it belongs. */
  readonly commit: Effect.Effect<void, Problem>
  /** Removes what was staged, if there is anything. */
  readonly discard: Effect.Effect<void>
}

/** @internal */
export interface Transport {
  /** Why nothing may be sent to this URL, as far as it alone tells. Opens nothing. */
  readonly admit: (url: URL) => Problem | undefined
  /** Opens a connection and begins to send, in this step. */
  readonly open: (outgoing: Outgoing, origin: Origin) => Exchange
  /** Makes the place in which a download is staged. */
  readonly stage: (path: string) => Effect.Effect<Staging, Problem>
}
