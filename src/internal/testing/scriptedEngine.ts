/**
 * Code that is nothing but a script: an effect of the test, on the clock of whoever runs it, the explorer's too.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as CodeRuntime from "../../capability/CodeRuntime.js"
import type { Answer, Ending, Engine, Job, Listener, Outcome, Place, Problem } from "../capability/code/engine.js"
import { materialize } from "../json.js"
import { Settlement } from "../settlement.js"
import { type Origin, startFiber } from "../startFiber.js"
import { describeThrown } from "../thrown.js"

/** What a script does with. See `ScriptedCode.Inside`. */
export interface Inside {
  readonly log: (text: string, level?: CodeRuntime.Log["level"]) => Effect.Effect<void>
  readonly call: (name: string, argument?: unknown) => Effect.Effect<unknown, Thrown>
}

export type Script = (inside: Inside) => Effect.Effect<unknown, unknown>

/** What a call of a binding throws in the code. */
export interface Thrown {
  readonly message: string
  readonly name?: string
  readonly code?: string
}

/** An end that is no exception of the code. */
export class ScriptedEnd {
  readonly problem: Problem
  constructor(problem: Problem) {
    this.problem = problem
  }
}

class ScriptedPlace implements Place, Inside {
  readonly ended = new Settlement<Ending>()
  private readonly job: Job
  private readonly listener: Listener
  private readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
  private readonly pending = new Map<number, Settlement<Answer>>()
  private readonly waiting = new Set<() => void>()
  private calls = 0
  private unanswered = 0
  private logBytes = 0

  constructor(job: Job, script: Script, listener: Listener, origin: Origin) {
    this.job = job
    this.listener = listener
    const run = Effect.zipRight(
      Effect.yieldNow(), // the listener is not told in the step of the start
      Effect.suspend(() => script(this))
    )
    this.fiber = startFiber(run, Context.empty(), origin)
    this.fiber.addObserver((exit) => {
      const outcome = this.outcomeOf(exit)
      if (outcome !== undefined) listener.settled(outcome)
      this.ended.settle({ problem: { reason: "Unsettled" }, escaped: [] })
    })
  }

  readonly log = (text: string, level: CodeRuntime.Log["level"] = "log"): Effect.Effect<void> =>
    Effect.sync(() => {
      const { maxLogBytes } = this.job
      if (this.logBytes > maxLogBytes) return
      this.listener.logged({ level, text: text.slice(0, maxLogBytes - this.logBytes) })
      this.logBytes += text.length + 1
      if (this.logBytes > maxLogBytes) this.listener.logsTruncated()
    })

  readonly call = (name: string, argument: unknown = null): Effect.Effect<unknown, Thrown> =>
    Effect.suspend(() => {
      const answered = new Settlement<Answer>()
      const id = ++this.calls
      this.pending.set(id, answered)
      const send = () => {
        this.unanswered++
        this.listener.called(id, name, JSON.stringify(argument))
      }
      if (this.unanswered < this.job.maxCalls) send()
      else this.waiting.add(send)
      return Effect.flatMap(answered.wait(), ({ isValue, json }) =>
        isValue ? Effect.succeed(JSON.parse(json)) : Effect.fail(JSON.parse(json) as Thrown)
      )
    })

  readonly answer = (id: number, answer: Answer): void => {
    this.unanswered--
    for (const send of this.waiting) {
      this.waiting.delete(send)
      send()
      break
    }
    this.pending.get(id)?.settle(answer)
    this.pending.delete(id)
  }

  readonly stop = (): void => this.fiber.unsafeInterruptAsFork(FiberId.none)

  private outcomeOf(exit: Exit.Exit<unknown, unknown>): Outcome | undefined {
    const failed = (problem: Problem): Outcome => ({ _tag: "Failed", problem })
    if (Exit.isFailure(exit)) {
      if (Cause.isInterrupted(exit.cause)) return undefined
      const error = Cause.squash(exit.cause)
      if (error instanceof ScriptedEnd) return failed(error.problem)
      return failed({ reason: "Exception", detail: describeThrown(error).message })
    }
    const copy = materialize(exit.value === undefined ? null : exit.value)
    if (Either.isLeft(copy)) return failed({ reason: "InvalidOutput" })
    const json = JSON.stringify(copy.right)
    return json.length > this.job.maxOutputBytes ? failed({ reason: "OutputLimit" }) : { _tag: "Value", json }
  }
}

/** @internal */
export class ScriptedEngine implements Engine {
  readonly started: Array<string> = []
  running = 0
  private readonly scriptOf: (code: string) => Script

  constructor(scriptOf: (code: string) => Script) {
    this.scriptOf = scriptOf
  }

  start(job: Job, listener: Listener, origin: Origin): Place {
    this.started.push(job.code)
    this.running++
    const place = new ScriptedPlace(job, this.scriptOf(job.code), listener, origin)
    place.ended.whenSettled(() => this.running--)
    return place
  }
}
