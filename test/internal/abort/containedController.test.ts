import { getEventListeners } from "node:events"
import { assert, describe, it, vi } from "@effect/vitest"
import { makeContainedController } from "../../../src/internal/abort/containedController.js"

describe("containedController", () => {
  it("161: a listener that throws stops no other listener and is no uncaught exception", async () => {
    const uncaught: Array<unknown> = []
    const onUncaught = (error: unknown) => void uncaught.push(error)
    process.on("uncaughtException", onUncaught)
    const log = vi.spyOn(console, "log").mockImplementation(() => {})
    const controller = makeContainedController()
    const told: Array<string> = []
    controller.signal.addEventListener("abort", () => {
      told.push("first")
      throw new Error("careless")
    })
    controller.signal.addEventListener("abort", {
      handleEvent: () => {
        told.push("second")
        throw new Error("careless")
      }
    })
    controller.signal.addEventListener("abort", () => told.push("third"))
    controller.abort("stop")
    // Node raises what a listener threw on its next tick.
    await new Promise((resolve) => process.nextTick(resolve))
    process.off("uncaughtException", onUncaught)
    assert.deepStrictEqual(told, ["first", "second", "third"])
    assert.deepStrictEqual(uncaught, [])
    const lines = log.mock.calls.map(([line]) => String(line))
    log.mockRestore()
    assert.strictEqual(lines.length, 2)
    assert.match(lines[0] ?? "", /A listener of an aborted signal threw.*careless/)
  })

  it("a listener is added once however often it is given, and can be removed", () => {
    const { signal } = makeContainedController()
    const listener = () => assert.fail("was removed")
    signal.addEventListener("abort", listener)
    signal.addEventListener("abort", listener)
    assert.strictEqual(getEventListeners(signal, "abort").length, 1)
    signal.removeEventListener("abort", listener)
    assert.strictEqual(getEventListeners(signal, "abort").length, 0)
  })

  it("the platform can use the signal", async () => {
    const controller = makeContainedController()
    const { setTimeout } = await import("node:timers/promises")
    const waiting = setTimeout(1_000_000, undefined, { signal: controller.signal })
    controller.abort()
    const error = await waiting.then(
      () => assert.fail("was aborted"),
      (error: Error) => error
    )
    assert.strictEqual(error.name, "AbortError")
    assert.strictEqual(getEventListeners(controller.signal, "abort").length, 0)
  })
})
