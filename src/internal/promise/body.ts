/**
 * Runs the body of a tool of code without Effect.
 *
 * Invariants
 *
 * B1. The body is called in the step in which its call is dispatched, so that `dispatched` says the truth of it (L2).
 * B2. Its promise is awaited before its attempt has settled, whatever stops the fiber that waits (L3, L4).
 * B3. A body that yields is pulled to its end, and where it is to stop, ended at its next yield; that is awaited, too.
 */

import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { hasProperty, isPromiseLike, isString } from "effect/Predicate"
import * as Content from "../../Content.js"
import type { BodyContext } from "../../promise/Call.js"
import type { ToolResult } from "../../promise/Result.js"
import { ToolContext } from "../../ToolContext.js"
import type * as CoreResult from "../../ToolResult.js"
import { Bridge } from "../abort/bridge.js"
import { invariant } from "../invariant.js"
import { defaultOrigin, type Origin, startProtectedFiber } from "../startFiber.js"
import { Attempt } from "../toolRuntime/attemptState.js"
import { failing } from "./calling.js"
import { identityOf } from "./callView.js"
import { toFacade } from "./results.js"

type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

const originOfFiber = (fiber: AnyFiber): Origin => ({
  ...defaultOrigin,
  fiberRefs: fiber.getFiberRefs(),
  services: fiber.currentDefaultServices,
  parentSpan: fiber.currentSpan
})

const refuseLate = (attempt: Attempt, what: string): void => {
  const message = attempt.tooLate(what)
  if (message !== undefined) throw new Error(message) // W8
}

/** Runs a call of the body on a fiber that nobody interrupts: it is stopped with the body's owner, and answers. */
const callFrom = (attempt: Attempt, fiber: AnyFiber, name: string, parameters: unknown): Promise<ToolResult> => {
  const promise = new Promise<ToolResult>((resolve, reject) => {
    refuseLate(attempt, "call")
    const member = { cancelled: () => {}, stop: () => {} }
    attempt.owner.join(member) // L3: also while it waits for its turn
    const nested = startProtectedFiber(
      attempt.call(name, parameters),
      fiber.currentContext as Context.Context<any>,
      originOfFiber(fiber)
    )
    nested.addObserver((exit: Exit.Exit<CoreResult.ToolResult>) => {
      attempt.owner.leave(member)
      if (exit._tag === "Success") resolve(toFacade(exit.value))
      else reject(Cause.squash(exit.cause))
    })
  })
  promise.catch(() => {}) // L10: a body need not wait for its calls
  return promise
}

const contextOf = (attempt: Attempt, fiber: AnyFiber, given: { readonly signal: AbortSignal }): BodyContext =>
  Object.freeze({
    ...identityOf(attempt.host.view),
    attempt: attempt.attempt,
    get signal() {
      return given.signal // made when it is read
    },
    get remaining() {
      const { deadlineAt } = attempt.owner
      return deadlineAt === undefined ? undefined : Math.max(0, deadlineAt - attempt.host.now())
    },
    deferContext: (content: string | Content.Content) => {
      refuseLate(attempt, "deferContext")
      const problem = attempt.defer(isString(content) ? Content.text(content) : content)
      if (problem !== undefined) throw new TypeError(problem)
    },
    concludeTurn: () => {
      refuseLate(attempt, "concludeTurn")
      attempt.concludes = true
    },
    progress: (text: string) => {
      refuseLate(attempt, "progress")
      attempt.host.progressed(String(text))
    },
    call: (name: string, parameters: unknown) => callFrom(attempt, fiber, name, parameters)
  })

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown, unknown> =>
  hasProperty(value, Symbol.asyncIterator)

/** Shows what a body yields as its progress, and gives what it returns. */
const pulled = async (iterable: AsyncIterable<unknown, unknown>, context: BodyContext): Promise<unknown> => {
  const iterator = iterable[Symbol.asyncIterator]()
  for (;;) {
    const step = await iterator.next()
    if (step.done === true) return step.value
    if (context.signal.aborted) {
      await iterator.return?.() // B3
      throw context.signal.reason
    }
    try {
      context.progress(String(step.value))
    } catch (error) {
      await iterator.return?.() // L3: its clean-up
      throw error
    }
  }
}

/** What a body needs to be run. */
interface Runnable {
  readonly execute: (parameters: unknown, context: BodyContext) => unknown
  /** Called with what the body returned. */
  readonly check: (value: unknown) => unknown
}

const run = ({ check, execute }: Runnable, parameters: unknown, context: BodyContext): unknown => {
  const answer = execute(parameters, context)
  const value = isAsyncIterable(answer) ? pulled(answer, context) : answer
  if (!isPromiseLike(value)) return check(value)
  // The `then` of another library need not give a promise, and what it gives need not be awaited (L3).
  return (value instanceof Promise ? value : Promise.resolve(value)).then(check)
}

/**
 * Calls the body, and gives the effect that waits for it. Must be called by the fiber of an attempt.
 *
 * @internal
 */
export const startBody = (body: Runnable, parameters: unknown): Effect.Effect<unknown, unknown> => {
  const fiber = Option.getOrUndefined(Fiber.getCurrentFiber()) as AnyFiber | undefined
  const attempt = fiber?.currentContext.unsafeMap.get(ToolContext.key)
  invariant(fiber !== undefined && attempt instanceof Attempt, "a body was called outside of an attempt")
  const promise = new Bridge<unknown>(attempt.owner, fiber)
  attempt.awaiting(promise) // B2
  promise.start((given) => run(body, parameters, contextOf(attempt, fiber, given)) as PromiseLike<unknown>) // B1
  return Effect.flatMap(promise.settlement.wait(), (settled) => {
    if (settled._tag === "Resolved") return Effect.succeed(settled.value)
    return promise.isCancellation(settled.error) ? Effect.interrupt : failing(settled.error)
  })
}
