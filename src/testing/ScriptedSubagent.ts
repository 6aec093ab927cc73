/**
 * A `Subagent` whose children say what the test says: there is no model and no session behind them.
 *
 * Everything else is of the real one, since both share that code: ids, the limit of children, the hand-over and its commit
 * point, who owns a child, waiting, disposal. So a test of a tool or an agent decides when a child rests, and with what
 * result. It passes the same contract tests as `AgentSubagent`.
 *
 * What it does not do: it knows no profiles, so any name is one unless `profiles` lists them, and it calls no tools.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as CancelCause from "../CancelCause.js"
import * as Cancellation from "../Cancellation.js"
import * as Content from "../Content.js"
import * as Subagent from "../capability/Subagent.js"
import { SubagentTable, serviceOver } from "../internal/capability/subagent/table.js"
import { quoted } from "../internal/quoted.js"
import { ScriptedChild } from "../internal/testing/scriptedChild.js"

/**
 * A message that a child has taken, and which child that is.
 *
 * @since 0.1.0
 * @category models
 */
export interface Asked {
  readonly id: string
  readonly profile: string
  readonly message: string
}

/**
 * The limits of the children, and what they do by themselves.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly maxChildren?: number | undefined
  readonly maxEnded?: number | undefined
  /** The profiles that there are. Default: any. */
  readonly profiles?: ReadonlyArray<string> | undefined
  /** What a turn comes to at once. Where this gives nothing, the default, the turn goes on until the test ends it. */
  readonly whenAsked?: ((message: string, child: Asked) => Subagent.Result | undefined) | undefined
  /** What a start does before its commit point, such as waiting for a gate. Default: nothing. */
  readonly whenStarted?: ((id: string) => Effect.Effect<void>) | undefined
  /** What a turn does between being asked to stop and its end. Default: nothing. */
  readonly whenStopped?: ((id: string) => Effect.Effect<void>) | undefined
  /** What disposing of a child does last. A defect of it is one of the disposal. Default: nothing. */
  readonly whenDisposed?: ((id: string) => Effect.Effect<void>) | undefined
}

/**
 * A service, and the test's hand on its children.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handle {
  readonly subagent: Subagent.Service
  /**
   * Ends the turn that a child is in with a result, and says whether it will: one that was asked to stop does not. An id that
   * no child has is a defect.
   */
  readonly end: (id: string, result: Subagent.Result) => Effect.Effect<boolean>
  /** What the children were told so far, in the order in which their turns began. */
  readonly asked: Effect.Effect<ReadonlyArray<Asked>>
  /** The turns that have begun and have not ended, those that are stopping included. */
  readonly running: Effect.Effect<ReadonlyArray<Asked>>
}

/**
 * Makes a `Subagent` whose children rest when the test says so, or are disposed of when the scope closes.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { ScriptedSubagent } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const { end, subagent } = yield* ScriptedSubagent.make()
 *   const id = yield* subagent.start({ profile: "reviewer", task: "Review the change." })
 *   yield* end(id, { outcome: "completed", output: "Fine." })
 *   assert.strictEqual((yield* subagent.wait(id)).result?.output, "Fine.")
 * })
 * await Effect.runPromise(Effect.scoped(Cancellation.own(program)))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<Handle, never, Scope.Scope> =>
  Effect.map(Cancellation.ownScoped, (owner) => {
    const { profiles, whenDisposed, whenStarted, whenStopped } = options
    const table = new SubagentTable(owner, options)
    const children = new Map<string, ScriptedChild>()
    const asked: Array<Asked> = []
    const running = new Set<Asked>()
    const childOf = (profile: string, id: string) =>
      Effect.gen(function* () {
        yield* Effect.addFinalizer(() => whenDisposed?.(id) ?? Effect.void)
        yield* whenStarted?.(id) ?? Effect.void
        const child = yield* ScriptedChild.make({
          whenStopped: whenStopped?.(id) ?? Effect.void,
          turn: (message) => {
            const turn = { id, profile, message }
            asked.push(turn)
            const result = options.whenAsked?.(message, turn)
            running.add(turn)
            return { result, ended: () => running.delete(turn) }
          }
        })
        yield* Effect.acquireRelease(
          Effect.sync(() => children.set(id, child)),
          () => Effect.sync(() => children.delete(id))
        )
        return {
          accept: (message: Subagent.StartOptions["task"]) =>
            Effect.sync(() => child.accept(typeof message === "string" ? message : Content.toText(message))),
          interrupt: (cause: CancelCause.CancelCause) => Effect.sync(() => child.interrupt(cause)),
          isRunning: () => child.isRunning,
          awaitRest: child.awaitRest,
          result: () => child.result
        }
      })
    return {
      subagent: serviceOver(table, ({ profile }) =>
        profiles === undefined || profiles.includes(profile)
          ? (id) => childOf(profile, id)
          : { reason: "UnknownProfile", detail: `there is no profile of this name. There is ${profiles.join(", ")}` }
      ),
      end: (id, result) =>
        Effect.suspend(() => {
          const child = children.get(id)
          if (child !== undefined) return Effect.sync(() => child.end(result))
          return table.get(id) === undefined
            ? Effect.failCause(Cause.die(new Error(`ScriptedSubagent: there is no subagent ${quoted(id)}`)))
            : Effect.succeed(false)
        }),
      asked: Effect.sync(() => [...asked]),
      running: Effect.sync(() => [...running])
    }
  })

/**
 * Layer of a `Subagent` whose children go on until they are stopped, unless `whenAsked` gives what they come to.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { Subagent } from "quiesce/capability"
 * import { ScriptedSubagent } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const id = yield* Subagent.start({ profile: "reviewer", task: "Review the change." })
 *   yield* Subagent.interrupt(id)
 *   return yield* Subagent.wait(id)
 * })
 * const { result } = await Effect.runPromise(Effect.provide(Cancellation.own(program), ScriptedSubagent.layer()))
 * assert.strictEqual(result?.outcome, "aborted")
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<Subagent.Subagent> =>
  Layer.scoped(
    Subagent.Subagent,
    Effect.map(make(options), ({ subagent }) => subagent)
  )
