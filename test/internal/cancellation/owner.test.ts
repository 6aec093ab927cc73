import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { CancelCause } from "quiesce"
import { type Member, Owner, ShieldedOwner } from "../../../src/internal/cancellation/owner.js"

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length

/** A member that leaves when the test says so. */
class Probe implements Member {
  readonly told: Array<string> = []
  cancelled(cause: CancelCause.CancelCause): void {
    this.told.push(`cancelled ${cause._tag}`)
  }
  stop(): void {
    this.told.push("stop")
  }
}

describe("Owner", () => {
  it("O1: the first cause stays", () => {
    const owner = new Owner(undefined)
    assert.isTrue(owner.cancel(CancelCause.user("first")))
    assert.isFalse(owner.cancel(CancelCause.disposed()))
    assert.deepStrictEqual(owner.cause, CancelCause.user("first"))
  })

  it("O1: a derived owner inherits the cause, also one that is there before it", () => {
    const parent = new Owner(undefined)
    const early = new Owner(parent)
    parent.cancel(CancelCause.user())
    const late = new Owner(parent)
    assert.strictEqual(early.cause, parent.cause)
    assert.strictEqual(late.cause, parent.cause)
  })

  it("O1: a derived owner that was cancelled by itself keeps its own cause", () => {
    const parent = new Owner(undefined)
    const child = new Owner(parent)
    child.cancel(CancelCause.deadline("X", 1))
    parent.cancel(CancelCause.user())
    assert.strictEqual(child.cause?._tag, "Deadline")
    assert.strictEqual(parent.cause?._tag, "User")
  })

  it("O2: cancelling tells every member in the same step, once", () => {
    const owner = new Owner(undefined)
    const members = [new Probe(), new Probe()]
    for (const member of members) owner.join(member)
    owner.cancel(CancelCause.user())
    owner.cancel(CancelCause.disposed())
    assert.deepStrictEqual(
      members.map((member) => member.told),
      [["cancelled User"], ["cancelled User"]]
    )
  })

  it("O3: quiesce stops what is left and waits for each, also for what joined meanwhile", () => {
    const owner = new Owner(undefined)
    const [first, second, late] = [new Probe(), new Probe(), new Probe()]
    owner.join(first)
    owner.join(second)
    let quiet = 0
    owner.quiesce(() => quiet++)
    assert.deepStrictEqual([first.told, second.told], [["stop"], ["stop"]])
    owner.leave(first)
    owner.join(late)
    owner.leave(second)
    assert.strictEqual(quiet, 0)
    owner.leave(late)
    assert.strictEqual(quiet, 1)
  })

  it("O3: quiesce of an owner without members is one step", () => {
    let quiet = false
    new Owner(undefined).quiesce(() => {
      quiet = true
    })
    assert.isTrue(quiet)
  })

  it("O3: an owner waits for the owners derived from it, and cancels them with Parent", () => {
    const parent = new Owner(undefined)
    const child = new Owner(parent)
    let quiet = false
    parent.quiesce(() => {
      quiet = true
    })
    assert.strictEqual(child.cause?._tag, "Parent")
    assert.isFalse(quiet)
    child.end()
    assert.isTrue(quiet)
  })

  it("O4: an ended owner has no listener on the signal it followed and is not cancelled any more", () => {
    const controller = new AbortController()
    const owner = new Owner(undefined)
    owner.follow(controller.signal)
    assert.strictEqual(listeners(controller.signal), 1)
    owner.end()
    assert.strictEqual(listeners(controller.signal), 0)
    assert.isFalse(owner.cancel(CancelCause.user()))
    assert.isUndefined(owner.cause)
  })

  it("O5: the signal has the cause's reason, whether it was read before or after the cancel", () => {
    const reason = { my: "reason" }
    for (const readFirst of [true, false]) {
      const owner = new Owner(undefined)
      if (readFirst) assert.isFalse(owner.signal.aborted)
      owner.cancel(CancelCause.hostSignal(reason))
      assert.isTrue(owner.signal.aborted)
      assert.strictEqual(owner.signal.reason, reason)
    }
  })

  it("keeps a late failure once, and hands it to its parent", () => {
    const parent = new Owner(undefined)
    const child = new Owner(parent)
    const error = new Error("late")
    child.recordFailure(error)
    child.recordFailure(error)
    child.recordEscape("process 7")
    child.conclude(() => {})
    assert.deepStrictEqual(parent.lateFailures, [error])
    assert.deepStrictEqual(parent.escaped, ["process 7"])
  })

  it("a shielded owner is not cancelled or stopped by the owner it is in, which waits for it", () => {
    const parent = new Owner(undefined)
    const shielded = new ShieldedOwner(parent)
    parent.cancel(CancelCause.user())
    let quiet = false
    parent.quiesce(() => {
      quiet = true
    })
    assert.isUndefined(shielded.cause)
    assert.isFalse(quiet)
    shielded.end()
    assert.isTrue(quiet)
  })

  it("a lent owner is cancelled by both, and leaves both", () => {
    const call = new Owner(undefined)
    const derived = new Owner(new Owner(undefined))
    call.lend(derived)
    call.cancel(CancelCause.user())
    assert.strictEqual(derived.cause?._tag, "User")
    let quiet = false
    call.quiesce(() => {
      quiet = true
    })
    derived.end()
    assert.isTrue(quiet)
  })
})
