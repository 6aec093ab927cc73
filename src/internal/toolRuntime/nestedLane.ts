/**
 * In which order the calls of one body run: as those of one message of a model do, except that nobody knows how many
 * there will be.
 *
 * Invariants
 *
 * B1. First come, first served: a call never passes one that waits, so an exclusive one is not starved.
 * B2. At most `limit` calls run at once, and an exclusive one runs alone.
 * B3. Who stops waiting leaves in the same step, and holds up nobody from then on.
 */
import { Settlement } from "../settlement.js"
import type { Mode } from "./schedule.js"

/**
 * One call in the lane.
 *
 * @internal
 */
export class Place {
  /** Settles when the call may run. */
  readonly turn = new Settlement<void>()
  /** Asked when it is the next one: what a tool says may have changed while it waited. */
  readonly mode: () => Mode
  ranAs: Mode | undefined

  constructor(mode: () => Mode) {
    this.mode = mode
  }
}

/** @internal */
export class NestedLane {
  private readonly waiting = new Set<Place>()
  private readonly limit: number
  private running = 0
  private isAlone = false

  constructor(limit: number) {
    this.limit = limit
  }

  enter(mode: () => Mode): Place {
    const place = new Place(mode)
    this.waiting.add(place)
    this.advance()
    return place
  }

  leave(place: Place): void {
    if (!this.waiting.delete(place)) {
      this.running--
      if (place.ranAs === "exclusive") this.isAlone = false
    }
    this.advance() // B3
  }

  private advance(): void {
    for (const place of this.waiting) {
      if (this.isAlone || this.running >= this.limit) return // B2
      const mode = place.mode()
      if (mode === "exclusive" && this.running > 0) return // B1
      this.waiting.delete(place)
      this.running++
      this.isAlone = mode === "exclusive"
      place.ranAs = mode
      place.turn.settle()
    }
  }
}
