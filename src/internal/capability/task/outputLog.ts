/**
 * What a task has written, up to a limit: the newest part stays, and how much went before it is known.
 *
 * Positions count UTF-16 units from the first one ever written, so that a reader can ask for what is new to it.
 */

/**
 * A part of what a task has written.
 *
 * @internal
 */
export interface Part {
  readonly text: string
  readonly next: number
  readonly missed: number
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000

/** @internal */
export class OutputLog {
  private readonly limit: number
  private kept = ""
  private dropped = 0

  constructor(limit: number) {
    this.limit = limit
  }

  write(text: string): void {
    this.kept += text
    // Cut at twice the limit and not at each write: cutting copies what is kept.
    if (this.kept.length > 2 * this.limit) this.cut()
  }

  /** What was written from the position `from` on, as far as it is kept. */
  read(from: number): Part {
    if (this.kept.length > this.limit) this.cut()
    const start = Math.max(from, this.dropped)
    return {
      text: this.kept.slice(start - this.dropped),
      next: this.dropped + this.kept.length,
      missed: start - from
    }
  }

  private cut(): void {
    let at = this.kept.length - this.limit
    if (isLowSurrogate(this.kept.charCodeAt(at))) at++ // never one half of a character
    this.dropped += at
    this.kept = this.kept.slice(at)
  }
}
