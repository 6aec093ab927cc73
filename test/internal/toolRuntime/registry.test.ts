import { assert, describe, it } from "@effect/vitest"
import { Context } from "effect"
import { Policy } from "quiesce"
import { Registry } from "../../../src/internal/toolRuntime/registry.js"

describe("Registry", () => {
  it("remembers nothing of an agent that has no policies of its own", () => {
    const registry = new Registry(undefined)
    registry.addPolicy({ policy: Policy.guard("theirs", () => undefined), context: Context.empty(), agent: "clerk" })
    assert.strictEqual(registry.policiesFor("worker-1"), registry.policiesFor("worker-2"))
    assert.strictEqual(registry.policiesFor("worker-1"), registry.policiesFor(undefined))
    assert.lengthOf(registry.policiesFor("worker-1").guards, 0)
    assert.lengthOf(registry.policiesFor("clerk").guards, 1)
  })
})
