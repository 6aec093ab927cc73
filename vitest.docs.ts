import { defineConfig, mergeConfig } from "vitest/config"
import base from "./vitest.config.js"

// Runs what test/support/docs.mjs made of the examples.
export default mergeConfig(
  { ...base, test: {} },
  defineConfig({
    test: {
      include: [".docs/**/*.test.ts"],
      reporters: ["default", ["./test/support/counts.ts", { label: "examples" }]]
    }
  })
)
