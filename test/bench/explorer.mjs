// Rows of the race explorer: schedules per second on a core, and what 100,000 of them leave behind.
import { Deferred, Effect, Exit, Fiber } from "effect"
import { Explore, Invariant, Sim } from "quiesce/testing"
import { collectGarbage, cpuNow, heapUsed, median, report } from "./harness.mjs"

const total = Number(process.env.SCHEDULES ?? 100_000)
const portions = 5

/** A call that waits for approval, holds a lock around its body, and settles once: about 100 points. */
const pipeline = (body) =>
  Effect.gen(function* () {
    const sim = yield* Sim.Sim
    const published = []
    const settle = (result) =>
      Effect.sync(() => {
        published.push(result)
        sim.event("publish")
      })
    const approved = yield* Deferred.make()
    yield* Sim.fork("host")(
      Effect.zipRight(Sim.external("approve", { yes: Effect.void }), Deferred.succeed(approved, undefined))
    )
    const held = Effect.acquireUseRelease(
      Effect.sync(() => sim.event("acquire")),
      () => body,
      () => Effect.sync(() => sim.event("release"))
    )
    const work = Effect.zipRight(Deferred.await(approved), held)
    const call = Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.exit(restore(work)), (exit) => settle(Exit.isSuccess(exit) ? exit.value : "interrupted"))
    )
    const fiber = yield* Sim.fork("call")(call)
    yield* Sim.interrupt(fiber)
    yield* Fiber.await(fiber)
    return published[0] ?? "never started"
  })

const rpc = Sim.external("rpc", { ok: Effect.succeed("done") })
const promised = Effect.flatMap(Sim.promise("rpc", { ok: () => "done" }), (promise) => Effect.promise(() => promise))

const invariants = [Invariant.atMostOnce("publish"), Invariant.balanced("acquire", "release")]

const explore = (body, options = {}) => Effect.runPromise(Explore.check(pipeline(body), { invariants, ...options }))

const throughput = async (name, body, options, atMost) => {
  const micros = []
  let explored
  for (let i = 0; i < 6; i++) {
    const startedAt = cpuNow()
    explored = await explore(body, options)
    micros.push((cpuNow() - startedAt) / explored.schedules / 1000)
  }
  const [cold, ...warm] = micros
  return {
    name: `${name}, ${explored.steps} steps`,
    values: {
      schedules: explored.schedules,
      "schedules/s": 1e6 / median(warm),
      "schedules/s, first time": 1e6 / cold,
      "µs/schedule": median(warm)
    },
    atMost
  }
}

/** The slope of the heap over the schedules of one exploration after the other. */
const retained = async () => {
  const portion = (n) => explore(rpc, { preemptions: 2, maxSchedules: n })
  await portion(5000)
  await collectGarbage()
  const before = heapUsed()
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, heapUsed())
  }, 50)
  for (let i = 0; i < portions; i++) await portion(total / portions)
  clearInterval(watch)
  await collectGarbage()
  return {
    name: `${total} schedules`,
    values: { "B/schedule retained": (heapUsed() - before) / total, "MB at most": (peak - before) / 1e6 },
    atMost: { "B/schedule retained": 10, "MB at most": 200 }
  }
}

// 2,000 schedules per second. The first row is over before the code is warm.
const atMost = { "µs/schedule": 500 }
report([
  await throughput("a fault", rpc, { preemptions: 0 }),
  await throughput("a fault and a preemption", rpc, {}, atMost),
  await throughput("the same, between effects", rpc, { granularity: "effect" }, atMost),
  await throughput("the same, with a promise", promised, {}),
  await retained()
])
