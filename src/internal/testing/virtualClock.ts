/**
 * A clock whose time passes only when nothing else can happen, or when a schedule says so.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Settlement } from "../settlement.js"

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
    return Effect.suspend(() => {
      let timer: Timer | undefined
      const wait = Effect.suspend(() => {
        const settlement = new Settlement<void>()
        const at = this.now + Duration.toMillis(duration)
        timer = { key: `t:${this.nameOf()}`, at, fire: () => settlement.settle() }
        // A sleep that never ends is no timer: nothing is to wait for it.
        if (Number.isFinite(at)) this.timers.push(timer)
        return settlement.wait()
      })
      return Effect.onInterrupt(wait, () => Effect.sync(() => timer !== undefined && this.remove(timer)))
    })
  }

  /** The timers that are due next: time passes for all alike, so a later one never comes before an earlier one. */
  get due(): ReadonlyArray<Timer> {
    if (this.timers.length < 2) return this.timers
    const first = Math.min(...this.timers.map((timer) => timer.at))
    return this.timers.filter((timer) => timer.at === first)
  }

  isAsleep(label: string): boolean {
    return this.timers.some((timer) => timer.key === `t:${label}`)
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
