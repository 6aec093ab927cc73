import { describe } from "@effect/vitest"
import { facadeDriver } from "../support/scenarios/facade.js"
import { scenarios } from "../support/scenarios/run.js"

describe("createRuntime, as a caller with a signal meets it", () => {
  scenarios("facade", facadeDriver)
})
