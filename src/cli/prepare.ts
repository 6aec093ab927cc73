/**
 * From the command line to what an agent is made of. What is wrong with it is said before anything runs.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Cancellation } from "../Cancellation.js"
import type { CodeRuntime } from "../capability/CodeRuntime.js"
import type { FileSystem } from "../capability/FileSystem.js"
import type { Http } from "../capability/Http.js"
import type { Model } from "../capability/Model.js"
import type { Process } from "../capability/Process.js"
import * as Task from "../capability/Task.js"
import * as Workflow from "../capability/Workflow.js"
import * as NodeCodeRuntime from "../node/NodeCodeRuntime.js"
import * as NodeFileSystem from "../node/NodeFileSystem.js"
import * as NodeHttp from "../node/NodeHttp.js"
import * as NodeProcess from "../node/NodeProcess.js"
import * as NodeSession from "../node/NodeSession.js"
import * as Session from "../Session.js"
import type * as Args from "./args.js"
import { BadInput } from "./badInput.js"
import { embeddedPlan } from "./embeddedPlan.js"
import * as Permission from "./permission.js"
import * as Plan from "./plan.js"
import * as PlanFile from "./planFile.js"
import * as PlanModel from "./planModel.js"
import * as Provider from "./provider.js"
import type { Options } from "./runAgent.js"
import { makeToolkit } from "./tools.js"
import * as Workspace from "./workspace.js"

/** What an agent is made of, but for who is asked and who looks on. */
export interface Work extends Omit<Options, "onEvent"> {
  readonly capabilities: Layer.Layer<
    CodeRuntime | FileSystem | Http | Model | Process | Session.Session | Task.Task | Workflow.Workflow,
    BadInput
  >
  /** Whether all that has happened until now is in the session. */
  readonly isSessionWhole: Effect.Effect<boolean>
}

type Says = Omit<Options, "asks" | "onEvent"> & { readonly provider: Layer.Layer<Model> }

const sourceOf = ({ source, workspace: given }: Args.Run): Effect.Effect<Says, BadInput, Cancellation | Scope.Scope> =>
  Effect.gen(function* () {
    if (source._tag === "Model") {
      const provider = yield* Provider.make(source.baseUrl, process.env)
      const workspace = yield* Workspace.existing(given ?? ".")
      const instructions = Provider.instructionsFor(workspace)
      return { plan: undefined, model: source.name, provider, instructions, workspace }
    }
    const { file } = source
    const toolkit = makeToolkit({ cwd: "." })
    const plan =
      file === undefined
        ? yield* Plan.check(embeddedPlan(), "the built-in plan", toolkit)
        : yield* PlanFile.read(file, toolkit)
    const workspace = file === undefined ? yield* Workspace.temporary : yield* Workspace.existing(given ?? ".")
    return { plan, model: "plan", provider: PlanModel.layer(plan), instructions: "", workspace }
  })

const sessionOf = (file: string | undefined, onLoss: () => void): Layer.Layer<Session.Session, BadInput> => {
  if (file === undefined) return Session.layerMemory()
  // The agent goes on where it can, and warns. Whoever asked for the file has to know that it is not all in there.
  const watched = ({ append, ...session }: Session.Service): Session.Service => ({
    ...session,
    append: (event) => {
      try {
        return append(event)
      } catch (error) {
        onLoss()
        throw error
      }
    }
  })
  return NodeSession.layer({ file, agent: "quiesce" }).pipe(
    Layer.map((context) => Context.make(Session.Session, watched(Context.get(context, Session.Session)))),
    Layer.catchAll(({ message }) => Layer.fail(new BadInput({ messages: [`--session ${file}: ${message}`] })))
  )
}

/** Prepares what the command line asks for. */
export const prepare = (args: Args.Run): Effect.Effect<Work, BadInput, Cancellation | Scope.Scope> =>
  Effect.gen(function* () {
    const { provider, ...source } = yield* sourceOf(args)
    let hasLoss = false
    const capabilities = Layer.mergeAll(
      NodeCodeRuntime.layer,
      NodeFileSystem.layer({ root: source.workspace }),
      NodeProcess.layer,
      NodeHttp.layer(),
      Task.layer(),
      Workflow.layer(),
      provider,
      sessionOf(args.session, () => {
        hasLoss = true
      })
    )
    // A plan says itself about which calls somebody is to be asked.
    const asks = (tool: string): boolean => source.plan === undefined && !args.yes && Permission.hasEffects(tool)
    return { ...source, asks, capabilities, isSessionWhole: Effect.sync(() => !hasLoss) }
  })
