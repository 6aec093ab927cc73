/**
 * The calls of bindings that one run of code makes.
 *
 * Each runs on a fiber and under an owner of its own, which derives from that of the run: whatever a binding starts has
 * ended when its call has (L3).
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Cancellation from "../../../Cancellation.js"
import type * as CodeRuntime from "../../../capability/CodeRuntime.js"
import { contained } from "../../contained.js"
import { type Json, materialize } from "../../json.js"
import { Settlement } from "../../settlement.js"
import { type Origin, startFiber } from "../../startFiber.js"
import { describeThrown } from "../../thrown.js"
import type { Answer } from "./engine.js"

const refused = (message: string, name?: string, code?: string): Answer => ({
  isValue: false,
  json: JSON.stringify({ message, name, code })
})

const answerOf = (exit: Exit.Exit<unknown, unknown>): Answer => {
  if (Exit.isFailure(exit)) {
    if (Cause.isInterruptedOnly(exit.cause)) return refused("It was interrupted", "Interrupted", "INTERRUPTED")
    const failure = Cause.failureOption(exit.cause)
    const { code, message, name } = describeThrown(
      Option.isSome(failure) ? failure.value : Option.getOrUndefined(Cause.dieOption(exit.cause))
    )
    return refused(message, name, code)
  }
  const copy = materialize(exit.value === undefined ? null : exit.value)
  if (Either.isRight(copy)) return { isValue: true, json: JSON.stringify(copy.right) }
  return refused("What it gave is not JSON", "NotJson", "NOT_JSON")
}

/**
 * A frozen copy of JSON text that comes from the code, or nothing where it is none.
 *
 * @internal
 */
export const parseJson = (text: string): Option.Option<Json> => {
  try {
    return Option.filter(Either.getRight(materialize(JSON.parse(text))), () => true)
  } catch {
    return Option.none()
  }
}

/** @internal */
export class Calls {
  /** Settles when it was stopped and none runs any more. */
  readonly quiet = new Settlement<void>()
  private readonly running = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
  private readonly bindings: CodeRuntime.Bindings<Cancellation.Cancellation>
  private readonly context: Context.Context<Cancellation.Cancellation>
  private readonly origin: Origin
  private unfinished = 0
  private isStopped = false

  constructor(
    bindings: CodeRuntime.Bindings<Cancellation.Cancellation>,
    context: Context.Context<Cancellation.Cancellation>,
    origin: Origin
  ) {
    this.bindings = bindings
    this.context = context
    this.origin = contained(origin)
  }

  /** Makes a call, unless it was stopped, and then calls `answer`, unless it was stopped by then. */
  start(name: string, json: string, answer: (answer: Answer) => void): void {
    if (this.isStopped) return // L3
    const binding = Object.hasOwn(this.bindings, name) ? this.bindings[name] : undefined
    const argument = parseJson(json)
    if (binding === undefined || Option.isNone(argument)) return answer(refused("There is no such function"))
    const call = Cancellation.own(Effect.suspend(() => binding(argument.value)))
    this.unfinished++ // before it starts: what it does first may be what stops the run
    const fiber = startFiber(call, this.context, this.origin)
    this.running.add(fiber)
    fiber.addObserver((exit) => {
      this.running.delete(fiber)
      this.unfinished--
      if (this.isStopped) this.look()
      else answer(answerOf(exit))
    })
  }

  /** Interrupts those that run. From this step on no other is made. */
  stop(): void {
    this.isStopped = true
    for (const fiber of this.running) fiber.unsafeInterruptAsFork(FiberId.none)
    this.look()
  }

  private look(): void {
    if (this.unfinished === 0) this.quiet.settle()
  }
}
