// Row 10: what a million calls leave behind on one long-lived signal.
import { getEventListeners } from "node:events"
import { Chunk, Effect, Fiber } from "effect"
import { Cancellation } from "quiesce"
import { collectGarbage, heapUsed, report } from "./harness.mjs"
import { bodies, call, repeat, toolkit, withRuntime } from "./subjects.mjs"

const total = Number(process.env.CALLS ?? 1_000_000)
const portions = 5

// The body asks for its signal and has a timeout, so that everything exists that could hold on to something.
const options = { toolkit: toolkit(bodies.signal, { timeout: "1 minute" }) }

const things = (signal) =>
  Effect.map(
    Fiber.roots,
    (roots) =>
      getEventListeners(signal, "abort").length +
      process.getActiveResourcesInfo().filter((name) => name === "Timeout").length +
      Chunk.size(roots)
  )

/** The slope of the line through points `[x, y]`, by least squares. */
const slopeOf = (points) => {
  const mean = (f) => points.reduce((sum, point) => sum + f(point), 0) / points.length
  const x = mean((point) => point[0])
  const y = mean((point) => point[1])
  return mean((point) => (point[0] - x) * (point[1] - y)) / mean((point) => (point[0] - x) ** 2)
}

const retained = (name, signal, makeCalls) =>
  Effect.gen(function* () {
    yield* makeCalls(20_000)
    yield* Effect.promise(collectGarbage)
    const before = yield* things(signal)
    const points = [[0, heapUsed()]]
    for (let portion = 1; portion <= portions; portion++) {
      yield* makeCalls(total / portions)
      yield* Effect.promise(collectGarbage)
      points.push([(portion * total) / portions, heapUsed()])
    }
    const left = (yield* things(signal)) - before
    return {
      name: `${total} ${name}`,
      values: { "B/call retained": slopeOf(points), "listeners, timers, fibers left": left },
      atMost: { "B/call retained": 1, "listeners, timers, fibers left": 0 }
    }
  })

const rows = await withRuntime(options, (runtime) => {
  const { signal } = new AbortController()
  const execute = (i) => runtime.execute(call(i))
  return Effect.all([
    retained("calls under one owner that follows a signal", signal, (n) =>
      Cancellation.ownSignal(repeat(n, execute), signal)
    ),
    retained("calls under an owner each, all on one signal", signal, (n) =>
      repeat(n, (i) => Cancellation.ownSignal(execute(i), signal))
    )
  ])
})
report(rows)
