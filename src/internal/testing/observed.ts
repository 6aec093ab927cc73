/**
 * Runs a scenario once, with the explorer as its `Sim`.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { Sim } from "../../testing/Sim.js"
import { Effect3Driver } from "./effect3.js"
import { Engine } from "./engine.js"
import type { EngineOptions, RunResult } from "./run.js"
import type { Schedule } from "./schedule.js"

/** @internal */
export type Scenario<A, E> = Effect.Effect<A, E, Sim | Scope.Scope>

/** @internal */
export interface Observed<A, E> extends RunResult<A, E> {
  readonly outcome: string | undefined
}

/**
 * Runs a scenario once, and once more where it is in doubt: native handles are only counted at first, and where one that is
 * older ends meanwhile, a run that waits for a new one looks like a deadlock.
 *
 * @internal
 */
export const runOnce = async <A, E>(
  scenario: Scenario<A, E>,
  schedule: Schedule,
  options: EngineOptions
): Promise<Observed<A, E>> => {
  const run = await observe(scenario, schedule, options)
  if (run.deadlock === undefined || run.outside.length > 0) return run
  const { outside } = await observe(scenario, run.applied, { ...options, ...alone, watchesHandles: true })
  return { ...run, outside }
}

// One schedule, and nothing noted for the search.
const alone = { points: false, pick: undefined, reduction: undefined } as const

const observe = async <A, E>(
  scenario: Scenario<A, E>,
  schedule: Schedule,
  options: EngineOptions
): Promise<Observed<A, E>> => {
  const engine = new Engine<Effect.Effect<A, E>, Exit.Exit<A, E>>(
    (listener, driverOptions) => new Effect3Driver(listener, driverOptions),
    schedule,
    options
  )
  let outcome: string | undefined
  const sim = Sim.of({
    addFault: (name, happen, options) => engine.addFault(name, happen, options?.onlyTells),
    addExternal: (name, outcomes, happen, options) => engine.addExternal(name, outcomes, happen, options?.onlyTells),
    note: (text) => engine.note(text),
    event: (tag) => engine.event(tag),
    outcome: (word) => {
      outcome = word
    },
    name: (label) => engine.nameNext(label)
  })
  const result = await engine.run(Effect.scoped(Effect.provideService(scenario, Sim, sim)))
  const value = result.exit !== undefined && Exit.isSuccess(result.exit) ? result.exit.value : undefined
  return { ...result, outcome: outcome ?? (typeof value === "string" ? value : undefined) }
}
