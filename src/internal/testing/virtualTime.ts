/**
 * Time that passes only when nothing else can happen, or when a schedule says so.
 */

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
export class VirtualTime {
  private readonly timers: Array<Timer> = []
  private readonly nameOf: () => string
  /** In milliseconds. */
  now = 0

  constructor(nameOf: () => string) {
    this.nameOf = nameOf
  }

  /** Calls `fire` when so many milliseconds have passed, unless the returned function is called first. */
  sleep(millis: number, fire: () => void): () => void {
    const timer: Timer = { key: `t:${this.nameOf()}`, at: this.now + millis, fire }
    // A sleep that never ends is no timer: nothing is to wait for it.
    if (Number.isFinite(timer.at)) this.timers.push(timer)
    return () => this.remove(timer)
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
