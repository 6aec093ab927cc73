// Runs every check, one after another: machines with two cores are common, and the slow steps use both.
// `--skip test,api:check` leaves steps out, `--only lint` runs only those.
import { spawnSync } from "node:child_process"

// Names of npm scripts, the ones that fail fastest first. Add yours here.
const steps = [
  "lint",
  "check",
  "build",
  "inventory:check",
  "bench:counts",
  "test",
  "laws:check",
  "test:types",
  "test:docs",
  "api:check",
  "pack:check"
]

const option = (name) => {
  const at = process.argv.indexOf(name)
  if (at === -1) return undefined
  const names = (process.argv[at + 1] ?? "").split(",")
  const unknown = names.filter((step) => !steps.includes(step))
  if (unknown.length > 0) {
    console.error(`${name} ${unknown.join(",")}: no such step. There are ${steps.join(", ")}.`)
    process.exit(2)
  }
  return names
}
const only = option("--only") ?? steps
const skip = option("--skip") ?? []
const selected = steps.filter((step) => only.includes(step) && !skip.includes(step))

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`.padStart(7)
const width = Math.max(...steps.map((step) => step.length))
const counts = /^\w+: \d+ passed, \d+ failed(, \d+ skipped)?$/gm

const startedAt = performance.now()
for (const step of selected) {
  const stepStartedAt = performance.now()
  const result = spawnSync("npm", ["run", "--silent", step], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 1 << 28,
    // npm is a .cmd file on Windows.
    shell: process.platform === "win32"
  })
  const passed = result.status === 0
  if (!passed) process.stdout.write(`${result.stdout}${result.stderr}\n`)
  console.log(`${passed ? "ok    " : "failed"} ${step.padEnd(width)} ${seconds(stepStartedAt)}`)
  if (!passed) {
    console.log(`\n${step} failed; its output is above. To run it again: npm run ${step}`)
    process.exit(1)
  }
  for (const [line] of result.stdout.matchAll(counts)) console.log(line)
}
console.log(`ok     ${"verify".padEnd(width)} ${seconds(startedAt)}`)
