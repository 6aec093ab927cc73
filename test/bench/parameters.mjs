// Row 6: taking in 1 KiB of parameters, that is, detaching and freezing them.
import { materialize } from "../../dist/internal/json.js"
import { measure, report } from "./harness.mjs"

/** About 1 KiB of JSON: 3 levels, 46 values. */
const parameters = (x) => ({
  x,
  path: "/srv/repo/packages/core/src/index.ts",
  edits: Array.from({ length: 8 }, (_, id) => ({
    id,
    old: `const a = ${id}`,
    new: `const b = ${id}`,
    all: id % 2 === 0
  })),
  options: { dry: false, depth: 3, tags: ["a", "b", "c"] }
})

const deepFreeze = (value) => {
  if (typeof value === "object" && value !== null) for (const item of Object.values(value)) deepFreeze(item)
  return Object.freeze(value)
}

// Made once: making them is not what is measured.
const given = Array.from({ length: 64 }, (_, x) => parameters(x))
const each = (name, f) => ({
  name,
  run: async (n) => {
    for (let i = 0; i < n; i++) f(given[i & 63])
  }
})

const ours = each("materialize", materialize)
const roundTrip = each("JSON round trip, frozen", (value) => deepFreeze(JSON.parse(JSON.stringify(value))))
const cases = [ours, roundTrip, each("structuredClone, frozen", (value) => deepFreeze(structuredClone(value)))]

const measured = await measure(cases)
const yardstick = measured[roundTrip.name].micros
report(
  cases.map(({ name }) => ({
    name,
    values: { "x JSON": measured[name].micros / yardstick, µs: measured[name].micros, bytes: measured[name].bytes },
    // 2.5 µs, where the round trip took 11.7.
    atMost: name === ours.name ? { "x JSON": 2.5 / 11.7 } : undefined
  }))
)
