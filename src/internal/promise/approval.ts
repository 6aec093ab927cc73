/**
 * A function that asks a person, as the capability that the runtime asks.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Schema from "effect/Schema"
import * as Abort from "../../Abort.js"
import * as Approval from "../../capability/Approval.js"
import { report } from "../report.js"

const isAnswer = Schema.is(Approval.Answer)

interface Question extends Omit<Approval.Request, "parameters" | "reason" | "agent"> {
  readonly arguments: unknown
  readonly reason: string | undefined
  readonly agent: string | undefined
  readonly signal: AbortSignal
}

/**
 * Asks with `approve`. Where that fails there was nobody to ask.
 *
 * @internal
 */
export const approvalOf = (approve: (question: Question) => unknown): Approval.Service => ({
  request: ({ agent, callId, parameters, reason, tool }) => {
    const ask = async ({ signal }: Abort.Body): Promise<Approval.Answer> => {
      try {
        const answer = await approve(Object.freeze({ callId, tool, arguments: parameters, reason, agent, signal }))
        return isAnswer(answer) ? answer : "unavailable"
      } catch (error) {
        // After an abort it is the withdrawal of the question.
        if (!signal.aborted) report(`Asking for approval of call "${callId}" failed`, Cause.fail(error)) // L10
        return "unavailable"
      }
    }
    return Effect.orDie(Abort.fromPromise({ try: ask, catch: identity }))
  }
})
