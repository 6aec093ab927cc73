/**
 * What a scenario tells the explorer that runs it: which faults may strike, what the outside world may answer, and what
 * is worth seeing in a timeline.
 *
 * The service is provided by `Explore`; a scenario that needs it can be run by nothing else.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { interruptWith, untilEnd, waitFor } from "../internal/testing/faults.js"

/**
 * What is known of something that happens.
 *
 * @since 0.1.0
 * @category models
 */
export interface Happening {
  /** Whether it does nothing but interrupt or resume fibers, and runs no code of the scenario: matters to a reduction. */
  readonly onlyTells?: boolean | undefined
}

/**
 * What the explorer offers to a scenario. Use the functions of this module.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /** The returned function withdraws it, for when it would come too late to do anything. */
  readonly addFault: (name: string, happen: () => void, options?: Happening) => () => void
  readonly addExternal: (
    name: string,
    outcomes: ReadonlyArray<string>,
    happen: (outcome: string) => void,
    options?: Happening
  ) => () => void
  readonly note: (text: string) => void
  readonly event: (tag: string) => void
  readonly outcome: (outcome: string) => void
  /** Names the fiber that is forked next. */
  readonly name: (label: string) => void
}

/**
 * Service that connects a scenario with the explorer that runs it.
 *
 * @since 0.1.0
 * @category services
 */
export class Sim extends Context.Tag("quiesce/testing/Sim")<Sim, Service>() {}

const withSim = <A>(f: (sim: Service) => A): Effect.Effect<A, never, Sim> => Effect.map(Sim, f)

/**
 * Allows the explorer to interrupt `fiber`, once, before any step of any fiber or while it waits, until it has ended.
 *
 * @since 0.1.0
 * @category testing
 */
export const interrupt = (fiber: Fiber.RuntimeFiber<any, any>, name = "interrupt"): Effect.Effect<void, never, Sim> =>
  withSim((sim) =>
    untilEnd(
      fiber,
      sim.addFault(name, () => interruptWith(fiber), { onlyTells: true })
    )
  )

/**
 * Allows the explorer to abort `controller`, once, at any step of any fiber.
 *
 * @since 0.1.0
 * @category testing
 */
export const abort = (controller: AbortController, reason?: unknown, name = "abort"): Effect.Effect<void, never, Sim> =>
  withSim((sim) => void sim.addFault(name, () => controller.abort(reason)))

/**
 * Allows the explorer to do something else that need not happen: cancel a call, close a scope, crash a server. `happen`
 * is synchronous; it may start fibers.
 *
 * @since 0.1.0
 * @category testing
 */
export const fault = (name: string, happen: () => void): Effect.Effect<void, never, Sim> =>
  withSim((sim) => void sim.addFault(name, happen))

// It could never happen, and would look like a deadlock of the program.
const withoutOutcome = (name: string): string => `"${name}" has no outcome: name at least one, such as { ok: ... }`

/**
 * Waits for something outside the program: it happens sooner or later, and with which outcome is the explorer's choice.
 *
 * An interruption withdraws it.
 *
 * @since 0.1.0
 * @category testing
 */
export const external = <A, E, R>(
  name: string,
  outcomes: { readonly [outcome: string]: Effect.Effect<A, E, R> }
): Effect.Effect<A, E, R | Sim> =>
  Effect.flatMap(Sim, (sim) =>
    Object.keys(outcomes).length === 0
      ? Effect.dieMessage(withoutOutcome(name))
      : Effect.flatten(
          waitFor<Effect.Effect<A, E, R>>((done) =>
            sim.addExternal(
              name,
              Object.keys(outcomes),
              (outcome) => done(outcomes[outcome] as Effect.Effect<A, E, R>),
              { onlyTells: true }
            )
          )
        )
  )

/**
 * A promise of the outside world, for code that uses promises: it settles sooner or later, with one of the outcomes.
 *
 * Code between two `await`s of settled promises runs in one step; a promise of this kind opens it for other fibers.
 *
 * @since 0.1.0
 * @category testing
 */
export const promise = <A>(
  name: string,
  outcomes: { readonly [outcome: string]: () => A }
): Effect.Effect<Promise<A>, never, Sim> =>
  Effect.flatMap(Sim, (sim) => {
    if (Object.keys(outcomes).length === 0) return Effect.dieMessage(withoutOutcome(name))
    const promise = new Promise<A>((resolve, reject) => {
      sim.addExternal(name, Object.keys(outcomes), (outcome) => {
        try {
          resolve((outcomes[outcome] as () => A)())
        } catch (error) {
          reject(error)
        }
      })
    })
    // In some orders nobody listens yet, or any more: that must not end the process.
    promise.catch(() => {})
    return Effect.succeed(promise)
  })

/**
 * Marks something for people who read a timeline.
 *
 * @since 0.1.0
 * @category testing
 */
export const note = (text: string): Effect.Effect<void, never, Sim> => withSim((sim) => sim.note(text))

/**
 * Marks something for invariants, such as `Invariant.exactlyOnce`.
 *
 * @since 0.1.0
 * @category testing
 */
export const event = (tag: string): Effect.Effect<void, never, Sim> => withSim((sim) => sim.event(tag))

/**
 * Says what a run came to, in a word. The report counts them, and `expect` demands that all possible ones were seen.
 *
 * @since 0.1.0
 * @category testing
 */
export const outcome = (outcome: string): Effect.Effect<void, never, Sim> =>
  withSim((sim) => {
    sim.outcome(outcome)
    sim.note(`outcome ${outcome}`)
  })

/**
 * Forks `self` under a name by which schedules and timelines call it.
 *
 * @since 0.1.0
 * @category testing
 */
export const fork =
  (name: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<Fiber.RuntimeFiber<A, E>, never, R | Sim> =>
    Effect.flatMap(Sim, (sim) => {
      sim.name(name)
      return Effect.fork(self)
    })
