import { defineConfig, mergeConfig } from "vitest/config"
import base from "./vitest.config.js"

// Runs what test/support/docs.mjs made of the examples.
export default mergeConfig(
  { ...base, test: {} },
  defineConfig({
    test: {
      include: [".docs/**/*.test.ts"],
      // Fifteen examples took 11 s when each loaded Effect anew, and 1.3 s when they share it.
      isolate: false,
      reporters: ["default", ["./test/support/counts.ts", { label: "examples" }]]
    }
  })
)
