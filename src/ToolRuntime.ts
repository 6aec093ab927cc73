/**
 * Runs tool calls under policies: every call that is accepted ends in exactly one truthful result, and the result is
 * published only when everything that the call started is quiet.
 *
 * A call is answered, not failed: `execute` has no error channel. When the owner of a call is cancelled, `execute`
 * returns its result; when the calling fiber is interrupted the same happens, observers see the result, and `execute`
 * then ends as interrupted. The order of a call's phases is in `internal/toolRuntime/driver.ts`.
 *
 * Long because half of it is the contract of the service, and each function has an example that is run.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as FiberStatus from "effect/FiberStatus"
import { identity } from "effect/Function"
import type * as JSONSchema from "effect/JSONSchema"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as CancelCause from "./CancelCause.js"
import { type Cancellation, endedMessage, ownerIn, timerMillis } from "./Cancellation.js"
import { Approval } from "./capability/Approval.js"
import { misuse } from "./internal/invariant.js"
import { Settlement } from "./internal/settlement.js"
import { type Origin, originOf, startProtectedFiber } from "./internal/startFiber.js"
import { Attempt } from "./internal/toolRuntime/attemptState.js"
import { type Phase as CallPhase, CallState } from "./internal/toolRuntime/callState.js"
import { drive } from "./internal/toolRuntime/driver.js"
import { executeBatch } from "./internal/toolRuntime/executeBatch.js"
import type {
  NestedCall as AnyNestedCall,
  NestedJournal as AnyNestedJournal
} from "./internal/toolRuntime/nestedJournal.js"
import { Registry, registerTool } from "./internal/toolRuntime/registry.js"
import { RuntimeState } from "./internal/toolRuntime/runtimeState.js"
import * as Policy from "./Policy.js"
import type * as Tool from "./Tool.js"
import type * as ToolCall from "./ToolCall.js"
import { ToolContext } from "./ToolContext.js"
import * as ToolError from "./ToolError.js"
import type * as Toolkit from "./Toolkit.js"
import type * as ToolResult from "./ToolResult.js"

/**
 * How far a call is: `received`, `materialized` (its parameters are a frozen copy), `decoded`, `gated` (nobody said no),
 * `dispatching` (wrappers and body run), `settled` (nothing of it runs any more), `reviewed`, `published`.
 *
 * @since 0.1.0
 * @category models
 */
export type Phase = CallPhase

/**
 * A call in flight.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallStatus {
  readonly callId: string
  /** The outermost call that this one is a part of: its own id, for a call of the model. */
  readonly rootId: string
  /** The call whose body made this one, where a body did. */
  readonly parentId: string | undefined
  readonly tool: string
  readonly phase: Phase
  readonly dispatched: boolean
  readonly attempts: number
  /** When it was accepted, in milliseconds on the clock of the calling fiber. */
  readonly startedAt: number
  /** When it was cancelled, on the same clock. A call that stays here long after that ignores its cancellation. */
  readonly cancelledAt: number | undefined
  readonly cause: CancelCause.CancelCause | undefined
  /** What the body last said of its progress. */
  readonly progress: string | undefined
}

/**
 * A call that was started and is not waited for.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunningCall {
  readonly callId: string
  /** Waits for the result. Interrupting the wait does not cancel the call. */
  readonly result: Effect.Effect<ToolResult.ToolResult>
  /**
   * Cancels the call, at once; does not wait for it. `true` when this is the first cause (L6) and the result was not
   * fixed yet: it then says what became of the call, which may be a failure that beats the cancellation (L5). `false`
   * when there is a cause already, the phase is `reviewed` or `published`, or it is a success that its batch keeps.
   */
  readonly cancel: (cause: CancelCause.CancelCause) => Effect.Effect<boolean>
  readonly phase: Effect.Effect<Phase>
}

/**
 * What a model is told of a tool. Timeouts and concurrency are not part of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolSchema {
  readonly name: string
  readonly description: string
  readonly parameters: JSONSchema.JsonSchema7Root
}

/**
 * What the runtime provides to handlers and policies; the rest of their requirements is what a layer needs.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Provided = Cancellation | ToolContext | ToolRuntime

/**
 * How the calls of one message of a model are run.
 *
 * @since 0.1.0
 * @category models
 */
export interface BatchOptions {
  /** How many parallel calls may run at once: a positive integer. Default: 10. */
  readonly maxParallel?: number | undefined
  /**
   * What becomes of a call that had succeeded, and was waiting for those before it, when the batch was cancelled. `keep`,
   * the default, leaves it its result; `abort` makes it `ABORTED`.
   */
  readonly finishedSiblings?: "keep" | "abort" | undefined
  /** Told of each call before anything of it runs, in the order of the calls. What it throws stops the batch. */
  readonly onStart?: ((call: ToolCall.ToolCall, index: number) => void) | undefined
  /** Told of each result, in the order of the calls. What it throws stops the batch. */
  readonly onResult?: ((result: ToolResult.ToolResult, index: number) => void) | undefined
  /**
   * Told of each call that a body of these calls makes, before anybody is asked about it, and of its result, before that of
   * the call whose body made it. What `started` throws is logged, and that call is not dispatched.
   */
  readonly nested?: NestedJournal | undefined
}

/**
 * A call that a body makes, as it is logged.
 *
 * @since 0.1.0
 * @category models
 */
export type NestedCall = AnyNestedCall

/**
 * Who keeps a log of the calls that bodies make.
 *
 * @since 0.1.0
 * @category models
 */
export type NestedJournal = AnyNestedJournal

/**
 * What a batch came to.
 *
 * @since 0.1.0
 * @category models
 */
export interface BatchResult {
  /** One for each call, in the order of the calls. */
  readonly results: ReadonlyArray<ToolResult.ToolResult>
  /** What `onStart` or `onResult` threw first, if they did. */
  readonly broken: { readonly error: unknown } | undefined
}

/**
 * What running tools and policies takes.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /**
   * Runs a call and waits for its result.
   *
   * Completes when the result is published and nothing that the call started runs any more. An interruption cancels the
   * call, waits for the same, and then counts. Nothing is left behind but what `ToolResult.escaped` names.
   */
  readonly execute: (call: ToolCall.ToolCall) => Effect.Effect<ToolResult.ToolResult, never, Cancellation>
  /**
   * Starts a call and goes on at once. The call belongs to the owner in context, which waits for it when it ends, and
   * cancels it then if it still runs.
   */
  readonly start: (call: ToolCall.ToolCall) => Effect.Effect<RunningCall, never, Cancellation>
  /**
   * Runs the calls of one message of a model, and waits for a result for each.
   *
   * Calls that are `parallel` run side by side, an `exclusive` one alone; the mode is read again right before each start.
   * Policies are asked, results reviewed and told in the order of the calls: only wrappers and bodies overlap. When the
   * owner is cancelled nothing more starts; what runs is stopped and awaited, and each call that was never started ends
   * as `ABORTED_BEFORE_DISPATCH` (L8). An interruption does the same, and then counts. When `onStart` or `onResult` throw,
   * nothing more starts either, and the results are what they are.
   */
  readonly executeBatch: (
    calls: ReadonlyArray<ToolCall.ToolCall>,
    options?: BatchOptions
  ) => Effect.Effect<BatchResult, never, Cancellation>
  /** Adds a tool until the scope closes, with what its handler needs. Calls that run then run on. */
  readonly register: <T extends Tool.Any>(
    tool: T
  ) => Effect.Effect<void, ToolError.DuplicateTool, Scope.Scope | Exclude<Tool.Requirements<T>, Provided>>
  /** Adds a policy until the scope closes, behind those that are there; for one agent only, where `agent` is given. */
  readonly registerPolicy: <P extends Policy.Any>(
    policy: P,
    options?: { readonly agent?: string | undefined }
  ) => Effect.Effect<void, never, Scope.Scope | Exclude<Policy.Requirements<P>, Provided>>
  /** Cancels the calls in flight that have this id, at once. `true` when it was in time for one, as in `RunningCall`. */
  readonly cancelCall: (callId: string, cause: CancelCause.CancelCause) => Effect.Effect<boolean>
  /** The calls that were accepted and are not published yet. */
  readonly inFlight: Effect.Effect<ReadonlyArray<CallStatus>>
  /** The same, now and after each change. A slow reader sees the latest states, not every one. */
  readonly changes: Stream.Stream<ReadonlyArray<CallStatus>>
  /** What to tell a model of the tools. */
  readonly schemas: Effect.Effect<ReadonlyArray<ToolSchema>>
  /** Waits until no call is in flight. */
  readonly awaitIdle: Effect.Effect<void>
}

/**
 * Service that runs tool calls.
 *
 * @since 0.1.0
 * @category services
 */
export class ToolRuntime extends Context.Tag("quiesce/ToolRuntime")<ToolRuntime, Service>() {}

/**
 * What a runtime is made of.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<T extends Tool.Any, P extends Policy.Any> {
  readonly toolkit?: Toolkit.Toolkit<T> | undefined
  /** In the order in which they surround a call, outermost first. */
  readonly policies?: ReadonlyArray<P> | undefined
  /** Whether the timeouts of tools apply although `Policy.timeout` is not listed. Default: `true`. */
  readonly toolTimeouts?: boolean | undefined
  /** How long after its cancel a call that has not ended is warned about in the log. Default: 10 seconds. */
  readonly warnAfter?: Duration.DurationInput | undefined
}

const statusOf = (state: CallState): CallStatus => ({
  callId: state.id,
  rootId: state.rootId,
  parentId: state.parentId,
  tool: state.name,
  phase: state.phase,
  dispatched: state.dispatched,
  attempts: state.attempts,
  startedAt: state.startedAt,
  cancelledAt: state.cancelledAt,
  cause: state.owner.cause,
  progress: state.progress
})

const accept = (
  runtime: RuntimeState<CallState>,
  call: ToolCall.ToolCall,
  fiber: Fiber.RuntimeFiber<unknown, unknown>,
  status: FiberStatus.Running
): CallState => {
  const caller = ownerIn(fiber.currentContext)
  // Read before anything is joined: a getter of the host may throw.
  const { id, name, rootId, agent } = call
  const context = fiber.currentContext.unsafeMap.get(ToolContext.key)
  const maker = context instanceof Attempt ? context : undefined
  const state = new CallState(runtime, { id, name, rootId, agent }, caller, maker, originOf(fiber, status))
  runtime.accepted(state)
  return state
}

const ended = (fiber: Fiber.RuntimeFiber<unknown, unknown>, call: ToolCall.ToolCall): string | undefined =>
  ownerIn(fiber.currentContext).hasEnded ? endedMessage(`Call "${call.id}"`) : undefined

const executeCall = (
  runtime: RuntimeState<CallState>,
  call: ToolCall.ToolCall
): Effect.Effect<ToolResult.ToolResult, never, Cancellation> =>
  Effect.withFiberRuntime((fiber, status) =>
    Effect.uninterruptibleMask((restore) => {
      const message = ended(fiber, call)
      return message === undefined
        ? drive(accept(runtime, call, fiber, status), call, restore)
        : Effect.dieMessage(message) // L14
    })
  )

const startCall = (
  runtime: RuntimeState<CallState>,
  call: ToolCall.ToolCall
): Effect.Effect<RunningCall, never, Cancellation> =>
  Effect.withFiberRuntime((fiber, status) => {
    const message = ended(fiber, call)
    if (message !== undefined) return Effect.dieMessage(message) // L14
    const state = accept(runtime, call, fiber, status)
    const result = new Settlement<ToolResult.ToolResult>()
    // Nobody interrupts this fiber: the call is cancelled through its owner, and answers.
    startProtectedFiber(
      Effect.map(drive(state, call, identity), (value) => result.settle(value)),
      Context.empty(),
      state.origin
    )
    return Effect.succeed({
      callId: state.id,
      result: Effect.suspend(() => result.waitTidily()),
      cancel: (cause) => Effect.sync(() => state.cancel(cause)),
      phase: Effect.sync(() => state.phase)
    })
  })

const cancelById = (
  runtime: RuntimeState<CallState>,
  callId: string,
  cause: CancelCause.CancelCause
): Effect.Effect<boolean> =>
  Effect.sync(() => {
    let cancelled = false
    for (const state of runtime.inFlight) if (state.id === callId) cancelled = state.cancel(cause) || cancelled
    return cancelled
  })

const register = (registry: Registry, tool: Tool.Any): Effect.Effect<void, ToolError.DuplicateTool, Scope.Scope> =>
  Effect.flatMap(Effect.context<never>(), (context) => {
    const registered = registerTool(tool, context)
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.suspend(() =>
          registry.addTool(registered) ? Effect.void : new ToolError.DuplicateTool({ tool: tool.name })
        ),
        () => Effect.sync(() => registry.removeTool(registered))
      )
    )
  })

const registerPolicy = (
  registry: Registry,
  policy: Policy.Any,
  agent: string | undefined
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Effect.context<never>(), (context) => {
    const registered = { policy, context, agent }
    return Effect.acquireRelease(
      Effect.sync(() => registry.addPolicy(registered)),
      () => Effect.sync(() => registry.removePolicy(registered))
    )
  })

const changesOf = (runtime: RuntimeState<CallState>): Stream.Stream<ReadonlyArray<CallStatus>> => {
  const snapshot = () => [...runtime.inFlight].map(statusOf)
  return Stream.asyncPush<ReadonlyArray<CallStatus>>(
    (emit) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          emit.single(snapshot())
          return runtime.onChange(() => emit.single(snapshot()))
        }),
        (unwatch) => Effect.sync(unwatch)
      ),
    { bufferSize: 256, strategy: "sliding" }
  )
}

const toService = (runtime: RuntimeState<CallState>): Service => ({
  execute: (call) => executeCall(runtime, call),
  start: (call) => startCall(runtime, call),
  executeBatch: (calls, { finishedSiblings = "keep", maxParallel = 10, nested, onResult, onStart } = {}) => {
    if (!(Number.isInteger(maxParallel) && maxParallel > 0)) {
      return misuse(`maxParallel must be a positive integer, not ${maxParallel}`)
    }
    const keepsFinished = finishedSiblings === "keep"
    return executeBatch(runtime, calls, { limit: maxParallel, keepsFinished, onStart, onResult }, nested)
  },
  register: (tool) => register(runtime.registry, tool),
  registerPolicy: (policy, options) => registerPolicy(runtime.registry, policy, options?.agent),
  cancelCall: (callId, cause) => cancelById(runtime, callId, cause),
  inFlight: Effect.sync(() => [...runtime.inFlight].map(statusOf)),
  changes: changesOf(runtime),
  schemas: Effect.sync(() =>
    [...runtime.registry.tools.values()].map(({ tool }) => ({
      name: tool.name,
      description: tool.description,
      parameters: tool.jsonSchema
    }))
  ),
  awaitIdle: Effect.suspend(() => runtime.awaitIdle())
})

/**
 * A runtime that somebody closes: what `make` makes, in one synchronous step.
 *
 * @internal
 */
export const assemble = (
  options: Options<Tool.Any, Policy.Any>,
  captured: Context.Context<never>,
  origin: Origin
): { readonly service: Service; readonly state: RuntimeState<CallState> } => {
  const approval = Option.getOrUndefined(Context.getOption(captured as Context.Context<Approval>, Approval))
  const registry = new Registry(
    options.toolTimeouts === false ? undefined : { policy: Policy.timeout, context: captured, agent: undefined }
  )
  for (const tool of options.toolkit?.tools.values() ?? []) registry.addTool(registerTool(tool, captured))
  for (const policy of options.policies ?? []) registry.addPolicy({ policy, context: captured, agent: undefined })
  const state: RuntimeState<CallState> = new RuntimeState<CallState>({
    registry,
    approval: approval === undefined ? undefined : { service: approval, context: captured },
    warnAfterMillis: timerMillis(options.warnAfter ?? "10 seconds", "warnAfter"),
    provideTo: (services) => services.set(ToolRuntime.key, service),
    execute: (call) => executeCall(state, call),
    origin
  })
  const service = toService(state)
  return { service, state }
}

/** What a runtime with these tools and policies needs of its surroundings. */
type Needed<T extends Tool.Any, P extends Policy.Any> = Exclude<Tool.Requirements<T> | Policy.Requirements<P>, Provided>

/**
 * Makes a runtime that lasts as long as the scope.
 *
 * It needs what the handlers and policies need, except what the runtime itself provides (`Provided`), and captures it
 * once. It asks `Approval` where that is in context. When the scope closes, calls in flight are cancelled with `Disposed`
 * and awaited, and what is executed later ends as `ABORTED_BEFORE_DISPATCH`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation, ToolRuntime } from "quiesce"
 *
 * const program = Effect.gen(function* () {
 *   const runtime = yield* ToolRuntime.make()
 *   return yield* Cancellation.own(runtime.execute({ id: "call_1", name: "nope", parameters: {} }))
 * })
 * const result = await Effect.runPromise(Effect.scoped(program))
 * assert.ok(result._tag === "Failure")
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <T extends Tool.Any = never, P extends Policy.Any = never>(
  options: Options<T, P> = {}
): Effect.Effect<Service, never, Scope.Scope | Needed<T, P>> =>
  Effect.gen(function* () {
    const captured = (yield* Effect.context<Needed<T, P>>()) as Context.Context<never>
    const origin = yield* Effect.withFiberRuntime<Origin>((fiber, status) => Effect.succeed(originOf(fiber, status)))
    const { service, state } = assemble(options, captured, origin)
    yield* Effect.addFinalizer(() => state.close())
    return service
  })

/**
 * Layer of a runtime, as `make` makes it. It ends when the layer is released.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Schema } from "effect"
 * import { Cancellation, Tool, Toolkit, ToolRuntime } from "quiesce"
 *
 * const Double = Tool.make("double", {
 *   description: "Doubles a number",
 *   parameters: { n: Schema.Number },
 *   success: Schema.Number,
 *   handler: ({ n }) => Effect.succeed(n * 2)
 * })
 *
 * const program = ToolRuntime.execute({ id: "call_1", name: "double", parameters: { n: 21 } }).pipe(
 *   Cancellation.own,
 *   Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(Double) }))
 * )
 * const result = await Effect.runPromise(program)
 * assert.ok(result._tag === "Success")
 * assert.strictEqual(result.value, 42)
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <T extends Tool.Any = never, P extends Policy.Any = never>(
  options: Options<T, P> = {}
): Layer.Layer<ToolRuntime, never, Needed<T, P>> =>
  Layer.scoped(ToolRuntime, make(options)) as Layer.Layer<ToolRuntime, never, Needed<T, P>>

/**
 * Runs a call and waits for its result. See `Service.execute`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation, ToolRuntime } from "quiesce"
 *
 * const result = await ToolRuntime.execute({ id: "call_1", name: "nope", parameters: {} }).pipe(
 *   Cancellation.own,
 *   Effect.provide(ToolRuntime.layer()),
 *   Effect.runPromise
 * )
 * assert.ok(result._tag === "Failure")
 * assert.strictEqual(result.code, "UNKNOWN_TOOL")
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const execute = (
  call: ToolCall.ToolCall
): Effect.Effect<ToolResult.ToolResult, never, ToolRuntime | Cancellation> =>
  Effect.flatMap(ToolRuntime, (runtime) => runtime.execute(call))

/**
 * Starts a call and goes on at once. See `Service.start`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Schema } from "effect"
 * import { CancelCause, Cancellation, Tool, Toolkit, ToolRuntime } from "quiesce"
 *
 * const Wait = Tool.make("wait", {
 *   description: "Waits",
 *   parameters: {},
 *   success: Schema.Null,
 *   handler: () => Effect.never
 * })
 *
 * const program = Effect.gen(function* () {
 *   const call = yield* ToolRuntime.start({ id: "call_1", name: "wait", parameters: {} })
 *   yield* call.cancel(CancelCause.user())
 *   return yield* call.result
 * })
 * const result = await program.pipe(
 *   Cancellation.own,
 *   Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(Wait) })),
 *   Effect.runPromise
 * )
 * assert.ok(result._tag === "Failure")
 * assert.strictEqual(result.code, "ABORTED")
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const start = (call: ToolCall.ToolCall): Effect.Effect<RunningCall, never, ToolRuntime | Cancellation> =>
  Effect.flatMap(ToolRuntime, (runtime) => runtime.start(call))
