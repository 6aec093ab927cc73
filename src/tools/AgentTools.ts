/**
 * Tools that give work to other agents, and look at what has become of it.
 *
 * They start agents that may use the same tools, so they are registered on the runtime that those use: see `layer`.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Subagent from "../capability/Subagent.js"
import * as Tool from "../Tool.js"
import type { DuplicateTool } from "../ToolError.js"
import * as Toolkit from "../Toolkit.js"
import { ToolRuntime } from "../ToolRuntime.js"

/**
 * What these tools have in common.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The profiles that a model may choose from, and what it is told of each. */
  readonly profiles: { readonly [name: string]: string }
  /** The time for one call of each tool; agents in the background are not concerned. Default: no limit. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * `spawn_agent`: an agent for one task.
 *
 * In the foreground it gives what the agent has to say, always disposes of it, and a cancel of the call stops it. In the
 * background it gives the id; from the moment at which the agent is listed it belongs to the layer of `Subagent`, and is
 * disposed of when it rests.
 *
 * @since 0.1.0
 * @category constructors
 */
export const spawnAgent = ({ profiles, timeout }: Options) =>
  Tool.make("spawn_agent", {
    description: [
      "Gives a task to another agent, and its answer. In the background, gives its id at once. The profiles:",
      ...Object.entries(profiles).map(([name, description]) => `- ${name}: ${description}`)
    ].join("\n"),
    parameters: {
      profile: Schema.Literal(...Object.keys(profiles)),
      task: Schema.NonEmptyString.annotations({
        description: "What it is to do, and all that it has to know: it sees nothing of this conversation"
      }),
      background: Schema.optionalWith(Schema.Boolean, { default: () => false })
    },
    success: Schema.Union(Schema.Struct({ output: Schema.String }), Schema.Struct({ id: Schema.String })),
    failure: Schema.Union(Subagent.SubagentError, Subagent.RunFailed),
    timeout,
    concurrency: "parallel",
    handler: ({ background, profile, task }) =>
      background
        ? Effect.map(Subagent.start({ profile, task, attachment: "detached", disposeAtRest: true }), (id) => ({ id }))
        : Effect.map(Subagent.run({ profile, task }), (output) => ({ output }))
  })

/**
 * `agent_output`: where an agent stands, and what it came to. It can wait for that; a cancel of the call ends the wait and
 * leaves the agent alone.
 *
 * @since 0.1.0
 * @category constructors
 */
export const agentOutput = ({ timeout }: Options) =>
  Tool.make("agent_output", {
    description: "Gives where an agent in the background stands, and its answer. Can wait for that",
    parameters: {
      id: Schema.String.annotations({ description: "The id that spawn_agent gave" }),
      waitMillis: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 0 })
    },
    success: Subagent.Snapshot,
    failure: Subagent.SubagentError,
    timeout,
    concurrency: "parallel",
    handler: ({ id, waitMillis }) => Subagent.wait(id, { timeout: waitMillis })
  })

/**
 * All of them.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { AgentTools } from "quiesce/tools"
 *
 * const { tools } = AgentTools.make({ profiles: { reviewer: "reviews a change" } })
 * assert.deepStrictEqual([...tools.keys()], ["spawn_agent", "agent_output"])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options) => Toolkit.make(spawnAgent(options), agentOutput(options))

/**
 * Layer that registers them on the runtime in context, for as long as it lives: agents that use this runtime may start
 * others, and neither the runtime nor the subagents need the other to be built.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Layer } from "effect"
 * import { AgentSubagent, Cancellation, ToolRuntime } from "quiesce"
 * import { ScriptedModel } from "quiesce/testing"
 * import { AgentTools } from "quiesce/tools"
 *
 * const program = Effect.gen(function* () {
 *   const model = yield* ScriptedModel.make([ScriptedModel.reply("Fine.")])
 *   const subagents = AgentSubagent.layer({ profiles: { reviewer: { model: "scripted" } } })
 *   const tools = AgentTools.layer({ profiles: { reviewer: "reviews a change" } })
 *   const layer = tools.pipe(
 *     Layer.provideMerge(subagents),
 *     Layer.provideMerge(Layer.merge(ToolRuntime.layer(), model.layer))
 *   )
 *   const parameters = { profile: "reviewer", task: "Review the change." }
 *   const call = ToolRuntime.execute({ id: "call_1", name: "spawn_agent", parameters })
 *   return yield* Effect.provide(Cancellation.own(call), layer)
 * })
 * const result = await Effect.runPromise(program)
 * assert.deepStrictEqual(result._tag === "Success" && result.value, { output: "Fine." })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<never, DuplicateTool, ToolRuntime | Subagent.Subagent> =>
  Layer.scopedDiscard(
    Effect.flatMap(ToolRuntime, (runtime) =>
      Effect.zipRight(runtime.register(spawnAgent(options)), runtime.register(agentOutput(options)))
    )
  )
