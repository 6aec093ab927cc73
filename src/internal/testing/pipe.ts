/**
 * Pieces on their way from one side of a scripted connection to the other: one at a time, handed over when it is taken.
 */
import { done, type Outcome } from "../capability/http/transport.js"
import { Settlement } from "../settlement.js"

/** @internal */
export class Pipe {
  private piece: Uint8Array | undefined
  private putter: Settlement<Outcome<void>> | undefined
  private taker: Settlement<Outcome<Uint8Array | undefined>> | undefined
  private ending: Outcome<undefined> | undefined

  /** Settles when the piece was taken. */
  put(piece: Uint8Array): Settlement<Outcome<void>> {
    const putter = new Settlement<Outcome<void>>()
    this.piece = piece
    this.putter = putter
    this.handOver()
    return putter
  }

  /** Settles with the next piece, with `undefined` behind the last. */
  take(): Settlement<Outcome<Uint8Array | undefined>> {
    const taker = new Settlement<Outcome<Uint8Array | undefined>>()
    this.taker = taker
    this.handOver()
    return taker
  }

  /** Nothing comes any more. The first time counts. */
  end(outcome: Outcome<undefined>): void {
    this.ending ??= outcome
    this.handOver()
  }

  private handOver(): void {
    const { ending, piece, putter, taker } = this
    if (ending !== undefined) {
      putter?.settle(ending)
      taker?.settle(ending)
    } else if (piece !== undefined && taker !== undefined) {
      this.piece = undefined
      this.taker = undefined
      taker.settle(done(piece))
      putter?.settle(done(undefined))
    }
  }
}
