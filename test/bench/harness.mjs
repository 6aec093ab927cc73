// The kit of the benchmarks. What they measure, and how far to trust it, is in docs/performance.md.
import * as fs from "node:fs"
import * as v8 from "node:v8"

const schedstat = "/proc/thread-self/schedstat"

/** Nanoseconds that the main thread has been on a core: waiting for one does not count. Off Linux: of all threads. */
export const cpuNow = fs.existsSync(schedstat)
  ? () => {
      process.cpuUsage() // brings the kernel's count up to date
      return Number(fs.readFileSync(schedstat, "latin1").split(" ", 1)[0])
    }
  : () => {
      const { user, system } = process.cpuUsage()
      return (user + system) * 1000
    }

/** Nanoseconds that have passed. */
export const wallNow = () => Number(process.hrtime.bigint())

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export const shuffled = (values) =>
  values
    .map((value) => ({ value, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value)

export const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** Collects garbage, also what only becomes garbage when finalizers have run. */
export const collectGarbage = async () => {
  for (let i = 0; i < 4; i++) {
    globalThis.gc()
    await nextTurn()
  }
}

export const heapUsed = () => v8.getHeapStatistics().used_heap_size

const allocatedBy = async (run, calls) => {
  await collectGarbage()
  const profiler = new v8.GCProfiler()
  profiler.start()
  let before = heapUsed()
  await run(calls)
  const after = heapUsed()
  let total = 0
  for (const { beforeGC, afterGC } of profiler.stop().statistics) {
    total += beforeGC.heapStatistics.usedHeapSize - before
    before = afterGC.heapStatistics.usedHeapSize
  }
  return total + after - before
}

/** Bytes that a call allocates, collected meanwhile or not. */
const bytesPerCall = async (run, calls) =>
  Math.max(0, ((await allocatedBy(run, calls)) - (await allocatedBy(run, 0))) / calls)

const warmUp = async ({ name, run }, { warmCalls, warmMillis, batchMillis }) => {
  let batch = 1
  let calls = 0
  let spent = 0
  let perCall = 0
  while (calls < warmCalls || spent < warmMillis * 1e6) {
    const startedAt = cpuNow()
    await run(batch)
    const took = Math.max(1, cpuNow() - startedAt)
    spent += took
    calls += batch
    perCall = took / batch
    if (took < 30e6) batch *= 2
  }
  return { name, run, batch: Math.max(1, Math.round((batchMillis * 1e6) / perCall)), micros: [] }
}

/**
 * Measures cases `{ name, run }`, where `run(n)` makes n calls one after another. Gives for each name the microseconds
 * on a core and the bytes of one call.
 *
 * The batches of all cases alternate in a random order, so that a slow minute of the machine hits each of them.
 */
export const measure = async (
  cases,
  { batches = 9, batchMillis = 40, warmCalls = 5000, warmMillis = 250, bytes = true } = {}
) => {
  const warm = []
  for (const one of cases) warm.push(await warmUp(one, { warmCalls, warmMillis, batchMillis }))
  for (let i = 0; i < batches; i++) {
    for (const { run, batch, micros } of shuffled(warm)) {
      const startedAt = cpuNow()
      await run(batch)
      micros.push((cpuNow() - startedAt) / batch / 1000)
    }
  }
  const measured = {}
  for (const { name, run, batch, micros } of warm) {
    measured[name] = { micros: median(micros) }
    if (bytes) measured[name].bytes = await bytesPerCall(run, Math.min(batch, 20_000))
  }
  return measured
}

/**
 * Hands the rows of a program to `run.mjs`. A row is `{ name, values, atMost }`: a value for each column, and the targets
 * of the columns that have one.
 */
export const report = (rows) => {
  process.stdout.write(`${JSON.stringify(rows)}\n`)
}
