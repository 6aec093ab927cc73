/**
 * A tool that runs a plan of calls of other tools.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Cancellation from "../Cancellation.js"
import * as Content from "../Content.js"
import * as Workflow from "../capability/Workflow.js"
import { problemOf, resolve, type Step } from "../internal/tools/plan.js"
import * as Tool from "../Tool.js"
import { type Service as Call, ToolContext } from "../ToolContext.js"
import * as Toolkit from "../Toolkit.js"

/**
 * How plans are run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The time for one call of the tool. Default: no limit. */
  readonly timeout?: Duration.DurationInput | undefined
  /** How many steps of a plan may run at once, whatever it asks for. Default: 10. */
  readonly maxConcurrency?: number | undefined
}

const own = "run_workflow"

const id = Schema.NonEmptyString.annotations({ description: "A name of your own for this step" })

const ToolStep = Schema.Struct({
  id,
  tool: Schema.NonEmptyString.annotations({ description: "The tool to call" }),
  parameters: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.Unknown }), { default: () => ({}) })
})

const AgentStep = Schema.Struct({
  id,
  agent: Schema.NonEmptyString.annotations({ description: "The profile of an agent to give a task to" }),
  task: Schema.Unknown.annotations({ description: "What it is to do: a text, or { $text: [...] }" })
})

const PlanStep = Schema.Union(ToolStep, AgentStep)
const Group = Schema.Union(PlanStep, Schema.Struct({ parallel: Schema.NonEmptyArray(PlanStep) }))

const stepOf = (step: typeof PlanStep.Type): Step =>
  "tool" in step
    ? step
    : { id: step.id, tool: "spawn_agent", parameters: { profile: step.agent, task: step.task, background: false } }

const groupsOf = (plan: ReadonlyArray<typeof Group.Type>): ReadonlyArray<ReadonlyArray<Step>> =>
  plan.map((group) => ("parallel" in group ? group.parallel : [group]).map(stepOf))

/**
 * Schema for what became of one step of a plan.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StepResult = Schema.Struct({
  id: Schema.String,
  status: Schema.Literal("completed", "failed", "cancelled", "not-started"),
  value: Schema.optional(Schema.Unknown),
  error: Schema.optional(Schema.Struct({ code: Schema.String, message: Schema.String }))
})

/**
 * What became of one step of a plan.
 *
 * @since 0.1.0
 * @category models
 */
export type StepResult = typeof StepResult.Type

/**
 * A plan that cannot be run, or a step of one that did not complete.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { WorkflowTools } from "quiesce/tools"
 *
 * const error = new WorkflowTools.PlanError({ reason: "StepFailed", detail: "step read: NOT_FOUND: no such file" })
 * assert.strictEqual(error.code, "WORKFLOW_STEP_FAILED")
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class PlanError extends Schema.TaggedError<PlanError>("quiesce/tools/WorkflowTools/PlanError")("PlanError", {
  reason: Schema.Literal("InvalidPlan", "StepFailed"),
  detail: Schema.String
}) {
  /** The reason as the code of a failed call. */
  get code(): string {
    return this.reason === "InvalidPlan" ? "WORKFLOW_INVALID_PLAN" : "WORKFLOW_STEP_FAILED"
  }

  override get message(): string {
    return this.reason === "InvalidPlan" ? `This plan cannot be run: ${this.detail}` : this.detail
  }
}

const inWords = (results: ReadonlyArray<StepResult>): string =>
  ["What became of the steps:", ...results.map((result) => JSON.stringify(result))].join("\n")

/** One run of a plan: what its steps have come to by now. */
class Plan {
  private readonly results = new Map<string, StepResult>()
  private readonly values = new Map<string, unknown>()
  private readonly groups: ReadonlyArray<ReadonlyArray<Step>>
  private readonly context: Call

  constructor(groups: ReadonlyArray<ReadonlyArray<Step>>, context: Call) {
    this.groups = groups
    this.context = context
  }

  get script() {
    return Effect.forEach(this.groups, (group) => Workflow.parallel(group, (step) => this.run(step)), { discard: true })
  }

  /** What became of each step, in the order of the plan. */
  get all(): ReadonlyArray<StepResult> {
    return this.groups.flat().map(({ id }) => this.results.get(id) ?? { id, status: "not-started" })
  }

  private run({ id, parameters, tool }: Step) {
    const made = resolve(parameters, this.values)
    if (Either.isLeft(made)) return this.fail({ id, status: "failed", error: { code: "NO_VALUE", message: made.left } })
    const call = Effect.suspend(() => {
      this.results.set(id, { id, status: "cancelled" }) // unless it comes to something
      return Effect.flatMap(this.context.call(tool, made.right), (result) => {
        if (result._tag === "Success") {
          this.values.set(id, result.value)
          this.results.set(id, { id, status: "completed", value: result.value })
          return Effect.void
        }
        const { cause, code, message } = result
        if (cause === undefined) return this.fail({ id, status: "failed", error: { code, message } })
        const cancelled = { id, status: "cancelled", error: { code, message } } as const
        return Effect.flatMap(Cancellation.cause, (own) => {
          if (Option.isNone(own)) return this.fail(cancelled) // somebody has cancelled this call alone
          this.results.set(id, cancelled)
          return Effect.interrupt // L5
        })
      })
    })
    return Workflow.step(id, call)
  }

  private fail(result: StepResult): Effect.Effect<never, PlanError> {
    this.results.set(result.id, result)
    const { code, message } = result.error ?? { code: "", message: "" }
    return Effect.fail(new PlanError({ reason: "StepFailed", detail: `step ${result.id}: ${code}: ${message}` }))
  }
}

/**
 * `run_workflow`: groups of steps, one group after the other, the steps of a group side by side. A step is a call through all
 * policies with a result of its own (see `ToolContext.Service.call`), or a task for an agent, which is one of `spawn_agent`.
 *
 * The first step that fails ends the plan: those beside it are cancelled, those behind it are not started. A cancel of the
 * call cancels the calls that run, and the result comes when all of them have theirs. Where the plan has not completed, the
 * model is told what became of each step.
 *
 * @since 0.1.0
 * @category constructors
 */
export const runWorkflow = ({ maxConcurrency = 10, timeout }: Options = {}) =>
  Tool.make(own, {
    description: [
      "Runs a plan of calls of other tools, and gives the value of each. Steps run one after the other; those in",
      "{ parallel: [...] } side by side. A step is { id, tool, parameters } or { id, agent, task }. In parameters and task,",
      '{ "$from": id, "at": ["key", 0] } stands for a value that a step of an earlier group gave, and { "$text": [...] } joins',
      "texts and such references. The first step that fails ends the plan"
    ].join(" "),
    parameters: {
      steps: Schema.NonEmptyArray(Group),
      concurrency: Schema.optionalWith(Schema.Int.pipe(Schema.positive()), { default: () => maxConcurrency })
    },
    success: Schema.Struct({ steps: Schema.Array(StepResult) }),
    failure: Schema.Union(PlanError, Workflow.WorkflowError, Workflow.CompensationFailed),
    timeout,
    handler: ({ concurrency, steps }) =>
      Effect.flatMap(ToolContext, (context) => {
        const groups = groupsOf(steps)
        const problem = problemOf(groups, own)
        if (problem !== undefined) return Effect.fail(new PlanError({ reason: "InvalidPlan", detail: problem }))
        const plan = new Plan(groups, context)
        const run = Workflow.run({
          name: own,
          script: plan.script,
          concurrency: Math.min(concurrency, maxConcurrency)
        })
        return Effect.onExit(
          Effect.map(run, () => ({ steps: plan.all })),
          (exit) => (Exit.isSuccess(exit) ? Effect.void : context.deferContext(Content.text(inWords(plan.all))))
        )
      })
  })

/**
 * The toolkit of it.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Layer, Schema } from "effect"
 * import { Cancellation, Tool, Toolkit, ToolRuntime } from "quiesce"
 * import { Workflow } from "quiesce/capability"
 * import { WorkflowTools } from "quiesce/tools"
 *
 * const double = Tool.make("double", {
 *   description: "Doubles a number",
 *   parameters: { n: Schema.Number },
 *   success: Schema.Struct({ n: Schema.Number }),
 *   handler: ({ n }) => Effect.succeed({ n: n * 2 })
 * })
 * const toolkit = Toolkit.merge(WorkflowTools.make(), Toolkit.make(double))
 * const runtime = Layer.provide(ToolRuntime.layer({ toolkit }), Workflow.layer())
 * const steps = [
 *   { id: "once", tool: "double", parameters: { n: 3 } },
 *   { id: "twice", tool: "double", parameters: { n: { $from: "once", at: ["n"] } } }
 * ]
 * const call = ToolRuntime.execute({ id: "call_1", name: "run_workflow", parameters: { steps } })
 * const result = await Effect.runPromise(Effect.provide(Cancellation.own(call), runtime))
 * assert.deepStrictEqual(result._tag === "Success" && result.value, {
 *   steps: [
 *     { id: "once", status: "completed", value: { n: 6 } },
 *     { id: "twice", status: "completed", value: { n: 12 } }
 *   ]
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options) => Toolkit.make(runWorkflow(options))
