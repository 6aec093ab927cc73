/**
 * Which steps of one workflow run, and which wait for a place.
 *
 * Invariants
 *
 * W1. At most `limit` steps run at once. First come, first served.
 * W2. Who stops waiting leaves in the same step, and a place that it was given in that step goes to the next.
 */
import { Settlement } from "../../settlement.js"

/**
 * A place in the lane. Settles when the step may run.
 *
 * @internal
 */
export type Place = Settlement<void>

/** @internal */
export class Lane {
  private readonly waiting = new Set<Place>()
  private readonly limit: number
  private running = 0

  constructor(limit: number) {
    this.limit = limit
  }

  enter(): Place {
    const place = new Settlement<void>()
    this.waiting.add(place)
    this.advance()
    return place
  }

  leave(place: Place): void {
    if (!this.waiting.delete(place)) this.running-- // W2
    this.advance()
  }

  private advance(): void {
    for (const place of this.waiting) {
      if (this.running >= this.limit) return // W1
      this.waiting.delete(place)
      this.running++
      place.settle()
    }
  }
}
