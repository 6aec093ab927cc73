// Rows 2, 3 and 4: one call by a caller that is in a fiber, or has promises.
import { Effect } from "effect"
import { Abort } from "quiesce"
import { measure, report } from "./harness.mjs"
import { bare, bodies, calls, facade, forkAndAwait, inFiber, repeatCalls, toolkit } from "./subjects.mjs"

const timeout = "1 minute"
const cases = [
  { case: calls("call, synchronous body", { toolkit: toolkit(bodies.sync) }), atMost: { "x fork": 0.6 } },
  { case: calls("call, three asynchronous operations", { toolkit: toolkit(bodies.hops) }), atMost: { "x fork": 1.3 } },
  { case: calls("call, promise body", { toolkit: toolkit(bodies.promise) }), atMost: { "x fork": 1.3 } },
  { case: calls("call, promise body that reads its signal", { toolkit: toolkit(bodies.signal) }) },
  { case: calls("call, synchronous body, timeout", { toolkit: toolkit(bodies.sync, { timeout }) }) },
  { case: calls("call, promise body, timeout", { toolkit: toolkit(bodies.promise, { timeout }) }) },
  {
    case: {
      name: "promise caller, promise body",
      run: (n) => repeatCalls(n, facade(bare), new AbortController().signal)
    }
  },
  { case: forkAndAwait },
  { case: inFiber("Abort.fromPromise, no call", (x) => Abort.fromPromise(() => bare({ x }))) },
  { case: inFiber("Effect.tryPromise, which abandons its promise", (x) => Effect.tryPromise(() => bare({ x }))) },
  {
    case: inFiber("Effect.tryPromise with its signal", (x) =>
      Effect.tryPromise((signal) => (signal.aborted ? Promise.reject(signal.reason) : bare({ x })))
    )
  },
  {
    case: {
      name: "bare promise",
      run: async (n) => {
        for (let x = 0; x < n; x++) await bare({ x })
      }
    }
  }
]

const measured = await measure(cases.map((row) => row.case))
const yardstick = measured[forkAndAwait.name].micros
report(
  cases.map(({ case: { name }, atMost }) => {
    const { micros, bytes } = measured[name]
    return { name, values: { "x fork": micros / yardstick, µs: micros, bytes }, atMost }
  })
)
