import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { onAbort } from "../../src/internal/abortListener.js"

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length

describe("abortListener", () => {
  it("A1: a signal carries one listener, however many wait", () => {
    const controller = new AbortController()
    const told: Array<number> = []
    for (let i = 0; i < 1000; i++) onAbort(controller.signal, () => told.push(i))
    assert.strictEqual(listeners(controller.signal), 1)
    controller.abort()
    assert.strictEqual(told.length, 1000)
    assert.strictEqual(listeners(controller.signal), 0)
  })

  it("A2: the listener goes with the last waiter, and comes back for the next", () => {
    const controller = new AbortController()
    const first = onAbort(controller.signal, () => assert.fail("was taken away"))
    const second = onAbort(controller.signal, () => assert.fail("was taken away"))
    first()
    assert.strictEqual(listeners(controller.signal), 1)
    second()
    second()
    assert.strictEqual(listeners(controller.signal), 0)
    let reason: unknown
    onAbort(controller.signal, (r) => {
      reason = r
    })
    assert.strictEqual(listeners(controller.signal), 1)
    controller.abort("why")
    assert.strictEqual(reason, "why")
  })

  it("A3: a signal that has aborted tells at once and gets no listener", () => {
    const signal = AbortSignal.abort("why")
    let reason: unknown
    onAbort(signal, (r) => {
      reason = r
    })()
    assert.strictEqual(reason, "why")
    assert.strictEqual(listeners(signal), 0)
  })

  it("one function that waits twice is two waiters", () => {
    const controller = new AbortController()
    let count = 0
    const waiter = () => {
      count++
    }
    const remove = onAbort(controller.signal, waiter)
    onAbort(controller.signal, waiter)
    remove()
    controller.abort()
    assert.strictEqual(count, 1)
  })

  it("a waiter that leaves while others are told is not told", () => {
    const controller = new AbortController()
    const removals: Array<() => void> = []
    let second = 0
    onAbort(controller.signal, () => removals[0]?.())
    removals.push(
      onAbort(controller.signal, () => {
        second++
      })
    )
    controller.abort()
    assert.strictEqual(second, 0)
  })
})
