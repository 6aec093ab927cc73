/**
 * An agent at work, and everything that is worth showing of it. Knows nothing of a terminal.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Agent from "../Agent.js"
import type * as AgentEvent from "../AgentEvent.js"
import type { Approval } from "../capability/Approval.js"
import type { CodeRuntime } from "../capability/CodeRuntime.js"
import type { FileSystem } from "../capability/FileSystem.js"
import type { Http } from "../capability/Http.js"
import type { Model } from "../capability/Model.js"
import type { Process } from "../capability/Process.js"
import type { Task } from "../capability/Task.js"
import type { Workflow } from "../capability/Workflow.js"
import * as Policy from "../Policy.js"
import { Session } from "../Session.js"
import * as ToolRuntime from "../ToolRuntime.js"
import * as Instants from "./instants.js"
import type * as Plan from "./plan.js"
import { type Outcome, Recording } from "./recording.js"
import { makeToolkit } from "./tools.js"

/** What is worth showing while an agent works. */
export type Event =
  | { readonly _tag: "Logged"; readonly event: AgentEvent.AgentEvent; readonly at: number }
  /** The phases that a call has gone through since the last event; `status` is the newest. */
  | {
      readonly _tag: "Phases"
      readonly phases: ReadonlyArray<ToolRuntime.Phase>
      readonly status: ToolRuntime.CallStatus
      readonly at: number
    }
  | { readonly _tag: "Outcome"; readonly outcome: Outcome; readonly at: number }

/** How an agent works. */
export interface Options {
  readonly workspace: string
  /** What the model says, where a plan says it. */
  readonly plan: Plan.Plan | undefined
  readonly model: string
  readonly instructions: string
  /** Whether somebody is asked before a tool with this name runs. */
  readonly asks: (tool: string) => boolean
  readonly onEvent: (event: Event) => void
}

/** An agent at work. */
export interface Running {
  readonly agent: Agent.Handle
  readonly recording: Recording
  /** The calls that run. */
  readonly inFlight: ToolRuntime.Service["inFlight"]
  /** Ends the agent and its session, and completes when all that was to be shown has been shown. */
  readonly finish: Effect.Effect<void>
}

/** What an agent acts with. */
export type Needs =
  | Approval
  | CodeRuntime
  | FileSystem
  | Http
  | Model
  | Process
  | Session
  | Task
  | Workflow
  | Scope.Scope

const empty: Plan.Plan = { steps: [] }

/** Tells of each phase of each call of a runtime, from the time at which this completes. */
const watch = (
  runtime: ToolRuntime.Service,
  recording: Recording,
  instants: Instants.Instants,
  onEvent: Options["onEvent"]
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const watching = yield* Deferred.make<void>()
    yield* Stream.runForEachChunk(runtime.changes, (snapshots) =>
      Effect.gen(function* () {
        yield* Deferred.succeed(watching, undefined)
        const at = yield* Clock.currentTimeMillis
        const news = new Map<string, { phases: Array<ToolRuntime.Phase>; status: ToolRuntime.CallStatus }>()
        for (const status of [...snapshots].flat()) {
          const seen = news.get(status.callId) ?? { phases: [], status }
          seen.status = status
          if (recording.saw(status, at)) {
            seen.phases.push(status.phase)
            if (status.phase === "dispatching") yield* instants.saw(status.callId, "dispatching")
          }
          news.set(status.callId, seen)
        }
        for (const { phases, status } of news.values()) onEvent({ _tag: "Phases", phases, status, at })
      })
    ).pipe(Effect.forkScoped)
    yield* Deferred.await(watching)
  })

/** Starts an agent that is at rest. It ends with the scope. */
export const start = ({
  asks,
  instructions,
  model,
  onEvent,
  plan = empty,
  workspace
}: Options): Effect.Effect<Running, never, Needs> =>
  Effect.gen(function* () {
    let cancelCall: ToolRuntime.Service["cancelCall"] = () => Effect.succeed(false)
    const instants = yield* Instants.make(plan, (callId, cause) => cancelCall(callId, cause))
    const permission = Policy.before("permission", ({ tool }) =>
      Effect.succeed(asks(tool) ? Policy.ask() : Policy.allow)
    )
    const tools = yield* Layer.build(
      ToolRuntime.layer({ toolkit: makeToolkit({ cwd: workspace }), policies: [permission, ...instants.policies] })
    )
    const runtime = Context.get(tools, ToolRuntime.ToolRuntime)
    cancelCall = runtime.cancelCall
    const recording = new Recording()
    yield* watch(runtime, recording, instants, onEvent)

    const session = yield* Session
    // What was there before is not shown again.
    const showing = yield* session.follow(session.events().length + 1).pipe(
      Stream.runForEach((envelope) =>
        Effect.gen(function* () {
          yield* Effect.yieldNow() // lets those who watch the phases see the last ones first
          const outcome = recording.logged(envelope)
          if (outcome !== undefined) yield* instants.saw(outcome.result.callId, "after")
          const at = yield* Clock.currentTimeMillis
          if (outcome !== undefined) onEvent({ _tag: "Outcome", outcome, at })
          onEvent({ _tag: "Logged", event: envelope.event, at })
        })
      ),
      Effect.forkScoped
    )
    const agent = yield* Effect.provide(Agent.make({ id: "quiesce", model, instructions }), tools)
    const finish = Effect.zipRight(
      agent.dispose,
      Effect.zipRight(
        Effect.sync(() => session.close()),
        Effect.asVoid(Fiber.await(showing))
      )
    )
    return { agent, recording, inFlight: runtime.inFlight, finish }
  })
