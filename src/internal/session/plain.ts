/**
 * Takes an event out of its maker's hands: a deep-frozen copy that JSON gives back unchanged.
 */
import * as Either from "effect/Either"
import { isObject } from "effect/Predicate"
import { type Json, materialize } from "../json.js"
import { describeThrown } from "../thrown.js"

// A property that is `undefined` is one that is not there, for the schemas and for JSON. What goes around in a circle is
// left alone, and refused afterwards.
const withoutAbsent = (value: unknown, ancestors: ReadonlyArray<unknown> = []): unknown => {
  if (!isObject(value) || ancestors.includes(value)) return value
  const within = [...ancestors, value]
  if (Array.isArray(value)) return value.map((item) => withoutAbsent(item, within))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [[key, withoutAbsent(item, within)]]))
  )
}

/**
 * The copy, or what is wrong, in words.
 *
 * @internal
 */
export const plainCopy = (event: unknown): Either.Either<Json, string> => {
  let copy = materialize(event)
  // Rare, so that the others do not pay for a second copy.
  if (Either.isLeft(copy) && copy.left._tag === "Lossy" && copy.left.found === "undefined") {
    copy = materialize(withoutAbsent(event))
  }
  return Either.mapLeft(copy, (problem) =>
    problem._tag === "Threw"
      ? `it cannot be read: ${describeThrown(problem.error).message}`
      : `it is not JSON: ${problem.found} at ${problem.path}`
  )
}
