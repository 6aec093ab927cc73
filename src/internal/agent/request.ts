/**
 * Asks the model for one step: the stream, the retries, and what is kept of an answer that was cut short.
 *
 * Invariants
 *
 * R1. Each chunk is logged in the step in which it comes, and none after the cancel.
 * R2. An answer is committed as one message, before anything of it is acted on. A cancelled one is what was said so far,
 *     without its calls; an attempt that failed leaves no message (reference b.7).
 * R3. The provider's stream has ended, finalisers included, before this completes (L3).
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import type * as Cancellation from "../../Cancellation.js"
import * as Model from "../../capability/Model.js"
import type { CallIds } from "./callIds.js"
import { describeFailure, type Turn } from "./turnState.js"

/**
 * What a model was asked for came to.
 *
 * @internal
 */
export type Answer =
  | { readonly _tag: "Answered"; readonly blocks: ReadonlyArray<Model.Block>; readonly finish: Model.FinishReason }
  | { readonly _tag: "Cancelled" }
  | { readonly _tag: "Failed"; readonly code: string; readonly message: string }

/**
 * What to do about a request that failed.
 *
 * @internal
 */
export type Retry = { readonly _tag: "Retry"; readonly afterMillis: number } | { readonly _tag: "Fail" }

/** @internal */
export interface Asking {
  readonly callIds: CallIds
  readonly model: Model.Service
  readonly request: Model.Request
  readonly onFailure: (
    problem: Model.Problem,
    attempt: number
  ) => Effect.Effect<Retry, unknown, Cancellation.Cancellation>
}

interface Attempt {
  readonly draft: Model.Draft
  readonly seqs: ReadonlyArray<number>
}

/** Reads one stream to its end, and logs it. */
const read = (
  turn: Turn,
  step: number,
  attempt: number,
  asking: Asking
): Effect.Effect<Exit.Exit<Attempt, unknown>> => {
  let draft = Model.emptyDraft
  const seqs: Array<number> = []
  const take = (chunk: Model.Chunk): void => {
    const { seq } = turn.append({ _tag: "ModelChunk", turn: turn.number, step, attempt, chunk }) // R1
    seqs.push(seq)
    draft = Model.append(draft, chunk)
  }
  const reading = Stream.runForEach(
    Stream.suspend(() => asking.model.stream(asking.request)),
    (chunk) =>
      Effect.sync(() => {
        if (turn.cause === undefined) take(chunk) // R1: in one step
      })
  )
  return Effect.map(
    turn.run(reading),
    (exit): Exit.Exit<Attempt, unknown> =>
      // A cancelled stream ends as interrupted: what it said until then stands.
      Exit.isFailure(exit) && turn.cause === undefined ? Exit.failCause(exit.cause) : Exit.succeed({ draft, seqs })
  )
}

const commit = (
  turn: Turn,
  step: number,
  { draft, seqs }: Attempt,
  { callIds }: Asking,
  interrupted: boolean
): ReadonlyArray<Model.Block> => {
  const kept = Model.prefix(draft).flatMap((block) => (block.type === "image" ? [] : [block]))
  const blocks = interrupted ? kept : callIds.told(draft.blocks.map(({ block }) => block))
  if (interrupted && blocks.length === 0) return blocks // R2: nothing was said
  turn.append({
    _tag: "AssistantMessage",
    turn: turn.number,
    step,
    blocks,
    interrupted,
    ...(draft.usage === undefined ? {} : { usage: draft.usage }),
    ...(draft.finish === undefined || interrupted ? {} : { finish: draft.finish.reason }),
    chunkSeqs: seqs
  })
  return blocks
}

const problemOf = (finish: Model.Finish | undefined): Model.Problem | undefined => {
  if (finish?.reason === "aborted") {
    return {
      code: "ABORTED",
      message: "the provider says that the request was cancelled, and nobody has",
      isRetryable: false
    }
  }
  return finish?.reason === "error" || finish === undefined
    ? (finish?.error ?? { code: "INVALID_RESPONSE", message: "the answer has no end", isRetryable: false })
    : undefined
}

/**
 * Asks until there is an answer, or nobody wants to try again.
 *
 * @internal
 */
export const ask = (turn: Turn, step: number, asking: Asking, attempt = 1): Effect.Effect<Answer> =>
  Effect.gen(function* () {
    if (turn.cause !== undefined) return { _tag: "Cancelled" }
    turn.append({ _tag: "ModelRequested", turn: turn.number, step, attempt, model: asking.request.model })
    const exit = yield* read(turn, step, attempt, asking)
    if (Exit.isFailure(exit)) return failed(exit)
    const { draft } = exit.value
    if (turn.cause !== undefined) {
      const hasFailed = draft.finish?.reason === "error" || draft.finish?.reason === "aborted"
      if (!hasFailed) commit(turn, step, exit.value, asking, true)
      return { _tag: "Cancelled" }
    }
    const problem = problemOf(draft.finish)
    if (problem === undefined) {
      const blocks = commit(turn, step, exit.value, asking, false)
      return { _tag: "Answered", blocks, finish: draft.finish?.reason ?? "stop" }
    }
    const decision = yield* turn.run(asking.onFailure(problem, attempt))
    const isRetried = turn.cause === undefined && Exit.isSuccess(decision) && decision.value._tag === "Retry"
    const { code, message } = problem
    turn.append({ _tag: "RequestFailed", turn: turn.number, step, attempt, code, message, retried: isRetried })
    if (turn.cause !== undefined) return { _tag: "Cancelled" }
    if (Exit.isFailure(decision)) return failed(decision)
    if (decision.value._tag === "Fail") return { _tag: "Failed", code, message }
    yield* turn.run(Effect.sleep(decision.value.afterMillis)) // a cancel ends it
    return yield* ask(turn, step, asking, attempt + 1)
  })

const failed = (exit: Exit.Failure<unknown, unknown>): Answer => ({ _tag: "Failed", ...describeFailure(exit.cause) })
