/**
 * The state of an owner: who may stop what, and what still runs.
 *
 * Invariants
 *
 * O1. An owner has one cause, the first; a later one never rewrites it, and a derived owner inherits it (L6).
 * O2. Cancelling tells every member in the same synchronous step: signals abort, derived owners are cancelled, fibers
 *     are interrupted. Nothing is awaited there.
 * O3. An owner is quiet when it has no members. `quiesce` stops those that are left and waits for each (L3, L4).
 * O4. When an owner has ended it is a member of nothing, no signal holds a listener of its, and nothing can join (L10,
 *     L14).
 * O5. The signal is made when somebody reads it, never aborted by success, and its reason is the cause's (L10, L6).
 */
import * as CancelCause from "../../CancelCause.js"
import { makeContainedController } from "../abort/containedController.js"
import { onAbort } from "../abortListener.js"
import { Settlement } from "../settlement.js"
import { Members } from "./members.js"

declare const opaque: unique symbol

/**
 * What runs under an owner: an operation, a call, a derived owner, a started fiber.
 *
 * @internal
 */
export interface Member {
  /** The owner was cancelled. Delivers it, at once. */
  readonly cancelled: (cause: CancelCause.CancelCause) => void
  /** The owner ends although this still runs. Delivers a stop, at once; the member leaves when it has ended. */
  readonly stop: () => void
}

const none: ReadonlyArray<never> = []

/** @internal */
export class Owner implements Member {
  /** Not there at run time: keeps anybody else from writing down a value of this type (L14). */
  declare readonly [opaque]: never

  /** Failures that came with, but are not, the cancellation: Effect strips them from the exits of interrupted fibers. */
  lateFailures: ReadonlyArray<unknown> = none
  /** Those of them that are defects. */
  lateDefects: ReadonlyArray<unknown> = none
  /** What could not be stopped or waited for, in words. */
  escaped: ReadonlyArray<string> = none
  /** The absolute time, on the clock of the fiber that set it, at which the nearest deadline falls. */
  deadlineAt: number | undefined

  /** Why an owner that derives from this one stopped what ran under it, the latest time that one did. */
  stoppedBelow: CancelCause.CancelCause | undefined

  /** Told first of a cancellation. */
  onCancel: (() => void) | undefined

  /** Calls that are in flight below this owner. */
  calls = 0
  /** Whether a call below this owner has ended, so that what runs may have a result in hand. */
  wasAnswered = false

  private firstCause: CancelCause.CancelCause | undefined
  private controller: AbortController | undefined
  private readonly members = new Members<Member>()
  private quiet: Settlement<void> | undefined
  private callsDone: (() => void) | undefined
  private unlisten: (() => void) | undefined
  private lender: Owner | undefined
  private state: "open" | "ending" | "ended" = "open"
  readonly parent: Owner | undefined

  /** `parent` cancels and awaits this owner. An owner without one is the outermost. */
  constructor(parent: Owner | undefined) {
    this.parent = parent
    if (parent !== undefined) {
      this.deadlineAt = parent.deadlineAt
      parent.join(this) // O1: which tells it of a cause that is there
    }
  }

  get cause(): CancelCause.CancelCause | undefined {
    return this.firstCause
  }

  get isEnding(): boolean {
    return this.state !== "open"
  }

  get hasEnded(): boolean {
    return this.state === "ended"
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = makeContainedController() // O5
      if (this.firstCause !== undefined) this.controller.abort(CancelCause.toReason(this.firstCause))
    }
    return this.controller.signal
  }

  /** Cancels, unless it has been cancelled or has ended. */
  cancel(cause: CancelCause.CancelCause): boolean {
    if (this.firstCause !== undefined || this.state === "ended") return false // O1
    // A listener on the parent's signal may get here before the parent has told its members.
    const first = this.parent?.firstCause ?? cause // O1
    this.firstCause = first
    this.onCancel?.()
    this.controller?.abort(CancelCause.toReason(first))
    this.members.each((member) => member.cancelled(first)) // O2
    return true
  }

  /** Is cancelled when `signal` aborts, with that signal's own reason (L6). */
  follow(signal: AbortSignal): void {
    this.unlisten = onAbort(signal, (reason) => this.cancel(CancelCause.hostSignal(reason)))
  }

  cancelled(cause: CancelCause.CancelCause): void {
    this.cancel(cause)
  }

  stop(): void {
    this.cancel(CancelCause.parent())
    this.stopMembers()
  }

  /** Lets a member in. It is told at once of what members were told before it came. */
  join(member: Member): void {
    this.members.add(member)
    if (this.firstCause !== undefined) member.cancelled(this.firstCause) // O1
    if (this.state !== "open") member.stop()
  }

  leave(member: Member): void {
    if (this.members.remove(member) && this.members.isEmpty) {
      const quiet = this.quiet
      this.quiet = undefined
      quiet?.settle()
    }
  }

  /** Stops what still runs, and calls `whenQuiet` once nothing does: in this step, if nothing ran. */
  quiesce(whenQuiet: () => void): void {
    if (this.state === "open") this.state = "ending"
    if (this.members.isEmpty) return whenQuiet()
    if (this.quiet === undefined) this.quiet = new Settlement()
    // A member that leaves may have let another in (a finalizer that uses a capability), so look again.
    this.quiet.whenSettled(() => this.quiesce(whenQuiet))
    this.stopMembers() // O3
  }

  /** Ends a quiet owner. */
  end(): void {
    if (this.state === "ended") return
    this.state = "ended"
    this.unlisten?.() // O4
    this.unlisten = undefined
    this.parent?.leave(this) // O4
    this.lender?.leave(this)
  }

  /** Cancels `other` too, which derives from somewhere else, until that ends. */
  lend(other: Owner): void {
    if (other.lender !== undefined) return
    other.lender = this
    this.join(other)
  }

  /** Hands on to the parent what nobody has seen of this owner. */
  protected bequeath(): void {
    if (this.parent !== undefined) this.bequeathTo(this.parent)
  }

  protected bequeathTo(heir: Owner): void {
    for (const error of this.lateFailures) {
      if (this.lateDefects.includes(error)) heir.recordDefect(error)
      else heir.recordFailure(error)
    }
    for (const what of this.escaped) heir.recordEscape(what)
  }

  /** Stops and awaits what is left, hands on what nobody has seen, ends, and then calls `whenEnded`. */
  conclude(whenEnded: () => void): void {
    this.quiesce(() => {
      if (!this.hasEnded) this.bequeath()
      this.end()
      whenEnded()
    })
  }

  /** Keeps a failure that is not the cancellation (L5). One failure seen by two wrappers is one failure. */
  recordFailure(error: unknown): void {
    if (!this.lateFailures.includes(error)) this.lateFailures = [...this.lateFailures, error]
  }

  /** As `recordFailure`, for one that nobody has typed. */
  recordDefect(error: unknown): void {
    if (this.lateFailures.includes(error)) return
    this.lateDefects = [...this.lateDefects, error]
    this.recordFailure(error)
  }

  recordEscape(what: string): void {
    this.escaped = [...this.escaped, what]
  }

  /** Whether this owner is `other` or derives from it. */
  isUnder(other: Owner): boolean {
    for (let owner: Owner | undefined = this; owner !== undefined; owner = owner.parent)
      if (owner === other) return true
    return false
  }

  /** Whether `other` waits for this owner before it ends. Where that is so, nothing under this one may wait for `other`. */
  isWaitedForBy(other: Owner): boolean {
    return this === other || (this.parent?.isWaitedForBy(other) ?? false)
  }

  /** Counts a call, up to the owner of the body that made it: what is above that knows the outer call. */
  callStarted(body: Owner | undefined): void {
    for (let owner: Owner | undefined = this; owner !== undefined && owner !== body; owner = owner.parent) owner.calls++
  }

  callEnded(body: Owner | undefined): void {
    for (let owner: Owner | undefined = this; owner !== undefined && owner !== body; owner = owner.parent) {
      owner.wasAnswered = true
      if (--owner.calls > 0 || owner.callsDone === undefined) continue
      const done = owner.callsDone
      owner.callsDone = undefined
      done()
    }
  }

  /** Calls `f` when no call is in flight below this owner. */
  whenCallsEnded(f: () => void): void {
    if (this.calls === 0) f()
    else this.callsDone = f
  }

  private stopMembers(): void {
    this.members.each((member) => member.stop())
  }
}

/**
 * An owner that its parent's cancellation does not touch, and that the parent waits for: for reviews and clean-up.
 *
 * @internal
 */
export class ShieldedOwner extends Owner {
  constructor(parent: Owner) {
    super(undefined)
    this.shieldedIn = parent
    parent.join(this)
  }
  /** The owner that waits for this one. */
  readonly shieldedIn: Owner

  override cancelled(): void {}

  override stop(): void {}

  override isWaitedForBy(other: Owner): boolean {
    return this === other || this.shieldedIn.isWaitedForBy(other)
  }

  override end(): void {
    super.end()
    this.shieldedIn.leave(this)
  }

  protected override bequeath(): void {
    for (const what of this.escaped) this.shieldedIn.recordEscape(what)
  }
}

/**
 * An owner that ends with a scope of its own. Where the owner above ends first, it takes this one with it.
 *
 * @internal
 */
export class ScopedOwner extends Owner {
  override stop(): void {
    super.stop()
    this.conclude(() => {})
  }
}
