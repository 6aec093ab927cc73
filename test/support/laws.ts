/**
 * Laws as explored scenarios: a call through the real runtime, cancelled in every way before every operation.
 *
 * `law` runs a scenario and leaves what it came to in the meta data of its test, from which `laws.mjs` writes
 * docs/laws.md. `EXPLORE_DEPTH=nightly` goes deeper: one more preemption, and every operation a place to depart at, up to
 * `EXPLORE_SCHEDULES` schedules of a scenario (200,000); it prints which scenarios it has exhausted.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema, Scope } from "effect"
import {
  CancelCause,
  Cancellation,
  Policy,
  Tool,
  type ToolCall,
  type ToolContext,
  Toolkit,
  type ToolResult,
  ToolRuntime
} from "quiesce"
import { Explore, Sim } from "quiesce/testing"
import { isNightly } from "./depth.js"

/** What a scenario came to, for docs/laws.md. Nothing in it depends on the machine. */
export interface Explored {
  readonly law: string
  readonly scenario: string
  readonly bounds: ReadonlyArray<string>
  readonly steps: number
  readonly schedules: number
  readonly outcomes: ReadonlyArray<string>
}

declare module "vitest" {
  interface TaskMeta {
    explored?: Explored
  }
}

export type Scenario = Effect.Effect<string, unknown, Sim.Sim | Scope.Scope>

/** How deep a scenario is explored. `expect` names every outcome that there is, and no other may come. */
export interface Depth extends Pick<Explore.Options<string, unknown>, "faults" | "preemptions" | "timers"> {
  readonly expect: ReadonlyArray<string>
  /** Outcomes that lie beyond the usual bound, and may come where a scenario is explored deeper. */
  readonly deeper?: ReadonlyArray<string>
  /**
   * `op`: a fault before every operation with a preemption before every operation. `effect` (the default), for scenarios
   * of which that would take minutes: a fault before every operation in the default order, and with a preemption only
   * where an operation has an effect that other fibers can see. `suspension`, for those of which that would take too long
   * as well: with another turn of the fibers only where they wait. With no preemption, a `cut` that is named holds for
   * faults, too: enough for those that change only what other fibers see.
   */
  readonly cut?: Explore.Granularity
}

const atMost = isNightly() ? Number(process.env["EXPLORE_SCHEDULES"] ?? 200_000) : 5_000_000

const searches = ({
  cut,
  faults = 1,
  preemptions = 1,
  timers
}: Depth): ReadonlyArray<Explore.Options<string, unknown>> => {
  const common = { faults, timers, maxSchedules: atMost }
  if (isNightly()) return [{ ...common, preemptions: preemptions + (cut === "op" ? 1 : 0), granularity: "op" }]
  const all = { ...common, preemptions, granularity: cut ?? "effect" } as const
  const isWhole = cut === "op" || faults === 0 || (cut !== undefined && preemptions === 0)
  return isWhole ? [all] : [{ ...common, preemptions: 0, granularity: "op" }, all]
}

/** A test that a scenario upholds a law on every schedule within its bounds, and that each expected outcome was seen. */
export const law = (law: string, scenario: string, program: Scenario, depth: Depth): void => {
  it.live(
    `${law}: ${scenario}`,
    ({ task }) =>
      Effect.gen(function* () {
        const before = process.cpuUsage()
        const reports = yield* Effect.forEach(searches(depth), (options) => Explore.check(program, options))
        const seen = new Set<string>()
        for (const report of reports) for (const outcome of report.outcomes.keys()) seen.add(outcome)
        const schedules = reports.reduce((sum, report) => sum + report.schedules, 0)
        if (process.env["EXPLORE_PRINT"] !== undefined) {
          const { system, user } = process.cpuUsage(before)
          const outcomes = JSON.stringify([...(reports.at(-1)?.outcomes ?? [])])
          console.log(
            `${law}: ${schedules} schedules, ${reports[0]?.steps} steps, ${((system + user) / 1e6).toFixed(1)} s, ${outcomes}`
          )
        }
        if (schedules === reports.length) return // a replay
        const isComplete = reports.every(({ complete }) => complete)
        if (isNightly()) {
          const extent = isComplete ? "all" : "not all"
          console.log(`${law}: ${scenario}: ${schedules} schedules, ${extent} of ${reports[0]?.bound}`)
        } else assert.isTrue(isComplete, `not exhausted: ${reports.map(({ bound }) => bound).join(", ")}`)
        // How far a search came says nothing of what it did not see.
        if (isComplete) assert.includeMembers([...seen], [...depth.expect], "the outcomes that there are")
        const possible = [...depth.expect, ...(isNightly() ? (depth.deeper ?? []) : [])]
        assert.includeMembers(possible, [...seen], "the outcomes that there are, and no other")
        if (isNightly()) return
        const bounds = reports.map(({ bound }) => bound)
        task.meta.explored = {
          law,
          scenario,
          bounds,
          steps: reports[0]?.steps ?? 0,
          schedules,
          outcomes: [...seen].sort()
        }
      }),
    isNightly() ? 3_600_000 : 180_000
  )
}

/** Checks what many thousands of runs check: an assertion of chai costs some ten times as much where it holds. */
const holds = (condition: boolean, otherwise: string): void => {
  if (!condition) assert.fail(otherwise)
}

// Made once: what compiling and describing a schema comes to is no state of a run.
const noParameters = Schema.Struct({})

/** What one run has seen of a call, from outside the runtime. */
export class Witness {
  /** How often a handler was called. */
  handlers = 0
  readonly observed: Array<ToolResult.ToolResult> = []
  /** What of the call is alive. */
  readonly alive = new Set<string>()
  readonly aliveAtPublication: Array<string> = []
  /** What the scenario saw, noted in the very step in which it became true. */
  readonly facts: Array<string> = []

  note(fact: string): Effect.Effect<void> {
    return Effect.sync(() => void this.facts.push(fact))
  }

  saw(fact: string): boolean {
    return this.facts.includes(fact)
  }

  /** Runs a part of the call, and sees when it is alive: its release takes a few steps, as real ones do. */
  during<A, E, R>(part: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => void this.alive.add(part)),
      () => effect,
      () =>
        Effect.zipRight(
          Effect.yieldNow(),
          Effect.sync(() => void this.alive.delete(part))
        )
    )
  }

  /** The tool of a scenario: a body whose calls are counted. */
  tool<A extends string, E, R extends InBody>(
    body: Effect.Effect<A, E, R>,
    options: { readonly timeout?: number } = {}
  ): Tool.Any {
    return Tool.make("tool", {
      description: "The tool of a scenario",
      parameters: noParameters,
      success: Schema.String,
      failure: Schema.Unknown,
      ...options,
      handler: () => {
        this.handlers++
        return body as Effect.Effect<string, unknown, R>
      }
    }) as Tool.Any
  }

  /** The observer of a scenario. */
  readonly observer = Policy.observe("witness", (_call, result) =>
    Effect.sync(() => {
      this.observed.push(result)
      this.aliveAtPublication.push(...this.alive)
    })
  )
}

type InBody = Cancellation.Cancellation | ToolContext.ToolContext | ToolRuntime.ToolRuntime | Sim.Sim

/** A runtime that is built inside the scenario. It holds nothing, so it is released only where that is a fault. */
export interface World {
  readonly runtime: ToolRuntime.Service
  readonly release: Effect.Effect<void>
}

/** A runtime with the tools and policies of a scenario, and the witness as its last observer. */
export const world = (
  witness: Witness,
  tools: ReadonlyArray<Tool.Any>,
  policies: ReadonlyArray<Policy.Any> = []
): Effect.Effect<World, never, Sim.Sim> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    // Not by its layer: building that takes a hundred steps in which there is nothing to decide.
    const made = ToolRuntime.make({ toolkit: Toolkit.make(...tools), policies: [...policies, witness.observer] })
    const runtime = yield* Scope.extend(made as Effect.Effect<ToolRuntime.Service, never, Sim.Sim | Scope.Scope>, scope)
    return { runtime, release: Scope.close(scope, Exit.void) }
  })

/** How a call is cancelled. Each is a fault: it may strike once, before any operation of any fiber. */
export type Kind = "interrupt" | "signal" | "cancelCall" | "release"

export const user = CancelCause.user("enough")
export const reason = new Error("the host stops")

const causeOf: { readonly [K in Kind]: CancelCause.Encoded["_tag"] } = {
  interrupt: "Interrupted",
  signal: "HostSignal",
  cancelCall: "User",
  release: "Disposed"
}

/** A call that a scenario makes. */
export const call: ToolCall.ToolCall = { id: "c1", name: "tool", parameters: {} }

/** A call under way on a fiber of its own, under a signal of the host. */
export interface Running {
  readonly fiber: Fiber.RuntimeFiber<ToolResult.ToolResult>
  readonly signal: AbortSignal
  /** How it was cancelled, if it was. */
  readonly struck: () => Kind | undefined
}

/** Executes a call on a fiber named `call`, and allows the explorer to cancel it. */
export const executing = (
  { release, runtime }: World,
  kinds: ReadonlyArray<Kind>,
  execute: Effect.Effect<ToolResult.ToolResult, never, Cancellation.Cancellation> = runtime.execute(call)
): Effect.Effect<Running, never, Sim.Sim> =>
  Effect.gen(function* () {
    const sim = yield* Sim.Sim
    const controller = new AbortController()
    const { signal } = controller
    let struck: Kind | undefined
    const fiber = yield* Sim.fork("call")(Cancellation.ownSignal(execute, signal))
    const happen: { readonly [K in Kind]: () => void } = {
      interrupt: () => fiber.unsafeInterruptAsFork(fiber.id()),
      signal: () => controller.abort(reason),
      cancelCall: () => void Effect.runSync(runtime.cancelCall(call.id, user)),
      release: () => void Effect.runFork(release)
    }
    // In one step, so that nothing is decided before the call begins.
    for (const kind of kinds) {
      const withdraw = sim.addFault(kind, () => {
        struck = kind
        happen[kind]()
      })
      if (kind === "interrupt") fiber.addObserver(withdraw)
    }
    return { fiber, signal, struck: () => struck }
  })

/** The code of a result, `OK` for a success. */
export const codeOf = (result: ToolResult.ToolResult): string => (result._tag === "Success" ? "OK" : result.code)

const isDeepFrozen = (u: unknown): boolean =>
  typeof u !== "object" || u === null || (Object.isFrozen(u) && Object.values(u).every(isDeepFrozen))

/** What holds of every published result (L1, L2, L3), whatever the scenario is about. */
export const checkPublished = (witness: Witness): ToolResult.ToolResult | undefined => {
  holds(witness.observed.length <= 1, "L1: observed more than once")
  const { alive, aliveAtPublication } = witness
  holds(aliveAtPublication.length === 0, `L3: alive when the result was published: ${aliveAtPublication.join(", ")}`)
  holds(alive.size === 0, `L3: alive after the call: ${[...alive].join(", ")}`)
  const result = witness.observed[0]
  if (result === undefined) {
    holds(witness.handlers === 0, "L1: a handler was called, and there is no result")
    return undefined
  }
  holds(isDeepFrozen(result), "L1: not frozen all the way down")
  holds(result.dispatched === witness.handlers > 0, "L2: dispatched is whether a handler was called")
  const code = codeOf(result)
  if (code === "ABORTED_BEFORE_DISPATCH") holds(witness.handlers === 0, "L2: not before its dispatch")
  if (code === "ABORTED") holds(witness.handlers > 0, "L2: there was no dispatch")
  return result
}

/**
 * Waits for the call, and checks what holds of every one: one result, truthful, published when quiet, and the two roads.
 * Gives its code, or `not accepted` when it was cancelled before it began.
 */
export const ended = ({ fiber, struck }: Running, witness: Witness): Effect.Effect<string> =>
  Effect.map(Fiber.await(fiber), (exit) => {
    const result = checkPublished(witness)
    const kind = struck()
    if (result === undefined) {
      holds(Exit.isInterrupted(exit), "L1: it ended without a result")
      holds(kind === "interrupt" || kind === "signal", "L1: accepted calls have a result")
      return "not accepted"
    }
    if (Exit.isSuccess(exit)) holds(exit.value === result, "L1: the caller got another object")
    else holds(Exit.isInterrupted(exit) && kind === "interrupt", "two roads: only an interrupted caller gets none")
    const code = codeOf(result)
    if (code.startsWith("ABORTED")) {
      holds(kind !== undefined, "aborted, and nobody had cancelled")
      if (kind === "interrupt") holds(Exit.isInterrupted(exit), "two roads: the interrupt does not count")
    }
    if (result._tag === "Failure" && result.cause !== undefined && kind !== undefined) {
      holds(result.cause._tag === causeOf[kind], `L6: the cause is another: ${result.cause._tag}`)
    }
    return code
  })
