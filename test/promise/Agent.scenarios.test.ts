import { describe, it } from "@effect/vitest"
import { facadeAgents } from "../support/scenarios/agentDriver.js"
import { agents } from "../support/scenarios/agents.js"

describe("createAgent, K to N", () => {
  for (const { run, title } of agents) it(title, () => run(facadeAgents))
})
