/**
 * Runs calls of tools for code that has promises and an `AbortSignal`: the runtime of `quiesce`, with the same phases,
 * results, codes and texts.
 *
 * A call is answered, not failed: its promise resolves with a result, also when it was aborted, and it resolves when
 * nothing that the call started runs any more (L3). A body that ignores its signal is waited for (L4), and can be seen in
 * `inFlight`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as EffectRuntime from "effect/Runtime"
import * as CancelCause from "../CancelCause.js"
import * as Approval from "../capability/Approval.js"
import { approvalOf } from "../internal/promise/approval.js"
import { Host } from "../internal/promise/host.js"
import { policiesOf } from "../internal/promise/policies.js"
import { toFacade } from "../internal/promise/results.js"
import { keepRuntime } from "../internal/promise/runtimes.js"
import { coreOf } from "../internal/promise/tools.js"
import { registerTool } from "../internal/toolRuntime/registry.js"
import type * as CoreCall from "../ToolCall.js"
import * as ToolError from "../ToolError.js"
import * as Toolkit from "../Toolkit.js"
import * as Core from "../ToolRuntime.js"
import type { CallInput } from "./Call.js"
import type { Policy } from "./Policy.js"
import type { ToolResult } from "./Result.js"
import type { Tool } from "./Tool.js"

/**
 * What somebody is asked, who may allow a call.
 *
 * @since 0.1.0
 * @category models
 */
export interface Question {
  readonly callId: string
  readonly tool: string
  /** What the model sent, frozen: what is approved is what will run. */
  readonly arguments: unknown
  readonly reason: string | undefined
  readonly agent: string | undefined
  /** Aborts when nobody wants the answer any more. The question is to be withdrawn then. */
  readonly signal: AbortSignal
}

/**
 * What a runtime is made of.
 *
 * @since 0.1.0
 * @category models
 */
export interface RuntimeOptions {
  readonly tools?: ReadonlyArray<Tool> | undefined
  /** In the order in which they surround a call, outermost first. */
  readonly policies?: ReadonlyArray<Policy> | undefined
  /**
   * Asks a person, where a policy wants that. It is awaited, also after an abort; where it throws, or answers with
   * something else, there was nobody to ask.
   */
  readonly approve?: ((question: Question) => Approval.Answer | Promise<Approval.Answer>) | undefined
  /** How long after its cancel a call that has not ended is warned about in the log. Default: 10 seconds. */
  readonly warnAfter?: Duration.DurationInput | undefined
  /** Where log, clock and tracer come from, for a program that has Effect as well. Default: Effect's own. */
  readonly effectRuntime?: EffectRuntime.Runtime<never> | undefined
}

/**
 * The calls of one message of a model.
 *
 * @since 0.1.0
 * @category models
 */
export interface BatchInput {
  readonly calls: ReadonlyArray<Omit<CallInput, "signal">>
  /** Stops the calls when it aborts. Those that have not started are not started any more. */
  readonly signal: AbortSignal
  /** How many parallel calls may run at once: a positive integer. Default: 10. */
  readonly maxParallel?: number | undefined
  /** What becomes of calls that had succeeded, and waited for those before them, at an abort. Default: `keep`. */
  readonly finishedSiblings?: "keep" | "abort" | undefined
  /** Told of each call before anything of it runs, in the order of the calls. What it throws stops the batch. */
  readonly onStart?: ((index: number) => void) | undefined
  /** Told of each result, in the order of the calls. What it throws stops the batch. */
  readonly onResult?: ((result: ToolResult, index: number) => void) | undefined
}

/**
 * What a batch came to: a result for each call, in the order of the calls, and what `onStart` or `onResult` threw first.
 *
 * @since 0.1.0
 * @category models
 */
export interface BatchResult {
  readonly results: ReadonlyArray<ToolResult>
  readonly broken: { readonly error: unknown } | undefined
}

/**
 * Runs calls.
 *
 * @since 0.1.0
 * @category services
 */
export interface Runtime extends AsyncDisposable {
  /**
   * Runs a call. Resolves with its result when that is published and nothing of the call runs any more; an abort of its
   * signal stops it, and is waited for. Rejects only where the input cannot be read.
   */
  readonly call: (input: CallInput) => Promise<ToolResult>
  /**
   * Runs the calls of one message, and resolves with a result for each (L8). Parallel calls overlap, an exclusive one runs
   * alone. Rejects only where the input cannot be read.
   */
  readonly batch: (input: BatchInput) => Promise<BatchResult>
  /**
   * Stops the calls in flight that have this id, as an abort of their signals with `reason` would; without one, as a person
   * would. Does not wait. `true` when it was in time for one.
   */
  readonly cancelCall: (callId: string, reason?: unknown) => boolean
  /** The calls that were accepted and are not published yet. */
  readonly inFlight: () => ReadonlyArray<Core.CallStatus>
  /** The same, now and after each change, until the signal aborts. A slow reader sees the latest states, not every one. */
  readonly changes: (options: { readonly signal: AbortSignal }) => AsyncIterable<ReadonlyArray<Core.CallStatus>>
  /** Resolves when no call is in flight. */
  readonly whenIdle: () => Promise<void>
  /** What to tell a model of the tools. */
  readonly schemas: () => ReadonlyArray<Core.ToolSchema>
  /** Adds a tool until the function that it gives is called. Calls that run then run on. Throws for a name that is taken. */
  readonly addTool: (tool: Tool) => () => void
  /** Adds a policy, behind those that are there, until the function that it gives is called. */
  readonly addPolicy: (policy: Policy, options?: { readonly agent?: string | undefined }) => () => void
  /**
   * Stops every call in flight, and resolves when each is published. Nothing starts after that: a call that comes later
   * ends as `ABORTED_BEFORE_DISPATCH`. Again and again it is one promise. A body or a policy of this runtime must not wait
   * for it: it is what would be waited for.
   */
  readonly dispose: () => Promise<void>
}

/** A cause as somebody with a reason has it. */
const causeOf = (reason: unknown): CancelCause.CancelCause =>
  reason === undefined ? CancelCause.user() : CancelCause.hostSignal(reason)

const toCore = (input: Omit<CallInput, "signal">): CoreCall.ToolCall => {
  const { agent, callId: id, name, rootCallId: rootId } = input
  return {
    ...{ agent, id, name, rootId },
    get parameters() {
      return input.arguments // read once, by the runtime: a getter of the host's may throw, or abort the call
    }
  }
}

/**
 * Makes a runtime. Nothing runs before its first call.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Schema } from "effect"
 * import { createRuntime, defineTool } from "quiesce/promise"
 *
 * const double = defineTool({
 *   name: "double",
 *   description: "Doubles a number",
 *   parameters: Schema.standardSchemaV1(Schema.Struct({ n: Schema.Number })),
 *   execute: async ({ n }) => n * 2
 * })
 * await using runtime = createRuntime({
 *   tools: [double],
 *   policies: [{ name: "small numbers", before: async () => ({ kind: "allow" }) }]
 * })
 * const { signal } = new AbortController()
 * const result = await runtime.call({ callId: "c1", name: "double", arguments: { n: 21 }, signal })
 * assert.ok(!result.isError)
 * assert.strictEqual(result.value, 42)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const createRuntime = (options: RuntimeOptions = {}): Runtime => {
  const host = new Host(options.effectRuntime)
  const { approve } = options
  const context = (
    approve === undefined ? Context.empty() : Context.make(Approval.Approval, approvalOf(approve))
  ) as Context.Context<never>
  const toolkit = Toolkit.make(...(options.tools ?? []).map(coreOf))
  const policies = (options.policies ?? []).flatMap(policiesOf)
  const { service, state } = Core.assemble({ toolkit, policies, warnAfter: options.warnAfter }, context, host.origin)
  let disposed: Promise<void> | undefined

  const runtime: Runtime = {
    call: (input) => host.answer(() => ({ effect: service.execute(toCore(input)), signal: input.signal }), toFacade),
    batch: (input) =>
      host.answer(
        () => {
          const { finishedSiblings, maxParallel, onResult, onStart, signal } = input
          const effect = service.executeBatch(input.calls.map(toCore), {
            ...{ finishedSiblings, maxParallel },
            onStart: onStart && ((_, index) => onStart(index)),
            onResult: onResult && ((result, index) => onResult(toFacade(result), index))
          })
          return { effect, signal }
        },
        ({ broken, results }) => ({ broken, results: results.map(toFacade) })
      ),
    cancelCall: (callId, reason) => host.now(service.cancelCall(callId, causeOf(reason))),
    inFlight: () => host.now(service.inFlight),
    changes: ({ signal }) => host.iterate(service.changes, signal),
    whenIdle: () => host.finish(service.awaitIdle),
    schemas: () => host.now(service.schemas),
    addTool: (tool) => {
      const registered = registerTool(coreOf(tool), context)
      if (!state.registry.addTool(registered)) throw new ToolError.DuplicateTool({ tool: tool.name })
      return () => state.registry.removeTool(registered)
    },
    addPolicy: (policy, { agent } = {}) => {
      const added = policiesOf(policy).map((policy) => ({ policy, context, agent }))
      for (const policy of added) state.registry.addPolicy(policy)
      return () => {
        for (const policy of added) state.registry.removePolicy(policy)
      }
    },
    dispose: () => {
      disposed ??= host.finish(state.close())
      return disposed
    },
    [Symbol.asyncDispose]: () => runtime.dispose()
  }
  return keepRuntime(Object.freeze(runtime), { host, service })
}
