/**
 * Pieces of promise work under one signal, and what they come to.
 *
 * Invariants
 *
 * W1. The answer is given when every piece that was started has settled, and not before (L3, L4).
 * W2. No piece is started once the signal has aborted, also by a piece before it (L10).
 * W3. A failure that is not the cancellation is the answer, the first of them, although the signal has aborted (L5); the
 *     others are logged (L10). Every promise has a handler from the step in which it was made.
 * W4. Where a piece was stopped, or not started, the answer is the reason of the signal, the same object (L6).
 */
import * as Cause from "effect/Cause"
import * as CancelCause from "../../CancelCause.js"
import { isCancellation } from "../cancellation/classify.js"
import { report } from "../report.js"
import { SignalChild } from "./signalChild.js"

/** @internal */
export type Work = (signal: AbortSignal) => unknown

class Group {
  private readonly child: SignalChild
  private readonly values: Array<unknown> = []
  private readonly answer: (values: ReadonlyArray<unknown>) => void
  private readonly refuse: (reason: unknown) => void
  private pending = 1 // for the loop that starts them
  private isIncomplete = false
  private failure: { readonly error: unknown } | undefined

  constructor(
    signal: AbortSignal | undefined,
    answer: (values: ReadonlyArray<unknown>) => void,
    refuse: (reason: unknown) => void
  ) {
    this.child = new SignalChild([signal])
    this.answer = answer
    this.refuse = refuse
  }

  start(works: ReadonlyArray<Work>): void {
    // Told apart by itself: nothing is stopped here where there is nothing to start.
    if (this.child.isAborted) this.isIncomplete = true
    works.forEach((work, at) => {
      if (this.child.isAborted)
        this.isIncomplete = true // W2
      else this.startOne(work, at)
    })
    this.settled()
  }

  private startOne(work: Work, at: number): void {
    this.pending++
    try {
      Promise.resolve(work(this.child.signal)).then(
        (value) => {
          this.values[at] = value
          this.settled()
        },
        (error) => this.failed(error)
      )
    } catch (error) {
      this.failed(error)
    }
  }

  private failed(error: unknown): void {
    const { signal } = this.child
    if (signal.aborted && isCancellation(error, CancelCause.hostSignal(signal.reason))) this.isIncomplete = true
    else if (this.failure !== undefined)
      report("Work failed while it was being stopped", Cause.fail(error)) // W3
    else {
      this.failure = { error }
      this.child.abort(error) // the others are asked to stop, and waited for
    }
    this.settled()
  }

  private settled(): void {
    if (--this.pending > 0) return // W1
    this.child.dispose()
    if (this.failure !== undefined) this.refuse(this.failure.error)
    else if (this.isIncomplete)
      this.refuse(this.child.signal.reason) // W4
    else this.answer(this.values)
  }
}

/**
 * Starts pieces of work, and settles when each of them has.
 *
 * @internal
 */
export const runWork = (signal: AbortSignal | undefined, works: ReadonlyArray<Work>): Promise<ReadonlyArray<unknown>> =>
  new Promise((resolve, reject) => new Group(signal, resolve, reject).start(works))
