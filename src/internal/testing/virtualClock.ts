/**
 * A clock whose time passes only when nothing else can happen, or when a schedule says so.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/**
 * A sleep that has not ended.
 *
 * @internal
 */
export interface Timer {
  readonly key: string
  readonly at: number
  readonly fire: () => void
}

/** @internal */
export class VirtualClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  readonly timers: Array<Timer> = []
  private now = 0
  private readonly nameOf: () => string

  constructor(nameOf: () => string) {
    this.nameOf = nameOf
  }

  unsafeCurrentTimeMillis(): number {
    return this.now
  }

  unsafeCurrentTimeNanos(): bigint {
    return BigInt(this.now) * 1_000_000n
  }

  readonly currentTimeMillis = Effect.sync(() => this.now)

  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const at = this.now + Duration.toMillis(duration)
      const timer: Timer = { key: `t:${this.nameOf()}`, at, fire: () => resume(Effect.void) }
      // A sleep that never ends is no timer: nothing is to wait for it.
      if (Number.isFinite(at)) this.timers.push(timer)
      return Effect.sync(() => this.remove(timer))
    })
  }

  /** The timers in the order in which they are due. */
  get due(): ReadonlyArray<Timer> {
    return [...this.timers].sort((a, b) => a.at - b.at)
  }

  fire(timer: Timer): void {
    this.remove(timer)
    this.now = Math.max(this.now, timer.at)
    timer.fire()
  }

  private remove(timer: Timer): void {
    const index = this.timers.indexOf(timer)
    if (index !== -1) this.timers.splice(index, 1)
  }
}
