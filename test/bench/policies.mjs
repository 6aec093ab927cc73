// Row 5: what one more policy costs, as the slope between a call with 1 and a call with 6 of them.
import { Effect } from "effect"
import { Policy } from "quiesce"
import { measure, report } from "./harness.mjs"
import { bodies, calls, forkAndAwait, inFiber, toolkit } from "./subjects.mjs"

const accept = Policy.accept()

const generated = (value) =>
  Effect.gen(function* () {
    return yield* Effect.sync(() => value)
  })

// The targets were set in microseconds, on a machine where fork + await took 12.2 of them.
const targetsFork = 12.2

const kinds = [
  { name: "before, Exit", make: () => Policy.before("p", () => Effect.succeed(Policy.allow)), micros: 0.15 },
  { name: "before, Effect.sync", make: () => Policy.before("p", () => Effect.sync(() => Policy.allow)), micros: 0.6 },
  {
    name: "before, Effect.gen",
    make: () => Policy.before("p", () => generated(Policy.allow)),
    micros: 0.2,
    less: true
  },
  { name: "guard", make: () => Policy.guard("p", () => undefined), micros: 0.05 },
  { name: "around", make: () => Policy.around("p", (_, next) => next), micros: 0.5 },
  { name: "after, Exit", make: () => Policy.after("p", () => Effect.succeed(accept)), micros: 0.15 },
  { name: "after, Effect.sync", make: () => Policy.after("p", () => Effect.sync(() => accept)), micros: 0.6 },
  { name: "after, Effect.gen", make: () => Policy.after("p", () => generated(accept)), micros: 0.2, less: true },
  { name: "observe, Effect.sync", make: () => Policy.observe("p", () => Effect.sync(() => {})), micros: 0.6 }
]

const many = 6
const none = calls("no policy", { toolkit: toolkit(bodies.sync) })
// The yardstick of a policy that is a generator: generators one after another, without any policy.
const generators = (n) =>
  inFiber(`${n} x Effect.gen`, (i) => {
    let all = generated(i)
    for (let k = 1; k < n; k++) all = Effect.zipRight(all, generated(i))
    return all
  })
const withPolicies = ({ name, make }, n) =>
  calls(`${n} x ${name}`, { toolkit: toolkit(bodies.sync), policies: Array.from({ length: n }, make) })

const measured = await measure(
  [
    forkAndAwait,
    none,
    generators(1),
    generators(many),
    ...kinds.flatMap((kind) => [withPolicies(kind, 1), withPolicies(kind, many)])
  ],
  { batches: 15, batchMillis: 25, warmCalls: 3000, warmMillis: 120 }
)
const yardstick = measured[forkAndAwait.name].micros

const slope = (name, column) => (measured[`${many} x ${name}`][column] - measured[`1 x ${name}`][column]) / (many - 1)

report(
  kinds.map((kind) => {
    // Of a policy that is a generator, what Effect takes for the generator is not ours.
    const micros = slope(kind.name, "micros") - (kind.less ? slope("Effect.gen", "micros") : 0)
    return {
      name: kind.less ? `${kind.name}, beyond the generator` : kind.name,
      values: {
        "x fork": micros / yardstick,
        µs: micros,
        bytes: slope(kind.name, "bytes"),
        "µs of the first": measured[`1 x ${kind.name}`].micros - measured[none.name].micros
      },
      atMost: { "x fork": kind.micros / targetsFork }
    }
  })
)
