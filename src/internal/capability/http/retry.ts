/**
 * Tries again, by a schedule.
 *
 * Not `Effect.retry`: its sleep can be ended by an interruption only, and in a protected region not even by that. This
 * wait is the conversation's, which its time limit and the end of its owner reach too.
 */
import type * as Headers from "@effect/platform/Headers"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleIntervals from "effect/ScheduleIntervals"
import type { Conversation, Restore } from "./conversation.js"
import { errorOf, type Plan } from "./plan.js"
import type { Problem } from "./transport.js"

/**
 * How long a server asks to wait, by RFC 9110, section 10.2.3: a number of seconds, or a date.
 *
 * @internal
 */
export const retryAfter = (headers: Headers.Headers, now: number): number | undefined => {
  const value = headers["retry-after"]?.trim() ?? ""
  const millis = /^\d+$/.test(value) ? Number(value) * 1000 : / GMT$/.test(value) ? Date.parse(value) - now : Number.NaN
  return Number.isNaN(millis) ? undefined : Math.min(Math.max(0, Math.ceil(millis)), Number.MAX_SAFE_INTEGER)
}

/** @internal */
export const retrying = <A, R>(
  conversation: Conversation,
  { maxRetryAfterMillis, outgoing, retry, retryWhen, source }: Plan,
  restore: Restore,
  attempt: Effect.Effect<A, Problem, R>
): Effect.Effect<A, Problem, R> => {
  if (retry === undefined || source !== undefined) return attempt // a stream is sent once
  const loop = (state: unknown): Effect.Effect<A, Problem, R> =>
    Effect.catchAll(attempt, (problem) =>
      Effect.gen(function* () {
        const error = errorOf(outgoing.method, conversation.url, problem)
        if (!retryWhen(error)) return yield* Effect.fail(problem)
        const { retryAfterMillis = 0 } = problem
        // Sooner than the server asks would be refused again, and a wait into the timeout would hide what it has said.
        const most = Math.min(maxRetryAfterMillis, conversation.millisLeft)
        if (retryAfterMillis > 0 && retryAfterMillis > most) return yield* Effect.fail(problem)
        const now = yield* Clock.currentTimeMillis
        const [next, , decision] = yield* restore(retry.step(now, error, state))
        if (ScheduleDecision.isDone(decision)) return yield* Effect.fail(problem)
        yield* conversation.drop
        const backOff = ScheduleIntervals.start(decision.intervals) - now
        yield* conversation.wait(Math.max(retryAfterMillis, backOff), restore)
        return yield* loop(next)
      })
    )
  return loop(retry.initial)
}
