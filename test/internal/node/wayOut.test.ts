import { assert, describe, it } from "@effect/vitest"
import { type Host, WayOut } from "../../../src/internal/node/wayOut.js"

/** A host on which nothing happens by itself. */
const make = ({ isLimited = true } = {}) => {
  const log: Array<string> = []
  const deferred: Array<() => void> = []
  let timer: (() => void) | undefined
  const host: Host = {
    defer: (task) => void deferred.push(task),
    startTimer: (millis, task) => {
      log.push(`timer of ${millis}`)
      timer = task
      return () => {
        timer = undefined
      }
    },
    dispose: () => void log.push("dispose"),
    complete: (exitCode) => void log.push(`complete ${exitCode}`),
    exit: (exitCode, when) => void log.push(`exit ${exitCode} ${when}`)
  }
  return {
    wayOut: new WayOut(host, isLimited ? 5000 : undefined),
    log,
    nextStep: () => {
      for (const task of deferred.splice(0)) task()
    },
    expire: () => timer?.(),
    isArmed: () => timer !== undefined
  }
}

describe("WayOut", () => {
  it("241. a shutdown that succeeds completes once with its code, and forces nothing", () => {
    const { isArmed, log, nextStep, wayOut } = make()
    wayOut.shutdown(0)
    wayOut.shutdown(7) // joins the first
    nextStep()
    wayOut.ended(true)
    assert.deepStrictEqual(log, ["timer of 5000", "dispose", "complete 0"])
    assert.isFalse(isArmed())
  })

  it("241. what fails while it ends is left with 1, also where another code was asked for", () => {
    for (const ask of ["shutdown", "interrupt"] as const) {
      const { log, nextStep, wayOut } = make()
      wayOut[ask](143)
      nextStep()
      wayOut.ended(false)
      assert.deepStrictEqual(log, ["timer of 5000", "dispose", "exit 1 written"])
    }
  })

  it("242. when the grace is over it is left with the first code, and what ends later changes nothing", () => {
    const { expire, log, nextStep, wayOut } = make()
    wayOut.shutdown(3)
    nextStep()
    wayOut.shutdown(4)
    expire()
    wayOut.ended(true)
    wayOut.interrupt(130)
    assert.deepStrictEqual(log, ["timer of 5000", "dispose", "exit 3 at once"])
  })

  it("242. without a grace nothing limits the wait", () => {
    const { isArmed, log, nextStep, wayOut } = make({ isLimited: false })
    wayOut.interrupt(130)
    nextStep()
    assert.deepStrictEqual(log, ["dispose"])
    assert.isFalse(isArmed())
  })

  it("243. an interrupt drains and then leaves with its code; a second one leaves at once with its own", () => {
    const drained = make()
    drained.wayOut.interrupt(143)
    drained.nextStep()
    assert.deepStrictEqual(drained.log, ["timer of 5000", "dispose"])
    drained.wayOut.ended(true)
    assert.deepStrictEqual(drained.log.slice(2), ["exit 143 written"])
    assert.isFalse(drained.isArmed())

    const impatient = make()
    impatient.wayOut.interrupt(143)
    impatient.nextStep()
    impatient.wayOut.interrupt(130)
    impatient.wayOut.interrupt(129)
    impatient.wayOut.ended(true)
    assert.deepStrictEqual(impatient.log.slice(2), ["exit 130 at once"])
  })

  it("243. an interrupt behind a shutdown leaves at once, also when that has completed", () => {
    const { log, nextStep, wayOut } = make()
    wayOut.shutdown(0)
    nextStep()
    wayOut.ended(true)
    wayOut.interrupt(130)
    assert.deepStrictEqual(log.slice(2), ["complete 0", "exit 130 at once"])
  })

  it("246. nothing is stopped in the step of who asks", () => {
    const { log, nextStep, wayOut } = make()
    wayOut.interrupt(130)
    assert.notInclude(log, "dispose")
    nextStep()
    assert.include(log, "dispose")
  })

  it("a program that nobody asked to end goes on when what ran has ended", () => {
    const { log, wayOut } = make()
    wayOut.ended(true)
    wayOut.ended(false)
    assert.deepStrictEqual(log, [])
  })
})
