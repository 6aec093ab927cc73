/**
 * One run of code: the place in which it runs, the calls that it makes, and the time that it has.
 *
 * Invariants
 *
 * K1. The first of the code's end, the time and a stop counts; whatever comes later changes nothing (L6, L7).
 * K2. From that step on no call is made, and the place and the calls that run are being stopped (L3).
 * K3. It is stopped in the step in which its owner is cancelled, before its calls are: what they come to then is not told
 *     to the code, so that no failure is made of a cancellation (L5).
 * K4. It has ended when the place is gone and no call runs; then it has no timer, and is a member of
 *     no owner (L3, L4, L10).
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as Cancellation from "../../../Cancellation.js"
import * as CodeRuntime from "../../../capability/CodeRuntime.js"
import type { Member } from "../../cancellation/owner.js"
import { report } from "../../report.js"
import { Settlement, waitOrStop } from "../../settlement.js"
import { type Origin, originOf } from "../../startFiber.js"
import { maxTimerMillis, startTimer } from "../../timer.js"
import { Calls, parseJson } from "./calls.js"
import type { Engine, Job, Listener, Outcome, Place, Problem } from "./engine.js"

type Options = CodeRuntime.RunOptions<Cancellation.Cancellation>

const defaultTimeout = Duration.minutes(1)

const fixedNames = new Set(["NaN", "Infinity", "undefined", "globalThis", "console"])

interface Plan {
  readonly job: Job
  readonly timeoutMillis: number | undefined
}

const planOf = (options: Options): Plan | string => {
  const { code, maxCalls = 10, maxLogBytes = 64_000, maxMemoryMb = 128, maxOutputBytes = 1024 * 1024 } = options
  const names = Object.keys(options.bindings ?? {})
  for (const name of names) {
    if (!/^[A-Za-z_$][\w$]*$/.test(name) || fixedNames.has(name)) return `a binding cannot be named ${name}`
  }
  for (const [name, value, least] of [
    ["maxCalls", maxCalls, 1],
    ["maxLogBytes", maxLogBytes, 0],
    ["maxMemoryMb", maxMemoryMb, 16],
    ["maxOutputBytes", maxOutputBytes, 0]
  ] as const) {
    if (!(Number.isInteger(value) && value >= least)) return `${name} must be an integer of ${least} or more`
  }
  const millis = Duration.toMillis(options.timeout ?? defaultTimeout)
  if (millis !== Number.POSITIVE_INFINITY && !(millis > 0 && millis <= maxTimerMillis)) {
    return `timeout must be more than nothing and at most ${maxTimerMillis} milliseconds, or infinite`
  }
  const timeoutMillis = millis === Number.POSITIVE_INFINITY ? undefined : millis
  return { job: { code, names, maxCalls, maxLogBytes, maxMemoryMb, maxOutputBytes }, timeoutMillis }
}

const failed = (problem: Problem): Outcome => ({ _tag: "Failed", problem })

class Run implements Listener, Member {
  /** Settles when nothing of it is left, with what could not be stopped. */
  readonly ended = new Settlement<ReadonlyArray<string>>()
  private outcome: Outcome | "stopped" | undefined
  private readonly logs: Array<CodeRuntime.Log> = []
  private areLogsTruncated = false
  private onLog: ((log: CodeRuntime.Log) => void) | undefined
  private readonly origin: Origin
  private readonly calls: Calls
  private readonly place: Place
  private readonly disarm: (() => void) | undefined
  private readonly isProtected: boolean

  constructor(
    engine: Engine,
    { bindings = {}, onLog }: Options,
    { job, timeoutMillis }: Plan,
    context: Context.Context<Cancellation.Cancellation>,
    origin: Origin
  ) {
    const owner = Cancellation.ownerIn(context)
    this.origin = origin
    this.isProtected = !RuntimeFlags.interruptible(origin.runtimeFlags)
    this.onLog = onLog
    this.calls = new Calls(bindings, context, origin)
    this.place = engine.start(job, this, origin)
    owner.join(this)
    this.place.ended.whenSettled(({ escaped, problem }) => {
      this.end(failed(problem))
      this.calls.quiet.whenSettled(() => {
        owner.leave(this) // K4
        this.ended.settle(escaped) // K4
      })
    })
    if (timeoutMillis === undefined || this.outcome !== undefined) return
    const detail = `more than ${timeoutMillis} milliseconds`
    this.disarm = startTimer(origin, timeoutMillis, () => this.end(failed({ reason: "Timeout", detail })))
  }

  readonly called = (id: number, name: string, json: string): void =>
    this.calls.start(name, json, (answer) => this.place.answer(id, answer))

  readonly logged = (log: CodeRuntime.Log): void => {
    this.logs.push(log) // also behind a stop: it was on its way
    try {
      this.onLog?.(log)
    } catch (error) {
      this.onLog = undefined
      report("The listener to the log of code failed and is not told any more", Cause.die(error), this.origin)
    }
  }

  readonly logsTruncated = (): void => {
    this.areLogsTruncated = true
  }

  readonly settled = (outcome: Outcome): void => this.end(outcome)

  readonly stop = (): void => this.end("stopped")

  /** In a protected region it goes on: clean-up must be able to work. */
  readonly cancelled = (): void => {
    if (!this.isProtected) this.stop() // K3
  }

  private end(outcome: Outcome | "stopped"): void {
    if (this.outcome !== undefined) return // K1
    this.outcome = outcome
    this.disarm?.() // K4
    this.calls.stop() // K2
    this.place.stop() // K2
  }

  /** What it has come to. Only when it has ended. */
  get result(): Exit.Exit<CodeRuntime.RunResult, CodeRuntime.CodeError> {
    const { areLogsTruncated: logsTruncated, logs, outcome } = this
    const fail = (problem: Problem) => Exit.fail(new CodeRuntime.CodeError({ ...problem, logs, logsTruncated }))
    if (outcome === undefined || outcome === "stopped") return Exit.interrupt(FiberId.none)
    if (outcome._tag === "Failed") return fail(outcome.problem)
    const value = parseJson(outcome.json)
    if (Option.isNone(value)) return fail({ reason: "InvalidOutput" })
    return Exit.succeed({ value: value.value, logs, logsTruncated })
  }
}

/** @internal */
export const run =
  (engine: Engine): CodeRuntime.Service["run"] =>
  (options) =>
    Effect.withFiberRuntime<CodeRuntime.RunResult, CodeRuntime.CodeError, Cancellation.Cancellation>((fiber, status) =>
      Effect.uninterruptibleMask((restore) => {
        const plan = planOf(options)
        if (typeof plan === "string") {
          return new CodeRuntime.CodeError({ reason: "InvalidOptions", detail: plan, logs: [], logsTruncated: false })
        }
        // In this step: an interrupt that came between the mask and the start would find nothing to stop (L10).
        const context = fiber.currentContext as Context.Context<Cancellation.Cancellation>
        const running = new Run(engine, options, plan, context, originOf(fiber, status))
        let interruption: Cause.Cause<never> | undefined
        const ended = waitOrStop(running.ended, restore, (cause) => {
          interruption = cause
          running.stop() // L3
        })
        return Effect.flatMap(ended, (escaped) => {
          const escapes = Effect.forEach(escaped, Cancellation.recordEscape, { discard: true }) // L4
          const { result } = running
          // Only a success gives way to a cancellation that came after it (L5).
          const stopped = interruption === undefined ? result : Effect.failCause(interruption)
          return Effect.zipRight(escapes, Exit.isSuccess(result) ? stopped : result)
        })
      })
    ).pipe(Cancellation.operation("run code"))
