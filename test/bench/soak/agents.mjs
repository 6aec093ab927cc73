// Runs turn after turn, each with calls that have children of every kind (fibers, daemons, promises, tasks, a batch of their
// own), every third one cancelled somewhere, and counts at rest what there is: fibers, listeners on the signal of the host,
// timers and handles, calls in flight, and the heap beside the log, which is kept in memory.
//
//   npm run soak -- agents        SOAK_COUNT=200 npm run soak -- agents
import { getEventListeners } from "node:events"
import * as v8 from "node:v8"
import { runInNewContext } from "node:vm"
import { Effect, Fiber, Layer, Schema, Stream } from "effect"
import { Abort, Agent, CancelCause, Cancellation, Session, Tool, Toolkit, ToolRuntime } from "quiesce"
import { Model, Task } from "quiesce/capability"
import { Leaks, ScriptedModel } from "quiesce/testing"

v8.setFlagsFromString("--expose-gc")
const gc = runInNewContext("gc")
const count = Number(process.env.SOAK_COUNT ?? 1000)
const turnsEach = 10
const rounds = Math.max(2, count / 100)

const pause = Effect.yieldNow()
const later = Abort.fromPromise({ try: ({ signal }) => wait(signal), catch: (error) => error })
const wait = (signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1)
    signal.addEventListener("abort", () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

let runtime
const leaf = Tool.make("leaf", {
  description: "Waits for a promise",
  parameters: {},
  success: Schema.Null,
  concurrency: "parallel",
  handler: () => Effect.as(Effect.orDie(later), null)
})
const nest = Tool.make("nest", {
  description: "Has children of every kind",
  parameters: {},
  success: Schema.Null,
  concurrency: "parallel",
  handler: () =>
    Effect.gen(function* () {
      yield* Effect.fork(Effect.never)
      const child = yield* Effect.fork(Effect.repeatN(pause, 10))
      yield* Effect.forkDaemon(Cancellation.operation(Effect.never, "a daemon"))
      const task = yield* Effect.orDie(Task.start({ label: "task", run: () => Effect.repeatN(pause, 10) }))
      yield* runtime.executeBatch([1, 2].map((n) => ({ id: `leaf${n}`, name: "leaf", parameters: {} })))
      yield* Effect.orDie(Task.wait(task))
      yield* Fiber.join(child)
      return null
    })
})

const answers = (request, index) => {
  if (index % 2 === 1 || request.messages.at(-1)?.role === "tool") return [pause, ...ScriptedModel.reply("done")]
  const calls = [1, 2, 3].map((n) => ({ id: `c${index}_${n}`, name: "nest", parameters: {} }))
  return [{ _tag: "Text", text: "Let me see." }, pause, ...ScriptedModel.calls(...calls)]
}

let turn = 0
const play = (agent) =>
  Effect.gen(function* () {
    turn++
    yield* agent.followup(`task ${turn}`)
    if (turn % 3 === 0) {
      yield* Effect.repeatN(pause, turn % 200)
      yield* agent.cancel(CancelCause.user())
    }
    yield* agent.whenIdle
  })

const host = new AbortController()
const census = Effect.gen(function* () {
  for (let i = 0; i < 4; i++) {
    yield* Effect.sleep(5)
    gc()
  }
  return {
    fibers: (yield* Leaks.roots).length,
    listeners: getEventListeners(host.signal, "abort").length,
    resources: process.getActiveResourcesInfo().length,
    calls: (yield* runtime.inFlight).length,
    heap: v8.getHeapStatistics().used_heap_size
  }
})

// Not the scripted model of the test kit: that remembers its requests.
let requests = 0
const model = Model.layer((request) =>
  Stream.flatMap(Stream.fromIterable(answers(request, requests++)), (step) =>
    Effect.isEffect(step) ? Stream.drain(Stream.fromEffect(step)) : Stream.succeed(step)
  )
)
const base = Layer.provideMerge(ToolRuntime.layer({ toolkit: Toolkit.make(nest, leaf) }), Task.layer())

/** Turns of one agent on one session, which is gone with it, and what that is in bytes. */
const agentFor = (turns) =>
  Effect.gen(function* () {
    const agent = yield* Agent.make({ id: "clerk", model: "soak" })
    for (let i = 0; i < turns; i++) yield* play(agent)
    return agent
  })

const outcomes = new Map()
const note = ({ session }) => {
  for (const { event } of session.events()) {
    if (event._tag === "TurnEnded") outcomes.set(event.outcome._tag, (outcomes.get(event.outcome._tag) ?? 0) + 1)
  }
}

const program = Effect.gen(function* () {
  runtime = yield* ToolRuntime.ToolRuntime
  const rows = []
  for (let round = 0; round < rounds; round++) {
    for (let done = 0; done < count / rounds; done += turnsEach) {
      yield* Effect.scoped(Effect.tap(agentFor(turnsEach), (agent) => Effect.sync(() => note(agent)))).pipe(
        Effect.provide(Session.layerMemory())
      )
    }
    rows.push({ name: `${turn}`, ...(yield* census) })
  }
  // Once more with one agent: what it holds beside its log.
  const before = yield* census
  const { agent, session } = yield* Effect.provide(
    Effect.gen(function* () {
      const agent = yield* agentFor(count / 2)
      return { agent, session: yield* Session.Session }
    }),
    Session.layerMemory()
  )
  const withAgent = yield* census
  const copy = yield* Session.make()
  for (const { event } of structuredClone(session.events()).slice(1)) copy.append(event)
  copy.messages()
  const withCopy = yield* census
  return { rows, events: session.events().length, id: agent.id, before, withAgent, withCopy }
})

const { before, events, rows, withAgent, withCopy } = await program.pipe(
  Effect.scoped,
  Cancellation.ownSignal(host.signal),
  Effect.provide(Layer.merge(base, model)),
  Effect.runPromise
)
const mb = (bytes) => (bytes / 1024 / 1024).toFixed(2)
console.log(
  "| behind turn | fibers | listeners on the host's signal | timers and handles | calls in flight | heap, MB |"
)
console.log("| --- | --- | --- | --- | --- | --- |")
for (const { calls, fibers, heap, listeners, name, resources } of rows) {
  console.log(`| ${name} | ${fibers} | ${listeners} | ${resources} | ${calls} | ${mb(heap)} |`)
}
console.log(`\nturns: ${[...outcomes].map(([tag, n]) => `${n} ${tag}`).join(", ")}`)
const held = withAgent.heap - before.heap
const log = withCopy.heap - withAgent.heap
console.log(`one agent, ${count / 2} turns, ${events} events: it holds ${mb(held)} MB, its log alone is ${mb(log)} MB`)

const [first] = rows
const last = rows.at(-1)
const isConstant = ["fibers", "listeners", "resources", "calls"].every((key) =>
  rows.every((row) => row[key] === first[key])
)
// What the engine compiles and remembers of its own grows for some hundred turns. Behind that, less than what a heap breathes.
const grown = last.heap - rows[Math.floor(rows.length / 2)].heap
if (!isConstant || grown > 1024 * 1024 || held > log * 1.25 + 1024 * 1024) process.exitCode = 1
