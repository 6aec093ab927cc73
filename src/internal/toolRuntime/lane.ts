/**
 * How one call of a batch keeps to the order of the batch: it says when it leaves the lane, and waits to enter it again.
 */
import { Settlement } from "../settlement.js"

/** @internal */
export class Lane {
  /** Settles when it is this call's turn to be reviewed and published. */
  readonly turn = new Settlement<void>()
  /** Whether a cancel that comes while the settled call waits for its turn leaves its result alone. */
  readonly keepsFinished: boolean
  private readonly onGated: () => void
  private readonly onSettled: () => void
  private wasGated = false
  private wasSettled = false

  constructor(keepsFinished: boolean, onGated: () => void, onSettled: () => void) {
    this.keepsFinished = keepsFinished
    this.onGated = onGated
    this.onSettled = onSettled
  }

  /** The gate is behind the call, for better or worse. */
  gated(): void {
    if (this.wasGated) return
    this.wasGated = true
    this.onGated()
  }

  /** Nothing of the call runs any more, and its result waits for its turn. */
  settled(): void {
    this.gated()
    if (this.wasSettled) return
    this.wasSettled = true
    this.onSettled()
  }
}
