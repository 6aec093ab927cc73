import { defineConfig, mergeConfig } from "vitest/config"
import base from "../../vitest.config.js"

// Runs the fixtures: tests that fail on purpose, so that another test can look at what they print.
export default mergeConfig({ ...base, test: {} }, defineConfig({ test: { include: ["test/support/*.fixture.ts"] } }))
