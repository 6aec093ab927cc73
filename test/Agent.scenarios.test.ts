import { describe, it } from "@effect/vitest"
import { effectAgents } from "./support/scenarios/agentDriver.js"
import { agents } from "./support/scenarios/agents.js"

describe("Agent, K to N", () => {
  for (const { run, title } of agents) it(title, () => run(effectAgents))
})
