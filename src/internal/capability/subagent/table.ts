/**
 * The children of one layer.
 *
 * Invariants
 *
 * B1. A place is taken before anything of a child is made and given back when nothing of it is left: never more than
 *     `maxChildren` are alive, those that rest or are stopping included.
 * B2. A child has taken its task, is listed and has its owner in one step, the commit point (L9). What cannot take its task
 *     is not published.
 * B3. What goes wrong while a child is disposed of is told to whoever disposes of it, and does not keep it from ending.
 * B4. Of those that have ended the newest `maxEnded` are remembered, without what they were made of.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as CancelCause from "../../../CancelCause.js"
import { type Cancellation, operation, ownerIn } from "../../../Cancellation.js"
import { type Service, type StartOptions, SubagentError } from "../../../capability/Subagent.js"
import * as Handoff from "../../../Handoff.js"
import { misuse } from "../../invariant.js"
import { report } from "../../report.js"
import { Settlement } from "../../settlement.js"
import { type Origin, originOf } from "../../startFiber.js"
import { describeThrown } from "../../thrown.js"
import { nowOf } from "../../timer.js"
import type { Make, Problem } from "./child.js"
import { SubagentRecord } from "./record.js"

/** @internal */
export interface Limits {
  readonly maxChildren?: number | undefined
  readonly maxEnded?: number | undefined
}

/** What a child that is to be published says of a task that it cannot take. */
class Refused {
  readonly problem: Problem

  constructor(problem: Problem) {
    this.problem = problem
  }
}

const isEmpty = (message: StartOptions["task"]): boolean =>
  typeof message === "string" ? message.trim() === "" : message.length === 0

const emptyTask: Problem = { reason: "InvalidOptions", detail: "the task is empty: say what it is to do" }
const emptyMessage: Problem = { reason: "InvalidOptions", detail: "the message is empty" }

/** @internal */
export class SubagentTable {
  private readonly owner: Context.Context<Cancellation>
  private readonly maxChildren: number
  private readonly maxEnded: number
  private readonly records = new Map<string, SubagentRecord>()
  private readonly ended: Array<string> = []
  private started = 0
  private taken = 0

  constructor(owner: Context.Context<Cancellation>, { maxChildren = 10, maxEnded = 100 }: Limits) {
    for (const [name, value] of Object.entries({ maxChildren, maxEnded })) {
      if (!(Number.isInteger(value) && value >= 0)) misuse(`${name} must be an integer of 0 or more, not ${value}`)
    }
    this.owner = owner
    this.maxChildren = maxChildren
    this.maxEnded = maxEnded
  }

  get(id: string): SubagentRecord | undefined {
    return this.records.get(id)
  }

  get all(): ReadonlyArray<SubagentRecord> {
    return [...this.records.values()]
  }

  /** Starts a child and succeeds with its id. */
  start(options: StartOptions, make: Make): Effect.Effect<string, Problem, Cancellation> {
    return Effect.withFiberRuntime((fiber, status) =>
      Effect.uninterruptibleMask((restore) => {
        if (isEmpty(options.task)) return Effect.fail(emptyTask)
        if (this.taken >= this.maxChildren) return Effect.fail<Problem>({ reason: "TooMany" })
        this.taken++ // B1: here, so that two starts at once do not both find the last place
        const birth = new Birth(this, options, originOf(fiber, status), `${options.profile}-${++this.started}`)
        const callers = fiber.currentContext as Context.Context<Cancellation>
        const owner = options.attachment === "detached" ? this.owner : callers // L9
        // Outside of `restore`: in an interruptible region Effect strips the failure of an interrupted fiber here (L5).
        return Effect.catchAllCause(restore(birth.handOver(owner, make)), (cause) => {
          if (!birth.isPublished) this.taken-- // B1
          return birth.failure(cause)
        })
      })
    )
  }

  publish(record: SubagentRecord): void {
    this.records.set(record.id, record)
  }

  left(id: string): void {
    this.taken-- // B1
    this.ended.push(id)
    const forgotten = this.ended.splice(0, Math.max(0, this.ended.length - this.maxEnded))
    for (const old of forgotten) this.records.delete(old) // B4
  }
}

/** One child on its way to its owner. */
class Birth {
  private readonly table: SubagentTable
  private readonly options: StartOptions
  private readonly origin: Origin
  private readonly id: string
  private record: SubagentRecord | undefined
  private disposal: string | undefined

  constructor(table: SubagentTable, options: StartOptions, origin: Origin, id: string) {
    this.table = table
    this.options = options
    this.origin = origin
    this.id = id
  }

  get isPublished(): boolean {
    return this.record !== undefined
  }

  handOver(owner: Context.Context<Cancellation>, make: Make) {
    const published = new Settlement<SubagentRecord>()
    const start = Effect.gen(this, function* () {
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) =>
        Effect.map(Effect.exit(Scope.close(scope, exit)), (closed) => this.closed(closed))
      )
      const child = yield* Scope.extend(make(this.id), scope)
      if (this.options.disposeAtRest === true) {
        yield* Effect.forkScoped(Effect.flatMap(published.wait(), (record) => record.endAtRest))
      }
      return { child, owner: ownerIn(yield* Effect.context<Cancellation>()) }
    })
    return Handoff.make({
      owner,
      start,
      publish: (born, handedOver) => {
        const { attachment = "attached", disposeAtRest = false, profile, task } = this.options
        // A child that was just made has nothing to wait for.
        const accepted = Effect.runSync(Effect.either(born.child.accept(task)))
        if (accepted._tag === "Left") throw new Refused(accepted.left) // B2
        const { id, table } = this
        const origins = { id, profile, attachment, disposeAtRest, now: () => nowOf(this.origin) }
        const record = new SubagentRecord(origins, born.child, born.owner, handedOver, () => table.left(id))
        this.record = record
        table.publish(record)
        published.settle(record)
        return id
      }
    })
  }

  /** What a start that came to nothing fails with. */
  failure(cause: Cause.Cause<Problem | Handoff.OwnerEnded>): Effect.Effect<never, Problem> {
    if (this.disposal !== undefined) return Effect.fail({ reason: "DisposalFailed", detail: this.disposal }) // L5
    const failure = Option.getOrUndefined(Cause.failureOption(cause))
    if (failure instanceof Handoff.OwnerEnded) return Effect.fail({ reason: "OwnerEnded" })
    if (failure !== undefined) return Effect.fail(failure)
    const refused = Option.getOrUndefined(Cause.dieOption(cause))
    if (refused instanceof Refused) return Effect.fail(refused.problem)
    return Effect.failCause(cause as Cause.Cause<never>)
  }

  private closed(exit: Exit.Exit<void>): void {
    if (Exit.isSuccess(exit)) return
    const { message } = describeThrown(Cause.squash(exit.cause))
    if (this.record === undefined) this.disposal = message
    else this.record.disposal = message // B3
    report(`Subagent ${this.id} could not be disposed of cleanly`, exit.cause, this.origin)
  }
}

/**
 * The service over a table. `make` says how to make a child of a profile, or why there is none.
 *
 * @internal
 */
export const serviceOver = (table: SubagentTable, make: (options: StartOptions) => Make | Problem): Service => {
  const failure = (subagent: string) => (problem: Problem) => new SubagentError({ subagent, ...problem })
  const find = (id: string): Effect.Effect<SubagentRecord, SubagentError> =>
    Effect.suspend(() => {
      const record = table.get(id)
      return record === undefined ? Effect.fail(failure(id)({ reason: "NotFound" })) : Effect.succeed(record)
    })
  // A failure is translated outside of what an interruption ends: Effect strips it there (L5).
  const told = <A>(id: string, effect: Effect.Effect<A, Problem>): Effect.Effect<A, SubagentError> =>
    Effect.matchEffect(effect, {
      onSuccess: Effect.succeed,
      onFailure: (problem) => Effect.fail(failure(id)(problem))
    })
  return {
    start: (options) =>
      Effect.suspend(() => {
        const made = make(options)
        const started = typeof made === "function" ? table.start(options, made) : Effect.fail(made)
        return Effect.uninterruptibleMask((restore) => Effect.mapError(restore(started), failure(options.profile)))
      }).pipe(operation(`start a subagent (${options.profile})`)),
    send: (id, message) =>
      Effect.flatMap(find(id), (record) =>
        told(id, isEmpty(message) ? Effect.fail(emptyMessage) : record.accept(message))
      ).pipe(operation(`send to subagent ${id}`)),
    wait: (id, { timeout = Number.POSITIVE_INFINITY } = {}) =>
      Effect.flatMap(find(id), (record) => told(id, record.wait(timeout))).pipe(operation(`wait for subagent ${id}`)),
    interrupt: (id, cause = CancelCause.user()) =>
      Effect.flatMap(find(id), (record) =>
        Effect.map(record.interrupt(cause), (ran) => (ran ? "requested" : "already-resting"))
      ),
    dispose: (id) =>
      Effect.flatMap(find(id), (record) => told(id, record.dispose)).pipe(operation(`dispose of subagent ${id}`)),
    list: Effect.sync(() => table.all.map(({ snapshot }) => snapshot))
  }
}
