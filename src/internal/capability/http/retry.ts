/**
 * Tries again, by a schedule.
 *
 * Not `Effect.retry`: its sleep can be ended by an interruption only, and in a protected region not even by that. This
 * wait is the conversation's, which its time limit and the end of its owner reach too.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleIntervals from "effect/ScheduleIntervals"
import type { Conversation, Restore } from "./conversation.js"
import { errorOf, type Plan } from "./plan.js"
import type { Problem } from "./transport.js"

/** @internal */
export const retrying = <A, R>(
  conversation: Conversation,
  { outgoing, retry, retryWhen, source }: Plan,
  restore: Restore,
  attempt: Effect.Effect<A, Problem, R>
): Effect.Effect<A, Problem, R> => {
  if (retry === undefined || source !== undefined) return attempt // a stream is sent once
  const loop = (state: unknown): Effect.Effect<A, Problem, R> =>
    Effect.catchAll(attempt, (problem) =>
      Effect.gen(function* () {
        const error = errorOf(outgoing.method, conversation.url, problem)
        if (!retryWhen(error)) return yield* Effect.fail(problem)
        const now = yield* Clock.currentTimeMillis
        const [next, , decision] = yield* restore(retry.step(now, error, state))
        if (ScheduleDecision.isDone(decision)) return yield* Effect.fail(problem)
        yield* conversation.drop
        yield* conversation.wait(Math.max(0, ScheduleIntervals.start(decision.intervals) - now), restore)
        return yield* loop(next)
      })
    )
  return loop(retry.initial)
}
