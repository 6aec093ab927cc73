/**
 * Something that is derived from a log, and kept: each event is looked at once, however often somebody asks.
 *
 * A log only grows, so what was derived from its beginning holds for good.
 */

/** What takes in one event after the other. */
interface Fold<A, B> {
  readonly add: (event: A) => void
  readonly value: B
}

/** @internal */
export class Derived<A, B> {
  private readonly fold: Fold<A, B>
  private taken = 0

  constructor(fold: Fold<A, B>) {
    this.fold = fold
  }

  /** What follows from a log, which is the one of the last time, or that and more. */
  from(log: ReadonlyArray<A>): B {
    for (; this.taken < log.length; this.taken++) this.fold.add(log[this.taken] as A)
    return this.fold.value
  }
}
