/**
 * Subagents: agents that another agent, a tool or a program starts for one task.
 *
 * A child has one owner, from the step in which it is published. An attached one belongs to the owner that it was started
 * under, such as a call: it is cancelled with that, and gone before that has ended. A detached one belongs to the layer, and
 * goes on when whoever started it has ended.
 *
 * Here is what can be done with children. `AgentSubagent` makes them of agents; `ScriptedSubagent` in `quiesce/testing` is
 * the same without a model, for tests that decide what becomes of a child.
 *
 * Long because most of it is contracts: what each operation promises is said beside it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as CancelCause from "../CancelCause.js"
import * as Cancellation from "../Cancellation.js"
import type * as Content from "../Content.js"
import { quoted } from "../internal/quoted.js"

/**
 * Schema for how the last turn of a child ended.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Outcome = Schema.Literal("completed", "aborted", "error", "max-tokens", "refusal")

/**
 * How the last turn of a child ended.
 *
 * - `completed`: it has said what it had to say
 * - `aborted`: it was cancelled before that
 * - `error`: something failed, and `error` says what
 * - `max-tokens`: an answer ran into its limit
 * - `refusal`: the model, or its provider, declined
 *
 * @since 0.1.0
 * @category models
 */
export type Outcome = typeof Outcome.Type

/**
 * Schema for what a child came to. What it had said by then is kept, whatever the outcome is.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Result = Schema.Struct({
  outcome: Outcome,
  /** The last that it said in this turn. */
  output: Schema.String,
  error: Schema.optional(Schema.Struct({ code: Schema.String, message: Schema.String }))
})

/**
 * What a child came to.
 *
 * @since 0.1.0
 * @category models
 */
export type Result = typeof Result.Type

/**
 * Schema for who owns a child: the owner that it was started under, or the layer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Attachment = Schema.Literal("attached", "detached")

/**
 * Who owns a child.
 *
 * @since 0.1.0
 * @category models
 */
export type Attachment = typeof Attachment.Type

/**
 * Schema for where a child stands. One that is `idle` takes further messages, one that is `stopping` does not any more, and
 * of one that is `disposed` nothing is left but what is known of it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Status = Schema.Literal("running", "idle", "stopping", "disposed")

/**
 * Where a child stands.
 *
 * @since 0.1.0
 * @category models
 */
export type Status = typeof Status.Type

/**
 * Schema for what is known of a child at one moment. Times are milliseconds since 1970, on the clock of who started it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Snapshot = Schema.Struct({
  id: Schema.String,
  profile: Schema.String,
  attachment: Attachment,
  status: Status,
  startedAt: Schema.Number,
  endedAt: Schema.optional(Schema.Number),
  /** What its last turn came to, unless it is in one. */
  result: Schema.optional(Result),
  /** Why it was asked to stop for good, where it was. */
  cause: Schema.optional(CancelCause.CancelCause),
  /** What went wrong when it was disposed of. */
  disposal: Schema.optional(Schema.String),
  /** What of it could not be stopped or waited for, in words. */
  escaped: Schema.Array(Schema.String)
})

/**
 * What is known of a child at one moment.
 *
 * @since 0.1.0
 * @category models
 */
export type Snapshot = typeof Snapshot.Type

const reasons = {
  NotFound: "there is no subagent with this id. List them; those that ended long ago are forgotten",
  UnknownProfile: "there is no profile of this name",
  TooMany: "too many subagents are alive. Wait for one of them, or dispose of it",
  InvalidOptions: "its options cannot work",
  NotStarted: "it could not be started, and nothing of it is left",
  NotAccepted: "it could not take the message, and nothing has changed",
  Disposed: "it has been disposed of, so it takes nothing any more: start another one",
  OwnerEnded: "the owner that it would belong to has ended, so nothing was started",
  WaitsForItself: "this runs as a part of it, and would wait for itself",
  DisposalFailed: "nothing of it runs any more, but disposing of it failed"
} as const

/**
 * Schema for why an operation on subagents failed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal(
  "NotFound",
  "UnknownProfile",
  "TooMany",
  "InvalidOptions",
  "NotStarted",
  "NotAccepted",
  "Disposed",
  "OwnerEnded",
  "WaitsForItself",
  "DisposalFailed"
)

/**
 * An operation on subagents failed. What a child itself comes to is no failure of an operation: see `Result`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Subagent } from "quiesce/capability"
 *
 * const error = new Subagent.SubagentError({ subagent: "reviewer-7", reason: "NotFound" })
 * assert.strictEqual(error.code, "SUBAGENT_NOT_FOUND")
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class SubagentError extends Schema.TaggedError<SubagentError>("quiesce/capability/Subagent/SubagentError")(
  "SubagentError",
  {
    /** The id of the child, or the profile of one that was not started. */
    subagent: Schema.String,
    reason: Reason,
    detail: Schema.optional(Schema.String)
  }
) {
  /** The reason as the code of a failed call, such as `SUBAGENT_NOT_FOUND`. */
  get code(): string {
    return `SUBAGENT_${this.reason.replace(/(?<!^)(?=[A-Z])/g, "_").toUpperCase()}`
  }

  override get message(): string {
    return `Subagent ${quoted(this.subagent)}: ${this.detail ?? reasons[this.reason]}`
  }
}

const endings = new Map<Outcome, string>([
  ["completed", "has completed"],
  ["aborted", "was cancelled"],
  ["error", "failed"],
  ["max-tokens", "hit its token limit before it had finished"],
  ["refusal", "declined the task"]
])

/**
 * A child that was run for its output has none to give: it has not completed, or could not be disposed of cleanly. Says
 * both, where both are so.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Subagent } from "quiesce/capability"
 *
 * const error = new Subagent.RunFailed({ subagent: "reviewer-7", result: { outcome: "refusal", output: "I will not." } })
 * assert.strictEqual(error.code, "SUBAGENT_REFUSAL")
 * assert.strictEqual(error.message, `Subagent "reviewer-7" declined the task. What it had said: I will not.`)
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class RunFailed extends Schema.TaggedError<RunFailed>("quiesce/capability/Subagent/RunFailed")("RunFailed", {
  subagent: Schema.String,
  result: Result,
  /** Why it could not be disposed of cleanly. */
  disposal: Schema.optional(Schema.String)
}) {
  /** The outcome as the code of a failed call, such as `SUBAGENT_MAX_TOKENS`. */
  get code(): string {
    const { outcome } = this.result
    return outcome === "completed" ? "SUBAGENT_DISPOSAL_FAILED" : `SUBAGENT_${outcome.replace("-", "_").toUpperCase()}`
  }

  override get message(): string {
    const { error, outcome, output } = this.result
    return [
      `Subagent ${quoted(this.subagent)} ${endings.get(outcome)}${error === undefined ? "" : `: ${error.code}: ${error.message}`}`,
      ...(this.disposal === undefined ? [] : [`It could not be disposed of cleanly: ${this.disposal}`]),
      ...(output === "" ? [] : [`What it had said: ${output}`])
    ].join(". ")
  }
}

/**
 * What `start` needs to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface StartOptions {
  /** The name of what kind of agent it is to be, as the layer knows it. */
  readonly profile: string
  /** What it is to do: its first message. */
  readonly task: string | ReadonlyArray<Content.Content>
  /** Who owns it. Default: `attached`. */
  readonly attachment?: Attachment | undefined
  /** Whether it is disposed of, by itself, as soon as it rests. Default: `false`, it waits for further messages. */
  readonly disposeAtRest?: boolean | undefined
}

/**
 * What `wait` needs to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface WaitOptions {
  /** How long to wait at most. Default: until the child rests. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * What an implementation of `Subagent` provides.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /**
   * Starts a child, and succeeds with its id.
   *
   * Completes when the child is published. The commit point is that step: in it the child is listed, has taken its task and
   * belongs to its owner. A cancellation or an interruption that comes earlier takes back whatever there is of the child,
   * and waits for that; one that comes later stops an attached child with its owner, and no detached one. Before the commit
   * point no model is asked. Fails, and leaves nothing, for an unknown profile, an empty task, for too many children, and
   * when the owner has ended.
   */
  readonly start: (options: StartOptions) => Effect.Effect<string, SubagentError, Cancellation.Cancellation>
  /**
   * Says something to a child, in a turn of its own, and succeeds with the id of the message.
   *
   * The commit point is the step in which the child's inbox has taken it: a cancellation that comes earlier says nothing,
   * one that comes later takes nothing back. A message that was taken is read, or parked when the child is interrupted or
   * disposed of.
   */
  readonly send: (
    id: string,
    message: string | ReadonlyArray<Content.Content>
  ) => Effect.Effect<string, SubagentError, Cancellation.Cancellation>
  /**
   * Waits until a child rests, or `timeout` is over, and succeeds with what is known of it then: with a `result` where it
   * rests or has been disposed of, whatever that result is. For a child that is disposed of, or is to be as soon as it rests,
   * to rest means that nothing of it is left.
   *
   * An interruption ends the wait and leaves the child alone. Fails with `WaitsForItself` in a tool or a policy of that child.
   */
  readonly wait: (
    id: string,
    options?: WaitOptions
  ) => Effect.Effect<Snapshot, SubagentError, Cancellation.Cancellation>
  /**
   * Stops the turn of a child, and says whether one ran. Does not wait: `wait` tells when it rests. What waits in its inbox
   * stays there, parked until the next message. The first cause stays (L6). Default: `CancelCause.user()`.
   */
  readonly interrupt: (
    id: string,
    cause?: CancelCause.CancelCause
  ) => Effect.Effect<"requested" | "already-resting", SubagentError>
  /**
   * Stops a child for good, and completes when nothing of it is left. Again and again it is the same as once.
   *
   * An interruption ends the wait; the child is stopped all the same. Fails with `DisposalFailed` when what the child was
   * made with could not be given back. A tool or a policy of that child does not wait: it is what would be waited for.
   */
  readonly dispose: (id: string) => Effect.Effect<void, SubagentError, Cancellation.Cancellation>
  /** What is known of the children, in the order of their publication. Does not wait. */
  readonly list: Effect.Effect<ReadonlyArray<Snapshot>>
}

/**
 * Service that starts agents for others.
 *
 * @since 0.1.0
 * @category services
 */
export class Subagent extends Context.Tag("quiesce/capability/Subagent")<Subagent, Service>() {}

type Needs = Subagent | Cancellation.Cancellation

/**
 * Starts a child, and succeeds with its id (see `Service`).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Subagent } from "quiesce/capability"
 * import { ScriptedSubagent } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   // The owner that starts it ends here, and takes what is attached with it; this one goes on.
 *   const id = yield* Cancellation.own(
 *     Subagent.start({ profile: "reviewer", task: "Review the change.", attachment: "detached" })
 *   )
 *   const [child] = yield* Subagent.list
 *   assert.deepStrictEqual([child?.id, child?.status], [id, "running"])
 * })
 * await Effect.runPromise(Effect.provide(program, ScriptedSubagent.layer()))
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const start = (options: StartOptions): Effect.Effect<string, SubagentError, Needs> =>
  Effect.flatMap(Subagent, (subagent) => subagent.start(options))

/**
 * Says something to a child (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const send = (
  id: string,
  message: string | ReadonlyArray<Content.Content>
): Effect.Effect<string, SubagentError, Needs> => Effect.flatMap(Subagent, (subagent) => subagent.send(id, message))

/**
 * Waits until a child rests, or `timeout` is over (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const wait = (id: string, options?: WaitOptions): Effect.Effect<Snapshot, SubagentError, Needs> =>
  Effect.flatMap(Subagent, (subagent) => subagent.wait(id, options))

/**
 * Stops the turn of a child, and says whether one ran (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const interrupt = (
  id: string,
  cause?: CancelCause.CancelCause
): Effect.Effect<"requested" | "already-resting", SubagentError, Subagent> =>
  Effect.flatMap(Subagent, (subagent) => subagent.interrupt(id, cause))

/**
 * Stops a child for good (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const dispose = (id: string): Effect.Effect<void, SubagentError, Needs> =>
  Effect.flatMap(Subagent, (subagent) => subagent.dispose(id))

/**
 * What is known of the children, in the order of their publication (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const list: Effect.Effect<ReadonlyArray<Snapshot>, never, Subagent> = Effect.flatMap(
  Subagent,
  (subagent) => subagent.list
)

const nothing: Result = { outcome: "aborted", output: "" }

/**
 * Runs a child for what it has to say: starts it, waits until it rests, and always disposes of it.
 *
 * Completes when nothing of the child is left, with its output where it has completed. Fails with `RunFailed` for any other
 * outcome, and where disposing of it failed; that error says both. The child is attached to an owner of this effect's own: a
 * cancellation or an interruption stops it, and is answered when it is gone.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Subagent } from "quiesce/capability"
 * import { ScriptedSubagent } from "quiesce/testing"
 *
 * const layer = ScriptedSubagent.layer({ whenAsked: (task) => ({ outcome: "completed", output: `${task} Done.` }) })
 * const program = Subagent.run({ profile: "reviewer", task: "Review the change." })
 * const output = await Effect.runPromise(Effect.provide(Cancellation.own(program), layer))
 * assert.strictEqual(output, "Review the change. Done.")
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const run = (
  options: Pick<StartOptions, "profile" | "task">
): Effect.Effect<string, SubagentError | RunFailed, Needs> =>
  Effect.flatMap(Subagent, (subagent) =>
    Cancellation.own(
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const { profile, task } = options
          const id = yield* restore(subagent.start({ profile, task }))
          const waited = yield* Effect.exit(restore(subagent.wait(id)))
          const disposed = yield* Effect.exit(subagent.dispose(id))
          if (Exit.isSuccess(disposed)) {
            const { result = nothing } = yield* waited
            return result.outcome === "completed" ? result.output : yield* new RunFailed({ subagent: id, result })
          }
          const failure = Cause.failureOption(disposed.cause)
          if (Option.isNone(failure)) return yield* disposed as Exit.Exit<never, SubagentError>
          const result = Exit.isSuccess(waited) ? (waited.value.result ?? nothing) : nothing
          return yield* new RunFailed({ subagent: id, result, disposal: failure.value.detail })
        })
      )
    )
  ) as Effect.Effect<string, SubagentError | RunFailed, Needs>
