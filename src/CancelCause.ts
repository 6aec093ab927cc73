/**
 * Why an owner was cancelled.
 *
 * A cause is plain data: it is logged, stored with a turn and shown to people. Code that listens to an `AbortSignal`
 * sees its `reason` instead, which is always an `Error` (or the host's own object, see `toReason`).
 *
 * @since 0.1.0
 */
import type * as FiberId from "effect/FiberId"
import * as Schema from "effect/Schema"
import { describeThrown } from "./internal/thrown.js"

/**
 * A person asked for it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const User = Schema.TaggedStruct("User", { note: Schema.optional(Schema.String) })

/**
 * The work that this work is a part of was cancelled or has ended.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Parent = Schema.TaggedStruct("Parent", {})

/**
 * What owned the work was closed: a runtime, a session, a scope.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Disposed = Schema.TaggedStruct("Disposed", {})

/**
 * A deadline passed. `code` tells the deadlines of one program apart.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Deadline = Schema.TaggedStruct("Deadline", { code: Schema.String, millis: Schema.Finite })

/**
 * An `AbortSignal` of the host aborted. `reason` is that signal's own reason, the same object.
 *
 * @since 0.1.0
 * @category schemas
 */
export const HostSignal = Schema.TaggedStruct("HostSignal", { reason: Schema.Defect })

/**
 * The fiber that waited was interrupted. `by` names the fiber that interrupted it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Interrupted = Schema.TaggedStruct("Interrupted", { by: Schema.String })

/**
 * Schema for the cause of a cancellation.
 *
 * @since 0.1.0
 * @category schemas
 */
export const CancelCause = Schema.Union(User, Parent, Disposed, Deadline, HostSignal, Interrupted)

/**
 * The cause of a cancellation.
 *
 * @since 0.1.0
 * @category models
 */
export type CancelCause = typeof CancelCause.Type

/**
 * A cause as JSON.
 *
 * @since 0.1.0
 * @category models
 */
export type Encoded = typeof CancelCause.Encoded

const parentCause: CancelCause = Object.freeze({ _tag: "Parent" })
const disposedCause: CancelCause = Object.freeze({ _tag: "Disposed" })

/**
 * A person asked for it.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { CancelCause } from "quiesce"
 *
 * assert.strictEqual(CancelCause.describe(CancelCause.user("wrong folder")), "cancelled by the user: wrong folder")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const user = (note?: string): CancelCause =>
  Object.freeze(note === undefined ? { _tag: "User" } : { _tag: "User", note })

/**
 * The work that this work is a part of was cancelled or has ended.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { CancelCause } from "quiesce"
 *
 * assert.strictEqual(CancelCause.describe(CancelCause.parent()), "cancelled with the work it is a part of")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const parent = (): CancelCause => parentCause

/**
 * What owned the work was closed.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { CancelCause } from "quiesce"
 *
 * assert.strictEqual(CancelCause.describe(CancelCause.disposed()), "cancelled because its owner was closed")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const disposed = (): CancelCause => disposedCause

/**
 * A deadline of `millis` milliseconds passed.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { CancelCause } from "quiesce"
 *
 * assert.strictEqual(CancelCause.describe(CancelCause.deadline("BASH_TIMEOUT", 100)), "BASH_TIMEOUT after 100ms")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const deadline = (code: string, millis: number): CancelCause => Object.freeze({ _tag: "Deadline", code, millis })

/**
 * An `AbortSignal` of the host aborted with `reason`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { CancelCause } from "quiesce"
 *
 * const reason = new Error("tab closed")
 * const cause = CancelCause.hostSignal(reason)
 * assert.strictEqual(CancelCause.toReason(cause), reason)
 * assert.strictEqual(CancelCause.describe(cause), "cancelled by the host: tab closed")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const hostSignal = (reason: unknown): CancelCause => Object.freeze({ _tag: "HostSignal", reason })

/**
 * The waiting fiber was interrupted by the fiber `by`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { FiberId } from "effect"
 * import { CancelCause } from "quiesce"
 *
 * assert.strictEqual(CancelCause.describe(CancelCause.interrupted(FiberId.make(7, 0))), "interrupted by #7")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const interrupted = (by: FiberId.FiberId): CancelCause =>
  Object.freeze({ _tag: "Interrupted", by: fiberName(by) })

const fiberName = (id: FiberId.FiberId): string => {
  switch (id._tag) {
    case "None":
      return "no fiber"
    case "Runtime":
      return `#${id.id}`
    case "Composite":
      return `${fiberName(id.left)}, ${fiberName(id.right)}`
  }
}

/**
 * Checks whether a cause is a deadline, and (with `code`) that very deadline.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { CancelCause } from "quiesce"
 *
 * const outer = CancelCause.deadline("TURN_TIMEOUT", 1000)
 * assert.strictEqual(CancelCause.isDeadline(outer), true)
 * assert.strictEqual(CancelCause.isDeadline(outer, "BASH_TIMEOUT"), false)
 * ```
 *
 * @since 0.1.0
 * @category guards
 */
export const isDeadline = (cause: CancelCause, code?: string): cause is typeof Deadline.Type =>
  cause._tag === "Deadline" && (code === undefined || cause.code === code)

/**
 * Says in a few words why something was cancelled.
 *
 * @since 0.1.0
 * @category converting
 */
export const describe = (cause: CancelCause): string => {
  switch (cause._tag) {
    case "User":
      return cause.note === undefined ? "cancelled by the user" : `cancelled by the user: ${cause.note}`
    case "Parent":
      return "cancelled with the work it is a part of"
    case "Disposed":
      return "cancelled because its owner was closed"
    case "Deadline":
      return `${cause.code} after ${cause.millis}ms`
    case "HostSignal":
      return `cancelled by the host: ${describeThrown(cause.reason).message}`
    case "Interrupted":
      return `interrupted by ${cause.by}`
  }
}

/**
 * What an aborted signal carries as its `reason`, unless the host's own signal was the cause.
 *
 * Its name is the platform's: `TimeoutError` for a deadline, else `AbortError`, so that code which looks at the name of
 * what `fetch` and friends reject with sees what it expects.
 *
 * @since 0.1.0
 * @category errors
 */
export class Cancelled extends Error {
  override readonly name: "AbortError" | "TimeoutError"
  override readonly cause: CancelCause

  constructor(cause: CancelCause) {
    super(describe(cause))
    this.name = cause._tag === "Deadline" ? "TimeoutError" : "AbortError"
    this.cause = cause
  }
}

const reasons = new WeakMap<CancelCause, Cancelled>()

/**
 * The reason that a signal aborts with: the host's own object where a signal of the host was the cause (L6), else a
 * `Cancelled`, always the same one for the same cause.
 *
 * @since 0.1.0
 * @category converting
 */
export const toReason = (cause: CancelCause): unknown => {
  if (cause._tag === "HostSignal") return cause.reason
  let reason = reasons.get(cause)
  if (reason === undefined) {
    reason = new Cancelled(cause)
    reasons.set(cause, reason)
  }
  return reason
}

/**
 * A cause as frozen JSON, for results and logs. The host's reason becomes its name and message.
 *
 * @since 0.1.0
 * @category converting
 */
export const encode = (cause: CancelCause): Encoded => {
  if (cause._tag === "HostSignal") {
    return Object.freeze({ _tag: "HostSignal", reason: describeThrown(cause.reason).message })
  }
  return Object.isFrozen(cause) ? cause : Object.freeze({ ...cause }) // written down by hand
}
