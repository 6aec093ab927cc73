/**
 * Workflows: scripts of steps, whose ends are told, and which can be undone.
 *
 * A script is an Effect, and composes as every Effect does: `Effect.gen` for one step after the other, `parallel` for
 * children side by side. What `step` adds to a part of it is a name, a place (at most `concurrency` steps
 * of a run at once), an owner of its own, exactly one end for its start, and a compensation, where that is given. So a step
 * may make calls and start subagents: they end with it.
 *
 * A run has one owner, from the step in which it is published. An attached one belongs to the owner that it was started
 * under, such as a call: it is cancelled with that, and gone before that has ended. A detached one belongs to the layer.
 *
 * The layer touches no platform. `ScriptedWorkflow` in `quiesce/testing` is the same where a test says what steps come to.
 *
 * Long because most of it is contracts: what each operation promises is said beside it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CancelCause from "../CancelCause.js"
import * as Cancellation from "../Cancellation.js"
import { parallel as sideBySide } from "../internal/capability/workflow/parallel.js"
import type { WorkflowRun } from "../internal/capability/workflow/run.js"
import { WorkflowTable } from "../internal/capability/workflow/table.js"
import { misuse } from "../internal/invariant.js"
import { quoted } from "../internal/quoted.js"
import { describeThrown } from "../internal/thrown.js"

/**
 * Schema for how a run, a step or a compensation ended.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Outcome = Schema.Literal("completed", "cancelled", "error")

/**
 * How a run, a step or a compensation ended. What has completed is never called cancelled, and neither is what failed by
 * itself (L5).
 *
 * @since 0.1.0
 * @category models
 */
export type Outcome = typeof Outcome.Type

const aboutRun = { workflow: Schema.String }
const aboutStep = { ...aboutRun, step: Schema.Number, name: Schema.String }
const end = { outcome: Outcome, error: Schema.optional(Schema.String) }

/**
 * Schema for what happens in a run. `step` tells steps of the same name apart: 1 for the first that started.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Event = Schema.Union(
  Schema.TaggedStruct("WorkflowStarted", aboutRun),
  Schema.TaggedStruct("StepStarted", aboutStep),
  Schema.TaggedStruct("StepEnded", { ...aboutStep, ...end }),
  Schema.TaggedStruct("CompensationStarted", aboutStep),
  Schema.TaggedStruct("CompensationEnded", { ...aboutStep, ...end }),
  Schema.TaggedStruct("WorkflowEnded", { ...aboutRun, ...end })
)

/**
 * What happens in a run. For each start there is exactly one end, and that of the run comes last.
 *
 * @since 0.1.0
 * @category models
 */
export type Event = typeof Event.Type

/**
 * Schema for who owns a run: the owner that it was started under, or the layer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Attachment = Schema.Literal("attached", "detached")

/**
 * Who owns a run.
 *
 * @since 0.1.0
 * @category models
 */
export type Attachment = typeof Attachment.Type

const Part = Schema.Struct({
  name: Schema.String,
  status: Schema.Literal("running", ...Outcome.literals),
  error: Schema.optional(Schema.String)
})

/**
 * Schema for what is known of a run at one moment. `stopping` was asked to stop and is not quiet yet: a script that ignores
 * a cancel stays there for as long as it does. Times are milliseconds since 1970, on the clock of who started it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Snapshot = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  attachment: Attachment,
  status: Schema.Literal("running", "stopping", "compensating", "ended"),
  startedAt: Schema.Number,
  endedAt: Schema.optional(Schema.Number),
  /** What it came to, once it has ended. */
  outcome: Schema.optional(Outcome),
  error: Schema.optional(Schema.String),
  /** Why it was asked to stop, where it was. */
  cause: Schema.optional(CancelCause.CancelCause),
  /** In the order of their start. */
  steps: Schema.Array(Part),
  /** In the order of their start. */
  compensations: Schema.Array(Part),
  /** What of it could not be stopped or waited for, in words. */
  escaped: Schema.Array(Schema.String)
})

/**
 * What is known of a run at one moment.
 *
 * @since 0.1.0
 * @category models
 */
export type Snapshot = typeof Snapshot.Type

/**
 * How a step, or the compensation of one, ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface StepEnd {
  readonly name: string
  readonly exit: Exit.Exit<unknown, unknown>
}

/**
 * What a run has to tell beside what it came to.
 *
 * @since 0.1.0
 * @category models
 */
export interface Ended {
  /** Each step that started, in that order. One that has completed keeps its value, whatever the run came to. */
  readonly steps: ReadonlyArray<StepEnd>
  /** Each compensation that ran, in that order. */
  readonly compensations: ReadonlyArray<StepEnd>
  /** What could not be stopped or waited for, in words. */
  readonly escaped: ReadonlyArray<string>
}

/**
 * What a run came to.
 *
 * - `completed`: its script has succeeded
 * - `cancelled`: it was cancelled before that; of one that was cancelled before its script began there is no step
 * - `error`: its script has failed by itself
 *
 * @since 0.1.0
 * @category models
 */
export type Result<A, E> = Ended &
  (
    | { readonly outcome: "completed"; readonly value: A }
    | { readonly outcome: "cancelled"; readonly cause: CancelCause.CancelCause }
    | { readonly outcome: "error"; readonly cause: Cause.Cause<E> }
  )

const reasons = {
  OwnerEnded: "the owner that it would belong to has ended, so nothing was started",
  WaitsForItself: "this runs as a part of it, and would wait for itself"
} as const

/**
 * An operation on workflows failed. What a run itself comes to is no failure of an operation: see `Result`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Workflow } from "quiesce/capability"
 *
 * const error = new Workflow.WorkflowError({ workflow: "release-1", reason: "WaitsForItself" })
 * assert.strictEqual(error.code, "WORKFLOW_WAITS_FOR_ITSELF")
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class WorkflowError extends Schema.TaggedError<WorkflowError>("quiesce/capability/Workflow/WorkflowError")(
  "WorkflowError",
  {
    /** The id of the run, or the name of one that was not started. */
    workflow: Schema.String,
    reason: Schema.Literal("OwnerEnded", "WaitsForItself")
  }
) {
  /** The reason as the code of a failed call, such as `WORKFLOW_OWNER_ENDED`. */
  get code(): string {
    return `WORKFLOW_${this.reason.replace(/(?<!^)(?=[A-Z])/g, "_").toUpperCase()}`
  }

  override get message(): string {
    return `Workflow ${quoted(this.workflow)}: ${reasons[this.reason]}`
  }
}

/**
 * A workflow did not complete, and what its steps had done could not be undone completely. Says both.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Workflow } from "quiesce/capability"
 *
 * const error = new Workflow.CompensationFailed({
 *   workflow: "release-1",
 *   outcome: "error",
 *   error: "no such branch",
 *   failures: [{ step: "tag", error: "the server is down" }]
 * })
 * assert.match(error.message, /failed: no such branch. Not undone: "tag": the server is down/)
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class CompensationFailed extends Schema.TaggedError<CompensationFailed>(
  "quiesce/capability/Workflow/CompensationFailed"
)("CompensationFailed", {
  workflow: Schema.String,
  outcome: Outcome,
  /** Why the workflow did not complete. */
  error: Schema.String,
  failures: Schema.Array(Schema.Struct({ step: Schema.String, error: Schema.String }))
}) {
  /** The code of a call that fails with this. */
  get code(): "WORKFLOW_COMPENSATION_FAILED" {
    return "WORKFLOW_COMPENSATION_FAILED"
  }

  override get message(): string {
    const failures = this.failures.map(({ error, step }) => `${quoted(step)}: ${error}`).join("; ")
    const end = this.outcome === "cancelled" ? "was cancelled" : "failed"
    return `Workflow ${quoted(this.workflow)} ${end}: ${this.error}. Not undone: ${failures}`
  }
}

/**
 * What a step may know beside its work.
 *
 * @since 0.1.0
 * @category models
 */
export interface StepOptions<A, R = never> {
  /**
   * Undoes what the step has done. Runs where the step has completed and the run has not: when everything else of the run
   * has ended, in the reverse order in which the steps completed, one at a time. No cancellation reaches it, and it is
   * awaited. Its failure does not keep the others from running, and is reported beside what the run came to.
   */
  readonly compensate?: ((value: A) => Effect.Effect<unknown, unknown, R>) | undefined
}

/**
 * What the script of a run makes its steps with.
 *
 * @since 0.1.0
 * @category services
 */
export interface ScriptService {
  readonly step: <A, E, R, R2 = never>(
    name: string,
    work: Effect.Effect<A, E, R>,
    options?: StepOptions<A, R2>
  ) => Effect.Effect<A, E, R | R2 | Cancellation.Cancellation>
}

/**
 * Service that a script has while it runs.
 *
 * @since 0.1.0
 * @category services
 */
export class Script extends Context.Tag("quiesce/capability/Workflow/Script")<Script, ScriptService>() {}

/**
 * What `start` and `run` need to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface StartOptions<A, E, R> {
  /** What it is called. The id of the run is this and a number. */
  readonly name: string
  /** What it does. What it acquires in its `Scope` is released when it ends, before anything is compensated. */
  readonly script: Effect.Effect<A, E, R>
  /** How many of its steps may run at once, at least 1. Default: 10. */
  readonly concurrency?: number | undefined
  /** Who owns it. Default: `attached`. */
  readonly attachment?: Attachment | undefined
  /** Is called with each event, in the step in which it happens. What it throws is logged. */
  readonly onEvent?: ((event: Event) => void) | undefined
}

/**
 * One run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Running<A, E> {
  readonly id: string
  /**
   * Completes with what the run came to, when nothing of it is left. Never fails because the run has.
   *
   * An interruption ends the wait and leaves the run alone. Fails with `WaitsForItself` in a step of the run.
   */
  readonly result: Effect.Effect<Result<A, E>, WorkflowError, Cancellation.Cancellation>
  /**
   * Asks the run to stop. Does not wait: `result` does. Reaches the script and all of its steps in this step; what they are
   * made of is awaited, so a script that ignores it holds the run as long as it does. The first cause stays (L6). Default:
   * `CancelCause.user()`.
   */
  readonly cancel: (cause?: CancelCause.CancelCause) => Effect.Effect<"requested" | "already-ended">
  /** What is known of it. Does not wait. */
  readonly snapshot: Effect.Effect<Snapshot>
}

type Given = Script | Cancellation.Cancellation | Scope.Scope

/**
 * What an implementation of `Workflow` provides.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /**
   * Starts a run, and succeeds with it.
   *
   * The commit point is the step in which the run is listed and belongs to its owner: a cancellation or an interruption that
   * comes earlier leaves nothing, and the script has not begun; one that comes later stops an attached run with its owner,
   * and no detached one. Fails, and leaves nothing, when the owner has ended.
   */
  readonly start: <A, E, R>(
    options: StartOptions<A, E, R>
  ) => Effect.Effect<Running<A, E>, WorkflowError, Exclude<R, Given> | Cancellation.Cancellation>
  /** What is known of the runs, in the order of their start. Does not wait. */
  readonly list: Effect.Effect<ReadonlyArray<Snapshot>>
}

/**
 * Service that runs workflows.
 *
 * @since 0.1.0
 * @category services
 */
export class Workflow extends Context.Tag("quiesce/capability/Workflow")<Workflow, Service>() {}

/**
 * A step of the script that this runs in: `work`, by a name.
 *
 * It waits for a place, first come, first served, and an interruption ends that wait. Once it has started, it ends exactly
 * once, and it ends when `work` has and nothing that was started under its owner is left. After a cancel of the run none
 * starts: it is refused, as an interruption. A step in a step, and one outside of the script that it belongs to, are
 * defects: what is made of steps itself is a workflow of its own (`run`).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Cause, Effect, Exit } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Workflow } from "quiesce/capability"
 *
 * const shelf = new Set<string>()
 * const put = (item: string) =>
 *   Workflow.step(`put ${item}`, Effect.sync(() => shelf.add(item)), {
 *     compensate: () => Effect.sync(() => shelf.delete(item))
 *   })
 * const script = Effect.gen(function* () {
 *   yield* Workflow.parallel(["a", "b"], put)
 *   assert.strictEqual(shelf.size, 2)
 *   return yield* Workflow.step("sell", Effect.fail("nobody came"))
 * })
 * const program = Cancellation.own(Workflow.run({ name: "fair", script }))
 * const exit = await Effect.runPromiseExit(Effect.provide(program, Workflow.layer()))
 * assert.deepStrictEqual(exit, Exit.failCause(Cause.fail("nobody came")))
 * assert.strictEqual(shelf.size, 0)
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const step = <A, E, R, R2 = never>(
  name: string,
  work: Effect.Effect<A, E, R>,
  options?: StepOptions<A, R2>
): Effect.Effect<A, E, Exclude<R, Cancellation.Cancellation> | R2 | Script | Cancellation.Cancellation> =>
  Effect.flatMap(Script, (script) =>
    script.step(name, work as Effect.Effect<A, E, Exclude<R, Cancellation.Cancellation>>, options)
  )

/**
 * Runs children side by side, and succeeds with what they give, in the order of `items`.
 *
 * Those that are steps take places: so the limit of the run is theirs. The first failure stops the others; this completes
 * when all have ended. An interruption stops them, and is answered when they have. Unlike a concurrent `Effect.forEach`,
 * which can hang where an interruption cuts its start in two, it can be cancelled at any time.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Workflow } from "quiesce/capability"
 *
 * const lengths = Workflow.parallel(["a", "bc"], (word) => Effect.succeed(word.length))
 * assert.deepStrictEqual(Effect.runSync(lengths), [1, 2])
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const parallel = <A, B, E, R>(
  items: Iterable<A>,
  f: (item: A, index: number) => Effect.Effect<B, E, R>
): Effect.Effect<ReadonlyArray<B>, E, R> => sideBySide(items, f)

/**
 * Starts a run, and succeeds with it (see `Service`).
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Workflow } from "quiesce/capability"
 *
 * const script = Effect.zipRight(Workflow.step("draft", Effect.succeed("Hello.")), Workflow.step("review", Effect.never))
 * const program = Effect.gen(function* () {
 *   const letter = yield* Workflow.start({ name: "letter", script })
 *   yield* Effect.yieldNow()
 *   yield* letter.cancel()
 *   return yield* letter.result
 * })
 * const result = await Effect.runPromise(Effect.provide(Cancellation.own(program), Workflow.layer()))
 * assert.strictEqual(result.outcome, "cancelled")
 * assert.deepStrictEqual(result.steps.map(({ exit, name }) => [name, exit._tag]), [["draft", "Success"], ["review", "Failure"]])
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const start = <A, E, R>(
  options: StartOptions<A, E, R>
): Effect.Effect<Running<A, E>, WorkflowError, Exclude<R, Given> | Workflow | Cancellation.Cancellation> =>
  Effect.flatMap(Workflow, (workflow) => workflow.start(options))

/**
 * What is known of the runs, in the order of their start (see `Service`).
 *
 * @since 0.1.0
 * @category running
 */
export const list: Effect.Effect<ReadonlyArray<Snapshot>, never, Workflow> = Effect.flatMap(
  Workflow,
  (workflow) => workflow.list
)

const messageOf = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) ? "" : describeThrown(Cause.squash(exit.cause)).message

const exitOf = <A, E>(id: string, result: Result<A, E>): Effect.Effect<A, E | CompensationFailed> => {
  if (result.outcome === "completed") return Effect.succeed(result.value)
  const failures = result.compensations.flatMap(({ exit, name }) =>
    Exit.isSuccess(exit) ? [] : [{ step: name, error: messageOf(exit) }]
  )
  const { cause, outcome } = result
  if (failures.length > 0) {
    const error = outcome === "error" ? messageOf(Exit.failCause(cause)) : CancelCause.describe(cause)
    return Effect.fail(new CompensationFailed({ workflow: id, outcome, error, failures }))
  }
  return outcome === "error" ? Effect.failCause(cause) : Effect.interrupt
}

/**
 * Runs a workflow for what its script gives.
 *
 * Completes when nothing of the run is left: as its script did, or, where a compensation failed, with an error that says
 * both. The run is attached to an owner of this effect's own: a cancellation or an interruption stops it, and is answered
 * when it is gone. What a run that was cancelled had done by then is known from `onEvent` and `list`, and from the result of
 * one that was started with `start`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Workflow } from "quiesce/capability"
 *
 * const square = (n: number) => Workflow.step(`square ${n}`, Effect.succeed(n * n))
 * const script = Workflow.parallel([1, 2, 3], square)
 * const program = Cancellation.own(Workflow.run({ name: "squares", script, concurrency: 2 }))
 * assert.deepStrictEqual(await Effect.runPromise(Effect.provide(program, Workflow.layer())), [1, 4, 9])
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const run = <A, E, R>(
  options: Omit<StartOptions<A, E, R>, "attachment">
): Effect.Effect<A, E | CompensationFailed | WorkflowError, Exclude<R, Given> | Workflow | Cancellation.Cancellation> =>
  Effect.flatMap(Workflow, (workflow) =>
    Cancellation.own(
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const running = yield* restore(workflow.start<A, E, R>({ ...options, attachment: "attached" }))
          const waited = yield* Effect.exit(restore(running.result))
          if (Exit.isSuccess(waited)) return yield* exitOf(running.id, waited.value)
          yield* running.cancel(CancelCause.parent())
          return yield* exitOf(running.id, yield* running.result)
        })
      )
    )
  ) as Effect.Effect<
    A,
    E | CompensationFailed | WorkflowError,
    Exclude<R, Given> | Workflow | Cancellation.Cancellation
  >

/**
 * How a layer of workflows is set up.
 *
 * @since 0.1.0
 * @category models
 */
export interface LayerOptions {
  /** How many runs that have ended are remembered. Default: 100. */
  readonly maxEnded?: number | undefined
}

/** A step that is in a step already. */
const inStep: ScriptService = {
  step: (name) =>
    Effect.suspend(() => misuse(`step ${name} was started in a step: run a workflow of its own there (Workflow.run)`))
}

const scriptOf = (run: WorkflowRun): ScriptService => ({
  step: (name, work, options) => run.step(name, Effect.provideService(work, Script, inStep), options?.compensate)
})

const runningOf = <A, E>(run: WorkflowRun): Running<A, E> => {
  const { id } = run.settings
  const resultOf = (): Result<A, E> => {
    const { cause, compensations, escaped, exit, outcome, steps } = run.ended
    const common = { steps, compensations, escaped }
    if (exit !== undefined && Exit.isSuccess(exit)) return { outcome: "completed", value: exit.value as A, ...common }
    if (outcome === "error" && exit !== undefined) {
      return { outcome: "error", cause: exit.cause as Cause.Cause<E>, ...common }
    }
    return { outcome: "cancelled", cause: cause ?? CancelCause.parent(), ...common }
  }
  return {
    id,
    result: Effect.withFiberRuntime<Result<A, E>, WorkflowError>((fiber) =>
      run.isAround(fiber.currentContext)
        ? Effect.fail(new WorkflowError({ workflow: id, reason: "WaitsForItself" }))
        : Effect.map(run.awaitEnd, resultOf)
    ).pipe(Cancellation.operation(`wait for workflow ${id}`)),
    cancel: (cause = CancelCause.user()) =>
      Effect.sync(() => {
        if (run.hasEnded) return "already-ended"
        run.cancel(cause)
        return "requested"
      }),
    snapshot: Effect.sync(() => run.snapshot)
  }
}

/**
 * The service for the lifetime of `owner`. `replace` gives what runs in place of the work of a step, where that is not itself.
 *
 * @internal
 */
export const makeUnder = (
  owner: Context.Context<Cancellation.Cancellation>,
  options: LayerOptions & {
    readonly replace?: ((workflow: string, step: string) => Effect.Effect<unknown, unknown> | undefined) | undefined
  }
): Service => {
  const { maxEnded = 100, replace } = options
  if (!(Number.isInteger(maxEnded) && maxEnded >= 0)) {
    misuse(`maxEnded must be an integer of 0 or more, not ${maxEnded}`)
  }
  const table = new WorkflowTable(owner, maxEnded)
  return {
    start: <A, E, R>(options: StartOptions<A, E, R>) =>
      Effect.suspend(() => {
        const { attachment = "attached", concurrency = 10, name, onEvent, script } = options
        if (!(Number.isInteger(concurrency) && concurrency >= 1)) {
          misuse(`the concurrency of workflow ${name} must be an integer of 1 or more, not ${concurrency}`)
        }
        const settings = {
          name,
          attachment,
          concurrency,
          onEvent,
          replace: (step: string) => replace?.(name, step)
        }
        const started = table.start(settings, (run) =>
          Effect.scoped(Effect.provideService(script, Script, scriptOf(run)))
        )
        // Outside of `restore`: in an interruptible region Effect strips the failure of an interrupted fiber here (L5).
        return Effect.uninterruptibleMask((restore) =>
          Effect.mapBoth(restore(started), {
            onSuccess: (run) => runningOf<A, E>(run),
            onFailure: () => new WorkflowError({ workflow: name, reason: "OwnerEnded" })
          })
        )
      }).pipe(Cancellation.operation(`start workflow ${options.name}`)) as Effect.Effect<
        Running<A, E>,
        WorkflowError,
        Exclude<R, Given> | Cancellation.Cancellation
      >,
    list: Effect.sync(() => table.all.map(({ snapshot }) => snapshot))
  }
}

/**
 * Layer of workflows.
 *
 * Closing it stops every detached run with `Disposed`, and completes when nothing of them is left; the attached ones have
 * gone with their owners. Nothing starts after that.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Workflow } from "quiesce/capability"
 *
 * let isStopped = false
 * const watch = Workflow.step("watch", Effect.onInterrupt(Effect.never, () => Effect.sync(() => (isStopped = true))))
 * const start = Workflow.start({ name: "guard", script: watch, attachment: "detached" })
 * const program = Effect.zipRight(Cancellation.own(start), Effect.yieldNow())
 * await Effect.runPromise(Effect.provide(program, Workflow.layer()))
 * assert.strictEqual(isStopped, true)
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: LayerOptions = {}): Layer.Layer<Workflow> =>
  Layer.scoped(
    Workflow,
    Effect.map(Cancellation.ownScoped, (owner) => makeUnder(owner, options))
  )
