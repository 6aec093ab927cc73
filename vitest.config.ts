import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const src = (file: string): string => fileURLToPath(new URL(`./src/${file}`, import.meta.url))

// Tests import what users import. A last segment in lower case is a group, in PascalCase a module.
export default defineConfig({
  resolve: {
    alias: [
      { find: /^quiesce$/, replacement: src("index.ts") },
      { find: /^quiesce\/((?:[a-z][\w-]*\/)*[a-z][\w-]*)$/, replacement: src("$1/index.ts") },
      { find: /^quiesce\/(.+)$/, replacement: src("$1.ts") }
    ]
  },
  test: {
    include: ["test/**/*.test.ts"],
    // All cores: by default one is left free, which on a machine with two is half of it.
    maxWorkers: "100%",
    minWorkers: 1,
    // Against a test that hangs. What is slow here is a busy machine, and no test asserts how long something takes.
    testTimeout: 60_000,
    reporters: ["default", "./test/support/counts.ts", "./test/support/lawResults.ts"],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: ["src/**/index.ts"],
      reporter: ["text", "html"]
    }
  }
})
