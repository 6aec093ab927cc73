/** Runs scenarios through Effect: a caller that derives an owner from its signal, and promise code behind `Abort`. */
import { Context, Data, Effect, Exit, FiberId, Layer, Runtime, Schema, Scope, TestClock } from "effect"
import {
  Abort,
  CancelCause,
  Cancellation,
  Content,
  Policy,
  Tool,
  ToolContext,
  ToolError,
  Toolkit,
  ToolResult,
  ToolRuntime
} from "quiesce"
import { Approval } from "quiesce/capability"
import type { Answer, Decision, Review } from "quiesce/promise"
import { type Body, type Driver, Observer, type Outcome, type Seen, type Stages } from "./driver.js"

class HarnessError extends Data.TaggedError("HarnessError")<{ readonly message: string; readonly code: string }> {}

const outcomes = new WeakMap<ToolResult.ToolResult, Outcome>()
const results = new WeakMap<object, ToolResult.ToolResult>()
const unnamed = ["NOT_JSON", "DENIED", "TOOL_FAILURE", "POLICY_FAILURE", "BLOCKED"]

const shape = (result: ToolResult.ToolResult): Outcome => {
  const { body, callId, content, contexts, dispatched, escaped, meta, tool } = result
  const rest = {
    content,
    ...(meta === undefined ? {} : { meta }),
    ...(contexts.length === 0 ? {} : { additionalContexts: contexts })
  }
  const report = { callId, tool, dispatched, body, escaped }
  if (result._tag === "Success") {
    const concludes = result.concludesTurn ? { concludesTurn: true as const } : {}
    return { isError: false, value: result.value, ...rest, ...concludes, report: Object.freeze(report) }
  }
  const { bodyFailure, cause, code, message, name } = result
  const isNamed = !(unnamed.includes(code) && ToolError.names[code as ToolError.Code] === name)
  return {
    isError: true,
    error: Object.freeze({ message, ...(isNamed ? { info: Object.freeze({ name, code }) } : {}) }),
    ...rest,
    report: Object.freeze({
      ...report,
      code,
      ...(cause === undefined ? {} : { cause }),
      ...(bodyFailure === undefined ? {} : { bodyFailure })
    })
  }
}

const outcomeOf = (result: ToolResult.ToolResult): Outcome => {
  const outcome = outcomes.get(result) ?? Object.freeze(shape(result))
  outcomes.set(result, outcome)
  results.set(outcome, result)
  return outcome
}

const resultOf = (answer: Answer): ToolResult.ToolResult => {
  const known = results.get(answer)
  if (known !== undefined) return known
  const contexts = answer.additionalContexts ?? []
  if (!answer.isError) return ToolResult.withContexts(ToolResult.success(answer.value), contexts)
  const { info, message } = answer.error
  const failure = ToolResult.failure({ code: info?.code ?? "POLICY_FAILURE", name: info?.name, message })
  return { ...failure, content: answer.content ?? failure.content, contexts }
}

const decisionOf = (decision: Decision): Policy.Decision =>
  decision.kind === "deny"
    ? Policy.deny(decision.reason)
    : decision.kind === "ask"
      ? Policy.ask(decision.reason)
      : Policy.allow

const reviewOf = (review: Review): Policy.Review => {
  const contexts = review.additionalContexts
  return review.kind === "block"
    ? Policy.block(review.content, { contexts })
    : Policy.accept({ content: review.content, value: review.value, contexts })
}

const awaiting = <A>(f: (body: Abort.Body) => A | Promise<A>): Effect.Effect<A, unknown, Cancellation.Cancellation> =>
  Abort.fromPromise({ try: async (body) => f(body), catch: (error) => error })

export const effectDriver = (runtime: Runtime.Runtime<never>): Driver => ({
  kind: "effect",
  coded: (message, code) => new HarnessError({ message, code }),
  advance: (millis) => Runtime.runPromise(runtime)(Effect.zipRight(TestClock.adjust(millis), Effect.yieldNow())),
  setup: (stages: Stages = {}) => {
    const seen = new Observer()
    const { after, approve, around, before, body, guard, inner, observe } = stages
    // All that cancels here is the signal of the caller, by the id of the call.
    const signals = new Map<string, AbortSignal>()
    const see = ({ agent, id, parameters, tool }: Policy.Call): Seen => ({
      callId: id,
      name: tool,
      arguments: parameters,
      agent,
      signal: signals.get(id) as AbortSignal
    })
    const wrap = (around: NonNullable<Stages["around"]>) => (call: Policy.Call, next: Policy.Next) =>
      Effect.flatMap(Effect.runtime<Cancellation.Cancellation>(), (runtime) => {
        // Nothing interrupts it: it is stopped with its owner, and answers.
        const run = () => {
          const result = Abort.toPromiseWith(runtime)(Effect.uninterruptible(next)).then(outcomeOf)
          result.catch(() => {}) // a wrapper need not wait for it
          return result
        }
        return Effect.map(
          awaiting(() => around(see(call), run)),
          resultOf
        )
      })
    const Echo = Tool.make("echo", {
      description: "Says it again",
      parameters: { text: Schema.String },
      success: Schema.String,
      failure: Schema.Unknown,
      timeout: stages.timeout,
      render: stages.render,
      meta: stages.meta,
      finalContent: stages.finalContent && ((result) => stages.finalContent?.(outcomeOf(result))),
      handler: ({ text }) => {
        seen.enter("body")
        if (body === undefined) return Effect.succeed(text)
        type Services = Cancellation.Cancellation | ToolContext.ToolContext
        return Effect.flatMap(Effect.runtime<Services>(), (runtime) => {
          const context = Context.get(runtime.context, ToolContext.ToolContext)
          const now = <A>(effect: Effect.Effect<A>) => Runtime.runSync(runtime)(effect)
          return awaiting(({ signal }) => {
            const given: Body = {
              signal,
              attempt: context.attempt,
              deferContext: (text) => now(context.deferContext(Content.text(text))),
              concludeTurn: () => now(context.concludeTurn),
              call: (name, parameters) =>
                Abort.toPromiseWith(runtime)(Effect.uninterruptible(context.call(name, parameters))).then(outcomeOf)
            }
            return seen.during(context.callId, () => body(text, given)) as Promise<string>
          })
        })
      }
    })
    const Count = Tool.make("count", {
      description: "Counts",
      parameters: {},
      success: Schema.Number,
      handler: () => Effect.succeed(3)
    })
    const finish = { onCancel: "finish" } as const
    const deciding = (decide: (call: Seen) => Decision | Promise<Decision>) => (call: Policy.Call) =>
      Effect.map(
        awaiting(() => decide(see(call))),
        decisionOf
      )
    const { around: innerAround, before: innerBefore, guard: innerGuard } = inner ?? {}
    const policies = [
      Policy.before(
        "before",
        deciding((call) => {
          seen.enter("before")
          return before?.(call) ?? { kind: "allow" }
        }),
        finish
      ),
      Policy.guard("guard", (call) => {
        seen.enter("guard")
        return guard?.(see(call))
      }),
      Policy.around(
        "around",
        wrap((call, next) => {
          seen.enter("around")
          return around === undefined ? next() : around(call, next)
        }),
        finish
      ),
      ...(innerBefore === undefined ? [] : [Policy.before("inner", deciding(innerBefore), finish)]),
      ...(innerGuard === undefined ? [] : [Policy.guard("inner", (call) => innerGuard(see(call)))]),
      ...(innerAround === undefined ? [] : [Policy.around("inner", wrap(innerAround), finish)]),
      Policy.after("after", (call, result) =>
        Effect.map(
          awaiting(() => {
            seen.enter("after")
            return after?.(see(call), outcomeOf(result)) ?? { kind: "accept" as const }
          }),
          reviewOf
        )
      ),
      Policy.observe("observe", (call, result) => {
        seen.enter("observe")
        seen.published(outcomeOf(result))
        return awaiting(() => observe?.(see(call), outcomeOf(result)))
      })
    ] as ReadonlyArray<Policy.Policy<Cancellation.Cancellation>>
    const approval =
      approve === undefined
        ? Layer.empty
        : Approval.layer((question) =>
            Effect.orDie(
              awaiting(({ signal }) => approve({ ...question, reason: question.reason, agent: question.agent, signal }))
            )
          )
    const scope = Effect.runSync(Scope.make())
    const echoScope = Effect.runSync(Scope.make())
    const layer = ToolRuntime.layer({ toolkit: Toolkit.make(...(stages.counts === true ? [Count] : [])), policies })
    const context = Runtime.runSync(runtime)(Layer.buildWithScope(Layer.provide(layer, approval), scope))
    const service = Context.get(context, ToolRuntime.ToolRuntime)
    Runtime.runSync(runtime)(Scope.extend(service.register(Echo as Tool.Any) as Effect.Effect<void>, echoScope))
    return {
      log: seen.log,
      observed: seen.observed,
      controller: seen.controller,
      call: (changes) => {
        const input = seen.inputOf(changes)
        signals.set(input.callId, input.signal)
        const call = {
          id: input.callId,
          name: input.name,
          agent: input.agent,
          get parameters() {
            return input.arguments
          }
        }
        const execute = () =>
          new Promise<Outcome>((resolve, reject) => {
            // Where the signal has aborted already nothing would be executed at all: the call is made first.
            const executed = Effect.uninterruptible(
              Effect.flatMap(Cancellation.Cancellation, () => service.execute(call))
            )
            const owned = input.signal.aborted
              ? cancelled(executed, input.signal.reason)
              : Cancellation.ownSignal(executed, input.signal)
            Runtime.runFork(runtime)(owned).addObserver((exit) =>
              Exit.isSuccess(exit) ? resolve(outcomeOf(exit.value)) : reject(exit.cause)
            )
          })
        return seen.checked(input, execute)
      },
      reached: (stage) => seen.reached(stage),
      removeTool: () => Runtime.runSync(runtime)(Scope.close(echoScope, Exit.void)),
      cancelCall: (callId, reason) =>
        Runtime.runSync(runtime)(
          service.cancelCall(callId, reason === undefined ? CancelCause.user() : CancelCause.hostSignal(reason))
        ),
      dispose: () => Runtime.runPromise(runtime)(Scope.close(scope, Exit.interrupt(FiberId.none)))
    }
  }
})

/** Executes under an owner that a signal has cancelled, which is what a call that comes too late meets. */
const cancelled = <A>(executed: Effect.Effect<A, never, Cancellation.Cancellation>, reason: unknown) =>
  Effect.suspend(() => {
    const controller = new AbortController()
    const late = Effect.zipRight(
      Effect.sync(() => controller.abort(reason)),
      executed
    )
    return Effect.uninterruptible(Cancellation.ownSignal(late, controller.signal))
  })
