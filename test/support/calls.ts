import { assert } from "@effect/vitest"
import { Cause, Data, Effect, Exit, Fiber, FiberId, Layer, Logger, LogLevel, Option, Schema, type Scope } from "effect"
import {
  CancelCause,
  Cancellation,
  Content,
  Policy,
  Tool,
  type ToolCall,
  ToolContext,
  Toolkit,
  ToolResult,
  ToolRuntime
} from "quiesce"
import type { Approval } from "quiesce/capability"

type Owned = Cancellation.Cancellation
type InBody = Owned | ToolContext.ToolContext | ToolRuntime.ToolRuntime

/** What a test fills in. Whatever it leaves out lets the call pass, and is counted all the same. */
export interface Stages {
  readonly before?: (call: Policy.Call) => Effect.Effect<Policy.Decision, unknown, Owned>
  readonly guard?: (call: Policy.Call) => string | undefined
  readonly around?: (call: Policy.Call, next: Policy.Next) => Effect.Effect<ToolResult.ToolResult, unknown, Owned>
  readonly body?: (text: string) => Effect.Effect<string, unknown, InBody>
  readonly after?: (call: Policy.Call, result: ToolResult.ToolResult) => Effect.Effect<Policy.Review, unknown, Owned>
  readonly observe?: (call: Policy.Call, result: ToolResult.ToolResult) => Effect.Effect<void, unknown, Owned>
  /** How `before` and `around` meet a cancel. Default: `finish`, as the cases have it. */
  readonly onCancel?: Policy.OnCancel
  readonly timeout?: number
  readonly render?: (value: string) => ReadonlyArray<Content.Content>
  readonly meta?: (value: string) => ToolResult.Json
  readonly finalContent?: (result: ToolResult.ToolResult) => ReadonlyArray<Content.Content> | undefined
  readonly approval?: Layer.Layer<Approval.Approval>
  /** More policies, inside of those above. */
  readonly policies?: ReadonlyArray<Policy.Any>
  /** More tools. */
  readonly tools?: ReadonlyArray<Tool.Any>
  readonly toolTimeouts?: boolean
  /** Only the observer, no other policy. */
  readonly bare?: boolean
}

/** A call that a test cancels on one of the two roads, and its result as observers saw it. */
export interface Cancellable {
  readonly cancel: Effect.Effect<void>
  readonly result: Effect.Effect<ToolResult.ToolResult>
  readonly isPending: Effect.Effect<boolean>
}

/** The two roads of docs/design.md. */
export interface Road {
  readonly name: string
  readonly cause: CancelCause.Encoded
  readonly begin: (setup: Setup, call?: Partial<ToolCall.ToolCall>) => Effect.Effect<Cancellable>
}

export interface Setup {
  /** Each stage that was entered, in order. */
  readonly log: Array<string>
  /** The results that observers saw. */
  readonly observed: ReadonlyArray<ToolResult.ToolResult>
  readonly runtime: ToolRuntime.Service
  /** Under the owner of the test, and checked: one observed result, the same object, frozen, and nothing runs. */
  readonly execute: (call?: Partial<ToolCall.ToolCall>) => Effect.Effect<ToolResult.ToolResult>
  readonly start: (call?: Partial<ToolCall.ToolCall>) => Effect.Effect<ToolRuntime.RunningCall>
  /** Waits until a stage has been entered. */
  readonly reached: (stage: string) => Effect.Effect<void>
  /** Checks a result that came some other way. */
  readonly check: (result: ToolResult.ToolResult) => void
}

export const user = CancelCause.user("stop")
export const texts = (...lines: ReadonlyArray<string>): ReadonlyArray<Content.Content> => lines.map(Content.text)

/** A typed failure with a code. */
export class HarnessError extends Data.TaggedError("HarnessError")<{
  readonly message: string
  readonly code: string
}> {}

const looked = (): never => {
  throw new Error("looked at")
}

/** Throws when it is looked at in any way. Effect cannot even fail with it. */
export const hostile: unknown = new Proxy({}, { get: looked, has: looked, ownKeys: looked, getPrototypeOf: looked })

/** Throws when a property or its prototype is read. */
export const unprintable: unknown = new Proxy({}, { get: looked, getPrototypeOf: looked })

const isWhole = (call: Partial<ToolCall.ToolCall>): call is ToolCall.ToolCall =>
  "id" in call && "name" in call && "parameters" in call

/** The call that tests make unless they say otherwise. A whole call is used as it is: it may be made of getters. */
export const callOf = (call: Partial<ToolCall.ToolCall> = {}): ToolCall.ToolCall =>
  isWhole(call) ? call : { id: "c1", name: "echo", parameters: { text: "hi" }, ...call }

/** Lets everything run that can run without the clock. */
export const settle = Effect.repeatN(Effect.yieldNow(), 100)

const isDeepFrozen = (u: unknown): boolean =>
  typeof u !== "object" || u === null || (Object.isFrozen(u) && Object.values(u).every(isDeepFrozen))

const isResult = Schema.is(ToolResult.ToolResult)

/** What every published result is. */
export const checkResult = (result: ToolResult.ToolResult): void => {
  assert.isTrue(isDeepFrozen(result), `not frozen all the way down: ${JSON.stringify(result)}`)
  assert.deepStrictEqual(JSON.parse(JSON.stringify(result)), result, "not lossless JSON")
  assert.isTrue(isResult(result), "does not fit its schema")
}

/** A runtime with one tool, "echo", and one policy of each kind, all of which a test can fill in and count. */
export const setup = (stages: Stages = {}): Effect.Effect<Setup, never, Scope.Scope> =>
  Effect.gen(function* () {
    const log: Array<string> = []
    const observed: Array<ToolResult.ToolResult> = []
    /** How many bodies of each call run. */
    const running = new Map<string, number>()
    let runningAtPublication = 0
    const count = (by: 1 | -1) =>
      Effect.map(ToolContext.ToolContext, ({ callId }) => {
        running.set(callId, (running.get(callId) ?? 0) + by)
      })
    const enter = (stage: string) => {
      log.push(stage)
    }
    const onCancel = stages.onCancel ?? "finish"
    const { after, around, before, body, guard, observe } = stages

    const Echo = Tool.make("echo", {
      description: "Says it again",
      parameters: { text: Schema.String },
      success: Schema.String,
      failure: Schema.Unknown,
      timeout: stages.timeout,
      render: stages.render,
      meta: stages.meta,
      finalContent: stages.finalContent,
      handler: ({ text }): Effect.Effect<string, unknown, InBody> => {
        enter("body")
        const effect = body === undefined ? Effect.succeed(text) : body(text)
        return Effect.acquireUseRelease(
          count(1),
          () => effect,
          () => count(-1)
        )
      }
    })
    const policies: ReadonlyArray<Policy.Any> = [
      Policy.before(
        "before",
        (call) => {
          enter("before")
          return before?.(call) ?? Effect.succeed(Policy.allow)
        },
        { onCancel }
      ),
      Policy.guard("guard", (call) => {
        enter("guard")
        return guard?.(call)
      }),
      Policy.around(
        "around",
        (call, next) => {
          enter("around")
          return around?.(call, next) ?? next
        },
        { onCancel }
      ),
      ...(stages.policies ?? []),
      Policy.after("after", (call, result) => {
        enter("after")
        return after?.(call, result) ?? Effect.succeed(Policy.accept())
      }),
      Policy.observe("observe", (call, result) => {
        enter("observe")
        observed.push(result)
        runningAtPublication += running.get(call.id) ?? 0
        return observe?.(call, result) ?? Effect.void
      })
    ]
    const layer = ToolRuntime.layer({
      toolkit: Toolkit.make(Echo, ...(stages.tools ?? [])) as Toolkit.Toolkit<Tool.Tool<string, any, any>>,
      policies: (stages.bare === true ? policies.slice(-1) : policies) as ReadonlyArray<Policy.Policy>,
      toolTimeouts: stages.toolTimeouts
    })
    const context = yield* Layer.build(stages.approval === undefined ? layer : Layer.provide(layer, stages.approval))
    const owner = yield* Cancellation.ownScoped
    const runtime = yield* Effect.provide(ToolRuntime.ToolRuntime, context)
    const check = (result: ToolResult.ToolResult): void => {
      checkResult(result)
      assert.strictEqual(observed.filter((other) => other === result).length, 1, "not observed exactly once")
      assert.strictEqual(runningAtPublication, 0, "a body was running when its result was published")
    }
    return {
      log,
      observed,
      runtime,
      check,
      execute: (call) =>
        Effect.map(Effect.provide(runtime.execute(callOf(call)), owner), (result) => {
          check(result)
          return result
        }),
      start: (call) => Effect.provide(runtime.start(callOf(call)), owner),
      reached: (stage) =>
        Effect.suspend(() => (log.includes(stage) ? Effect.succeed(true) : Effect.as(Effect.yieldNow(), false))).pipe(
          Effect.repeat({ until: (there) => there, times: 1000 }),
          Effect.map((there) => assert.isTrue(there, `${stage} was never reached: ${log.join(" ")}`))
        )
    }
  })

/** Executes a call in a protected region of an owner that a signal of the host has cancelled already. */
export const executeCancelled = (
  setup: Setup,
  reason: unknown,
  call?: Partial<ToolCall.ToolCall>
): Effect.Effect<ToolResult.ToolResult> =>
  Effect.suspend(() => {
    const controller = new AbortController()
    const cancelled = Effect.zipRight(
      Effect.sync(() => controller.abort(reason)),
      setup.runtime.execute(callOf(call))
    )
    return Effect.map(
      // In a protected region the pending interrupt does not replace the result.
      Effect.uninterruptible(Cancellation.ownSignal(cancelled, controller.signal)),
      (result) => {
        setup.check(result)
        return result
      }
    )
  })

const isPending = (fiber: Fiber.RuntimeFiber<unknown>) =>
  Effect.zipRight(settle, Effect.map(Fiber.poll(fiber), Option.isNone))

const interruptor = FiberId.make(7, 0)

/** Each way in which a call is cancelled while `execute` waits for it. */
export const roads: ReadonlyArray<Road> = [
  {
    name: "when its owner is cancelled",
    cause: user,
    begin: (setup, call) =>
      Effect.map(Effect.fork(setup.execute(call)), (fiber) => ({
        cancel: Effect.map(setup.runtime.cancelCall(callOf(call).id, user), (cancelled) => assert.isTrue(cancelled)),
        result: Fiber.join(fiber),
        isPending: isPending(fiber)
      }))
  },
  {
    name: "when its caller is interrupted",
    cause: CancelCause.interrupted(interruptor),
    begin: (setup, call) =>
      Effect.map(Effect.fork(setup.execute(call)), (fiber) => ({
        cancel: Fiber.interruptAsFork(fiber, interruptor),
        result: Effect.map(Fiber.await(fiber), (exit) => {
          assert.isTrue(Exit.isInterrupted(exit), "the caller was not interrupted")
          assert.strictEqual(setup.observed.length, 1)
          const result = setup.observed[0] as ToolResult.ToolResult
          setup.check(result)
          return result
        }),
        isPending: isPending(fiber)
      }))
  }
]

/** The success of `echo`. */
export const succeeded = (changes: Partial<ToolResult.Success> = {}): ToolResult.Success => ({
  _tag: "Success",
  callId: "c1",
  tool: "echo",
  value: "hi",
  content: texts("hi"),
  contexts: [],
  dispatched: true,
  body: "completed",
  escaped: [],
  concludesTurn: false,
  ...changes
})

/** A failure, by default of a call whose body was not called. */
export const failed = (
  reported: ToolResult.Reported,
  changes: Partial<ToolResult.Failure> = {}
): ToolResult.Failure => ({
  _tag: "Failure",
  callId: "c1",
  tool: "echo",
  ...reported,
  content: texts(`Error: ${reported.message}`),
  contexts: [],
  dispatched: false,
  body: "not-started",
  escaped: [],
  ...changes
})

/** `ABD` of the cases. */
export const notDispatched = (
  cause: CancelCause.Encoded,
  changes: Partial<ToolResult.Failure> = {}
): ToolResult.Failure =>
  failed(
    { code: "ABORTED_BEFORE_DISPATCH", name: "AbortError", message: "tool call aborted before dispatch" },
    { cause, ...changes }
  )

/** `ABT` of the cases. */
export const aborted = (cause: CancelCause.Encoded, changes: Partial<ToolResult.Failure> = {}): ToolResult.Failure =>
  failed(
    { code: "ABORTED", name: "AbortError", message: "tool call aborted" },
    { cause, dispatched: true, body: "interrupted", ...changes }
  )

export const denied = (message: string, changes: Partial<ToolResult.Failure> = {}): ToolResult.Failure =>
  failed({ code: "DENIED", name: "ToolDeniedError", message }, changes)

export const policyFailed = (message: string, changes: Partial<ToolResult.Failure> = {}): ToolResult.Failure =>
  failed({ code: "POLICY_FAILURE", name: "PolicyFailureError", message }, changes)

export const toolFailed = (message: string, changes: Partial<ToolResult.Failure> = {}): ToolResult.Failure =>
  failed({ code: "TOOL_FAILURE", name: "ToolFailureError", message }, { dispatched: true, body: "failed", ...changes })

/** `TMO(ms)` of the cases. */
export const timedOut = (millis: number, changes: Partial<ToolResult.Failure> = {}): ToolResult.Failure =>
  failed(
    { code: "TOOL_TIMEOUT", name: "ToolTimeoutError", message: `tool call timed out after ${millis}ms` },
    {
      cause: { _tag: "Deadline", code: "TOOL_TIMEOUT", millis },
      dispatched: true,
      body: "interrupted",
      ...changes
    }
  )

/** Puts what is logged as a warning into `lines`, message and cause in one text. */
export const collectWarnings = (lines: Array<string>): Layer.Layer<never> =>
  Logger.add(
    Logger.make(({ cause, logLevel, message }) => {
      if (logLevel !== LogLevel.Warning) return
      const words = Array.isArray(message) ? message : [message]
      lines.push([...words.map(String), ...(Cause.isEmpty(cause) ? [] : [String(Cause.squash(cause))])].join(" "))
    })
  )
