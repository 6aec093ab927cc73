/**
 * The way out of a program, as a state machine that knows nothing of a process.
 *
 * Invariants
 *
 * S1. What runs is stopped once, by whoever asks first, and that one's code is what the program leaves with.
 * S2. An interrupt that comes when something has been asked before leaves at once, with its own code: the wait of a
 *     person is never longer than they want.
 * S3. The program is left once. What comes later changes nothing.
 * S4. Nothing is stopped in the step of who asks: that may be a handler of a signal.
 */

/**
 * What a way out acts on.
 *
 * @internal
 */
export interface Host {
  /** Calls `task` in a later step, as soon as it can. */
  readonly defer: (task: () => void) => void
  /** Calls `task` after `millis`, unless the returned function is called before. */
  readonly startTimer: (millis: number, task: () => void) => () => void
  /** Stops what runs, and leads to a call of `ended`. */
  readonly dispose: () => void
  /** Lets the program leave by itself, when nothing holds it any more. */
  readonly complete: (exitCode: number) => void
  /** Leaves, whatever still runs: at once, or, when all is quiet, as soon as what was written is out. */
  readonly exit: (exitCode: number, when: "at once" | "written") => void
}

/** @internal */
export class WayOut {
  private readonly host: Host
  private readonly graceMillis: number | undefined
  private asked: { readonly exitCode: number; readonly isForced: boolean } | undefined
  private disarm = (): void => {}
  private isLeft = false

  constructor(host: Host, graceMillis: number | undefined) {
    this.host = host
    this.graceMillis = graceMillis
  }

  /** Stops what runs, after which the program leaves by itself. Does nothing where that has been asked before. */
  shutdown(exitCode: number): void {
    this.begin(exitCode, false)
  }

  /** Stops what runs, and then leaves. Asked for again, leaves at once. */
  interrupt(exitCode: number): void {
    if (this.asked !== undefined)
      this.leave(exitCode, "at once") // S2
    else this.begin(exitCode, true)
  }

  /** What ran has ended. */
  ended(isSuccess: boolean): void {
    this.disarm()
    const { asked } = this
    if (asked === undefined || this.isLeft) return // S3
    if (!isSuccess) this.leave(1, "written")
    else if (asked.isForced) this.leave(asked.exitCode, "written")
    else this.host.complete(asked.exitCode)
  }

  private begin(exitCode: number, isForced: boolean): void {
    if (this.asked !== undefined) return // S1
    this.asked = { exitCode, isForced }
    const { graceMillis, host } = this
    if (graceMillis !== undefined) this.disarm = host.startTimer(graceMillis, () => this.leave(exitCode, "at once"))
    host.defer(host.dispose) // S4
  }

  private leave(exitCode: number, when: "at once" | "written"): void {
    if (this.isLeft) return // S3
    this.isLeft = true
    this.disarm()
    this.host.exit(exitCode, when)
  }
}
