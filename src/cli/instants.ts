/**
 * When the calls of a plan are cancelled, which are denied or asked about, and how long they may take: the policies of a
 * plan.
 *
 * A call that is to be cancelled at a certain phase is cancelled by a policy that runs in that phase, so that the plan means
 * the same on a slow and on a fast machine. Two phases need another way: the body that has been called, which `saw` is
 * told of, and after a call, when nothing of it runs any more.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as CancelCause from "../CancelCause.js"
import * as Policy from "../Policy.js"
import type * as ToolRuntime from "../ToolRuntime.js"
import type * as Plan from "./plan.js"

/** How a call is cancelled: as a person would. */
type CancelCall = ToolRuntime.Service["cancelCall"]

/** What is told of the phases of calls. */
export interface Instants {
  readonly policies: ReadonlyArray<Policy.Any>
  /** Must be told of each phase that is seen from outside. */
  readonly saw: (callId: string, phase: Plan.CancelPhase) => Effect.Effect<void>
}

/** The instants of a plan, until the scope closes. `cancelCall` is not asked before the first call has begun. */
export const make = (plan: Plan.Plan, cancelCall: CancelCall): Effect.Effect<Instants, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => makeIn(scope, plan, cancelCall))

const makeIn = (scope: Scope.Scope, plan: Plan.Plan, cancelCall: CancelCall): Instants => {
  const byId = new Map(plan.steps.flatMap(({ calls }) => calls.map((call) => [call.id, call] as const)))
  const cancel = (callId: string): Effect.Effect<void> =>
    Effect.asVoid(cancelCall(callId, CancelCause.user("the plan says so")))
  const at = (callId: string, phase: Plan.CancelPhase): Effect.Effect<void> => {
    const instant = byId.get(callId)?.cancel
    return instant !== undefined && "phase" in instant && instant.phase === phase ? cancel(callId) : Effect.void
  }
  const decide = ({ ask, deny }: Partial<Plan.Call>): Policy.Decision => {
    if (deny !== undefined) return Policy.deny(deny)
    return ask === undefined ? Policy.allow : Policy.ask(ask)
  }
  return {
    saw: at,
    policies: [
      Policy.before("plan", ({ id }) =>
        Effect.gen(function* () {
          const call = byId.get(id)
          const instant = call?.cancel
          if (instant !== undefined && "afterMillis" in instant) {
            // No child of this stage, which ends before the call does. A cancel that comes too late changes nothing.
            yield* Effect.forkIn(Effect.delay(cancel(id), instant.afterMillis), scope)
          }
          yield* at(id, "before")
          return decide(call ?? {})
        })
      ),
      Policy.around("plan", ({ id }, next) => Effect.zipRight(at(id, "gated"), next)),
      Policy.after("plan", ({ id }) => Effect.as(at(id, "settled"), Policy.accept())),
      Policy.observe("plan", ({ id }) => at(id, "reviewed")),
      Policy.timeoutOf(({ id }) => byId.get(id)?.timeoutMillis)
    ]
  }
}
