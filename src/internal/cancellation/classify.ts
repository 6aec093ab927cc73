/**
 * Tells failures from cancellations (L5): specific beats generic.
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import { hasProperty } from "effect/Predicate"
import * as CancelCause from "../../CancelCause.js"
import type { Owner } from "./owner.js"

/**
 * Whether a failure *is* the cancellation that `cause` stands for: the signal's own reason, also as the cause of an
 * `UnknownException`, or an `AbortError` of the platform, which carries no reason.
 *
 * @internal
 */
export const isCancellation = (error: unknown, cause: CancelCause.CancelCause): boolean => {
  try {
    const reason = CancelCause.toReason(cause)
    if (error === reason || error === cause) return true
    if (Cause.isUnknownException(error)) return isCancellation(error.error, cause)
    return hasProperty(error, "name") && error.name === "AbortError"
  } catch {
    return false // looking at a hostile value threw
  }
}

/**
 * A failure that is not a cancellation. A defect is one that nobody has typed: it has a message, and no code of its own.
 *
 * @internal
 */
export interface Specific {
  readonly error: unknown
  readonly isDefect: boolean
}

/**
 * The first failure or defect of a cause that is not the cancellation of `owner`, or that came late and was kept with it.
 *
 * @internal
 */
export const specificFailure = (cause: Cause.Cause<unknown>, owner: Owner): Specific | undefined => {
  const own = failureIn(cause, owner)
  if (own !== undefined || owner.cause === undefined || owner.lateFailures.length === 0) return own
  const error = owner.lateFailures[0]
  return { error, isDefect: owner.lateDefects.includes(error) }
}

/**
 * The first failure or defect of a cause that is not the cancellation of `owner`.
 *
 * @internal
 */
export const failureIn = (cause: Cause.Cause<unknown>, owner: Owner): Specific | undefined => {
  const isSpecific = (error: unknown) => owner.cause === undefined || !isCancellation(error, owner.cause)
  for (const error of Cause.failures(cause)) if (isSpecific(error)) return { error, isDefect: false }
  for (const error of Chunk.toReadonlyArray(Cause.defects(cause))) {
    if (isSpecific(error)) return { error, isDefect: true }
  }
  return undefined
}
