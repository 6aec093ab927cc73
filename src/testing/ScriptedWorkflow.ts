/**
 * A `Workflow` whose steps come to what the test says: their own work is never done.
 *
 * Everything else is of the real one, since both share that code: scripts run, steps take places, are told, refused and
 * compensated, and runs have their owners. So a test of a script decides in which order its steps end, and as what. It
 * passes the same contract tests as `Workflow.layer`.
 *
 * What it does not do: it knows nothing of the types of steps, so what a step is said to give should be of its type.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Cancellation from "../Cancellation.js"
import * as Workflow from "../capability/Workflow.js"

/**
 * A step that runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunningStep {
  /** The name of the workflow. */
  readonly workflow: string
  readonly step: string
}

/**
 * What steps do.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends Workflow.LayerOptions {
  /** What runs in place of a step's work. Where this gives nothing, the default, the step goes on until the test ends it. */
  readonly whenStep?: ((step: RunningStep) => Effect.Effect<unknown, unknown> | undefined) | undefined
}

/**
 * A service, and the test's hand on its steps.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handle {
  readonly workflow: Workflow.Service
  /** Ends the step of this name that has run longest, and says whether there is one that waits for it. */
  readonly end: (step: string, exit: Exit.Exit<unknown, unknown>) => Effect.Effect<boolean>
  /** The steps that run, in the order of their start. */
  readonly running: Effect.Effect<ReadonlyArray<RunningStep>>
}

/**
 * Makes a `Workflow` whose steps end when the test says so, or when they are stopped.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Exit } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Workflow } from "quiesce/capability"
 * import { ScriptedWorkflow } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const { end, workflow } = yield* ScriptedWorkflow.make()
 *   const script = Workflow.step("deploy", Effect.dieMessage("a test deploys nothing"))
 *   const release = yield* workflow.start({ name: "release", script })
 *   yield* Effect.yieldNow()
 *   assert.strictEqual(yield* end("deploy", Exit.succeed("v1")), true)
 *   assert.strictEqual((yield* release.result).outcome, "completed")
 * })
 * await Effect.runPromise(Effect.scoped(Cancellation.own(program)))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<Handle, never, Scope.Scope> =>
  Effect.map(Cancellation.ownScoped, (owner) => {
    interface Entry extends RunningStep {
      readonly end: Deferred.Deferred<unknown, unknown> | undefined
    }
    const running = new Set<Entry>()
    const replace = (workflow: string, step: string): Effect.Effect<unknown, unknown> => {
      const given = options.whenStep?.({ workflow, step })
      const end = given === undefined ? Deferred.make<unknown, unknown>() : Effect.succeed(undefined)
      return Effect.flatMap(end, (end) => {
        const entry: Entry = { workflow, step, end }
        const work = end === undefined ? (given ?? Effect.void) : Deferred.await(end)
        return Effect.acquireUseRelease(
          Effect.sync(() => running.add(entry)),
          () => work,
          () => Effect.sync(() => running.delete(entry))
        )
      })
    }
    return {
      workflow: Workflow.makeUnder(owner, { ...options, replace }),
      end: (step, exit) =>
        Effect.suspend(() => {
          for (const entry of running) {
            if (entry.step !== step || entry.end === undefined) continue
            if (Effect.runSync(Deferred.isDone(entry.end))) continue
            return Deferred.done(entry.end, exit)
          }
          return Effect.succeed(false)
        }),
      running: Effect.sync(() => [...running].map(({ step, workflow }) => ({ workflow, step })))
    }
  })

/**
 * Layer of a `Workflow` whose steps go on until they are stopped, unless `whenStep` gives what they do.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Workflow } from "quiesce/capability"
 * import { ScriptedWorkflow } from "quiesce/testing"
 *
 * const deploy = Workflow.step("deploy", Effect.dieMessage("a test deploys nothing") as Effect.Effect<string>)
 * const layer = ScriptedWorkflow.layer({ whenStep: ({ step }) => Effect.succeed(`${step}: done`) })
 * const program = Cancellation.own(Workflow.run({ name: "release", script: deploy }))
 * assert.strictEqual(await Effect.runPromise(Effect.provide(program, layer)), "deploy: done")
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<Workflow.Workflow> =>
  Layer.scoped(
    Workflow.Workflow,
    Effect.map(make(options), ({ workflow }) => workflow)
  )
