/**
 * The two ways in which this library stops a program on purpose.
 *
 * A broken `invariant` is a bug of ours. A `misuse` is a value that can never work, found while it is built: there is
 * no Effect yet whose error channel could carry it, so it is thrown, as `effect/Schema` does.
 */

/** @internal */
export class InvariantViolated extends Error {
  override readonly name = "InvariantViolated"
}

/** @internal */
export class Misuse extends Error {
  override readonly name = "Misuse"
}

/**
 * Stops when a condition does not hold that this library itself must keep.
 *
 * @internal
 */
export function invariant(condition: boolean, what: string): asserts condition {
  if (!condition) throw new InvariantViolated(`${what} (this is a bug in quiesce, please report it)`)
}

/**
 * Stops the construction of a value that can never work.
 *
 * @internal
 */
export const misuse = (what: string): never => {
  throw new Misuse(what)
}
