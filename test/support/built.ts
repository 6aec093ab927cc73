// For tests that run what was built, in a process of its own.
import { spawnSync } from "node:child_process"
import { assert } from "@effect/vitest"

/** Builds, unless what is there is what the sources say. */
export const build = (): void => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ["test/support/build.mjs"], { encoding: "utf8" })
  assert.strictEqual(status, 0, stdout + stderr)
}
