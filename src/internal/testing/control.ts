/**
 * What a test sees and does of a tool that it controls.
 *
 * A handler call counts in the step in which it happens, before any operation of its body, as `dispatched` does (L2). A
 * body counts as running until its last finalizer has run.
 */
import * as Effect from "effect/Effect"
import { Settlement } from "../settlement.js"

interface Waiter {
  readonly times: number
  readonly reached: Settlement<void>
}

/** @internal */
export class Control {
  entered = 0
  running = 0
  /** How much of what bodies left behind is still there. */
  left = 0
  readonly released = new Settlement<void>()
  private started = 0
  private waiters: ReadonlyArray<Waiter> = []

  /** Counts a call of the handler, and makes its body. */
  enter<A, E, R>(body: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    this.entered++
    return Effect.acquireUseRelease(
      Effect.sync(() => this.start()),
      () => body,
      () => Effect.sync(() => this.running--)
    )
  }

  awaitStarted(times: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const reached = new Settlement<void>()
      if (times <= this.started) reached.settle()
      else this.waiters = [...this.waiters, { times, reached }]
      return reached.wait()
    })
  }

  private start(): void {
    this.started++
    this.running++
    const waiters = this.waiters
    this.waiters = waiters.filter(({ times }) => times > this.started)
    for (const { reached, times } of waiters) if (times <= this.started) reached.settle()
  }
}
