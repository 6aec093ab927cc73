// Starts subagent after subagent, in turns attached and detached, each with a tool that waits for a promise, and stops each at
// another instant: before it is published, in its turn, in its call, at rest. Behind every 100 it counts at rest what there
// is: fibers, listeners on the signal of the host, timers and handles, calls in flight, children alive, and the heap.
//
//   npm run soak -- subagents     SOAK_COUNT=200 npm run soak -- subagents
import { getEventListeners } from "node:events"
import * as v8 from "node:v8"
import { runInNewContext } from "node:vm"
import { Effect, Fiber, Layer, Schema, Stream } from "effect"
import { Abort, AgentSubagent, Cancellation, Session, Tool, Toolkit, ToolRuntime } from "quiesce"
import { Model, Subagent } from "quiesce/capability"
import { Leaks, ScriptedModel } from "quiesce/testing"

v8.setFlagsFromString("--expose-gc")
const gc = runInNewContext("gc")
const count = Number(process.env.SOAK_COUNT ?? 1000)
const rounds = Math.max(2, count / 100)

const pause = Effect.yieldNow()
const wait = (signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1)
    signal.addEventListener("abort", () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
const leaf = Tool.make("leaf", {
  description: "Waits for a promise",
  parameters: {},
  success: Schema.Null,
  handler: () =>
    Effect.as(Effect.orDie(Abort.fromPromise({ try: ({ signal }) => wait(signal), catch: (error) => error })), null)
})

const answer = ({ messages }) =>
  messages.at(-1)?.role === "tool"
    ? [pause, ...ScriptedModel.reply("done")]
    : [pause, ...ScriptedModel.calls({ id: "c1", name: "leaf", parameters: {} })]
// Not the scripted model of the test kit: that remembers its requests.
const model = Model.layer((request) =>
  Stream.flatMap(Stream.fromIterable(answer(request)), (step) =>
    Effect.isEffect(step) ? Stream.drain(Stream.fromEffect(step)) : Stream.succeed(step)
  )
)
const layer = Layer.provideMerge(
  AgentSubagent.layer({
    profiles: { worker: { model: "soak" } },
    session: ({ id }) => Effect.zipRight(Effect.repeatN(pause, 10), Session.make({ agent: id }))
  }),
  Layer.merge(ToolRuntime.layer({ toolkit: Toolkit.make(leaf) }), model)
)

const outcomes = new Map()
const note = (outcome) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)

const play = (number) =>
  Effect.gen(function* () {
    const { list, start, wait } = yield* Subagent.Subagent
    const known = (yield* list).at(-1)?.id
    const attachment = number % 2 === 0 ? "attached" : "detached"
    const work = Effect.flatMap(start({ profile: "worker", task: `task ${number}`, attachment }), (id) => wait(id))
    const fiber = yield* Effect.fork(Cancellation.own(work))
    if (number % 10 !== 0) yield* Effect.repeatN(pause, number % 149)
    else yield* Fiber.await(fiber)
    yield* Fiber.interrupt(fiber)
    const child = (yield* list).at(-1)
    if (child === undefined || child.id === known) return note("taken back")
    if (child.status !== "disposed") yield* Subagent.dispose(child.id)
    note((yield* wait(child.id)).result?.outcome)
  })

const host = new AbortController()
const census = Effect.gen(function* () {
  for (let i = 0; i < 4; i++) {
    yield* Effect.sleep(5)
    gc()
  }
  const { inFlight } = yield* ToolRuntime.ToolRuntime
  return {
    fibers: (yield* Leaks.roots).length,
    listeners: getEventListeners(host.signal, "abort").length,
    resources: process.getActiveResourcesInfo().length,
    calls: (yield* inFlight).length,
    children: (yield* Subagent.list).filter(({ status }) => status !== "disposed").length,
    heap: v8.getHeapStatistics().used_heap_size
  }
})

const program = Effect.gen(function* () {
  const rows = []
  let number = 0
  for (let round = 0; round < rounds; round++) {
    for (let done = 0; done < count / rounds; done++) yield* play(++number)
    rows.push({ number, ...(yield* census) })
  }
  return rows
})

const rows = await program.pipe(Cancellation.ownSignal(host.signal), Effect.provide(layer), Effect.runPromise)
console.log(
  "| behind subagent | fibers | listeners on the host's signal | timers and handles | calls in flight | children alive | heap, MB |"
)
console.log("| --- | --- | --- | --- | --- | --- | --- |")
for (const { calls, children, fibers, heap, listeners, number, resources } of rows) {
  const megabytes = (heap / 1024 / 1024).toFixed(2)
  console.log(`| ${number} | ${fibers} | ${listeners} | ${resources} | ${calls} | ${children} | ${megabytes} |`)
}
console.log(`\nsubagents: ${[...outcomes].map(([outcome, n]) => `${n} ${outcome}`).join(", ")}`)

const [first] = rows
const isConstant = ["fibers", "listeners", "resources", "calls", "children"].every((key) =>
  rows.every((row) => row[key] === first[key])
)
// What the engine compiles and remembers of its own grows for some hundred turns. Behind that, less than what a heap breathes.
const grown = rows.at(-1).heap - rows[Math.floor(rows.length / 2)].heap
if (!isConstant || first.children !== 0 || grown > 1024 * 1024) process.exitCode = 1
