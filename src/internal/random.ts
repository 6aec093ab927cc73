/**
 * A seeded generator. Same seed, same sequence, on every platform: failing seeds are pasted into bug reports.
 */

/** @internal */
export interface SeededRandom {
  /** A whole number from 0 up to, not including, `limit`. */
  readonly nextBelow: (limit: number) => number
}

/** @internal */
export const makeRandom = (seed: number): SeededRandom => {
  let state = (seed + 1) >>> 0
  // mulberry32: 32 bits of state are plenty for picking the branches of schedules
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return { nextBelow: (limit) => Math.floor(next() * limit) }
}
