// Rows 7 to 9: how long a cancelled call takes to settle, and a storm of calls that one signal cancels.
import * as v8 from "node:v8"
import { Effect, Runtime } from "effect"
import { Cancellation } from "quiesce"
import { collectGarbage, cpuNow, heapUsed, median, nextTurn, report, shuffled, wallNow } from "./harness.mjs"
import { bodies, call, toolkit, untilAborted, withRuntime } from "./subjects.mjs"

const stormSize = Number(process.env.STORM ?? 10_000)

/** Tells when `count` bodies have started. */
class Starts {
  expect(count) {
    this.left = count
    return new Promise((resolve) => {
      this.done = resolve
    })
  }
  started = () => {
    if (--this.left === 0) this.done()
  }
}

const starts = new Starts()
const options = { toolkit: toolkit(bodies.cooperative(starts.started)) }
const tryPromise = Effect.tryPromise((signal) => untilAborted(signal, starts.started))
const settled = (promise) =>
  promise.then(
    () => {},
    () => {}
  )

/**
 * Ways to run calls that one signal cancels: `(runtime, run) => (n, signal) => a promise of all of them`. `run` runs an
 * effect for a promise.
 */
const ways = {
  "calls under one owner": (runtime, run) => (n, signal) =>
    run(
      Cancellation.ownSignal(
        Effect.flatMap(
          Effect.forEach(Array.from({ length: n }), (_, i) => runtime.start(call(i))),
          (running) => Effect.forEach(running, ({ result }) => result, { discard: true })
        ),
        signal
      )
    ),
  "calls under an owner each": (runtime, run) => (n, signal) =>
    Promise.all(Array.from({ length: n }, (_, i) => run(Cancellation.ownSignal(runtime.execute(call(i)), signal)))),
  "Effect.tryPromise, which abandons its promise": (_, run) => (n, signal) =>
    Promise.all(Array.from({ length: n }, () => settled(run(tryPromise, { signal })))),
  "bare promises with a controller each": () => (n, signal) => {
    const controllers = new Set()
    const forward = () => {
      for (const controller of controllers) controller.abort(signal.reason)
    }
    signal.addEventListener("abort", forward, { once: true })
    return Promise.all(
      Array.from({ length: n }, () => {
        const controller = new AbortController()
        controllers.add(controller)
        return settled(untilAborted(controller.signal, starts.started))
      })
    )
  },
  "bare promises": () => (n, signal) =>
    Promise.all(Array.from({ length: n }, () => settled(untilAborted(signal, starts.started))))
}

const latency = async (begin) => {
  const controller = new AbortController()
  const started = starts.expect(1)
  const all = begin(1, controller.signal)
  await started
  await nextTurn()
  const abortedAt = wallNow()
  controller.abort()
  await settled(all)
  return (wallNow() - abortedAt) / 1000
}

const storm = async (begin) => {
  const controller = new AbortController()
  await collectGarbage()
  const heapBefore = heapUsed()
  const started = starts.expect(stormSize)
  const all = begin(stormSize, controller.signal)
  await started
  await nextTurn()
  await collectGarbage()
  const inFlight = (heapUsed() - heapBefore) / stormSize
  const profiler = new v8.GCProfiler()
  profiler.start()
  const cpuBefore = cpuNow()
  controller.abort()
  await settled(all)
  const millis = (cpuNow() - cpuBefore) / 1e6
  const peaks = profiler.stop().statistics.map(({ beforeGC }) => beforeGC.heapStatistics.usedHeapSize)
  return { millis, inFlight, peak: Math.max(heapUsed(), ...peaks) / 2 ** 20 }
}

// Thousands of listeners on one signal are what is compared with.
process.removeAllListeners("warning")

await withRuntime(options, (runtime) =>
  Effect.flatMap(Effect.runtime(), (effects) =>
    Effect.promise(async () => {
      const run = Runtime.runPromise(effects)
      const begins = Object.entries(ways).map(([name, way]) => ({
        name,
        begin: way(runtime, run),
        micros: [],
        storms: []
      }))
      for (let round = 0; round < 400; round++) {
        for (const { begin, micros } of shuffled(begins)) micros.push(await latency(begin))
      }
      for (let round = 0; round < 3; round++) {
        for (const { begin, storms } of shuffled(begins)) storms.push(await storm(begin))
      }
      const latencies = Object.fromEntries(begins.map(({ name, micros }) => [name, median(micros.slice(100))]))
      const storms = Object.fromEntries(
        begins.map(({ name, storms }) => [name, storms.sort((a, b) => a.millis - b.millis)[storms.length >> 1]])
      )
      const yardstick = latencies["bare promises"]
      const stormYardstick = storms["bare promises with a controller each"].millis
      report([
        ...begins.map(({ name }) => ({
          name: `cancel to settled: ${name}`,
          values: { "x bare": latencies[name] / yardstick, "wall µs": latencies[name] },
          atMost: name.startsWith("calls") ? { "x bare": 5 } : undefined
        })),
        ...begins.map(({ name }) => ({
          name: `storm of ${stormSize}: ${name}`,
          values: {
            "x controllers": storms[name].millis / stormYardstick,
            "CPU ms": storms[name].millis,
            "bytes in flight": storms[name].inFlight,
            "peak MiB": storms[name].peak
          },
          // 450 ms and 5.6 KB, where bare promises with a controller each took 108 ms.
          atMost:
            name === "calls under one owner" ? { "x controllers": 450 / 108, "bytes in flight": 5.6 * 1024 } : undefined
        }))
      ])
    })
  )
)
process.exit(0) // tryPromise has left promises behind
