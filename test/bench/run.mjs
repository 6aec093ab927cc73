// Runs the benchmarks, each in a process of its own, in a random order in each round, and prints tables in Markdown.
// `run.mjs call policies --rounds 3` runs only those. A cell is the median [least - greatest] over the rounds.
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { median, shuffled } from "./harness.mjs"

const programs = {
  call: "One call by a caller that is in a fiber",
  policies: "One more policy, between 1 and 6",
  parameters: "Taking in 1 KiB of parameters",
  cancel: "Cancelling",
  scale: "Calls in flight",
  retain: "What is left behind",
  explorer: "The race explorer"
}

// A million calls take a minute, and what they leave behind does not depend on the weather.
const once = new Set(["retain", "explorer"])

const args = process.argv.slice(2)
const at = args.indexOf("--rounds")
const rounds = at === -1 ? 5 : Number(args.splice(at, 2)[1])
const unknown = args.filter((name) => !(name in programs))
if (unknown.length > 0 || !(rounds > 0)) {
  console.error(`usage: run.mjs [${Object.keys(programs).join("] [")}] [--rounds 5]`)
  process.exit(2)
}
const selected = args.length > 0 ? args : Object.keys(programs)

const runProgram = (name) =>
  new Promise((resolve, reject) => {
    const file = fileURLToPath(new URL(`${name}.mjs`, import.meta.url))
    const child = spawn(process.execPath, ["--expose-gc", file], { stdio: ["ignore", "pipe", "inherit"] })
    let output = ""
    child.stdout.on("data", (chunk) => {
      output += chunk
    })
    child.on("error", reject)
    child.on("close", (code) =>
      code === 0 ? resolve(JSON.parse(output)) : reject(new Error(`${name}.mjs ended with code ${code}`))
    )
  })

const results = Object.fromEntries(selected.map((name) => [name, []]))
for (let round = 1; round <= rounds; round++) {
  for (const name of shuffled(selected.filter((name) => !once.has(name) || round === 1))) {
    console.error(`round ${round} of ${rounds}: ${name}`)
    results[name].push(await runProgram(name))
  }
}

const number = (value) => {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3
  return value === 0 ? "0" : value.toFixed(digits)
}

const spread = (values) =>
  values.length === 1 || Math.min(...values) === Math.max(...values)
    ? number(median(values))
    : `${number(median(values))} [${number(Math.min(...values))} - ${number(Math.max(...values))}]`

const targetOf = ({ name, atMost = {} }, perRound) =>
  Object.entries(atMost)
    .map(([column, limit]) => {
      const value = median(perRound.map((rows) => rows.find((row) => row.name === name).values[column]))
      return `${column} <= ${number(limit)}: ${value <= limit ? "met" : `**missed by ${number(value / limit)} x**`}`
    })
    .join("; ")

for (const [name, perRound] of Object.entries(results)) {
  const rows = perRound[0]
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row.values)))]
  console.log(`\n### ${programs[name]}\n`)
  console.log(`| ${["", ...columns, "target"].join(" | ")} |\n| --- | ${columns.map(() => "---: | ").join("")}--- |`)
  for (const row of rows) {
    const cells = columns.map((column) => {
      const values = perRound.map((rows) => rows.find(({ name }) => name === row.name).values[column])
      return values[0] === undefined ? "" : spread(values)
    })
    console.log(`| ${[row.name, ...cells, targetOf(row, perRound)].join(" | ")} |`)
  }
}
