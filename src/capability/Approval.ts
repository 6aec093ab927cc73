/**
 * Asks someone outside the agent whether a call may go ahead.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Cancellation from "../Cancellation.js"
import type { Json } from "../internal/json.js"

/**
 * What the approver is asked about.
 *
 * @since 0.1.0
 * @category models
 */
export interface Request {
  readonly callId: string
  readonly tool: string
  /** The parameters as the model sent them, frozen: what is approved is what will run. */
  readonly parameters: Json
  /** Why the policy asks. */
  readonly reason?: string | undefined
  readonly agent?: string | undefined
}

/**
 * Schema for the answer of the approver.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Answer = Schema.Literal("allowed-once", "rejected", "cancelled", "unavailable")

/**
 * The answer of the approver.
 *
 * - `allowed-once`: this one call may run
 * - `rejected`: it may not
 * - `cancelled`: the question was withdrawn on the approver's side
 * - `unavailable`: there is nobody to ask
 *
 * @since 0.1.0
 * @category models
 */
export type Answer = typeof Answer.Type

/**
 * What an implementation of `Approval` provides.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /**
   * Asks, and waits for the answer, which may take forever.
   *
   * Completes when there is an answer. An interruption withdraws the question and waits until it is withdrawn; an answer
   * that comes after it is discarded. No question is left open.
   */
  readonly request: (request: Request) => Effect.Effect<Answer, never, Cancellation.Cancellation>
}

/**
 * Service that asks an approver.
 *
 * @since 0.1.0
 * @category services
 */
export class Approval extends Context.Tag("quiesce/capability/Approval")<Approval, Service>() {}

/**
 * Asks the approver in the context. See `Service.request`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Approval } from "quiesce/capability"
 *
 * const question = Approval.request({ callId: "c1", tool: "run_command", parameters: { command: "make" } })
 * const program = Cancellation.own(question).pipe(Effect.provide(Approval.layerConst("rejected")))
 * assert.strictEqual(await Effect.runPromise(program), "rejected")
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const request = (request: Request): Effect.Effect<Answer, never, Approval | Cancellation.Cancellation> =>
  Effect.flatMap(Approval, (approval) => approval.request(request))

/**
 * Layer that asks with `ask`: an Effect that shows the question and waits for the answer, and withdraws the question
 * when it is interrupted.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Approval } from "quiesce/capability"
 *
 * const readOnly = Approval.layer(({ tool }) => Effect.succeed(tool === "read_file" ? "allowed-once" : "rejected"))
 * const question = Approval.request({ callId: "c1", tool: "read_file", parameters: {} })
 * const program = Cancellation.own(question).pipe(Effect.provide(readOnly))
 * assert.strictEqual(await Effect.runPromise(program), "allowed-once")
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(
  ask: (request: Request) => Effect.Effect<Answer, never, R>
): Layer.Layer<Approval, never, Exclude<R, Cancellation.Cancellation>> =>
  Layer.effect(
    Approval,
    Effect.map(
      Effect.context<Exclude<R, Cancellation.Cancellation>>(),
      (context): Service => ({
        request: (request) =>
          Effect.flatMap(Cancellation.Cancellation, (owner) =>
            // The caller's owner over what the approver was built with, and nothing else of the caller's.
            Effect.provide(
              ask(request),
              Context.add(context, Cancellation.Cancellation, owner) as unknown as Context.Context<R>
            )
          ).pipe(Cancellation.operation("ask for approval"))
      })
    )
  )

/**
 * Layer that answers every question with `answer`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Approval } from "quiesce/capability"
 *
 * const question = Approval.request({ callId: "c1", tool: "write_file", parameters: {} })
 * const program = Cancellation.own(question).pipe(Effect.provide(Approval.layerConst("unavailable")))
 * assert.strictEqual(await Effect.runPromise(program), "unavailable")
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConst = (answer: Answer): Layer.Layer<Approval> => layer(() => Effect.succeed(answer))
