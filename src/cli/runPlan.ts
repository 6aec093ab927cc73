/**
 * Runs a plan: its steps one after another, the calls of a step at the same time. Knows nothing of a terminal.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as CancelCause from "../CancelCause.js"
import type { Cancellation } from "../Cancellation.js"
import type { FileSystem } from "../capability/FileSystem.js"
import type { Http } from "../capability/Http.js"
import type { Process } from "../capability/Process.js"
import type { Task } from "../capability/Task.js"
import type * as ToolResult from "../ToolResult.js"
import * as ToolRuntime from "../ToolRuntime.js"
import { Instants } from "./instants.js"
import type * as Plan from "./plan.js"
import * as StillAlive from "./stillAlive.js"
import { makeToolkit } from "./tools.js"

/** What became of one call. */
export interface Outcome {
  readonly step: number
  readonly result: ToolResult.ToolResult
  /** From its start to its result. */
  readonly millis: number
  /** From its cancel to its result, where it was cancelled. */
  readonly quietMillis: number | undefined
  /** What of it is still alive, seen from outside, right after its result. */
  readonly stillAlive: ReadonlyArray<string>
}

/** What is worth showing while a plan runs. */
export type Event =
  | { readonly _tag: "Step"; readonly step: number; readonly calls: ReadonlyArray<Plan.Call>; readonly at: number }
  /** The phases that a call has gone through since the last event; `status` is the newest. */
  | {
      readonly _tag: "Phases"
      readonly phases: ReadonlyArray<ToolRuntime.Phase>
      readonly status: ToolRuntime.CallStatus
      readonly at: number
    }
  | { readonly _tag: "Outcome"; readonly outcome: Outcome; readonly at: number }

/** How to run a plan. */
export interface Options {
  readonly workspace: string
  /** Succeeds when the whole plan is to be cancelled. */
  readonly stop: Deferred.Deferred<CancelCause.CancelCause>
  readonly onEvent: (event: Event) => void
}

/** What the tools act with. */
export type Capabilities = FileSystem | Http | Process | Task

type Runtimes = ReadonlyMap<number | undefined, ToolRuntime.Service>

/** A timeout belongs to a tool. So for each timeout of the plan there is a runtime with tools that have it (L7). */
const makeRuntimes = (
  plan: Plan.Plan,
  instants: Instants,
  cwd: string
): Effect.Effect<Runtimes, never, Capabilities | Scope.Scope> =>
  Effect.map(
    Effect.forEach(
      new Set(plan.steps.flatMap(({ calls }) => calls.map(({ timeoutMillis }) => timeoutMillis))),
      (timeoutMillis) =>
        ToolRuntime.layer({ toolkit: makeToolkit({ cwd, timeoutMillis }), policies: instants.policies }).pipe(
          Layer.build,
          Effect.map((context) => [timeoutMillis, Context.get(context, ToolRuntime.ToolRuntime)] as const)
        )
    ),
    (entries) => new Map(entries)
  )

/** Tells of each phase of each call of a runtime, from the time at which this completes. */
const watch = (
  runtime: ToolRuntime.Service,
  instants: Instants,
  onEvent: Options["onEvent"]
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const watching = yield* Deferred.make<void>()
    const last = new Map<string, ToolRuntime.Phase>()
    yield* Stream.runForEachChunk(runtime.changes, (snapshots) =>
      Effect.gen(function* () {
        yield* Deferred.succeed(watching, undefined)
        const news = new Map<string, { phases: Array<ToolRuntime.Phase>; status: ToolRuntime.CallStatus }>()
        for (const status of [...snapshots].flat()) {
          const seen = news.get(status.callId) ?? { phases: [], status }
          news.set(status.callId, seen)
          seen.status = status
          if (last.get(status.callId) === status.phase) continue
          last.set(status.callId, status.phase)
          seen.phases.push(status.phase)
          yield* instants.saw(status.callId, status.phase)
        }
        const at = yield* Clock.currentTimeMillis
        for (const { phases, status } of news.values()) onEvent({ _tag: "Phases", phases, status, at })
      })
    ).pipe(Effect.forkScoped)
    yield* Deferred.await(watching)
  })

/**
 * Runs a plan and succeeds with what became of each of its calls, in the order of the plan.
 *
 * Completes when every call has its result and nothing of any call runs any more. When `stop` succeeds, the calls in
 * flight are cancelled and awaited, and those that have not begun end as `ABORTED_BEFORE_DISPATCH`.
 */
export const runPlan = (
  plan: Plan.Plan,
  { onEvent, stop, workspace }: Options
): Effect.Effect<ReadonlyArray<Outcome>, never, Cancellation | Capabilities> =>
  Effect.gen(function* () {
    const instants = new Instants(plan)
    const runtimes = yield* makeRuntimes(plan, instants, workspace)
    yield* Effect.forEach(runtimes.values(), (runtime) => watch(runtime, instants, onEvent))
    if (yield* Deferred.isDone(stop)) yield* instants.stop(yield* Deferred.await(stop))
    yield* Effect.forkScoped(Effect.flatMap(Deferred.await(stop), (cause) => instants.stop(cause)))

    const runCall = (step: number, call: Plan.Call): Effect.Effect<Outcome, never, Cancellation> =>
      Effect.gen(function* () {
        const runtime = runtimes.get(call.timeoutMillis) as ToolRuntime.Service
        const startedAt = yield* Clock.currentTimeMillis
        const start = runtime.start({ id: call.id, name: call.tool, parameters: call.parameters })
        const { value, cancelledAt } = yield* instants.cancelling(call, start, (running) =>
          Effect.zip(running.result, Clock.currentTimeMillis)
        )
        const [result, at] = value
        const quietMillis = cancelledAt === undefined ? undefined : at - cancelledAt
        const outcome = { step, result, millis: at - startedAt, quietMillis, stillAlive: StillAlive.ofCall(result) }
        yield* Effect.yieldNow() // lets those who watch the phases see the last ones first
        onEvent({ _tag: "Outcome", outcome, at: yield* Clock.currentTimeMillis })
        return outcome
      })

    const outcomes: Array<Outcome> = []
    for (const [step, { calls }] of plan.steps.entries()) {
      onEvent({ _tag: "Step", step, calls, at: yield* Clock.currentTimeMillis })
      outcomes.push(...(yield* Effect.forEach(calls, (call) => runCall(step, call), { concurrency: "unbounded" })))
    }
    return outcomes
  }).pipe(Effect.scoped)
