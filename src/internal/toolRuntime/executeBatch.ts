/**
 * A batch as an effect: it belongs to the owner in context, and answers like a call does (L8).
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import { identity } from "effect/Function"
import * as RuntimeFlags from "effect/RuntimeFlags"
import { type Cancellation, endedMessage, ownerIn } from "../../Cancellation.js"
import type * as ToolCall from "../../ToolCall.js"
import { ToolContext } from "../../ToolContext.js"
import { interruptionCause } from "../cancellation/runOwned.js"
import { waitOrStop } from "../settlement.js"
import { type Origin, originOf, startProtectedFiber } from "../startFiber.js"
import { Attempt } from "./attemptState.js"
import { Batch, type BatchOptions, type Host, type Outcome } from "./batch.js"
import { CallState } from "./callState.js"
import { drive } from "./driver.js"
import { modeOf } from "./mode.js"
import type { NestedJournal } from "./nestedJournal.js"
import type { RuntimeState } from "./runtimeState.js"

/**
 * A call of which everything is read once, as for a single call: the mode asks for the parameters before the call does. What
 * names it is read now, where a getter of the host that throws has nothing to hold up.
 */
const readOnce = (call: ToolCall.ToolCall): ToolCall.ToolCall => {
  const { agent, id, name, rootId } = call
  let read: (() => unknown) | undefined
  return {
    agent,
    id,
    name,
    rootId,
    get parameters(): unknown {
      if (read === undefined) {
        try {
          const { parameters } = call
          read = () => parameters
        } catch (error) {
          read = () => {
            throw error
          }
        }
      }
      return read()
    }
  }
}

const hostOf = (
  runtime: RuntimeState<CallState>,
  maker: Attempt | undefined,
  below: NestedJournal | undefined,
  origin: Origin
): Host => ({
  modeOf: (call) => modeOf(runtime.registry, call),
  start: (call, owner, lane, ended) => {
    const state = new CallState(runtime, call, owner, maker, origin)
    state.lane = lane
    state.below = below ?? state.below
    runtime.accepted(state)
    startProtectedFiber(Effect.map(drive(state, call, identity), ended), Context.empty(), origin)
  }
})

/** @internal */
export const executeBatch = (
  runtime: RuntimeState<CallState>,
  calls: ReadonlyArray<ToolCall.ToolCall>,
  options: BatchOptions,
  below?: NestedJournal
): Effect.Effect<Outcome, never, Cancellation> =>
  Effect.withFiberRuntime((fiber, status) =>
    Effect.uninterruptibleMask((restore) => {
      const caller = ownerIn(fiber.currentContext)
      if (caller.hasEnded) return Effect.dieMessage(endedMessage("A batch of calls")) // L14
      const context = fiber.currentContext.unsafeMap.get(ToolContext.key)
      const maker = context instanceof Attempt ? context : undefined
      const body = maker?.owner
      const host = hostOf(runtime, maker, below, originOf(fiber, status))
      const batch = new Batch(calls.map(readOnce), caller, host, options)
      const cancel = (interruption: Cause.Cause<never>) => batch.cancel(interruptionCause(interruption))
      const interruption = fiber.getFiberRef(FiberRef.interruptedCause)
      if (RuntimeFlags.interruptible(status.runtimeFlags) && interruption._tag !== "Empty") cancel(interruption) // L10
      // As a whole it is a call to whoever waits for calls: between two of its calls, none may be in flight.
      caller.callStarted(body)
      batch.ended.whenSettled(() => caller.callEnded(body))
      batch.run()
      return waitOrStop(batch.ended, restore, cancel)
    })
  )
