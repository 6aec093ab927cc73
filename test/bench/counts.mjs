// Row 12, and the gate: exactly what one successful call makes, compared with counts.json. Times are noisy, counts are
// not: whoever adds a fiber, a promise or a listener to every call sees it here. `--update` writes the file anew.
import * as fs from "node:fs"
import { promiseHooks } from "node:v8"

const counts = {}
let isCounting = false
const count = (what) => {
  counts[what] ??= 0
  return () => {
    if (isCounting) counts[what]++
  }
}

const countCalls = (owner, key, what = key) => {
  const counted = count(what)
  const original = owner[key]
  owner[key] = function (...args) {
    counted()
    return Reflect.apply(original, this, args)
  }
}

const countMade = (key) => {
  const counted = count(key)
  const construct = (target, args, newTarget) => {
    counted()
    return Reflect.construct(target, args, newTarget)
  }
  globalThis[key] = new Proxy(globalThis[key], { construct })
}

// Before anything is imported that might keep an original.
promiseHooks.onInit(count("promises"))
for (const key of ["AbortController", "Error", "TypeError", "DOMException", "Proxy"]) countMade(key)
countCalls(EventTarget.prototype, "addEventListener")
countCalls(EventTarget.prototype, "removeEventListener")
for (const key of ["setTimeout", "setImmediate", "structuredClone", "queueMicrotask"]) countCalls(globalThis, key)
for (const key of ["stringify", "parse"]) countCalls(JSON, key, `JSON.${key}`)

const { Effect, FiberId } = await import("effect")
const { Cancellation, Policy } = await import("quiesce")
const { bare, bodies, call, facade, repeat, repeatCalls, toolkit, withRuntime } = await import("./subjects.mjs")

const { signal } = new AbortController()
const timeout = "1 minute"
const policies = [
  Policy.before("before", () => Effect.succeed(Policy.allow)),
  Policy.guard("guard", () => undefined),
  Policy.around("around", (_, next) => next),
  Policy.after("after", () => Effect.succeed(Policy.accept())),
  Policy.observe("observe", () => Effect.void)
]
const execute = (runtime, i) => runtime.execute(call(i))

const cases = {
  "synchronous body": [{ toolkit: toolkit(bodies.sync) }, execute],
  "synchronous body, timeout": [{ toolkit: toolkit(bodies.sync, { timeout }) }, execute],
  "synchronous body, default rendering": [{ toolkit: toolkit(bodies.sync, { render: undefined }) }, execute],
  "synchronous body, one policy of each kind": [{ toolkit: toolkit(bodies.sync), policies }, execute],
  "promise body": [{ toolkit: toolkit(bodies.promise) }, execute],
  "promise body, timeout": [{ toolkit: toolkit(bodies.promise, { timeout }) }, execute],
  "promise body that reads its signal": [{ toolkit: toolkit(bodies.signal) }, execute],
  "promise body, started, not awaited": [
    { toolkit: toolkit(bodies.promise) },
    (runtime, i) => Effect.flatMap(runtime.start(call(i)), ({ result }) => result)
  ],
  "promise body, an owner each that follows a signal": [
    { toolkit: toolkit(bodies.promise) },
    (runtime, i) => Cancellation.ownSignal(execute(runtime, i), signal)
  ]
}

const repetitions = 100

const countsOf = ([options, each]) =>
  withRuntime(
    options,
    (runtime) =>
      Effect.gen(function* () {
        yield* repeat(50, (i) => each(runtime, i))
        for (const what of Object.keys(counts)) counts[what] = 0
        const before = FiberId.unsafeMake().id
        isCounting = true
        yield* repeat(repetitions, (i) => each(runtime, i))
        isCounting = false
        const fibers = FiberId.unsafeMake().id - before - 1
        const made = Object.entries({ fibers, ...counts }).filter(([, n]) => n > 0)
        return Object.fromEntries(made.map(([what, n]) => [what, n / repetitions]))
      }).pipe(Effect.withMaxOpsBeforeYield(Number.MAX_SAFE_INTEGER)) // a yield makes promises that no call asked for
  )

/** What code without Effect counts besides: the promise of each call, and those of who awaits it. */
const facades = {
  "promise caller, promise body": facade(bare),
  "promise caller, promise body that reads its signal": facade((parameters, { signal }) =>
    signal.aborted ? Promise.reject(signal.reason) : bare(parameters)
  ),
  "promise caller, promise body, one policy of each kind": facade(bare, {
    policies: [
      {
        name: "all",
        before: () => ({ kind: "allow" }),
        guard: () => undefined,
        around: (_, next) => next(),
        after: () => ({ kind: "accept" }),
        observe: () => {}
      }
    ]
  })
}

const countsOfFacade = async (runtime) => {
  await repeatCalls(50, runtime, signal)
  for (const what of Object.keys(counts)) counts[what] = 0
  const before = FiberId.unsafeMake().id
  isCounting = true
  await repeatCalls(repetitions, runtime, signal)
  isCounting = false
  const fibers = FiberId.unsafeMake().id - before - 1
  const made = Object.entries({ fibers, ...counts }).filter(([, n]) => n > 0)
  // One promise more is that of the loop.
  return Object.fromEntries(made.map(([what, n]) => [what, Math.floor(n / repetitions)]))
}

const actual = {}
for (const [name, one] of Object.entries(cases)) actual[name] = await countsOf(one)
for (const [name, one] of Object.entries(facades)) actual[name] = await countsOfFacade(one)

const file = new URL("counts.json", import.meta.url)
if (process.argv.includes("--update")) {
  fs.writeFileSync(file, `${JSON.stringify(actual, undefined, 2)}\n`)
  process.exit(0)
}

const committed = JSON.parse(fs.readFileSync(file, "utf8"))
const differences = []
for (const name of new Set([...Object.keys(committed), ...Object.keys(actual)])) {
  const before = committed[name] ?? {}
  const now = actual[name] ?? {}
  for (const what of new Set([...Object.keys(before), ...Object.keys(now)])) {
    const [from, to] = [before[what] ?? 0, now[what] ?? 0]
    if (from !== to) differences.push(`${name}: ${what} ${from} -> ${to}`)
  }
}
if (differences.length > 0) {
  console.error(`What a call makes has changed from test/bench/counts.json:\n  ${differences.join("\n  ")}`)
  console.error("If that is meant: npm run bench:counts -- --update, and say in the commit what it is for.")
  process.exit(1)
}
console.log(`counts: ${Object.keys(actual).length} kinds of calls make what test/bench/counts.json says`)
process.exit(0)
