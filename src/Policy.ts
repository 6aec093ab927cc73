/**
 * Rules that surround every call: they decide whether it runs, how, and what is shown of it.
 *
 * A policy is a value; building one runs nothing. `ToolRuntime` runs policies in the order in which they are listed:
 * the first `around` is the outermost, and its place is its meaning (a timeout outside a retry bounds all attempts,
 * inside it each one).
 *
 * How a policy meets a cancellation is part of it. `before` and `around` are interrupted when the call is cancelled, and
 * their finalizers awaited; with `onCancel: "finish"` they run on, are awaited, and their decision or failure counts.
 * `guard` is synchronous. `after` and `observe` always run to their end, under an owner that the call's cancellation
 * does not touch.
 *
 * Long because every kind of policy carries its contract and an example that is run.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { hasProperty } from "effect/Predicate"
import type * as Schedule from "effect/Schedule"
import type { Cancellation } from "./Cancellation.js"
import type * as Content from "./Content.js"
import type * as ToolResult from "./ToolResult.js"

const TypeId = "~quiesce/Policy"

/**
 * A call as a policy sees it, frozen.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly id: string
  /** The outermost call that this one is a part of: its own id, for a call of the model. */
  readonly rootId: string
  /** The call whose body made this one, where a body did. */
  readonly parentId: string | undefined
  readonly tool: string
  /** What the model sent: a detached, deep-frozen copy. Absent when it was not JSON. */
  readonly parameters: ToolResult.Json | undefined
  readonly agent: string | undefined
}

/**
 * What happens to a policy when the call it works on is cancelled.
 *
 * @since 0.1.0
 * @category models
 */
export type OnCancel = "interrupt" | "finish"

/**
 * What a `before` policy says of a call.
 *
 * @since 0.1.0
 * @category models
 */
export type Decision =
  | { readonly _tag: "Allow" }
  | { readonly _tag: "Deny"; readonly reason: string }
  | { readonly _tag: "Ask"; readonly reason: string | undefined }

/**
 * What an `after` policy says of a result.
 *
 * @since 0.1.0
 * @category models
 */
export type Review =
  | {
      readonly _tag: "Accept"
      readonly content: ReadonlyArray<Content.Content> | undefined
      readonly value: ToolResult.Json | undefined
      readonly contexts: ReadonlyArray<Content.Content>
    }
  | {
      readonly _tag: "Block"
      readonly content: ReadonlyArray<Content.Content>
      readonly contexts: ReadonlyArray<Content.Content>
    }

interface Named {
  readonly [TypeId]: typeof TypeId
  /** Says in messages and logs which policy it was. */
  readonly name: string
}

/**
 * Decides whether a call may run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Before<out R = never> extends Named {
  readonly _tag: "Before"
  readonly onCancel: OnCancel
  readonly decide: (call: Call) => Effect.Effect<Decision, unknown, R>
}

/**
 * Has a last, synchronous veto before a call runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface Guard extends Named {
  readonly _tag: "Guard"
  readonly check: (call: Call) => string | undefined
}

/**
 * Wraps the running of the body.
 *
 * @since 0.1.0
 * @category models
 */
export interface Around<out R = never> extends Named {
  readonly _tag: "Around"
  readonly onCancel: OnCancel
  readonly wrap: (call: Call, next: Next) => Effect.Effect<ToolResult.ToolResult, unknown, R>
}

/**
 * What an `around` policy wraps: the rest of the policies and the body.
 *
 * It may be run never, once, again, or concurrently. It does not fail: a failed body is a `Failure` with the message and
 * code that it would have for the model. An interruption stops the body and waits for it. It runs under the owner in
 * context, so a wrapper can give it a deadline with `Cancellation.withDeadline`, or one more signal with
 * `Cancellation.ownSignal`: when such an owner is cancelled, and the wrapper gives no other answer, the call ends as
 * cancelled by that cause. What still runs of it when the wrapper has returned is stopped and awaited.
 *
 * @since 0.1.0
 * @category models
 */
export type Next = Effect.Effect<ToolResult.ToolResult, never, Cancellation>

/**
 * Reviews a result before it is published.
 *
 * @since 0.1.0
 * @category models
 */
export interface After<out R = never> extends Named {
  readonly _tag: "After"
  readonly review: (call: Call, result: ToolResult.ToolResult) => Effect.Effect<Review, unknown, R>
}

/**
 * Is told of each result.
 *
 * @since 0.1.0
 * @category models
 */
export interface Observe<out R = never> extends Named {
  readonly _tag: "Observe"
  readonly tell: (call: Call, result: ToolResult.ToolResult) => Effect.Effect<void, unknown, R>
}

/**
 * Holds calls to the time that their tools declare, or that it has for them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Timeout extends Named {
  readonly _tag: "Timeout"
  readonly durationOf?: ((call: Call) => Duration.DurationInput | undefined) | undefined
}

/**
 * A rule that surrounds calls, of any kind.
 *
 * @since 0.1.0
 * @category models
 */
export type Policy<R = never> = Before<R> | Guard | Around<R> | After<R> | Observe<R> | Timeout

/**
 * Any policy, whatever it needs.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Any = Policy<any>

/**
 * What a policy needs.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Requirements<P extends Any> = P extends
  | Before<infer R>
  | Around<infer R>
  | After<infer R>
  | Observe<infer R>
  ? R
  : never

/**
 * Checks whether a value is a policy.
 *
 * @since 0.1.0
 * @category guards
 */
export const isPolicy = (u: unknown): u is Any => hasProperty(u, TypeId)

/**
 * The decision that a call may run.
 *
 * @since 0.1.0
 * @category constructors
 */
export const allow: Decision = Object.freeze({ _tag: "Allow" })

/**
 * The decision that a call may not run. No other `before` policy and no guard is asked, and the model is told `reason`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Policy } from "quiesce"
 *
 * assert.deepStrictEqual(Policy.deny("read only"), { _tag: "Deny", reason: "read only" })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const deny = (reason: string): Decision => Object.freeze({ _tag: "Deny", reason })

/**
 * The decision that somebody has to be asked, through `Approval`, once all `before` policies have decided.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Policy } from "quiesce"
 *
 * assert.deepStrictEqual(Policy.ask("writes a file"), { _tag: "Ask", reason: "writes a file" })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const ask = (reason?: string): Decision => Object.freeze({ _tag: "Ask", reason })

/**
 * The review that a result may be published, with other content, or (a success only) another value, or more contexts.
 *
 * Content and value cannot both be replaced: content is rendered from a new value.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Content, Policy } from "quiesce"
 *
 * assert.strictEqual(Policy.accept()._tag, "Accept")
 * assert.strictEqual(Policy.accept({ content: [Content.text("shortened")] })._tag, "Accept")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const accept = (options?: {
  readonly content?: ReadonlyArray<Content.Content> | undefined
  readonly value?: ToolResult.Json | undefined
  readonly contexts?: ReadonlyArray<Content.Content> | undefined
}): Review => ({
  _tag: "Accept",
  content: options?.content,
  value: options?.value,
  contexts: options?.contexts ?? []
})

/**
 * The review that a result is withheld: the model gets `content` instead, verbatim, and of the contexts only these.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Content, Policy } from "quiesce"
 *
 * assert.strictEqual(Policy.block([Content.text("contains a password")])._tag, "Block")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const block = (
  content: ReadonlyArray<Content.Content>,
  options?: { readonly contexts?: ReadonlyArray<Content.Content> | undefined }
): Review => ({ _tag: "Block", content, contexts: options?.contexts ?? [] })

/**
 * Decides, before a call runs, whether it may.
 *
 * Policies are asked in order; the first denial ends the asking. A failure of the policy is the result of the call
 * (`POLICY_FAILURE`, or the failure's own code): the call does not run, and `after` policies are not asked.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Policy } from "quiesce"
 *
 * const readOnly = Policy.before("read only", ({ tool }) =>
 *   Effect.succeed(tool === "write_file" ? Policy.deny("writes are off") : Policy.allow)
 * )
 * assert.strictEqual(readOnly._tag, "Before")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const before = <R = never>(
  name: string,
  decide: (call: Call) => Effect.Effect<Decision, unknown, R>,
  options?: { readonly onCancel?: OnCancel | undefined }
): Before<R> => ({ [TypeId]: TypeId, _tag: "Before", name, decide, onCancel: options?.onCancel ?? "interrupt" })

/**
 * Vetoes a call in the step before it runs, after everybody was asked: a string is the reason.
 *
 * Asked only for calls that all others allow, and it cannot turn a denial back. What it throws is the result of the call.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Policy } from "quiesce"
 *
 * let open = true
 * const gate = Policy.guard("office hours", () => (open ? undefined : "come back tomorrow"))
 * open = false
 * assert.strictEqual(
 *   gate.check({ id: "c1", rootId: "c1", parentId: undefined, tool: "echo", parameters: {}, agent: undefined }),
 *   "come back tomorrow"
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const guard = (name: string, check: (call: Call) => string | undefined): Guard => ({
  [TypeId]: TypeId,
  _tag: "Guard",
  name,
  check
})

/**
 * Wraps the body of each call. See `Next` for what a wrapper may do.
 *
 * It may answer by itself, with `ToolResult.success` or `ToolResult.failure`: the value is then checked against the
 * tool's success schema and rendered by the tool. A failure of the policy is the result of the call (`POLICY_FAILURE`,
 * or the failure's own code).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Policy, ToolResult } from "quiesce"
 *
 * const cache = new Map<string, ToolResult.ToolResult>()
 * const cached = Policy.around("cache", (call, next) => {
 *   const known = cache.get(call.tool)
 *   return known === undefined ? Effect.tap(next, (result) => Effect.sync(() => cache.set(call.tool, result))) : Effect.succeed(known)
 * })
 * assert.strictEqual(cached.onCancel, "interrupt")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const around = <R = never>(
  name: string,
  wrap: (call: Call, next: Next) => Effect.Effect<ToolResult.ToolResult, unknown, R>,
  options?: { readonly onCancel?: OnCancel | undefined }
): Around<R> => ({ [TypeId]: TypeId, _tag: "Around", name, wrap, onCancel: options?.onCancel ?? "interrupt" })

/**
 * Reviews each result that policies decided about, after everything that the call started is quiet.
 *
 * Runs to its end also when the call is cancelled, on a fiber of its own, so that a timeout inside it works. A failure of
 * the policy becomes the result. Not asked about calls that ended before the policies were (arguments that are not JSON,
 * a call cancelled before it began) or whose policies failed.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Content, Policy } from "quiesce"
 *
 * const noSecrets = Policy.after("no secrets", (_call, result) =>
 *   Effect.succeed(
 *     Content.toText(result.content).includes("BEGIN PRIVATE KEY")
 *       ? Policy.block([Content.text("The output contained a private key and was withheld.")])
 *       : Policy.accept()
 *   )
 * )
 * assert.strictEqual(noSecrets._tag, "After")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const after = <R = never>(
  name: string,
  review: (call: Call, result: ToolResult.ToolResult) => Effect.Effect<Review, unknown, R>
): After<R> => ({ [TypeId]: TypeId, _tag: "After", name, review })

/**
 * Is told of each result exactly once, with the very object that the caller gets (L1).
 *
 * Observers run in order, and the call returns when they have. What one fails with is logged and changes nothing.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Policy } from "quiesce"
 *
 * const codes: Array<string> = []
 * const audit = Policy.observe("audit", (_call, result) =>
 *   Effect.sync(() => {
 *     codes.push(result._tag === "Success" ? "OK" : result.code)
 *   })
 * )
 * assert.strictEqual(audit._tag, "Observe")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const observe = <R = never>(
  name: string,
  tell: (call: Call, result: ToolResult.ToolResult) => Effect.Effect<void, unknown, R>
): Observe<R> => ({ [TypeId]: TypeId, _tag: "Observe", name, tell })

/**
 * Holds each call to the `timeout` that its tool declares, measured from this policy's place.
 *
 * When the time is over before the body has settled, the body is stopped and awaited, and the result is `TOOL_TIMEOUT`,
 * with the body's own failure kept beside it (L7). A body that succeeded in time stays a success however slow a wrapper
 * is, and a failure that came in time stays that failure. `ToolRuntime` adds this policy innermost where it is not listed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const timeout: Timeout = { [TypeId]: TypeId, _tag: "Timeout", name: "timeout" }

/**
 * As `timeout`, with a time for each call: that of `durationOf`, or where it has none, what the tool declares.
 *
 * More than nothing, and at most 2^31 - 1 milliseconds. A function that throws, or that has no such time, fails the call
 * before its body is reached (`POLICY_FAILURE`).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Policy } from "quiesce"
 *
 * const patient = Policy.timeoutOf(({ tool }) => (tool === "build" ? "10 minutes" : undefined))
 * assert.strictEqual(patient.name, "timeout")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const timeoutOf = (durationOf: (call: Call) => Duration.DurationInput | undefined): Timeout => ({
  ...timeout,
  durationOf
})

/**
 * Runs the body again after a failure of its own, as `schedule` says.
 *
 * By default only what the body itself failed with is tried again: no denial, timeout or cancellation, and no output that
 * broke the schema. A cancellation ends the back-off at once. Attempts never overlap, and what one deferred or
 * concluded does not leak into the next (W8).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Schedule } from "effect"
 * import { Policy } from "quiesce"
 *
 * const twice = Policy.retry({ schedule: Schedule.recurs(2) })
 * assert.strictEqual(twice.name, "retry")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const retry = <R = never>(options: {
  readonly schedule: Schedule.Schedule<unknown, ToolResult.Failure, R>
  readonly while?: ((failure: ToolResult.Failure) => boolean) | undefined
}): Around<R | Cancellation> => {
  const again = options.while ?? ((failure) => failure.body === "failed" && failure.cause === undefined)
  return around("retry", (_call, next) =>
    // Failures travel as typed errors only between these two lines, for `Effect.retry` to see them.
    Effect.flatMap(next, (result) =>
      result._tag === "Failure" && again(result) ? Effect.fail(result) : Effect.succeed(result)
    ).pipe(Effect.retry(options.schedule), Effect.catchAll(Effect.succeed<ToolResult.ToolResult>))
  )
}
