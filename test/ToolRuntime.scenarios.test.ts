import { describe } from "@effect/vitest"
import { effectDriver } from "./support/scenarios/effect.js"
import { scenarios } from "./support/scenarios/run.js"

describe("ToolRuntime, as a caller with a signal meets it", () => {
  scenarios("effect", effectDriver)
})
