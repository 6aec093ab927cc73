/**
 * Subagents that are agents: `Subagent` over named profiles, a model, and a session for each child.
 *
 * A profile says what kind of agent a child of it is. Children use the runtime that the layer was built with, unless their
 * profile brings one of its own. A tool that starts children is registered on that runtime when both are there
 * (`AgentTools.layer`): so neither layer needs the other, and when they are closed the tool goes first, then the children,
 * and the runtime that they used last.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Agent from "./Agent.js"
import type * as AgentEvent from "./AgentEvent.js"
import * as Cancellation from "./Cancellation.js"
import type { Model } from "./capability/Model.js"
import * as Subagent from "./capability/Subagent.js"
import type { Child, Make, Problem } from "./internal/capability/subagent/child.js"
import { SubagentTable, serviceOver } from "./internal/capability/subagent/table.js"
import { quoted } from "./internal/quoted.js"
import { describeThrown } from "./internal/thrown.js"
import * as Session from "./Session.js"
import { type Service as Runtime, ToolRuntime } from "./ToolRuntime.js"

/**
 * What kind of agent a child is. What its policies need is taken from the context of the layer.
 *
 * @since 0.1.0
 * @category models
 */
export interface Profile<R = never> extends Omit<Agent.Options<R>, "id"> {
  /** The tools and the policies of its calls. Default: the runtime that the layer was built with. */
  readonly runtime?: Runtime | undefined
}

/**
 * What a layer of subagents is made of.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<R = never> {
  readonly profiles: { readonly [name: string]: Profile<R> }
  /**
   * Where the session of a child comes from. It belongs to that child alone, and what is acquired for it is given back when
   * the child is disposed of. Default: a session in memory.
   */
  readonly session?:
    | ((child: {
        readonly id: string
        readonly profile: string
      }) => Effect.Effect<Session.Service, unknown, R | Scope.Scope>)
    | undefined
  /** How many children may be alive at once, those included that rest or are stopping. Default: 10. */
  readonly maxChildren?: number | undefined
  /** How many children that have been disposed of are remembered. Default: 100. */
  readonly maxEnded?: number | undefined
}

const textOf = ({ blocks }: typeof AgentEvent.AssistantMessage.Type): string =>
  blocks.map((block) => (block.type === "text" ? block.text : "")).join("")

/** What the last turn came to, from what was logged of it. */
const resultOf = (events: ReadonlyArray<AgentEvent.Envelope>): Subagent.Result => {
  const end = events.findLast(({ event }) => event._tag === "TurnEnded")?.event
  if (end?._tag !== "TurnEnded") {
    return { outcome: "error", output: "", error: { code: "NO_TURN", message: "no turn of it has begun" } }
  }
  const answers = events.flatMap(({ event }) =>
    event._tag === "AssistantMessage" && event.turn === end.turn ? [event] : []
  )
  const output = answers.map(textOf).findLast((text) => text !== "") ?? ""
  const { outcome } = end
  switch (outcome._tag) {
    case "Completed":
      return { outcome: answers.at(-1)?.finish === "content-filter" ? "refusal" : "completed", output }
    case "MaxTokens":
      return { outcome: "max-tokens", output }
    case "Blocked":
      return { outcome: "error", output, error: { code: "BLOCKED", message: outcome.reason } }
    case "Error":
      return { outcome: "error", output, error: { code: outcome.code, message: outcome.message } }
    case "Cancelled":
    case "Interrupted":
      return { outcome: "aborted", output }
  }
}

const notStarted = (thrown: unknown): Problem => ({
  reason: "NotStarted",
  detail: `its session could not be made: ${describeThrown(thrown).message}`
})

const notAccepted = (error: Agent.AgentError | Session.SessionError): Problem =>
  error instanceof Session.SessionError ? { reason: "NotAccepted", detail: error.message } : { reason: "Disposed" }

const childOf = <R>(
  id: string,
  { runtime: _runtime, ...options }: Profile<R>,
  session: Session.Service
): Effect.Effect<
  Child,
  never,
  Exclude<R, Cancellation.Cancellation> | Model | Session.Session | ToolRuntime | Scope.Scope
> =>
  Effect.gen(function* () {
    let last: Subagent.Result | undefined
    // Behind the agent, which is disposed of first, and before its session is closed.
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        last = resultOf(session.events())
      })
    )
    const agent = yield* Agent.make<R>({ ...options, id })
    return {
      accept: (message) => Effect.mapError(agent.followup(message), notAccepted),
      interrupt: (cause) => agent.cancel(cause, { keepInbox: true }),
      isRunning: () => Effect.runSync(agent.status) === "running",
      awaitRest: agent.whenIdle,
      result: () => last ?? resultOf(session.events())
    }
  })

/**
 * Layer of subagents on the model and the tools in context. Each child has a session of its own.
 *
 * A child that is cancelled or disposed of is answered for when its turn has ended with a result for each call, its session
 * is closed, and nothing of it runs. Closing the layer does that with every detached child; the attached ones have gone with
 * their owners. Nothing starts after it.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Layer } from "effect"
 * import { AgentSubagent, Cancellation, ToolRuntime } from "quiesce"
 * import { Subagent } from "quiesce/capability"
 * import { ScriptedModel } from "quiesce/testing"
 *
 * const program = Effect.gen(function* () {
 *   const model = yield* ScriptedModel.make([ScriptedModel.reply("Nothing to say.")])
 *   const subagents = AgentSubagent.layer({
 *     profiles: { reviewer: { model: "scripted", instructions: "You review changes." } }
 *   }).pipe(Layer.provide([model.layer, ToolRuntime.layer()]))
 *   const run = Subagent.run({ profile: "reviewer", task: "Review the change." })
 *   return yield* Effect.provide(Cancellation.own(run), subagents)
 * })
 * assert.strictEqual(await Effect.runPromise(program), "Nothing to say.")
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(
  options: Options<R>
): Layer.Layer<
  Subagent.Subagent,
  never,
  Exclude<Exclude<R, Scope.Scope>, Cancellation.Cancellation> | Model | ToolRuntime
> =>
  Layer.scoped(
    Subagent.Subagent,
    Effect.gen(function* () {
      type Captured = Exclude<Exclude<R, Scope.Scope>, Cancellation.Cancellation> | Model | ToolRuntime
      const captured = yield* Effect.context<Captured>()
      const table = new SubagentTable(yield* Cancellation.ownScoped, options)
      const { profiles, session = ({ id }) => Session.make({ agent: id }) } = options
      const makeOf =
        (name: string, profile: Profile<R>): Make =>
        (id) =>
          Effect.gen(function* () {
            const made = session({ id, profile: name })
            const own = yield* Effect.mapError(made, notStarted)
            return yield* Effect.provideService(childOf(id, profile, own), Session.Session, own)
          }).pipe(
            // Not what whoever starts it happens to have in context, such as a tool's call.
            Effect.mapInputContext(
              (context: Context.Context<Cancellation.Cancellation | Scope.Scope>) =>
                captured.pipe(
                  Context.add(ToolRuntime, profile.runtime ?? Context.get(captured, ToolRuntime)),
                  Context.add(Cancellation.Cancellation, Context.get(context, Cancellation.Cancellation)),
                  Context.add(Scope.Scope, Context.get(context, Scope.Scope))
                ) as unknown as Context.Context<R | Model | ToolRuntime | Scope.Scope>
            )
          ) as ReturnType<Make>
      return serviceOver(table, ({ profile: name }) => {
        const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
        if (profile !== undefined) return makeOf(name, profile)
        const known = Object.keys(profiles).map(quoted).join(", ")
        return { reason: "UnknownProfile", detail: `there is no profile of this name. There is ${known || "none"}` }
      })
    })
  )
