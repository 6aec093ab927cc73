/**
 * Rules that surround every call, as plain objects with functions that may be asynchronous.
 *
 * A policy is awaited, whatever becomes of the call: what it decides or throws counts although the caller has aborted
 * (L5), and one that never settles holds its call. Its view says, with a signal, when it is time to come to an end.
 *
 * @since 0.1.0
 */
import type * as Content from "../Content.js"
import type * as CoreResult from "../ToolResult.js"
import type { AroundView, CallView } from "./Call.js"
import type { Answer, ToolResult } from "./Result.js"

/**
 * What a `before` function says of a call.
 *
 * @since 0.1.0
 * @category models
 */
export type Decision =
  | { readonly kind: "allow" }
  | { readonly kind: "deny"; readonly reason: string }
  | { readonly kind: "ask"; readonly reason?: string | undefined }

/**
 * What an `after` function says of a result: that it may be published, with other content or (a success only) another
 * value, or that the model gets `content` instead.
 *
 * @since 0.1.0
 * @category models
 */
export type Review =
  | {
      readonly kind: "accept"
      readonly content?: ReadonlyArray<Content.Content> | undefined
      readonly value?: CoreResult.Json | undefined
      readonly additionalContexts?: ReadonlyArray<Content.Content> | undefined
    }
  | {
      readonly kind: "block"
      readonly content: ReadonlyArray<Content.Content>
      readonly additionalContexts?: ReadonlyArray<Content.Content> | undefined
    }

/**
 * Runs what an `around` policy surrounds: never, once, again, or several times at once.
 *
 * It always resolves: a body that failed is a result that says so. What still runs of it when the policy has settled is
 * stopped and awaited, and rejects nowhere.
 *
 * @since 0.1.0
 * @category models
 */
export type Next = () => Promise<ToolResult>

/**
 * A rule that surrounds calls. Each function is one stage, in this order; policies that are listed first surround the
 * others.
 *
 * @since 0.1.0
 * @category models
 */
export interface Policy {
  /** Says in messages and logs which policy it was. */
  readonly name: string
  /** Decides whether a call may run. The first denial ends the asking. What it throws is the result of the call. */
  readonly before?: ((call: CallView) => Decision | Promise<Decision>) | undefined
  /** Has a last, synchronous veto: a string is the reason. It cannot turn a denial back. */
  readonly guard?: ((call: CallView) => string | undefined) | undefined
  /** Wraps the running of the body, and answers with a result. What it throws is the result of the call. */
  readonly around?: ((call: AroundView, next: Next) => Answer | Promise<Answer>) | undefined
  /** Reviews a result when everything that the call started is quiet, also after an abort. */
  readonly after?: ((call: CallView, result: ToolResult) => Review | Promise<Review>) | undefined
  /** Is told of each result once, with the very object that the caller gets (L1). What it throws is logged. */
  readonly observe?: ((call: CallView, result: ToolResult) => void | Promise<void>) | undefined
}
