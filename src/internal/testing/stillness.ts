/**
 * Tells a deadlock from a livelock in a run that is too long.
 *
 * Something that repeats by itself, such as a warning every ten seconds, goes on for ever in virtual time and would hide
 * that everybody else waits for ever. So time that passes is no progress: when the main fiber has taken no step, and
 * nothing has happened that no timer had brought about, over many timers, what is waited for does not come.
 */

// So often time passes, and nothing but timers happens, at the end of a run that is too long, for it to be a deadlock.
const enough = 10

/** @internal */
export class Stillness {
  private timers = 0
  private readonly ran = new Set<string>()

  /** A timer has gone off. */
  timer(): void {
    this.timers++
  }

  step(label: string): void {
    if (label === "main") this.happened()
    else if (this.timers > 0) this.ran.add(label)
  }

  /** Something happened that no timer had brought about, or that the main fiber saw. */
  happened(): void {
    if (this.timers === 0) return
    this.timers = 0
    this.ran.clear()
  }

  get isDeadlock(): boolean {
    return this.timers >= enough
  }

  /** Whether a fiber went on, although only when timers woke it up. */
  goesOn(label: string): boolean {
    return this.isDeadlock && this.ran.has(label)
  }
}
