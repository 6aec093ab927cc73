// Runs call after call of the facade under one signal of a host that never aborts, and counts what is left: listeners on the
// signal, calls in flight, timers and handles, and the heap. Then many calls at once on one signal, which aborts.
//
//   npm run soak -- promise        SOAK_COUNT=100000 npm run soak -- promise
import { getEventListeners } from "node:events"
import * as v8 from "node:v8"
import { runInNewContext } from "node:vm"
import { Schema } from "effect"
import { createRuntime, defineTool } from "quiesce/promise"

v8.setFlagsFromString("--expose-gc")
const gc = runInNewContext("gc")
const count = Number(process.env.SOAK_COUNT ?? 1_000_000)
const rounds = 10
const parameters = Schema.standardSchemaV1(Schema.Struct({ text: Schema.String }))

const warnings = []
for (const event of ["warning", "unhandledRejection"]) process.on(event, (what) => warnings.push(String(what)))

const echo = defineTool({
  name: "echo",
  description: "Says it again",
  parameters,
  // It reads its signal, so that one is made for it.
  execute: async ({ text }, { signal }) => (signal.aborted ? "" : text)
})
const obedient = defineTool({
  name: "obedient",
  description: "Waits until it is stopped",
  parameters,
  concurrency: "parallel",
  execute: (_, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason))
    })
})
const runtime = createRuntime({
  tools: [echo, obedient],
  policies: [{ name: "all", before: () => ({ kind: "allow" }), around: (_, next) => next(), observe: () => {} }]
})

const host = new AbortController()
const listeners = () => getEventListeners(host.signal, "abort").length
const heap = async () => {
  for (let i = 0; i < 4; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    gc()
  }
  return v8.getHeapStatistics().used_heap_size
}

const rows = []
let done = 0
for (let round = 0; round < rounds; round++) {
  for (let i = 0; i < count / rounds; i++) {
    await runtime.call({ callId: `c${done++}`, name: "echo", arguments: { text: "hi" }, signal: host.signal })
  }
  rows.push({
    name: done,
    listeners: listeners(),
    calls: runtime.inFlight().length,
    resources: process.getActiveResourcesInfo().length,
    heap: await heap()
  })
}
console.log("| behind call | listeners on the host's signal | calls in flight | timers and handles | heap, MB |")
console.log("| --- | --- | --- | --- | --- |")
for (const { calls, heap, listeners, name, resources } of rows) {
  console.log(`| ${name} | ${listeners} | ${calls} | ${resources} | ${(heap / 1024 / 1024).toFixed(2)} |`)
}

const many = Math.min(10_000, count)
const started = performance.now()
const calls = Array.from({ length: many }, (_, i) =>
  runtime.call({ callId: `m${i}`, name: "obedient", arguments: { text: "hi" }, signal: host.signal })
)
const most = listeners()
host.abort(new Error("stop"))
const results = await Promise.all(calls)
const aborted = results.filter(({ report }) => report.code === "ABORTED").length
const took = ((performance.now() - started) / many) * 1000
console.log(
  `\n${many} calls at once: ${most} listener, ${aborted} aborted, ${listeners()} listeners left, ${took.toFixed(0)} µs each`
)
console.log(`warnings and unhandled rejections: ${warnings.length}`)

const [first, last] = [rows[Math.floor(rounds / 2)], rows.at(-1)]
const perCall = (last.heap - first.heap) / (last.name - first.name)
console.log(`bytes retained by a call, in the second half: ${perCall.toFixed(2)}`)
const isClean = rows.every((row) => row.listeners === 0 && row.calls === 0 && row.resources <= rows[0].resources)
// Less than a pointer for each call: what the engine remembers of its own comes to some hundred kilobytes.
if (!isClean || perCall > 4 || most !== 1 || aborted !== many || listeners() > 0 || warnings.length > 0)
  process.exitCode = 1
