// Row 11: what a call costs while many are in flight.
import { Effect } from "effect"
import { Abort, Cancellation } from "quiesce"
import { collectGarbage, cpuNow, median, report, shuffled } from "./harness.mjs"
import { bare, call, toolkit, withRuntime } from "./subjects.mjs"

const sizes = [100, 10_000, 100_000]
const callsAtEachSize = 30_000

/** Opens once, for everybody who waits for it. */
class Gate {
  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve
    })
  }
}

let gate = new Gate()
const gated = (parameters) =>
  Abort.fromPromise(async () => {
    await gate.opened
    return bare(parameters)
  })

const warnings = new Set()
process.on("warning", ({ name }) => warnings.add(name))

const { signal } = new AbortController()

/** Starts `n` effects that wait for the gate, opens it, and waits for all of them. */
const together = (n, start, finish) =>
  Effect.gen(function* () {
    gate = new Gate()
    const started = new Array(n)
    for (let i = 0; i < n; i++) started[i] = yield* start(i)
    gate.open()
    for (let i = 0; i < n; i++) yield* finish(started[i])
  })

const subjects = {
  "calls under one owner": (runtime) => (n) =>
    Cancellation.ownSignal(
      together(
        n,
        (i) => runtime.start(call(i)),
        ({ result }) => result
      ),
      signal
    ),
  "calls under an owner each, all on one signal": (runtime) => (n) =>
    together(
      n,
      (i) => Effect.fork(Cancellation.ownSignal(runtime.execute(call(i)), signal)),
      (fiber) => fiber.await
    ),
  "fork + await of Effect.tryPromise": () => (n) =>
    together(
      n,
      (x) => Effect.fork(Effect.tryPromise(() => gate.opened.then(() => bare({ x })))),
      (fiber) => fiber.await
    )
}

const microsAt = (subject, n) =>
  Effect.gen(function* () {
    const repetitions = Math.max(1, Math.round(callsAtEachSize / n))
    yield* Effect.promise(collectGarbage)
    const startedAt = cpuNow()
    for (let i = 0; i < repetitions; i++) yield* subject(n)
    return (cpuNow() - startedAt) / (repetitions * n) / 1000
  })

const rows = await withRuntime({ toolkit: toolkit(gated) }, (runtime) =>
  Effect.gen(function* () {
    const measured = Object.entries(subjects).map(([name, make]) => ({
      name,
      subject: make(runtime),
      at: new Map(sizes.map((n) => [n, []]))
    }))
    for (const { subject } of measured) for (let i = 0; i < 30; i++) yield* subject(200)
    for (let round = 0; round < 3; round++) {
      for (const { subject, at } of shuffled(measured)) {
        for (const n of sizes) if (n < 100_000 || round === 0) at.get(n).push(yield* microsAt(subject, n))
      }
    }
    return measured.map(({ name, at }) => {
      const [small, large, huge] = sizes.map((n) => median(at.get(n)))
      const ours = name.startsWith("calls")
      return {
        name,
        values: {
          "10,000 : 100": large / small,
          "100,000 : 100": huge / small,
          "µs at 100": small,
          "µs at 10,000": large,
          "µs at 100,000": huge,
          ...(ours ? { MaxListenersExceededWarning: warnings.has("MaxListenersExceededWarning") ? 1 : 0 } : undefined)
        },
        atMost: ours ? { "10,000 : 100": 2, "100,000 : 100": 2.5, MaxListenersExceededWarning: 0 } : undefined
      }
    })
  })
)
report(rows)
