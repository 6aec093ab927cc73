// Does one thing many times, against the real system, and counts what is left: `npm run soak -- files`, `-- processes`, `-- agents`,
// `-- subagents`, `-- promise`.
// Fails when anything is. The numbers of the last reported run are in docs/performance.md.
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const programs = {
  files: "1,000 writes of 4 MiB over a file, each interrupted at another instant",
  processes: "10,000 commands (SOAK_COUNT), each cancelled at another instant",
  agents: "1,000 turns (SOAK_COUNT) with calls that have children, every third one cancelled",
  subagents: "1,000 subagents (SOAK_COUNT), each stopped at another instant",
  promise: "1,000,000 calls of the facade (SOAK_COUNT) on one signal, and 10,000 at once"
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !(name in programs))
if (unknown.length > 0) {
  console.error(`usage: soak.mjs [${Object.keys(programs).join("] [")}]`)
  process.exit(2)
}
for (const name of names.length > 0 ? names : Object.keys(programs)) {
  console.log(`${name}: ${programs[name]}`)
  const file = fileURLToPath(new URL(`soak/${name}.mjs`, import.meta.url))
  const { status } = spawnSync(process.execPath, [file], { stdio: "inherit" })
  if (status !== 0) process.exitCode = 1
}
